package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"istio.io/api/networking/v1alpha3"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestExplainFindsEveryRoute asks, for every golden case in every mode, for every host at
// every entry with what each route wants. The answer has to be what the Model means, and
// what the VirtualService says that it names.
func TestExplainFindsEveryRoute(t *testing.T) {
	asked := 0
	for _, mode := range glob(t, "../translate/testdata/modes/*.yaml") {
		for _, dir := range glob(t, "../translate/testdata/cases/*") {
			w := readCase(t, mode, dir)
			where := filepath.Base(dir) + " in " + filepath.Base(mode)
			for _, tr := range w.ingresses {
				for _, e := range tr.Plan.Exposures {
					for _, entry := range e.Entries {
						for _, host := range e.Hosts {
							for _, r := range e.Routes {
								asked++
								explained(t, where, w, tr, e, entry, requestFor(host, r))
							}
						}
					}
				}
			}
		}
	}
	if asked < 700 {
		t.Errorf("only %d requests were asked about", asked)
	}
}

func requestFor(host string, r model.Route) model.Request {
	return model.Request{Host: strings.Replace(host, "*", "any", 1), Path: r.Match.PathPrefix + "/x", Headers: r.Match.Headers}
}

// leavesOut says whether an entry is a listener of our own that is for other hosts of its
// VirtualService: there is one for each certificate that is shared, and one for the rest.
func leavesOut(tr translated, entry plan.Entry, host string) bool {
	for _, l := range tr.Plan.Listeners {
		if plan.Entry(l.Namespace+"/"+l.Name) != entry {
			continue
		}
		return !slices.ContainsFunc(l.Servers, func(s plan.Server) bool {
			return slices.ContainsFunc(s.Hosts, func(h string) bool {
				suffix, wild := strings.CutPrefix(h, "*")
				return h == host || wild && strings.HasSuffix(host, suffix)
			})
		})
	}
	return false
}

func explained(t *testing.T, where string, w *world, tr translated, e plan.Exposure, entry plan.Entry, r model.Request) {
	t.Helper()
	where = fmt.Sprintf("%s, %s at %s: %+v", where, tr.Model.Name, entry, r)
	var found *way
	redirects := false
	for _, tls := range []bool{false, true} {
		a := w.explain(question{url: "url", tls: tls, request: r, via: entry})
		for i, one := range a.Ways {
			redirects = redirects || one.Outcome == redirected
			if (one.Outcome == routed || one.Outcome == blocked) && one.Ingress == tr.Model.Name.String() && one.VirtualService == tr.Model.Name.Namespace+"/"+e.Name {
				found = &a.Ways[i]
			}
		}
	}
	if found == nil {
		// TLS may be had at another entry, or nowhere: then a finding has told.
		if !redirects && !leavesOut(tr, entry, r.Host) && !slices.ContainsFunc(tr.Findings, func(f finding.Finding) bool {
			return f.Reason == finding.HostNotServed || f.Reason == finding.GatewayMissing
		}) {
			t.Errorf("%s: not routed", where)
		}
		return
	}
	checkMeaning(t, where, tr, e, r, *found, e.Kind == plan.Mesh || len(w.config.Istio.Local) == 0)
	checkObject(t, where, tr, e, *found)
}

// checkMeaning compares with the Model: cluster-local rules come first in the mesh. Where it is
// once for all, nothing routes the request once more.
func checkMeaning(t *testing.T, where string, tr translated, e plan.Exposure, r model.Request, one way, once bool) {
	t.Helper()
	scopes := map[plan.Kind][]model.Scope{plan.Ingress: {"External"}, plan.Local: {"Local"}, plan.Mesh: {"Local", "External"}}[e.Kind]
	if !e.Probed {
		// Behind a door of the loopback is what is in the mesh.
		scopes = []model.Scope{"Local", "External"}
	}
	for _, scope := range scopes {
		want, ok := tr.Model.Match(scope, r)
		if once {
			want, ok = tr.Model.MatchResolved(scope, r)
		}
		if !ok {
			continue
		}
		field := fmt.Sprintf("spec.rules[%d].http.paths[%d]", want.Source.Rule, want.Source.Path)
		// Rules with equal routes share an object in the mesh, which names the first.
		same := e.Kind == plan.Mesh && cmp.Equal(want.Match.Headers, one.Route.Takes.Headers) && want.Match.PathPrefix == one.Route.Takes.PathPrefix &&
			cmp.Equal(shares(want), sharesOf(*one.Route))
		if one.Field != field && !same {
			t.Errorf("%s: explained as %s, and the model means %s", where, one.Field, field)
		}
		return
	}
	t.Errorf("%s: explained as %s, and the model has no route", where, one.Field)
}

func shares(r model.Route) []string {
	var out []string
	for _, s := range r.Splits {
		out = append(out, fmt.Sprint(r.PercentOf(s), s.Backend.Host, s.Backend.Port, s.SetHeaders))
	}
	return out
}

func sharesOf(r route) []string {
	var out []string
	for _, d := range r.To {
		out = append(out, fmt.Sprint(d.Percent, d.Host, d.Port, d.Sets))
	}
	return out
}

// checkObject compares with the route of the object that is named.
func checkObject(t *testing.T, where string, tr translated, e plan.Exposure, one way) {
	t.Helper()
	var rule, path int
	if _, err := fmt.Sscanf(one.Field, "spec.rules[%d].http.paths[%d]", &rule, &path); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s.%d.%d", tr.Model.Name.Name, rule, path)
	for _, vs := range tr.Objects.VirtualServices {
		if vs.Name != e.Name {
			continue
		}
		for _, r := range vs.Spec.Http {
			part, is := strings.CutPrefix(r.Name, name)
			if is && !strings.HasSuffix(part, ".probe") && (part == "" || part[0] == '.') && sameObject(r, *one.Route) {
				return
			}
		}
	}
	t.Errorf("%s: no VirtualService %s has route %s", where, e.Name, name)
}

// sameObject compares conditions, shares and host.
func sameObject(r *v1alpha3.HTTPRoute, as route) bool {
	var want []model.KV
	for _, m := range r.Match {
		for key, value := range m.Headers {
			want = append(want, model.KV{Key: key, Value: value.GetExact()})
		}
	}
	slices.SortFunc(want, func(a, b model.KV) int { return strings.Compare(a.Key, b.Key) })
	if !slices.Equal(want, as.Takes.Headers) || len(r.Route) != len(as.To) || r.GetRewrite().GetAuthority() != as.RewriteHost || as.NotFound != (r.DirectResponse != nil) {
		return false
	}
	var whole int32
	for _, d := range r.Route {
		whole += d.Weight
	}
	for k, d := range r.Route {
		to := as.To[k]
		if d.Destination.Host != to.Host || d.Destination.Port.Number != to.Port || (d.Weight != 0 && float64(d.Weight)*100/float64(whole) != to.Percent) {
			return false
		}
	}
	return true
}

func readCase(t *testing.T, mode, dir string) *world {
	t.Helper()
	names := []string{mode, filepath.Join(dir, "in.yaml"), filepath.Join(dir, "in."+filepath.Base(mode))}
	var files []snapshot.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) && name == names[2] {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, snapshot.File{Name: name, Text: text})
	}
	w, err := newWorld(files, "cluster.local", change{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return files
}
