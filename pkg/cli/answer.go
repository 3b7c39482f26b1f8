package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// answer is what becomes of one request.
type answer struct {
	URL    string `json:"url"`
	Host   string `json:"host"`
	Path   string `json:"path"`
	Routed bool   `json:"routed"`
	// Ways has one for each entry that has the host.
	Ways []way `json:"ways"`
	// Because says why there is no way at all.
	Because []string `json:"because,omitempty"`
	// Decisions are those of the Plans that concern the host.
	Decisions []decision `json:"decisions"`
	// Findings are those about rules that name the host; a route may exist and yet lead
	// nowhere.
	Findings []shownFinding `json:"findings"`
}

// way is what happens to the request at one entry.
type way struct {
	Entry          plan.Entry `json:"entry"`
	Ingress        string     `json:"ingress"`
	VirtualService string     `json:"virtualService"`
	Outcome        outcome    `json:"outcome"`
	// Because says why it is not Routed, or what is not known though it is.
	Because string `json:"because,omitempty"`
	// Field of the Ingress in which the route was written.
	Field string       `json:"field,omitempty"`
	Route *model.Route `json:"route,omitempty"`
}

type outcome string

const (
	routed     outcome = "Routed"
	redirected outcome = "Redirected"
	noRoute    outcome = "NoRoute"    // the host is served, not this path with these headers
	noListener outcome = "NoListener" // the entry does not take the scheme
)

// decision is one of a Plan, with the Ingress it was made for.
type decision struct {
	Ingress string `json:"ingress"`
	plan.Decision
}

// claim is an Exposure that has the request's host at an entry.
type claim struct {
	by       translated
	exposure plan.Exposure
	served   model.VirtualHost
}

func (w *world) explain(q question) answer {
	a := answer{URL: q.url, Host: q.request.Host, Path: q.request.Path, Ways: []way{}, Decisions: []decision{}, Findings: shown(w.findingsAbout(q.request.Host))}
	for _, entry := range w.entries(q.via) {
		if best, ok := w.claimant(entry, q.request.Host); ok {
			a.Ways = append(a.Ways, best.follow(entry, q))
		}
	}
	a.Routed = slices.ContainsFunc(a.Ways, func(one way) bool { return one.Outcome == routed })
	if len(a.Ways) == 0 {
		a.Because = w.whyNone(q)
	}
	for _, t := range w.ingresses {
		a.Decisions = append(a.Decisions, t.decisions(q, a.Ways)...)
	}
	return a
}

// entries are those of all Exposures, the mesh first, or the one that is asked for.
func (w *world) entries(via plan.Entry) []plan.Entry {
	if via != "" {
		return []plan.Entry{via}
	}
	var gateways []plan.Entry
	for _, t := range w.ingresses {
		for _, e := range t.Plan.Exposures {
			if e.Kind != plan.Mesh {
				gateways = append(gateways, e.Entries...)
			}
		}
	}
	slices.Sort(gateways)
	return append([]plan.Entry{plan.MeshEntry}, slices.Compact(gateways)...)
}

// claimant finds who has a host at an entry: the most specific of those that cover it. No
// two Ingresses are given the same.
func (w *world) claimant(entry plan.Entry, host string) (claim, bool) {
	var best claim
	length := -1
	for _, t := range w.ingresses {
		for _, e := range t.Plan.Exposures {
			served := t.at(entry, e)
			if n := served.Covers(host); n > length {
				best, length = claim{t, e, served}, n
			}
		}
	}
	return best, length >= 0
}

// at says an Exposure as a virtual host, so that the Model's own meaning answers what
// it takes; one without hosts if it is not at the entry. To a sidecar Istio adds the
// abbreviations of names that ClusterIP Services carry.
func (t translated) at(entry plan.Entry, e plan.Exposure) model.VirtualHost {
	vh := model.VirtualHost{Routes: e.Routes}
	if !slices.Contains(e.Entries, entry) {
		return vh
	}
	for _, name := range e.Hosts {
		host := model.Host{Name: name}
		if entry == plan.MeshEntry {
			host.Short = t.added(name)
		}
		vh.Hosts = append(vh.Hosts, host)
	}
	return vh
}

func (t translated) added(name string) []string {
	for _, vh := range t.Model.VirtualHosts {
		for _, h := range vh.Hosts {
			if h.Name == name && h.Backing == model.ClusterIPService {
				return h.Short
			}
		}
	}
	return nil
}

// follow says what the Exposure does with the request.
func (c claim) follow(entry plan.Entry, q question) way {
	name := c.by.Model.Name
	one := way{Entry: entry, Ingress: name.String(), VirtualService: name.Namespace + "/" + c.exposure.Name}
	one.Outcome, one.Because = c.by.listen(entry, q)
	if one.Outcome != routed {
		return one
	}
	route, ok := c.served.Match(q.request)
	if !ok {
		one.Outcome = noRoute
		one.Because = "the host is served, but none of its routes takes this path with these headers; they take " + conditions(c.served.Routes)
		return one
	}
	one.Route = &route
	one.Field = fmt.Sprintf("spec.rules[%d].http.paths[%d]", route.Source.Rule, route.Source.Path)
	return one
}

func conditions(routes []model.Route) string {
	var all []string
	for _, r := range routes {
		all = append(all, condition(r.Match))
	}
	return strings.Join(all, "; or ")
}

func condition(m model.Match) string {
	words := "any path"
	if m.PathPrefix != "" {
		words = "paths that begin with " + m.PathPrefix
	}
	for i, h := range m.Headers {
		words += []string{" with ", " and "}[min(i, 1)] + h.Key + ": " + h.Value
	}
	return words
}
