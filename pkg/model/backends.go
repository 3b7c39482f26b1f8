package model

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// splits reads the splits of a path. They are refused as a whole when one of them
// has no port or when they are not a whole: to serve the others would shift
// traffic nobody asked to shift.
func (in *ingest) splits(path string, raw []v1alpha1.IngressBackendSplit) ([]Split, bool) {
	if len(raw) == 0 {
		in.report(finding.PathWithoutSplits, path, "%s has no splits, so it leads nowhere; add one", path)
		return nil, false
	}
	var out []Split
	total, fit := 0, true
	for k, s := range raw {
		percent := s.Percent
		if len(raw) == 1 && percent == 0 {
			// Knative's default for a single split.
			percent = 100
		}
		fit = fit && percent >= 0 && percent <= 100
		total += percent
		if percent == 0 {
			// A share of nothing is no destination; Knative keeps it as a place to
			// roll out to.
			continue
		}
		field := fmt.Sprintf("%s.splits[%d]", path, k)
		backend, ok := in.backend(field, s.IngressBackend)
		if !in.headers(field, ".appendHeaders", s.AppendHeaders, setFault) || !ok {
			return nil, false
		}
		out = append(out, Split{Backend: backend, Percent: int32(min(percent, 100)), SetHeaders: snapshot.Sorted(s.AppendHeaders)})
	}
	if !fit || total != 100 {
		in.report(finding.PercentNot100, path, "the percentages of %s add up to %d; shares between 0 and 100 that add up to 100 are wanted", path, total)
		return nil, false
	}
	return out, true
}

func (in *ingest) backend(path string, b v1alpha1.IngressBackend) (Backend, bool) {
	name := types.NamespacedName{Namespace: b.ServiceNamespace, Name: b.ServiceName}
	if len(validation.IsDNS1123Label(name.Namespace))+len(validation.IsDNS1123Label(name.Name)) > 0 {
		// Istio refuses objects with such a destination, and all else that they serve.
		in.report(finding.ServiceMissing, path, "%q in namespace %q is not what a Service can be called, so the path is left out; correct the split", name.Name, name.Namespace)
		return Backend{}, false
	}
	port, ok := in.port(path, name, b.ServicePort)
	return Backend{
		Service: name,
		Host:    name.Name + "." + name.Namespace + ".svc." + in.world.Config.ClusterDomain,
		Port:    port,
	}, ok
}

// port returns the number of a Service's port, which Istio wants also where
// Knative allows a name.
func (in *ingest) port(path string, name types.NamespacedName, port intstr.IntOrString) (uint32, bool) {
	if port.Type == intstr.Int {
		if port.IntVal <= 0 || port.IntVal > math.MaxUint16 {
			in.report(finding.PortNotFound, path, "port %d of Service %s is not between 1 and 65535; correct servicePort", port.IntVal, name)
			return 0, false
		}
		if _, found := in.service(name); !found {
			// The route is written all the same: what comes later is served at once.
			in.report(finding.ServiceMissing, path, "Service %s does not exist, so requests fail there; create the Service or correct the split", name)
		}
		return uint32(port.IntVal), true
	}
	service, found := in.service(name)
	if !found {
		in.report(finding.ServiceMissing, path, "Service %s does not exist, so its port %q has no number yet; create the Service or correct the split", name, port.StrVal)
		return 0, false
	}
	for _, p := range service.Ports {
		if p.Name == port.StrVal && p.Number > 0 {
			return uint32(p.Number), true
		}
	}
	in.report(finding.PortNotFound, path, "Service %s has no port named %q; correct servicePort or the Service", name, port.StrVal)
	return 0, false
}
