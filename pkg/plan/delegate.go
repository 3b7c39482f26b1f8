package plan

import (
	"slices"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
)

// delegated says of routes that they are for those who delegate; no Exposure is of this kind.
const delegated Kind = "delegate"

// delegates writes down the routes of each cluster-local host once more, where it is asked for, and
// those of a public one that no cluster-local one has. They are by host and not by routes, since
// others name them: a tag that comes to lead where the Route itself leads must not lose its delegate.
func (d *decider) delegates() {
	if d.model.Delegates {
		d.plan.Delegates = d.wouldDelegate()
	}
}

// wouldDelegate lists the delegates that there are if they are asked for.
func (d *decider) wouldDelegate() []Delegate {
	var out []Delegate
	first, local := d.ownHost(), map[string]bool{}
	for _, vh := range d.forMesh() {
		routes := d.routes(delegated, vh)
		key := model.RoutesKey(routes)
		if vh.Scope == config.External && local[key] {
			d.because(vh.Source, "no delegate", "a cluster-local host has the same routes, and its delegate serves any host")
			continue
		}
		local[key] = local[key] || vh.Scope == config.Local
		for _, h := range vh.Hosts {
			if slices.ContainsFunc(out, func(e Delegate) bool { return e.Host == h.Name }) {
				continue // a cluster-local rule names it too, and is what the mesh serves
			}
			e := Delegate{
				Name: delegateName(d.model.Name.Name, h.Name == first, out, h.Name), Host: h.Name,
				ExportTo: d.model.ExportTo, Routes: routes, Drops: d.drops(),
			}
			d.because(h.Name, "delegate "+e.Name, "delegates are asked for; nobody can ask for one by itself, so there is no proof of it")
			out = append(out, e)
		}
	}
	return out
}

// ownHost is the cluster-local host that the Ingress names first, or the public one if it has none,
// whether or not it can be served: that of the Route itself, as Serving writes them.
func (d *decider) ownHost() string {
	for _, c := range d.model.Claims {
		if c.Scope == config.Local {
			return c.Host.Name
		}
	}
	if len(d.model.Claims) == 0 {
		return ""
	}
	return d.model.Claims[0].Host.Name
}
