package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// checkApart finds local gateways that the world reaches, and reports them. Istio makes one
// listener of all Gateways at one port of a pod, with the routes of all of them: a request from
// outside needs no more than the name of a cluster-local host to get there. So nothing is
// exposed at such a gateway.
func (d *decider) checkApart() {
	d.open = map[types.NamespacedName]bool{}
	if !slices.ContainsFunc(d.model.VirtualHosts, func(vh model.VirtualHost) bool { return vh.Scope == config.Local }) {
		return
	}
	for _, g := range d.gateways(config.Local) {
		for _, e := range d.outside() {
			if !d.open[g.Name] && oneListener(g, e) {
				d.open[g.Name] = true
				d.report(finding.LocalGatewayPublic, gatewayRef(g), "",
					"local Gateway %s listens where external Gateway %s does, at one port of the same pods, so the world could call cluster-local hosts there; nothing is exposed there, callers' sidecars serve these hosts. Give Gateway %s a port of its own, and lead Service %s to it",
					g.Name, e.Name, g.Name, g.Service)
			}
		}
	}
}

// outside are the gateways that the world reaches.
func (d *decider) outside() []snapshot.Gateway {
	if len(d.world.Outside) > 0 {
		return d.world.Outside
	}
	return d.world.External
}

// oneListener says whether two gateways have, or may have, a listener in common.
func oneListener(a, b snapshot.Gateway) bool {
	if a.Name == b.Name {
		return true
	}
	if disjoint(slices.Concat(a.PodLabels, a.Pods.Selector), slices.Concat(b.PodLabels, b.Pods.Selector)) {
		return false
	}
	return slices.ContainsFunc(a.Servers, func(s snapshot.Server) bool {
		return slices.ContainsFunc(b.Servers, func(o snapshot.Server) bool {
			return (s.Port == o.Port || podPort(a.Pods, s.Port) == podPort(b.Pods, o.Port)) && (s.Bind == o.Bind || s.Bind == "" || o.Bind == "")
		})
	})
}

// podPort is the port of the pods at which a server listens: Istio takes the number for that of
// a Service's port if there is one.
func podPort(pods snapshot.Service, number uint32) uint32 {
	if p, leads := portOf(pods, number); leads && p.Target > 0 {
		return uint32(p.Target)
	}
	return number
}
