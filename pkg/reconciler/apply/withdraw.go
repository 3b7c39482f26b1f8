package apply

import (
	"context"
	"errors"
	"slices"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// withdraw takes away of what is stale all that need not wait for a proof, whatever else
// is awaited: hosts that are not asked for any more or that another owner has, and what
// stands in the way of the proof. A host that only moves, say from a gateway to the mesh, stays. So
// does a delegate, which has no hosts and is in nobody's way: others may still delegate to it.
func (w *Writer) withdraw(ctx context.Context, owner Owner, set resources.Set, c *Changes) error {
	return errors.Join(
		w.virtualServices.shrink(ctx, owner, c, w.virtualServices.stale(owner, set.VirtualServices), func(old *istiov1.VirtualService) (*istiov1.VirtualService, bool) {
			if isDelegate(old) {
				return old, true
			}
			next := old.DeepCopy()
			next.Spec.Hosts = allowed(old.Spec.Hosts, gatewaysOf(old), set)
			return next, len(next.Spec.Hosts) > 0 && !superseded(old, set.VirtualServices)
		}),
		w.gateways.shrink(ctx, owner, c, w.gateways.stale(owner, set.Gateways), func(old *istiov1.Gateway) (*istiov1.Gateway, bool) {
			next := old.DeepCopy()
			next.Spec.Servers = slices.DeleteFunc(asked(old.Spec.Servers, set), func(s *v1alpha3.Server) bool {
				return inTheWay(old, s, slices.Concat(set.Gateways, set.SharedGateways))
			})
			return next, len(next.Spec.Servers) > 0
		}))
}

// shrink leaves of objects what rest gives, or deletes those of which nothing is left.
func (k kind[T]) shrink(ctx context.Context, owner Owner, c *Changes, objects []T, rest func(T) (T, bool)) error {
	var errs []error
	for _, have := range objects {
		if next, left := rest(have); left {
			var what Changes // what is written is nothing to be proven, and what is left goes in the end
			errs = append(errs, k.update(ctx, owner, have, next, next, &what))
			c.Contested = append(c.Contested, what.Contested...)
			continue
		}
		err := k.remove(ctx, owner, []T{have})
		if err == nil {
			c.Stale = slices.DeleteFunc(c.Stale, func(ref finding.Ref) bool { return ref == k.ref(have) })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// allowed keeps of hosts those that are asked for, and that no other owner has at one of
// the gateways.
func allowed(hosts, gateways []string, set resources.Set) []string {
	return slices.DeleteFunc(common(hosts, set.Asked.Hosts), func(host string) bool {
		return slices.ContainsFunc(set.Yields, func(y plan.Yield) bool {
			return slices.Contains(y.Hosts, host) &&
				slices.ContainsFunc(y.Entries, func(e plan.Entry) bool { return slices.Contains(gateways, string(e)) })
		})
	})
}

// asked gives what is left of a Gateway's servers. TLS is asked for by itself.
func asked(servers []*v1alpha3.Server, set resources.Set) []*v1alpha3.Server {
	var out []*v1alpha3.Server
	for _, s := range servers {
		next, hosts := s.DeepCopy(), set.Asked.Hosts
		if s.GetTls().GetCredentialName() != "" {
			hosts = set.Asked.TLS
		}
		next.Hosts = slices.DeleteFunc(common(s.Hosts, hosts), func(host string) bool { return yielded(host, set) })
		if len(next.Hosts) > 0 {
			out = append(out, next)
		}
	}
	return out
}

// yielded says whether another owner has a host at the gateways of its kind.
func yielded(host string, set resources.Set) bool {
	return slices.ContainsFunc(set.Yields, func(y plan.Yield) bool { return y.Kind != plan.Mesh && slices.Contains(y.Hosts, host) })
}

// superseded says whether a stale VirtualService stands in the way of the proof: Istio
// would go on serving a host from the older of two objects that claim it.
func superseded(old *istiov1.VirtualService, wanted []*istiov1.VirtualService) bool {
	return slices.ContainsFunc(wanted, func(v *istiov1.VirtualService) bool {
		return len(common(old.Spec.Hosts, v.Spec.Hosts)) > 0 && len(common(gatewaysOf(old), gatewaysOf(v))) > 0
	})
}

// inTheWay says whether a server of a stale Gateway stands in the way of the proof: where
// two end TLS for a host at one port of the same pods, Istio keeps to the older. So it is
// with Gateways of net-istio that have other names than ours.
func inTheWay(old *istiov1.Gateway, s *v1alpha3.Server, wanted []*istiov1.Gateway) bool {
	return s.GetTls().GetCredentialName() != "" && slices.ContainsFunc(wanted, func(g *istiov1.Gateway) bool {
		return (within(old.Spec.Selector, g.Spec.Selector) || within(g.Spec.Selector, old.Spec.Selector)) &&
			slices.ContainsFunc(g.Spec.Servers, func(w *v1alpha3.Server) bool {
				return w.GetPort().GetNumber() == s.GetPort().GetNumber() && len(common(s.Hosts, w.Hosts)) > 0
			})
	})
}

// common keeps of names those that are in others.
func common(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(s string) bool { return !slices.Contains(others, s) })
}
