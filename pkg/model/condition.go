package model

import (
	"slices"
	"strings"
)

// meets adds a route's condition to what a request is known to have met. What was set on the
// way is not a condition on the request as it came in: it is met, or it cannot be.
func (q request) meets(m Match) (Match, bool) {
	left := Match{PathPrefix: m.PathPrefix}
	for _, want := range m.Headers {
		if have, set := lookup(q.set, want.Key); !set {
			left.Headers = append(left.Headers, want)
		} else if have != want.Value {
			return Match{}, false
		}
	}
	return q.met.and(left)
}

// and is the condition that both hold; false if they cannot.
func (m Match) and(o Match) (Match, bool) {
	out := Match{PathPrefix: m.PathPrefix, Headers: m.Headers}
	switch {
	case strings.HasPrefix(o.PathPrefix, m.PathPrefix):
		out.PathPrefix = o.PathPrefix
	case !strings.HasPrefix(m.PathPrefix, o.PathPrefix):
		return Match{}, false
	}
	for _, want := range o.Headers {
		have, known := lookup(out.Headers, want.Key)
		if known && have != want.Value {
			return Match{}, false
		}
		if !known {
			out.Headers = append(slices.Clone(out.Headers), want)
			slices.SortFunc(out.Headers, func(a, b KV) int { return strings.Compare(a.Key, b.Key) })
		}
	}
	return out, true
}

func (m Match) equal(o Match) bool {
	return m.PathPrefix == o.PathPrefix && slices.Equal(m.Headers, o.Headers)
}

// with sets headers as a proxy does on the way: a later value takes the place of an earlier
// one, and that of a share the place of its route's.
func (q request) with(layers ...[]KV) request {
	set := slices.Clone(q.set)
	for _, layer := range layers {
		for _, h := range layer {
			set = slices.DeleteFunc(set, func(old KV) bool { return strings.EqualFold(old.Key, h.Key) })
			set = append(set, h)
		}
	}
	slices.SortFunc(set, func(a, b KV) int { return strings.Compare(a.Key, b.Key) })
	q.set = set
	return q
}

// ends is the route of a request that goes no further than to a backend.
func (q request) ends(s Split) composed {
	return composed{match: q.met, whole: 1, shares: []share{{weight: 1, to: Split{
		Backend: s.Backend, SetHeaders: q.set, RewriteHost: q.rewrite,
	}}}}
}

func lookup(headers []KV, key string) (string, bool) {
	i := slices.IndexFunc(headers, func(h KV) bool { return strings.EqualFold(h.Key, key) })
	if i < 0 {
		return "", false
	}
	return headers[i].Value, true
}
