package doctor

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// checkUnrouted finds hosts that nobody in the mesh can call: those that a VirtualService of others
// keeps for routes which are not for sidecars, and names that a Service gives to the local
// gateway's, and that no VirtualService has.
func checkUnrouted(f *facts) []Finding {
	var out []Finding
	ours, named := f.hostsInMesh()
	for _, v := range f.VirtualServices {
		if v.Labels[ingressLabel] != "" || !forSidecars(v.Spec.GetGateways()) || len(v.Spec.GetHttp()) == 0 {
			continue
		}
		var hosts []string
		for _, h := range v.Spec.GetHosts() {
			host := f.full(h, v.Namespace)
			if !strings.HasPrefix(host, "*") && !ours[host] && !routedInSidecars(v, host) {
				hosts = append(hosts, host)
			}
		}
		if len(hosts) > 0 {
			out = append(out, finding(HostUnrouted, ref("VirtualService", v.Namespace, v.Name),
				"VirtualService %s names %s for sidecars and has no route for that there: callers in the mesh get 404", nameOf(v), strings.Join(unique(hosts), ", ")).
				mend("if it is KServe's and older than ours, delete it, and KServe writes a younger one, or name the namespaces that call in export-to; hosts of a pathTemplate are for gateways, so in the mesh call the InferenceService by its own name"))
		}
	}
	for _, s := range f.Services {
		if host := s.Name + "." + s.Namespace + ".svc." + f.ClusterDomain; f.leadsToLocalGateway(s) && !ours[host] && !named[host] {
			out = append(out, finding(NameGoesRound, ref("Service", s.Namespace, s.Name),
				"Service %s gives its name to the local gateway's, and no VirtualService for sidecars has %s: such calls go round, and end with 508, or with 404 at a local gateway", nameOf(s), host).
				mend("if KServe left it behind, delete it; or let KServe make its VirtualService"))
		}
	}
	return out
}

// before says whether a route of ours takes a host on purpose from a VirtualService that keeps it
// without a route, and is the older one or not seen.
func (f *facts) before(r Route, v *istiov1.VirtualService, host string) bool {
	return r.Mesh && len(v.Spec.GetHttp()) > 0 && !routedInSidecars(v, host) && !strings.HasSuffix(f.seniority(v, r), "older one")
}

// routedInSidecars says whether some route is for a host there, on whatever other conditions.
func routedInSidecars(v *istiov1.VirtualService, host string) bool {
	return slices.ContainsFunc(v.Spec.GetHttp(), func(r *v1alpha3.HTTPRoute) bool {
		return len(r.GetMatch()) == 0 || slices.ContainsFunc(r.GetMatch(), func(m *v1alpha3.HTTPMatchRequest) bool {
			return forSidecars(m.GetGateways()) && matchesText(m.GetAuthority(), host)
		})
	})
}

// hostsInMesh are those that routes of ours have in sidecars, and those that VirtualServices of
// whoever name there.
func (f *facts) hostsInMesh() (ours, named map[string]bool) {
	ours, named = map[string]bool{}, map[string]bool{}
	for _, r := range f.Routes {
		for _, h := range r.Hosts {
			if r.Mesh {
				ours[h] = true
			}
		}
	}
	for _, v := range f.VirtualServices {
		for _, h := range v.Spec.GetHosts() {
			if forSidecars(v.Spec.GetGateways()) {
				named[f.full(h, v.Namespace)] = true
			}
		}
	}
	return ours, named
}

// leadsToLocalGateway: the placeholders of routes do so too, and have routes of ours.
func (f *facts) leadsToLocalGateway(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeExternalName && strings.EqualFold(strings.TrimSuffix(s.Spec.ExternalName, "."), config.LocalGatewayHost(f.ClusterDomain))
}
