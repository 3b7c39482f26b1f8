package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// routes reads the paths of a rule. A path that cannot be served is left out.
func (in *ingest) routes(rule int, paths []v1alpha1.HTTPIngressPath) []Route {
	var out []Route
	for j, path := range paths {
		if !in.wellFormed(pathField(rule, j), path) {
			continue
		}
		before := len(in.findings)
		splits, ok := in.splits(pathField(rule, j), path.Splits)
		if !ok {
			continue
		}
		var awaits []finding.Finding
		if path.RewriteHost != "" {
			// Whether its Service is needed depends on where it is exposed.
			awaits = slices.Clone(in.findings[before:])
			in.findings = in.findings[:before]
		}
		out = append(out, Route{
			Match:       Match{PathPrefix: path.Path, Headers: exact(path.Headers)},
			SetHeaders:  snapshot.Sorted(path.AppendHeaders),
			RewriteHost: strings.ToLower(path.RewriteHost),
			Splits:      splits,
			Source:      Source{Rule: rule, Path: j},
			Awaits:      awaits,
		})
	}
	return out
}

func exact(headers map[string]v1alpha1.HeaderMatch) []KV {
	var out []KV
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		out = append(out, KV{Key: name, Value: headers[name].Exact})
	}
	return out
}

// inOrder sorts routes by the order in which they are to be tried: longer paths
// before shorter, more headers before fewer, else as written. Of routes with the
// same condition only the first can ever be reached; the others are reported.
func (in *ingest) inOrder(hosts []*served, routes []Route) []Route {
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b Route) int {
		return cmp.Or(
			cmp.Compare(len(b.Match.PathPrefix), len(a.Match.PathPrefix)),
			cmp.Compare(len(b.Match.Headers), len(a.Match.Headers)),
		)
	})
	if len(sorted) < 2 {
		return sorted
	}
	var out []Route
	at := map[string]int{}
	for _, r := range sorted {
		key := RoutesKey([]Route{{Match: r.Match}})
		i, met := at[key]
		if !met {
			at[key] = len(out)
			out = append(out, r)
			continue
		}
		if RoutesKey([]Route{out[i]}) != RoutesKey([]Route{r}) {
			in.report(finding.RouteShadowed, pathField(r.Source.Rule, r.Source.Path),
				"host %s: %s can never be reached, %s matches the same requests; remove one of them",
				named(hosts), pathField(r.Source.Rule, r.Source.Path), pathField(out[i].Source.Rule, out[i].Source.Path))
		}
	}
	return out
}

// named names the first of some hosts, and how many there are besides: a finding is of a path, not of each host.
func named(hosts []*served) string {
	if len(hosts) == 1 {
		return hosts[0].host.Name
	}
	return fmt.Sprintf("%s, and of %d more", hosts[0].host.Name, len(hosts)-1)
}
