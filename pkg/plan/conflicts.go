package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// claim is one host at one kind of entry, claimed by one Ingress.
type claim struct {
	by      types.NamespacedName
	created metav1.Time
	host    model.Host
	// source is the field it is written in; empty for claims of others.
	source string
	kind   Kind
	// gateways of the kind; none for the mesh.
	gateways []config.Gateway
}

// settle finds out which hosts other Ingresses have. Istio would decide by the age of
// VirtualServices, and otherwise at gateways than in sidecars: so no two of ours may ever
// claim one host at one entry. Every Ingress concerned comes to the same result by itself:
// claims are granted in one order, each unless it meets one that was granted before.
func (d *decider) settle() {
	if len(d.model.Rivals) == 0 {
		return
	}
	all, granted, lost := d.claims(), newGrants(), losses{at: map[lossKey]int{}}
	for _, c := range all {
		to, met := granted.meeting(c)
		switch {
		case !met:
			granted.add(c)
		case c.by == d.model.Name:
			d.yield(c, to)
			lost.add(c, to)
		case to.by == d.model.Name:
			d.because(c.host.Name, "kept "+place(c.kind), fmt.Sprintf("Ingress %s claims it too, but this one %s", c.by, to.before(c)))
		}
	}
	for _, l := range lost.all {
		d.report(finding.HostConflict, d.ingress(), l.of.source,
			"host %s is not served %s: Ingress %s claims it too, %s and has it there; %suse another host, or remove it from that Ingress",
			l.of.host.Name, strings.Join(l.places, " and "), l.to.by, l.to.before(l.of), servedStill(granted.places[l.of.source]))
	}
	d.ask(all)
}

// claims lists those of this Ingress and of its rivals, those first that prevail.
func (d *decider) claims() []claim {
	var all []claim
	for _, c := range d.model.Claims {
		of := claim{by: d.model.Name, created: d.model.Created, host: c.Host, source: c.Source}
		all = append(all, of.at(c.Scope, configured(d.world.External), configured(d.world.Local), d.world.Config.Istio.ExternalInMesh)...)
	}
	for _, r := range d.model.Rivals {
		of := claim{by: r.Ingress, created: r.Created, host: r.Host}
		external, local := d.offered(r.Ingress)
		all = append(all, of.at(r.Scope, external, local, d.world.Config.Istio.ExternalInMesh)...)
	}
	slices.SortStableFunc(all, claim.compare)
	return all
}

// at makes a claim one for each kind of entry, by the mode table.
func (c claim) at(scope model.Scope, external, local []config.Gateway, externalInMesh bool) []claim {
	var out []claim
	add := func(kind Kind, gateways []config.Gateway) {
		one := c
		one.kind, one.gateways, one.host = kind, gateways, hostAt(kind, c.host)
		out = append(out, one)
	}
	switch {
	case c.host.OnlyMesh:
		add(Mesh, nil)
	case scope == config.Local:
		if len(local) > 0 {
			add(Local, local)
		}
		add(Mesh, nil)
	case len(external) == 0:
		add(Mesh, nil)
	default:
		add(Ingress, external)
		if len(c.host.Short) > 0 || externalInMesh {
			add(Mesh, nil)
		}
	}
	return out
}

// compare puts the claim first that prevails. A name that DNS could take for a Service
// belongs to the Ingress of the Service's namespace first, so nobody can take it from there
// by being early. Then the older Ingress comes first, and one that the API server has not
// seen yet last.
func (c claim) compare(o claim) int {
	return cmp.Or(
		cmp.Compare(rank(len(o.host.Short) > 0), rank(len(c.host.Short) > 0)),
		cmp.Compare(rank(c.created.IsZero()), rank(o.created.IsZero())),
		c.created.Compare(o.created.Time),
		strings.Compare(c.by.Namespace, o.by.Namespace),
		strings.Compare(c.by.Name, o.by.Name),
	)
}

// place says in words where the entries of a kind are.
func place(k Kind) string {
	switch k {
	case Ingress:
		return "at the external gateways"
	case Local:
		return "at the local gateways"
	case delegated:
		return "for those who delegate"
	}
	return "in the mesh"
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// before says in words why a claim prevails over another; the Ingress is the subject.
func (c claim) before(o claim) string {
	switch {
	case len(c.host.Short) > 0 && len(o.host.Short) == 0:
		return "is in the namespace in which DNS looks for a Service of this name"
	case c.created.Equal(&o.created):
		return "comes first by name (neither is older)"
	}
	return "is older"
}

// meets says whether two claims are to one host at one entry. Gateways with one Service
// before their pods share what these serve.
func (c claim) meets(o claim) bool {
	if !c.host.Meets(o.host) {
		return false
	}
	if c.kind == Mesh || o.kind == Mesh {
		return c.kind == o.kind
	}
	return slices.ContainsFunc(c.gateways, func(g config.Gateway) bool {
		return slices.ContainsFunc(o.gateways, func(h config.Gateway) bool {
			return g.Name == h.Name || c.kind == o.kind && g.Service == h.Service
		})
	})
}

// yield leaves a host to another Ingress.
func (d *decider) yield(c, to claim) {
	if d.yields(c.kind, c.host.Name) {
		return
	}
	// Behind the doors of the loopback hosts are whose they are in the mesh.
	y := Yield{Hosts: c.host.Names(), Kind: c.kind, Entries: append([]Entry{MeshEntry}, d.doors()...), To: to.by}
	if c.kind != Mesh {
		y.Entries = nil
		for _, g := range c.gateways {
			y.Entries = append(y.Entries, Entry(g.Name.String()))
		}
	}
	d.plan.Yields = append(d.plan.Yields, y)
	if d.yielded == nil {
		d.yielded = map[yieldedName]bool{}
	}
	for _, name := range y.Hosts {
		d.yielded[yieldedName{y.Kind, name}] = true
	}
	d.because(c.host.Name, "not served "+place(c.kind), fmt.Sprintf("Ingress %s claims it too, and %s", to.by, to.before(c)))
}

// yieldedName is a name that another Ingress has at a kind of entry.
type yieldedName struct {
	kind Kind
	name string
}

// servedStill says where the host of a field is served although it was lost elsewhere.
func servedStill(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return "it is served " + strings.Join(places, " and ") + "; "
}

// ask no longer asks for what another Ingress has, so that nothing older of this one goes
// on serving it.
func (d *decider) ask(all []claim) {
	var hosts []string
	for _, c := range all {
		if c.by == d.model.Name && !d.yields(c.kind, c.host.Name) {
			hosts = append(hosts, c.host.Names()...)
		}
	}
	slices.Sort(hosts)
	d.plan.Asked = model.Asked{Hosts: slices.Compact(hosts), TLS: d.kept(Local, d.kept(Ingress, d.plan.Asked.TLS))}
}

// kept keeps those of some names that no other Ingress has at a kind of entry.
func (d *decider) kept(kind Kind, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return d.yields(kind, name) })
}

// yields says whether another Ingress has a name at a kind of entry.
func (d *decider) yields(kind Kind, name string) bool {
	return d.yielded[yieldedName{kind, name}]
}

// remaining are the hosts of a virtual host that no other Ingress has at a kind of entry.
func (d *decider) remaining(kind Kind, hosts []model.Host) []model.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h model.Host) bool { return d.yields(kind, h.Name) })
}

func (d *decider) offered(ingress types.NamespacedName) (external, local []config.Gateway) {
	i, found := slices.BinarySearchFunc(d.world.Neighbours, ingress, func(n snapshot.Neighbour, name types.NamespacedName) int {
		return cmp.Or(strings.Compare(n.Name.Namespace, name.Namespace), strings.Compare(n.Name.Name, name.Name))
	})
	if !found {
		return nil, nil
	}
	return d.world.Neighbours[i].External, d.world.Neighbours[i].Local
}

func configured(gateways []snapshot.Gateway) []config.Gateway {
	out := make([]config.Gateway, 0, len(gateways))
	for _, g := range gateways {
		out = append(out, g.Gateway)
	}
	return out
}
