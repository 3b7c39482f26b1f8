package model

import (
	"slices"
	"strings"
)

// Names are all under which a host is served.
func (h Host) Names() []string {
	if h.Elsewhere {
		return slices.Clone(h.Short)
	}
	return append([]string{h.Name}, h.Short...)
}

// Public is the host as the world may call it. There a name of two labels is a domain, even if
// a namespace is called like a top level domain, so it is not what the host is short for.
func (h Host) Public() Host {
	h.Short = slices.DeleteFunc(slices.Clone(h.Short), func(short string) bool { return !strings.HasSuffix(short, ".svc") })
	return h
}

// Meets says whether a request could be for both hosts with the same right. A wildcard
// does not meet what it covers: the more specific name has it. Hosts share an abbreviation
// only if they are one.
func (h Host) Meets(o Host) bool {
	return h.Name == o.Name || slices.Contains(h.Short, o.Name) || slices.Contains(o.Short, h.Name)
}

// rivals reads what neighbours claim by the same rules as what is claimed here, so a host
// that they may not have is not theirs. The Services this takes have been gathered: hosts
// meet only if they carry the name of the same one.
func (in *ingest) rivals() []Rival {
	var out []Rival
	own := in.ownNames()
	for _, n := range in.world.Neighbours {
		seen := map[scopedName]bool{}
		for _, c := range n.Claims {
			host, refused := in.accept(c.Host, c.Scope, n.Name.Namespace)
			once := scopedName{c.Scope, host.Name}
			if refused.reason != "" || seen[once] || !slices.ContainsFunc(own.candidates(host), host.Meets) {
				continue
			}
			seen[once] = true
			out = append(out, Rival{Ingress: n.Name, Created: n.Created, Scope: c.Scope, Host: host})
		}
	}
	return out
}

// hostIndex finds hosts by each of their names.
type hostIndex map[string][]Host

func (in *ingest) ownNames() hostIndex {
	index := hostIndex{}
	for _, c := range in.claims {
		for _, name := range c.Host.Names() {
			index[name] = append(index[name], c.Host)
		}
	}
	return index
}

// candidates are the hosts that share a name with one; only such can meet it.
func (x hostIndex) candidates(h Host) []Host {
	var out []Host
	for _, name := range h.Names() {
		out = append(out, x[name]...)
	}
	return out
}
