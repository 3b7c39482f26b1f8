package model

import (
	"slices"
	"strings"
)

// Names are all that a host is called.
func (h Host) Names() []string { return append([]string{h.Name}, h.Short...) }

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
	for _, n := range in.world.Neighbours {
		first := len(out)
		for _, c := range n.Claims {
			host, refused := in.accept(c.Host, c.Scope, n.Name.Namespace)
			if refused.reason != "" || !slices.ContainsFunc(in.claims, func(own Claim) bool { return own.Host.Meets(host) }) {
				continue
			}
			same := func(r Rival) bool { return r.Scope == c.Scope && r.Host.Name == host.Name }
			if !slices.ContainsFunc(out[first:], same) {
				out = append(out, Rival{Ingress: n.Name, Created: n.Created, Scope: c.Scope, Host: host})
			}
		}
	}
	return out
}
