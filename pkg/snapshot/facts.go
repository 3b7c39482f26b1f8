package snapshot

import (
	"maps"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// routeLabel is Serving's, on the Services it keeps for the names of a Route and its tags
// (pkg/reconciler/route/resources/service.go in knative.dev/serving).
const routeLabel = "serving.knative.dev/route"

// service reduces a Service to facts.
func service(r Reader, name types.NamespacedName) Service {
	s, found := r.Service(name)
	if !found {
		return Service{Name: name}
	}
	out := Service{
		Name:     name,
		Found:    true,
		Headless: s.Spec.ClusterIP == corev1.ClusterIPNone,
		Selector: Sorted(s.Spec.Selector),
	}
	out.Placeholder = placeholder(s)
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		out.ExternalName = s.Spec.ExternalName
	}
	for _, p := range s.Spec.Ports {
		out.Ports = append(out.Ports, Port{Name: p.Name, Number: p.Port, Target: p.TargetPort.IntVal})
	}
	return out
}

func placeholder(s *corev1.Service) bool {
	_, is := s.Labels[routeLabel]
	return is
}

// look adds the facts about the two objects of a gateway.
func (g *Gateway) look(r Reader) {
	object, found := r.Gateway(g.Name)
	if g.Found = found; found {
		g.Servers, g.PodLabels = servers(object), Sorted(object.Spec.GetSelector())
	}
	g.Pods = service(r, g.Service)
}

// servers reduces a Gateway object to facts.
func servers(g *istiov1.Gateway) []Server {
	out := make([]Server, 0, len(g.Spec.GetServers()))
	for _, s := range g.Spec.GetServers() {
		out = append(out, Server{
			Port:              s.GetPort().GetNumber(),
			Protocol:          strings.ToUpper(s.GetPort().GetProtocol()),
			Redirect:          s.GetTls().GetHttpsRedirect(),
			ClientCertificate: modeIn(s.GetTls(), v1alpha3.ServerTLSSettings_MUTUAL, v1alpha3.ServerTLSSettings_ISTIO_MUTUAL),
			Passthrough:       modeIn(s.GetTls(), v1alpha3.ServerTLSSettings_PASSTHROUGH, v1alpha3.ServerTLSSettings_AUTO_PASSTHROUGH),
			Bind:              s.GetBind(),
			Hosts:             hostsWithoutNamespace(s.GetHosts()),
		})
	}
	return out
}

// modeIn says whether TLS settings that are present have one of the modes; the
// zero value of the mode is PASSTHROUGH, so absence must not be read as a mode.
func modeIn(tls *v1alpha3.ServerTLSSettings, modes ...v1alpha3.ServerTLSSettings_TLSmode) bool {
	return tls != nil && !tls.GetHttpsRedirect() && slices.Contains(modes, tls.GetMode())
}

// hostsWithoutNamespace drops the namespace that a Gateway may put before a host
// to say whose VirtualServices may use it.
func hostsWithoutNamespace(hosts []string) []string {
	out := make([]string, 0, len(hosts))
	for _, h := range hosts {
		if _, host, ok := strings.Cut(h, "/"); ok {
			h = host
		}
		out = append(out, h)
	}
	return out
}

// Sorted turns a map into an ordered slice; nil for an empty one.
func Sorted(m map[string]string) []KV {
	var out []KV
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, KV{Key: k, Value: m[k]})
	}
	return out
}
