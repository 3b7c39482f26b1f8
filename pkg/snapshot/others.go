package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// meshGateway is Istio's word for all sidecars in a list of gateways.
const meshGateway = "mesh"

// VirtualService holds the facts about one for sidecars that names hosts of an Ingress. Of several
// that name one host a sidecar keeps one: first those of the caller's namespace that are told
// nowhere else, then those that name that namespace, then those for all, and of these the oldest
// (SelectVirtualServices of pilot/pkg/model in istio/istio).
type VirtualService struct {
	Name    types.NamespacedName
	Created metav1.Time
	// ExportTo is as it is written; nil leaves it to the mesh.
	ExportTo []string
	// Hosts are full names and wildcards in lower case, sorted.
	Hosts []string
	// Ingress is the one whose it is; zero for those of others.
	Ingress types.NamespacedName
	// Unrouted are hosts for which it has no route in sidecars, and one at gateways. Sidecars keep
	// its hosts nevertheless, and answer 404.
	Unrouted []Lead
}

// Lead is a host, and the one by which a VirtualService sends its requests on.
type Lead struct{ Host, To string }

// MeshHostKeys lists the keys of the hosts that a VirtualService names for sidecars, sorted.
func MeshHostKeys(vs *istiov1.VirtualService) []string {
	if !forSidecars(vs.Spec.GetGateways()) {
		return nil
	}
	var keys []string
	for _, h := range vs.Spec.GetHosts() {
		keys = append(keys, HostKey(completed(h, vs.Namespace, "")))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// others gathers VirtualServices for sidecars that name hosts of an Ingress and are of nobody's
// Ingress; and all that name the InferenceService which it serves, or a host that KServe leaves
// without a route there.
func others(rec *Recorder, cfg config.Config, ing *v1alpha1.Ingress, of types.NamespacedName) []VirtualService {
	found := map[types.NamespacedName]VirtualService{}
	look := func(key string, all bool) {
		for _, vs := range rec.VirtualServices(key) {
			if o := virtualService(cfg, vs, of); all || o.Ingress == (types.NamespacedName{}) {
				found[o.Name] = o
			}
		}
	}
	for _, key := range HostKeys(claims(ing)) {
		look(key, false)
	}
	if of != (types.NamespacedName{}) {
		look(serviceKey(of), true)
		for _, l := range found[of].Unrouted {
			look(HostKey(l.Host), true)
		}
	}
	var out []VirtualService
	for _, o := range found {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b VirtualService) int { return compareNames(a.Name, b.Name) })
	return out
}

// virtualService reduces one to facts. Only of that of an InferenceService the routes are looked at.
func virtualService(cfg config.Config, vs *istiov1.VirtualService, of types.NamespacedName) VirtualService {
	out := VirtualService{
		Name: nameOf(vs), Created: vs.CreationTimestamp,
		ExportTo: slices.Clone(vs.Spec.GetExportTo()),
	}
	if name := ingressOf(vs); name != "" {
		out.Ingress = types.NamespacedName{Namespace: vs.Namespace, Name: name}
	}
	for _, h := range vs.Spec.GetHosts() {
		out.Hosts = append(out.Hosts, completed(h, vs.Namespace, cfg.ClusterDomain))
	}
	slices.Sort(out.Hosts)
	out.Hosts = slices.Compact(out.Hosts)
	if out.Name == of {
		out.Unrouted = unrouted(vs.Spec.GetHttp(), out.Hosts)
	}
	return out
}

// ingressOf names the Ingress whose a VirtualService is, by its owner: a label anybody may write, and
// the garbage collector sees to it that an owner is none that is not there.
func ingressOf(vs *istiov1.VirtualService) string {
	owner := metav1.GetControllerOf(vs)
	if owner != nil && owner.Kind == "Ingress" && strings.HasPrefix(owner.APIVersion, v1alpha1.SchemeGroupVersion.Group+"/") {
		return owner.Name
	}
	return ""
}

// completed is a host as Istio reads it: only one without a dot is short for a Service.
func completed(host, namespace, clusterDomain string) string {
	if !strings.Contains(host, ".") && host != "*" {
		host += "." + namespace + ".svc." + clusterDomain
	}
	return strings.ToLower(host)
}

// unrouted finds hosts that no route fits in sidecars, though one does at gateways that asks for
// nothing but the host. A sidecar makes a virtual host of each host of a VirtualService, with
// those of its routes that are for sidecars, whatever hosts these ask for
// (buildSidecarVirtualHostsForVirtualService of pilot/pkg/networking/core/route in istio/istio). One
// that is larger than any of KServe's, or that is not understood, has none.
func unrouted(routes []*v1alpha3.HTTPRoute, hosts []string) []Lead {
	read, understood := expressionsOf(routes, len(hosts))
	if !understood {
		return nil
	}
	var out []Lead
	for _, h := range hosts {
		if slices.ContainsFunc(routes, func(r *v1alpha3.HTTPRoute) bool { return read.fitsInSidecars(r, h) }) {
			continue
		}
		if i := slices.IndexFunc(routes, func(r *v1alpha3.HTTPRoute) bool { return read.fitsAtGateways(r, h) }); i >= 0 {
			out = append(out, Lead{Host: h, To: rewritten(routes[i])})
		}
	}
	return out
}

func (e expressions) fitsInSidecars(r *v1alpha3.HTTPRoute, host string) bool {
	return len(r.GetMatch()) == 0 || slices.ContainsFunc(r.GetMatch(), func(m *v1alpha3.HTTPMatchRequest) bool {
		return forSidecars(m.GetGateways()) && e.fits(m.GetAuthority(), host)
	})
}

// fitsAtGateways passes over what asks for more than the host: by paths one host may be of many.
func (e expressions) fitsAtGateways(r *v1alpha3.HTTPRoute, host string) bool {
	return slices.ContainsFunc(r.GetMatch(), func(m *v1alpha3.HTTPMatchRequest) bool {
		return !forSidecars(m.GetGateways()) && m.GetAuthority() != nil && e.fits(m.GetAuthority(), host) &&
			m.GetUri() == nil && m.GetMethod() == nil && len(m.GetHeaders())+len(m.GetWithoutHeaders())+len(m.GetQueryParams()) == 0
	})
}

// forSidecars: no gateways mean sidecars, of a VirtualService, and all that it is for, of a rule.
func forSidecars(gateways []string) bool {
	return len(gateways) == 0 || slices.Contains(gateways, meshGateway)
}

// fits compares as Envoy does: a regular expression has to fit the whole.
func (e expressions) fits(m *v1alpha3.StringMatch, text string) bool {
	switch {
	case m == nil:
		return true
	case m.GetExact() != "":
		return m.GetExact() == text
	case m.GetPrefix() != "":
		return strings.HasPrefix(text, m.GetPrefix())
	}
	whole := e[m.GetRegex()]
	return whole != nil && whole.MatchString(text)
}

// rewritten is the host that a route replaces the request's by, in its rewrite or in a header.
func rewritten(r *v1alpha3.HTTPRoute) string {
	set := r.GetHeaders().GetRequest().GetSet()
	return strings.ToLower(cmp.Or(r.GetRewrite().GetAuthority(), set["Host"], set["host"], set[":authority"]))
}
