package model

import (
	"slices"
	"strings"
)

// Request is what routing looks at.
type Request struct {
	Host    string
	Path    string
	Headers []KV
}

// Match is what a Model means: the route that a request takes which came in where
// hosts of the scope are served. Whatever is rendered from the Model, and every
// proxy that runs it, has to agree.
func (m Model) Match(scope Scope, r Request) (Route, bool) {
	return m.serving(scope, r).Match(r)
}

// MatchResolved is Match for where nothing routes a request once more.
func (m Model) MatchResolved(scope Scope, r Request) (Route, bool) {
	vh := m.serving(scope, r)
	return VirtualHost{Routes: vh.Resolved()}.Match(r)
}

// Resolved are the routes for where nothing routes a request once more.
func (vh VirtualHost) Resolved() []Route {
	if vh.Resolution == nil {
		return vh.Routes
	}
	return vh.Resolution.Routes
}

// serving is the virtual host that a request is for.
func (m Model) serving(scope Scope, r Request) VirtualHost {
	var best VirtualHost
	length := -1
	for _, vh := range m.VirtualHosts {
		if n := vh.Covers(r.Host); vh.Scope == scope && n > length {
			best, length = vh, n
		}
	}
	return best
}

// Covers returns how specific a virtual host is for the host of a request: more than
// any wildcard if it has the name, the length of its longest wildcard that covers it,
// else -1. A request goes to the most specific one and to no other.
func (vh VirtualHost) Covers(host string) int {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	length := -1
	for _, h := range vh.Hosts {
		length = max(length, h.covers(name))
	}
	return length
}

// Match returns the first route that takes a request.
func (vh VirtualHost) Match(r Request) (Route, bool) {
	for _, route := range vh.Routes {
		if route.Match.takes(r) {
			return route, true
		}
	}
	return Route{}, false
}

// covers returns how specific a host is for a name: more than any wildcard if it is
// the name, the wildcard's length if it is one that covers it, else -1.
func (h Host) covers(name string) int {
	const exact = 1 << 16
	if h.Name == name && !h.Elsewhere || slices.Contains(h.Short, name) {
		return exact
	}
	if suffix, wild := strings.CutPrefix(h.Name, "*"); wild && strings.HasSuffix(name, suffix) {
		return len(suffix)
	}
	return -1
}

func (m Match) takes(r Request) bool {
	if !strings.HasPrefix(r.Path, m.PathPrefix) {
		return false
	}
	for _, want := range m.Headers {
		if !slices.ContainsFunc(r.Headers, func(have KV) bool {
			return strings.EqualFold(have.Key, want.Key) && have.Value == want.Value
		}) {
			return false
		}
	}
	return true
}
