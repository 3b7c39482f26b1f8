package plan

import "k8s.io/apimachinery/pkg/types"

// grants are claims that were granted, found by the names of their hosts, since an Ingress
// may have thousands.
type grants struct {
	all    []claim
	byName map[string][]int
	// places of this Ingress' own claims by the field they are written in.
	places map[string][]string
}

func newGrants() *grants { return &grants{byName: map[string][]int{}, places: map[string][]string{}} }

func (g *grants) add(c claim) {
	for _, name := range c.host.Names() {
		g.byName[name] = append(g.byName[name], len(g.all))
	}
	g.all = append(g.all, c)
	if c.source != "" {
		g.places[c.source] = append(g.places[c.source], place(c.kind))
	}
}

// meeting returns the claim of another Ingress that was granted first of those that meet one.
func (g *grants) meeting(c claim) (claim, bool) {
	first := len(g.all)
	for _, name := range c.host.Names() {
		for _, i := range g.byName[name] {
			if i < first && g.all[i].by != c.by && g.all[i].meets(c) {
				first = i
			}
		}
	}
	if first == len(g.all) {
		return claim{}, false
	}
	return g.all[first], true
}

// loss is what one field loses to one Ingress.
type loss struct {
	of, to claim
	places []string
}

// losses are told once for each field and Ingress.
type losses struct {
	all []loss
	at  map[lossKey]int
}

type lossKey struct {
	source string
	to     types.NamespacedName
}

func (l *losses) add(of, to claim) {
	key := lossKey{of.source, to.by}
	i, ok := l.at[key]
	if !ok {
		i = len(l.all)
		l.at[key] = i
		l.all = append(l.all, loss{of: of, to: to})
	}
	l.all[i].places = append(l.all[i].places, place(of.kind))
}
