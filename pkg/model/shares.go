package model

import (
	"cmp"
	"reflect"
	"slices"
)

// join adds a share of a route to those before it. Each part is a condition, and so is each
// of those before: a request takes the first pair of which both hold.
func (r *resolver) join(before, parts []composed, percent int64, first bool) []composed {
	if first {
		for i := range parts {
			if percent != Whole {
				parts[i].scale(percent)
			}
		}
		return r.limited(parts)
	}
	var out []composed
	for _, a := range before {
		for _, b := range parts {
			met, ok := a.match.and(b.match)
			if !ok {
				continue
			}
			b.shares = slices.Clone(b.shares)
			b.scale(percent)
			out = append(out, a.plus(b, met))
			if len(out) > maxRoutes {
				break
			}
		}
	}
	return r.limited(out)
}

// limited sees to it that nothing grows beyond measure.
func (r *resolver) limited(parts []composed) []composed {
	if len(parts) > maxRoutes || slices.ContainsFunc(parts, func(c composed) bool { return len(c.shares) > maxShares }) {
		r.tooMany = true
		return nil
	}
	return parts
}

// scale makes the shares a part of a greater whole.
func (c *composed) scale(percent int64) {
	c.whole *= Whole
	for i := range c.shares {
		c.shares[i].weight *= percent
	}
}

// plus brings the shares of two parts to one whole, and equal destinations together.
func (c composed) plus(o composed, met Match) composed {
	out := composed{match: met, whole: max(c.whole, o.whole)}
	for _, part := range []composed{c, o} {
		for _, s := range part.shares {
			s.weight *= out.whole / part.whole
			i := slices.IndexFunc(out.shares, func(t share) bool { return reflect.DeepEqual(s.to, t.to) })
			if i < 0 {
				out.shares = append(out.shares, s)
				continue
			}
			out.shares[i].weight += s.weight
		}
	}
	return out
}

// whole gives the requests that no part takes, or that a part refuses, to the backend as it
// is written, where they fail: a share of a route cannot be answered with 404.
func whole(parts []composed, ends composed) []composed {
	parts = slices.Clone(parts)
	for i, c := range parts {
		if c.notFound {
			refused := ends
			refused.match = c.match
			parts[i] = refused
		}
	}
	if !total(parts, ends.match) {
		parts = append(parts, ends)
	}
	for i := range parts {
		parts[i].shares = slices.Clone(parts[i].shares)
	}
	return parts
}

// total says whether the parts take all that meets a condition.
func total(parts []composed, met Match) bool {
	return slices.ContainsFunc(parts, func(c composed) bool { return c.match.equal(met) })
}

// route writes the result as a Route. What all shares have in common is said once.
func (c composed) route(source Source) Route {
	out := Route{Match: c.match, Source: source, NotFound: c.notFound}
	if c.notFound {
		return out
	}
	for i, percent := range c.percents() {
		s := c.shares[i].to
		s.Percent = percent
		out.Splits = append(out.Splits, s)
	}
	first := out.Splits[0]
	if !slices.ContainsFunc(out.Splits, func(s Split) bool { return s.RewriteHost != first.RewriteHost }) {
		out.RewriteHost = first.RewriteHost
		for i := range out.Splits {
			out.Splits[i].RewriteHost = ""
		}
	}
	for _, h := range first.SetHeaders {
		if slices.ContainsFunc(out.Splits, func(s Split) bool { return !slices.Contains(s.SetHeaders, h) }) {
			continue
		}
		out.SetHeaders = append(out.SetHeaders, h)
	}
	for i, s := range out.Splits {
		own := slices.DeleteFunc(slices.Clone(s.SetHeaders), func(h KV) bool { return slices.Contains(out.SetHeaders, h) })
		out.Splits[i].SetHeaders = slices.Clip(own)
		if len(own) == 0 {
			out.Splits[i].SetHeaders = nil
		}
	}
	return out
}

// percents are the shares in hundredths where that is exact, else in parts of FineWhole, of
// which each gets one at least: nobody who asked for a share gets nothing. The largest
// remainders are rounded up.
func (c composed) percents() []int32 {
	if exact := c.of(Whole); exact != nil {
		return exact
	}
	if exact := c.of(FineWhole); exact != nil {
		return exact
	}
	out := make([]int32, len(c.shares))
	order := make([]int, len(c.shares))
	rest := int64(FineWhole)
	remainder := func(i int) int64 { return c.shares[i].weight * FineWhole % c.whole }
	for i, s := range c.shares {
		order[i] = i
		out[i] = int32(max(1, s.weight*FineWhole/c.whole))
		rest -= int64(out[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainder(b), remainder(a)) })
	for k := 0; rest > 0; k, rest = k+1, rest-1 {
		out[order[k%len(order)]]++
	}
	for ; rest < 0; rest++ {
		// What was given to the smallest is taken from the largest.
		largest := slices.Index(out, slices.Max(out))
		out[largest]--
	}
	return out
}

// of gives the shares as parts of a whole; nil if that would not be exact.
func (c composed) of(whole int64) []int32 {
	out := make([]int32, 0, len(c.shares))
	for _, s := range c.shares {
		if s.weight*whole%c.whole != 0 {
			return nil
		}
		out = append(out, int32(s.weight*whole/c.whole))
	}
	return out
}
