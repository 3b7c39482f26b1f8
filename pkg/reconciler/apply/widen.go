package apply

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// meshGateway is Istio's word for every sidecar.
const meshGateway = "mesh"

// widened lets each VirtualService keep the hosts and gateways it has until the new ones
// are proven, except for those that another one of the Set takes over and hosts that are
// not asked for or another owner has.
func (w *Writer) widened(owner Owner, set resources.Set) []*istiov1.VirtualService {
	wanted := set.VirtualServices
	out := make([]*istiov1.VirtualService, 0, len(wanted))
	for _, want := range wanted {
		have, found := w.virtualServices.get(want)
		if !found || !controls(owner, have, want) || limitsGateways(have) {
			out = append(out, want)
			continue
		}
		next := want.DeepCopy()
		next.Spec.Gateways = union(want.Spec.Gateways, free(have.Spec.Gateways, wanted, gatewaysOf))
		next.Spec.Hosts = union(want.Spec.Hosts, allowed(free(have.Spec.Hosts, wanted, hostsOf), next.Spec.Gateways, set))
		out = append(out, next)
	}
	return out
}

// former lists the gateways at which VirtualServices of the owner serve and are no longer wanted:
// those that are there, and those that have gone, where nobody is served any more. Gateways in the
// namespace of the owner are listeners of its own, which come and go with it, and say nothing.
func (w *Writer) former(owner Owner, widened []*istiov1.VirtualService, set resources.Set) (kept, lost []string) {
	for _, v := range slices.Concat(widened, w.virtualServices.stale(owner, set.VirtualServices)) {
		if len(allowed(v.Spec.Hosts, gatewaysOf(v), set)) == 0 {
			continue
		}
		for _, gateway := range free(gatewaysOf(v), set.VirtualServices, gatewaysOf) {
			if _, there, _ := w.gateways.cached.GetByKey(gateway); there || gateway == meshGateway {
				kept = append(kept, gateway)
			} else if namespace, _, _ := strings.Cut(gateway, "/"); namespace != owner.GetObjectMeta().GetNamespace() {
				lost = append(lost, gateway)
			}
		}
	}
	return sorted(kept), sorted(lost)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// widenedGateways lets each Gateway go on ending TLS as it does, until nothing is awaited:
// the Secret of a certificate may be gone for a moment only. A redirect is not kept, it
// would answer in place of what is to be proven.
func (w *Writer) widenedGateways(owner Owner, set resources.Set) []*istiov1.Gateway {
	out := make([]*istiov1.Gateway, 0, len(set.Gateways))
	for _, want := range set.Gateways {
		have, found := w.gateways.get(want)
		if !found || !controls(owner, have, want) {
			out = append(out, want)
			continue
		}
		next := want.DeepCopy()
		for _, server := range asked(have.Spec.Servers, set) {
			if server.GetTls().GetCredentialName() != "" && !hasServer(want, server.GetPort().GetName()) {
				next.Spec.Servers = append(next.Spec.Servers, server)
			}
		}
		out = append(out, next)
	}
	return out
}

// differ says whether any of some objects differs from the one in its place.
func (k kind[T]) differ(some, others []T) bool {
	return !slices.EqualFunc(some, others, k.same)
}

func hasServer(g *istiov1.Gateway, name string) bool {
	return slices.ContainsFunc(g.Spec.Servers, func(s *v1alpha3.Server) bool { return s.GetPort().GetName() == name })
}

// limitsGateways recognises net-istio's VirtualServices: their routes say for themselves
// at which gateways they hold, so a host kept with our routes would be served at all.
func limitsGateways(v *istiov1.VirtualService) bool {
	for _, route := range v.Spec.Http {
		for _, match := range route.Match {
			if len(match.Gateways) > 0 {
				return true
			}
		}
	}
	return false
}

func hostsOf(v *istiov1.VirtualService) []string { return v.Spec.Hosts }

// gatewaysOf are none of a delegate: it is served where those are that delegate to it.
func gatewaysOf(v *istiov1.VirtualService) []string {
	if len(v.Spec.Gateways) == 0 && !isDelegate(v) {
		return []string{meshGateway}
	}
	return v.Spec.Gateways
}

// isDelegate recognises a VirtualService by which others delegate, as Istio does.
func isDelegate(v *istiov1.VirtualService) bool { return len(v.Spec.Hosts) == 0 }

// free lists the names that no wanted object claims.
func free(names []string, wanted []*istiov1.VirtualService, of func(*istiov1.VirtualService) []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(wanted, func(v *istiov1.VirtualService) bool { return slices.Contains(of(v), name) })
	})
}

// union keeps the order of want and appends the rest, so that a second pass changes
// nothing.
func union(want, rest []string) []string {
	out := slices.Clone(want)
	for _, name := range rest {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
