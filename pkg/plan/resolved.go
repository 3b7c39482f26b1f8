package plan

import (
	"github.com/net-mesh/net-mesh/pkg/model"
)

// routes chooses between the routes of a virtual host as they are written and as they come to
// where they lead to other routes. A local gateway routes a request once more; a sidecar that
// has routed it sends it on, and where there is no such gateway nobody routes it again. Whoever
// delegates may be a sidecar.
func (d *decider) routes(kind Kind, vh model.VirtualHost) []model.Route {
	if vh.Resolution == nil || kind != Mesh && kind != delegated && len(d.world.Local) > 0 {
		for _, r := range vh.Routes {
			d.findings = append(d.findings, r.Awaits...)
		}
		if vh.Resolution != nil {
			d.because(vh.Source, "led to other routes "+place(kind), "a local gateway is configured, which routes such requests once more")
		}
		return vh.Routes
	}
	reason := "a sidecar routes a request once"
	if kind != Mesh && kind != delegated {
		reason = "no local gateway is configured, so nothing routes such a request once more"
	}
	for _, t := range vh.Resolution.Targets {
		d.because(t.Path, "composed with host "+t.Host+" of Ingress "+t.Ingress.String()+" "+place(kind), reason)
	}
	d.findings = append(d.findings, vh.Resolution.Faults...)
	return vh.Resolved()
}
