package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
)

// exposures is the mode table:
//
//	scope     gateways  exposures
//	External  some      ingress on those; in-cluster names also on mesh, and all with external-in-mesh
//	External  none      mesh
//	Local     some      local on those, and mesh
//	Local     none      mesh, and with the loopback local on the doors of external gateways
//
// A set of hosts with other routes is another exposure of the same kind, never a
// condition inside one: so no route can serve a host or an entry it was not
// written for.
func (d *decider) exposures() {
	for _, vh := range d.model.VirtualHosts {
		kind := Ingress
		if vh.Scope == config.Local {
			kind = Local
		}
		if len(d.gateways(vh.Scope)) > 0 {
			d.atGateways(kind, vh)
		}
	}
	d.behindDoors()
	for _, s := range d.inMesh() {
		for _, part := range s.apart() {
			d.expose(Mesh, []Entry{MeshEntry}, part)
		}
	}
	d.checkExternal()
}

func (d *decider) atGateways(kind Kind, vh model.VirtualHost) {
	hosts := slices.DeleteFunc(d.remaining(kind, vh.Hosts), func(h model.Host) bool { return h.OnlyMesh })
	if len(hosts) == 0 {
		return
	}
	s := share{first: hosts[0].Name}
	for _, h := range hosts {
		s.hosts = append(s.hosts, d.taken.take(kind, hostAt(kind, h).Names())...)
	}
	if len(s.hosts) == 0 {
		d.because(vh.Source, "not exposed as "+string(kind), "earlier rules name the same hosts")
		return
	}
	if len(d.entries(vh.Scope, s.hosts)) == 0 {
		// Nothing may be encoded as emptiness. The reason has been reported where the
		// gateways were looked at, or where the listener could not be made.
		reason := "no gateway can redirect its plain requests"
		if kind == Local {
			reason = "the world reaches the local gateways"
		}
		d.because(vh.Source, "not exposed as "+string(kind), reason)
		return
	}
	d.because(vh.Source, "exposed as "+string(kind), "gateways are configured for scope "+string(vh.Scope))
	s.routes = d.routes(kind, vh)
	for _, part := range s.apart() {
		d.expose(kind, d.entries(vh.Scope, part.hosts), part)
	}
}

// hostAt is a host as it is called at a kind of entry.
func hostAt(kind Kind, h model.Host) model.Host {
	if kind == Ingress {
		return h.Public()
	}
	return h
}

// names are sets of names by the kind of entry at which they are exposed already.
type names map[Kind]map[string]bool

// take gives those of the names that are free, and takes them: one rule may name what
// another means by an abbreviation.
func (n names) take(kind Kind, all []string) []string {
	if n[kind] == nil {
		n[kind] = map[string]bool{}
	}
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		taken := n[kind][name]
		n[kind][name] = true
		return taken
	})
}

func (d *decider) expose(kind Kind, entries []Entry, s share) {
	slices.Sort(s.hosts)
	e := Exposure{
		Kind: kind, Entries: entries, Hosts: slices.Compact(s.hosts), Routes: s.routes,
		// Serving and Knative's conformance tests probe through sidecars too. Behind the doors
		// of the loopback nobody asks.
		Probed: kind != Local || len(d.world.Local) > 0,
		Direct: kind == Mesh,
		Hash:   d.model.Hash,
	}
	if kind == Mesh {
		e.ExportTo, e.Drops = d.model.ExportTo, d.drops()
	}
	e.Name = exposureName(d.model.Name.Name, kind, d.plan.Exposures, s.first)
	e.Digest = digest(e)[:16]
	d.plan.Exposures = append(d.plan.Exposures, e)
}

// drops are request headers that sidecars send no further.
func (d *decider) drops() []string {
	if !loopsBack(d.world.Config.Istio) {
		return nil
	}
	return []string{MarkHeader}
}

// share is a set of names with one set of routes; first is the full name it is
// known by.
type share struct {
	first  string
	hosts  []string
	routes []model.Route
}

// apart divides a share so that no wildcard stands beside a name that it covers: Istio refuses a
// VirtualService of such. Who is covered by more wildcards comes later, since what covers a
// wildcard covers all that this does.
func (s share) apart() []share {
	var wild []string
	for _, h := range s.hosts {
		if strings.HasPrefix(h, "*") {
			wild = append(wild, h)
		}
	}
	if len(wild) == 0 {
		return []share{s}
	}
	depths := make([][]string, len(wild)+1)
	for _, h := range s.hosts {
		depth := 0
		for _, w := range wild {
			if w != h && covered([]string{w}, h) {
				depth++
			}
		}
		depths[depth] = append(depths[depth], h)
	}
	var parts []share
	for depth, hosts := range depths {
		switch {
		case len(hosts) == 0:
		case depth == 0 && slices.Contains(hosts, s.first):
			parts = append(parts, share{first: s.first, hosts: hosts, routes: s.routes})
		default:
			parts = append(parts, share{first: longest(hosts), hosts: hosts, routes: s.routes})
		}
	}
	return parts
}

// inMesh lists what sidecars serve. Istio keeps one virtual host per name, so each
// name appears once: cluster-local rules go first.
func (d *decider) inMesh() []share {
	var shares []share
	at, taken := map[string]int{}, map[string]bool{}
	for _, vh := range d.forMesh() {
		var first string
		var hosts []string
		for _, h := range d.remaining(Mesh, vh.Hosts) {
			if !d.reachesMesh(vh, h) {
				continue
			}
			if taken[h.Name] {
				d.because(h.Name, vh.Source+" not exposed in the mesh", "a cluster-local rule names the same host")
				continue
			}
			taken[h.Name] = true
			hosts = append(hosts, d.taken.take(Mesh, d.meshNames(h))...)
			first = cmp.Or(first, h.Name)
		}
		if len(hosts) == 0 {
			continue
		}
		routes := d.routes(Mesh, vh)
		key := model.RoutesKey(routes)
		if i, ok := at[key]; ok {
			shares[i].hosts = append(shares[i].hosts, hosts...)
			continue
		}
		at[key] = len(shares)
		shares = append(shares, share{first: first, hosts: hosts, routes: routes})
	}
	return shares
}

// forMesh orders virtual hosts: cluster-local ones first.
func (d *decider) forMesh() []model.VirtualHost {
	all := slices.Clone(d.model.VirtualHosts)
	slices.SortStableFunc(all, func(a, b model.VirtualHost) int {
		return strings.Compare(string(b.Scope), string(a.Scope))
	})
	return all
}

// reachesMesh says whether sidecars serve a host: a cluster-local one always, a
// public one if it is a name of the cluster's own domain, if no gateway serves it, or if
// config-istio asks for it.
func (d *decider) reachesMesh(vh model.VirtualHost, h model.Host) bool {
	switch {
	case h.OnlyMesh:
		d.because(h.Name, "exposed in the mesh", "a VirtualService of KServe's names it for sidecars and has no route there, and Istio puts ours before it")
	case vh.Scope == config.Local:
		d.because(h.Name, "exposed in the mesh", "cluster-local hosts are served by the callers' sidecars")
	case len(h.Short) > 0:
		d.because(h.Name, "exposed in the mesh", "a public rule names a host of the cluster's own domain")
	case d.world.Config.Istio.ExternalInMesh && len(d.world.External) > 0:
		d.because(h.Name, "exposed in the mesh", "external-in-mesh asks for it")
	case len(d.world.External) == 0:
		d.because(h.Name, "exposed in the mesh only", "no external gateway is configured")
	default:
		return false
	}
	return true
}

// meshNames are the names under which sidecars have to be told about a host. The
// abbreviations of a ClusterIP Service are known to Istio: to list them again would
// be a duplicate. It does not know those of a name without Service, and those of an
// ExternalName Service belong to its target.
func (d *decider) meshNames(h model.Host) []string {
	if len(h.Short) == 0 {
		return []string{h.Name}
	}
	if h.Elsewhere {
		d.because(h.Name, "abbreviations only", "a VirtualService of others has the full name")
		return h.Names()
	}
	if h.Backing == model.ClusterIPService {
		d.because(h.Name, "full name only", "a ClusterIP Service carries the name, so Istio adds the abbreviations")
		return []string{h.Name}
	}
	why := "no Service carries the name, so Istio does not know the abbreviations"
	if h.Backing == model.AliasService {
		why = "a Service of type ExternalName carries the name, and Istio gives the abbreviations to its target"
	}
	d.because(h.Name, "full name and abbreviations", why)
	return append([]string{h.Name}, h.Short...)
}

// checkExternal says once that the world cannot reach the public hosts.
func (d *decider) checkExternal() {
	hosts := d.publicHosts()
	if len(hosts) == 0 || len(d.world.External) > 0 {
		return
	}
	d.report(finding.NoExternalEntry, d.ingress(), "spec.rules",
		"no external gateway is configured, so public hosts are served to callers inside the mesh only: %s; configure external-gateways in %s to serve the world",
		finding.List(hosts), config.IstioConfigMap)
}
