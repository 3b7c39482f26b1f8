package model

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// What one virtual host may grow to. Routes of routes multiply, and every proxy holds them.
const (
	maxRoutes = 500
	maxShares = FineWhole / 100 // so that no share errs by more than one percent
	maxVisits = 10000
)

// resolver composes the routes of one virtual host.
type resolver struct {
	in     *ingest
	owners []owner

	targets []Target
	faults  []finding.Finding
	visits  int
	tooMany bool
}

// composed is a route on the way: the condition on the request as it came in, and the shares
// in hundredths, or in hundredths of hundredths and so on.
type composed struct {
	match    Match
	whole    int64
	shares   []share
	notFound bool
}

type share struct {
	weight int64
	to     Split
}

// request is what is known of one that has come to some route: what it met, what was set on
// the way, and which routes it took.
type request struct {
	met     Match
	set     []KV
	rewrite string
	took    []step
}

// step is a route that a request came to, and what had been set by then.
type step struct {
	ingress types.NamespacedName
	host    string
	source  Source
	set     []KV
}

// compose resolves a virtual host; nil if nothing leads on.
func (r *resolver) compose(name types.NamespacedName, vh VirtualHost) *Resolution {
	var routes []Route
	for i, route := range vh.Routes {
		met, possible := request{}.meets(route.Match)
		if !possible {
			continue
		}
		parts := r.follow(request{}, step{ingress: name, host: vh.Hosts[0].Name}, route)
		if len(parts) == 0 {
			r.refused(route)
		}
		if last := i == len(vh.Routes)-1; !total(parts, met) && (!last || len(routes)+len(parts) == 0) {
			parts = append(parts, composed{match: met, notFound: true})
		}
		routes = append(routes, numbered(route.Source, parts)...)
	}
	switch {
	case r.tooMany:
		r.faults = nil
		r.fault(finding.BackendNotResolved, vh.Source,
			"%s leads to other routes, which together are more than %d paths or %d shares of one path; lead to fewer, or configure local-gateways in config-istio",
			vh.Source, maxRoutes, maxShares)
		return &Resolution{Routes: vh.Routes, Faults: r.faults}
	case len(r.targets)+len(r.faults) == 0:
		return nil
	}
	return &Resolution{Routes: routes, Targets: r.targets, Faults: finding.Sort(r.faults)}
}

// refused tells of a path that leads to routes none of which takes its requests.
func (r *resolver) refused(route Route) {
	if len(r.targets) == 0 {
		return
	}
	path, t := pathField(route.Source.Rule, route.Source.Path), r.targets[len(r.targets)-1]
	r.fault(finding.BackendNotResolved, path,
		"%s leads to host %s of Ingress %s, where no path takes such requests, so they are answered with 404; correct one of the two", path, t.Host, t.Ingress)
}

// numbered makes routes of what one path became.
func numbered(source Source, parts []composed) []Route {
	out := make([]Route, 0, len(parts))
	for i, c := range parts {
		s := source
		if len(parts) > 1 {
			s.Part = i + 1
		}
		out = append(out, c.route(s))
	}
	return out
}

// at resolves the routes that a target has for a request, in the order in which they are
// tried. What none takes is not in the result.
func (r *resolver) at(q request, here step, routes []Route) []composed {
	var out []composed
	for i, route := range routes {
		met, ok := q.meets(route.Match)
		if !ok {
			continue
		}
		parts := r.follow(q, here, route)
		if met.equal(q.met) {
			return append(out, parts...)
		}
		if !total(parts, met) && i < len(routes)-1 {
			parts = append(parts, composed{match: met, notFound: true})
		}
		out = append(out, parts...)
	}
	return out
}

// follow resolves one route that a request may take.
func (r *resolver) follow(q request, here step, route Route) []composed {
	met, possible := q.meets(route.Match)
	r.visits++
	r.tooMany = r.tooMany || r.visits > maxVisits
	if !possible || r.tooMany {
		return nil
	}
	here.source, here.set = route.Source, q.set
	q.met, q.took = met, append(slices.Clone(q.took), here)
	if route.RewriteHost != "" {
		q.rewrite = route.RewriteHost
	}
	var out []composed
	for i, s := range route.Splits {
		sent := q.with(route.SetHeaders, s.SetHeaders)
		parts := r.behind(sent, route, s)
		if len(route.Splits) > 1 {
			parts = whole(parts, sent.ends(s))
		}
		out = r.join(out, parts, int64(s.Percent), i == 0)
	}
	return out
}

// behind resolves one backend: it ends there, or goes on at a target.
func (r *resolver) behind(q request, route Route, s Split) []composed {
	ends, to := []composed{q.ends(s)}, r.in.next(route, s)
	if to.host == "" {
		return ends
	}
	head := q.took[0].source
	path := pathField(head.Rule, head.Path)
	by, vh, ok := r.served(to.host)
	if !ok {
		if to.certain {
			r.fault(finding.TargetMissing, path, "%s leads to host %s%s, which no Ingress serves; create its Route, or correct rewriteHost", path, to.host, q.way())
		}
		return ends
	}
	here := step{ingress: by.name, host: vh.nameOf(to.host)}
	if q.goesRound(here, vh) {
		r.fault(finding.RouteCycle, path, "%s leads to host %s%s, which leads back there, so such requests never arrive; lead one of these hosts elsewhere", path, to.host, q.way())
		return ends
	}
	if len(q.took) > snapshot.MaxHops {
		r.fault(finding.RouteChainTooLong, path, "%s leads to host %s%s; a request is routed on at most %d times. Lead to a nearer route", path, to.host, q.way(), snapshot.MaxHops)
		return ends
	}
	r.note(Target{Path: path, Host: here.host, Ingress: by.name})
	return r.at(q, here, vh.Routes)
}

// goesRound says whether a request comes to a route that it took before. Early on that is no
// fault if more has been set since: it may choose another path behind it.
func (q request) goesRound(here step, vh VirtualHost) bool {
	for _, route := range vh.Routes {
		met, ok := q.meets(route.Match)
		if !ok {
			continue
		}
		here.source = route.Source
		if slices.ContainsFunc(q.took, func(s step) bool {
			return s.ingress == here.ingress && s.source == here.source && (slices.Equal(s.set, q.set) || len(q.took) > snapshot.MaxHops)
		}) {
			return true
		}
		if met.equal(q.met) {
			return false
		}
	}
	return false
}

// way names the hosts between.
func (q request) way() string {
	if len(q.took) < 2 {
		return ""
	}
	var hosts []string
	for _, s := range q.took[1:] {
		hosts = append(hosts, s.host)
	}
	return " by way of " + strings.Join(hosts, ", ")
}

func (r *resolver) note(t Target) {
	if !slices.Contains(r.targets, t) {
		r.targets = append(r.targets, t)
	}
}
