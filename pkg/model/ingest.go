package model

import (
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/ingress"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Labels of Serving that our objects keep, as net-istio's do: people select by
// them. Others, and volatile annotations such as the state of a rollout, are not
// copied: each change would be a write and a push to every proxy.
const (
	routeLabel          = "serving.knative.dev/route"
	routeNamespaceLabel = "serving.knative.dev/routeNamespace"
)

// FromIngress reads an Ingress. What it cannot make sense of is left out and
// reported; the rest stands.
func FromIngress(s snapshot.Snapshot) (Model, []finding.Finding) {
	in := newIngest(s)
	m := Model{
		Name:        types.NamespacedName{Namespace: s.Ingress.Namespace, Name: s.Ingress.Name},
		UID:         s.Ingress.UID,
		Hash:        hash(s.Ingress),
		Labels:      keep(s.Ingress.Labels, routeLabel, routeNamespaceLabel),
		Annotations: keep(s.Ingress.Annotations, networking.IngressClassAnnotationKey),
		Plain:       in.plain(),
		ExportTo:    in.exportTo(),
		Delegates:   in.delegates(),
		Created:     s.Ingress.CreationTimestamp,
	}
	m.VirtualHosts = in.alias(in.virtualHosts(), m.ExportTo)
	in.resolve(&m, s.Targets)
	m.Certificates = in.certificates(m.VirtualHosts)
	m.Asked, m.Claims, m.Rivals = in.asked.sorted(), in.claims, in.rivals()
	return m, in.findings
}

// ingest carries one reading and what was found on the way.
type ingest struct {
	ing      *v1alpha1.Ingress
	world    snapshot.World
	findings []finding.Finding
	asked    Asked
	claims   []Claim
	// What is looked up for each host, so that many hosts cost no more than their number.
	services map[types.NamespacedName]snapshot.Service
	claimed  map[scopedName]bool
}

// scopedName is a host as it counts once.
type scopedName struct {
	scope Scope
	name  string
}

func newIngest(s snapshot.Snapshot) *ingest {
	in := &ingest{ing: s.Ingress, world: s.World, services: map[types.NamespacedName]snapshot.Service{}, claimed: map[scopedName]bool{}}
	for _, service := range s.World.Services {
		in.services[service.Name] = service
	}
	return in
}

func (a Asked) sorted() Asked {
	slices.Sort(a.Hosts)
	slices.Sort(a.TLS)
	return Asked{Hosts: slices.Compact(a.Hosts), TLS: slices.Compact(a.TLS)}
}

func (in *ingest) report(reason finding.Reason, path, format string, args ...any) {
	in.findings = append(in.findings, finding.Finding{
		Reason:  reason,
		Subject: finding.Ref{Kind: "Ingress", Namespace: in.ing.Namespace, Name: in.ing.Name},
		Path:    path,
		Message: fmt.Sprintf(format, args...),
	})
}

func (in *ingest) plain() Plain {
	switch in.ing.Spec.HTTPOption {
	case v1alpha1.HTTPOptionRedirected:
		return Redirect
	case v1alpha1.HTTPOptionEnabled, "":
		return Serve
	}
	in.report(finding.HTTPOptionUnknown, "spec.httpOption",
		"spec.httpOption %q is not known; write Enabled or Redirected. Requests without TLS are answered until then",
		in.ing.Spec.HTTPOption)
	return Serve
}

// hash is Knative's own, of the Ingress as it was read: whoever compares an
// answer computes it from the same object.
func hash(ing *v1alpha1.Ingress) string {
	sum, err := ingress.ComputeHash(ing)
	if err != nil {
		// A spec that came through JSON goes through JSON.
		panic(fmt.Sprintf("hashing %s/%s: %v", ing.Namespace, ing.Name, err))
	}
	return hex.EncodeToString(sum[:])
}

func keep(all map[string]string, keys ...string) []KV {
	kept := map[string]string{}
	for _, k := range keys {
		if v, ok := all[k]; ok {
			kept[k] = v
		}
	}
	return snapshot.Sorted(kept)
}

func ruleField(rule int) string { return fmt.Sprintf("spec.rules[%d]", rule) }

func pathField(rule, path int) string {
	return fmt.Sprintf("spec.rules[%d].http.paths[%d]", rule, path)
}

// scopes in the order in which their virtual hosts are listed.
var scopes = [...]Scope{config.External, config.Local}
