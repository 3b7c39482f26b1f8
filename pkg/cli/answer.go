package cli

import (
	"fmt"
	"slices"

	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// schemaName names the structure of an answer's JSON. Fields may be added to it; a change of
// meaning gets another name.
const schemaName = "netmesh.explain/v1"

// answer is what becomes of one request. Its JSON is described in docs/netmesh.md.
type answer struct {
	Schema string `json:"schema"`
	URL    string `json:"url"`
	// From is the caller, where it is given.
	From *caller `json:"from,omitempty"`
	// Host is the one that is asked for, in full where it was an abbreviation.
	Host   string `json:"host"`
	Path   string `json:"path"`
	Routed bool   `json:"routed"`
	// Ways has one for each entry that has the host.
	Ways []way `json:"ways"`
	// Because says why there is no way at all.
	Because []string `json:"because,omitempty"`
	// Notes are worth knowing, of all ways.
	Notes []string `json:"notes,omitempty"`
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
	Field string `json:"field,omitempty"`
	Route *route `json:"route,omitempty"`
	// Led is what leads the request to the local gateway's name first, for which the caller's
	// sidecar stands in and routes it once more.
	Led *doctor.Led `json:"led,omitempty"`
	// Blocker is what keeps the entry from serving the caller, surely or maybe.
	Blocker *doctor.Blocker `json:"blocker,omitempty"`
}

type outcome string

const (
	routed     outcome = "Routed"
	redirected outcome = "Redirected"
	noRoute    outcome = "NoRoute"    // the host is served, not this path with these headers
	noListener outcome = "NoListener" // the entry does not take the scheme
	hidden     outcome = "Hidden"     // the caller's sidecar does not know the host, or there is none
	blocked    outcome = "Blocked"    // something on the way lets not all requests through
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
	q = q.within(w.config.ClusterDomain)
	a := answer{
		Schema: schemaName, URL: q.url, From: q.from, Host: q.request.Host, Path: q.request.Path,
		Ways: []way{}, Decisions: []decision{}, Findings: shown(w.findingsAbout(q.request.Host)),
	}
	if q.single != "" {
		a.Notes = append(a.Notes, fmt.Sprintf("%s, asked for in namespace %s, means %s", q.single, q.from.Namespace, q.request.Host))
	}
	unseen := w.unseen(q)
	a.Notes = append(a.Notes, unseen...)
	a.Notes = append(a.Notes, a.follow(w, q)...)
	if len(a.Ways) == 0 {
		a.Notes = unseen
		a.twice(w, q)
	}
	a.Routed = slices.ContainsFunc(a.Ways, func(one way) bool { return one.Outcome == routed })
	for _, t := range w.ingresses {
		a.Decisions = append(a.Decisions, t.decisions(q.led(a.Ways), a.Ways)...)
	}
	return a
}

// follow adds a way for each entry that has the host, and returns what is worth knowing of them.
func (a *answer) follow(w *world, q question) (notes []string) {
	unruled := false
	for _, entry := range w.entries(q) {
		if best, ok := w.claimant(entry, q); ok {
			a.Ways = append(a.Ways, best.follow(w, entry, q))
			if entry == plan.MeshEntry && best.public(q.request.Host) {
				notes = append(notes, best.mustResolve(q.request.Host))
			}
		}
		if entry == plan.MeshEntry && q.from != nil && q.via == "" {
			if a.settled() {
				return notes
			}
			unruled = true
		}
	}
	if unruled {
		notes = append(notes, a.passedOn())
	}
	return notes
}

// settled says whether the sidecar answers for the host, be it with 404.
func (a answer) settled() bool {
	return slices.ContainsFunc(a.Ways, func(one way) bool {
		return one.Outcome != noListener && (one.Outcome != hidden || one.Blocker.Final)
	})
}

// entries are those of all Exposures, the mesh first, or the one that is asked for.
func (w *world) entries(q question) []plan.Entry {
	if q.via != "" {
		return []plan.Entry{q.via}
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
func (w *world) claimant(entry plan.Entry, q question) (claim, bool) {
	var best claim
	length := -1
	for _, t := range w.ingresses {
		if q.single != "" && (entry != plan.MeshEntry || !t.addsLabel(q.request.Host)) {
			continue
		}
		for _, e := range t.Plan.Exposures {
			served := t.at(entry, e)
			if n := served.Covers(q.request.Host); n > length {
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
	if h, ok := t.host(name); ok && h.Backing == model.ClusterIPService {
		return h.Short
	}
	return nil
}

// addsLabel says whether Istio lets callers of its namespace use the first label of a
// host alone.
func (t translated) addsLabel(name string) bool {
	h, ok := t.host(name)
	return ok && h.Backing == model.ClusterIPService
}

func (t translated) host(name string) (model.Host, bool) {
	for _, vh := range t.Model.VirtualHosts {
		for _, h := range vh.Hosts {
			if h.Name == name {
				return h, true
			}
		}
	}
	return model.Host{}, false
}

// follow says what the Exposure does with the request.
func (c claim) follow(w *world, entry plan.Entry, q question) way {
	name := c.by.Model.Name
	one := way{Entry: entry, Ingress: name.String(), VirtualService: name.Namespace + "/" + c.exposure.Name}
	one.Outcome, one.Because = c.by.listen(entry, q)
	if one.Outcome != routed {
		return one
	}
	if one.Blocker = c.known(w, entry, q); one.Blocker != nil {
		one.Because = blockerWords(one.Blocker)
		if !one.Blocker.Maybe {
			one.Outcome = hidden
			return one
		}
	}
	found, ok := c.served.Match(q.request)
	if !ok {
		one.Outcome = noRoute
		one.Because = "the host is served, but none of its routes takes this path with these headers; they take " + conditions(c.served.Routes)
		return one
	}
	one.Route = w.route(found, entry, q.from)
	c.lookForServices(w, found, one.Route)
	one.Field = fmt.Sprintf("spec.rules[%d].http.paths[%d]", found.Source.Rule, found.Source.Path)
	if why := one.Route.stopped(); why != "" {
		one.Outcome, one.Because = blocked, why
	}
	return one
}
