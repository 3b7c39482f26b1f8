package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// checkOthers tells of VirtualServices of nobody's Ingress that name for sidecars what is exposed
// to them. Of two Istio keeps one, as a whole, and leaves the host out of the other, so that no
// sidecar ever refuses its routes (BuildSidecarOutboundVirtualHosts of pilot/pkg/networking/core in
// istio/istio). Which one that is the proof shows.
func (d *decider) checkOthers() {
	for _, o := range d.world.Others {
		if o.Ingress != (types.NamespacedName{}) || private(o, d.model.Name.Namespace) {
			continue
		}
		var named []string
		for _, e := range d.plan.Exposures {
			for _, h := range e.Hosts {
				if e.Kind == Mesh && slices.Contains(o.Hosts, h) && !leftWithoutRoute(o, h) {
					named = append(named, h)
				}
			}
		}
		if len(named) > 0 {
			d.report(finding.HostNamedElsewhere, d.ingress(), "spec.rules",
				"VirtualService %s names %s for sidecars too, and Istio lets one of the two have it: what is told to the caller's namespace by name goes first, and then what is older. Remove the host from it, or its gateway mesh",
				o.Name, finding.List(named))
		}
	}
}

// private says whether a VirtualService is for callers of one other namespace alone, whose own
// affair it is.
func private(o snapshot.VirtualService, namespace string) bool {
	return o.Name.Namespace != namespace && len(o.ExportTo) > 0 && !slices.ContainsFunc(o.ExportTo, func(to string) bool {
		return to != "." && to != o.Name.Namespace && to != "~"
	})
}

// leftWithoutRoute says whether a VirtualService has no route for a host in sidecars, so that we
// serve it on purpose.
func leftWithoutRoute(o snapshot.VirtualService, host string) bool {
	return slices.ContainsFunc(o.Unrouted, func(l snapshot.Lead) bool { return l.Host == host })
}
