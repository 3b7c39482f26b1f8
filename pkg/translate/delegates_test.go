package translate_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// exposed are the VirtualServices of Exposures; delegates come after them.
func exposed(all []*istiov1.VirtualService) []*istiov1.VirtualService {
	return slices.DeleteFunc(slices.Clone(all), func(vs *istiov1.VirtualService) bool { return len(vs.Spec.Hosts) == 0 })
}

func delegatesOf(all []*istiov1.VirtualService) []*istiov1.VirtualService {
	return slices.DeleteFunc(slices.Clone(all), func(vs *istiov1.VirtualService) bool { return len(vs.Spec.Hosts) > 0 })
}

// delegateBreaches wants delegates where they are asked for only, as Istio takes them, and nothing in
// them that would take the place of what a VirtualService that delegates says.
func delegateBreaches(r translate.Result) []string {
	var out []string
	all := delegatesOf(r.Objects.VirtualServices)
	if len(all) != len(r.Plan.Delegates) || len(all) > 0 && !r.Model.Delegates {
		out = append(out, fmt.Sprintf("%d delegates, planned %d, asked for: %v", len(all), len(r.Plan.Delegates), r.Model.Delegates))
	}
	names := map[string]bool{}
	for _, vs := range r.Objects.VirtualServices {
		if names[vs.Name] {
			out = append(out, vs.Name+" is there twice")
		}
		names[vs.Name] = true
	}
	for i, vs := range all {
		if len(vs.Name) > validation.DNS1123LabelMaxLength || len(vs.Spec.Gateways)+len(vs.Spec.Tcp)+len(vs.Spec.Tls) > 0 || len(vs.Spec.Http) == 0 {
			out = append(out, vs.Name+" is no delegate to Istio")
		}
		if key, is := snapshot.DelegateKey(types.NamespacedName{Namespace: vs.Namespace, Name: vs.Name}); !is || !slices.Contains(snapshot.DelegateKeys(r.Model.Name), key) {
			out = append(out, vs.Name+" is not found by those who delegate to it")
		}
		drops := r.Plan.Delegates[i].Drops
		for _, h := range vs.Spec.Http {
			for _, broken := range routeBreaches(h) {
				out = append(out, vs.Name+": route "+h.Name+": "+broken)
			}
			if h.Headers != nil || h.Delegate != nil || strings.HasSuffix(h.Name, ".probe") {
				out = append(out, vs.Name+": route "+h.Name+" has headers of its own, delegates further or answers probes")
			}
			for _, d := range h.Route {
				if !slices.Equal(d.GetHeaders().GetRequest().GetRemove(), drops) {
					out = append(out, vs.Name+": route "+h.Name+" lets the mark of the loopback through, or drops it where there is none")
				}
			}
		}
	}
	return out
}

// TestDelegatesDoWhatTheMeshDoes: each host's delegate takes each request as the mesh does under the
// host, with the same headers for the backend.
func TestDelegatesDoWhatTheMeshDoes(t *testing.T) {
	compared := 0
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			cfg.Istio.Delegates, cfg.Istio.ExternalInMesh = true, true
			random := rand.New(rand.NewSource(1))
			for _, ing := range b.Ingresses {
				if ing.Annotations[model.DelegateAnnotation] == "false" {
					continue
				}
				r := translate.Ingress(snapshot.Ingress(b, cfg, ing))
				for _, broken := range delegateBreaches(r) {
					t.Errorf("%s in mode %s, %s: %s", dir, mode, r.Model.Name, broken)
				}
				for i, e := range r.Plan.Delegates {
					for range 12 {
						q := randomRequest(random, r.Model)
						q.Host = strings.Replace(e.Host, "*", "any", 1)
						mesh := interpret(r.Objects, r.Plan, plan.Mesh, q)
						if mesh == nil || asksSidecar(q) || yielded(r.Plan, plan.Mesh, e.Host) {
							continue
						}
						got := first(delegatesOf(r.Objects.VirtualServices)[i].Spec.Http, q)
						if reaches(mesh) != reaches(got) {
							t.Errorf("%s in mode %s, %+v: in the mesh\n%s\nby %s\n%s", dir, mode, q, reaches(mesh), e.Name, reaches(got))
						}
						compared++
					}
				}
			}
		}
	}
	if compared < 2000 {
		t.Errorf("only %d requests were compared", compared)
	}
}

func first(routes []*v1alpha3.HTTPRoute, q model.Request) *v1alpha3.HTTPRoute {
	for _, r := range routes {
		if len(r.Match) == 0 || slices.ContainsFunc(r.Match, func(m *v1alpha3.HTTPMatchRequest) bool { return holds(m, q) }) {
			return r
		}
	}
	return nil
}

// reaches says where a route leads, and with which headers, wherever they are written.
func reaches(r *v1alpha3.HTTPRoute) string {
	if r == nil {
		return "nowhere"
	}
	text := fmt.Sprint(r.Name, r.Rewrite, r.DirectResponse, r.Retries)
	for _, d := range r.Route {
		set, gone := map[string]string{}, map[string]bool{}
		for _, h := range []*v1alpha3.Headers{r.Headers, d.Headers} {
			for k, v := range h.GetRequest().GetSet() {
				set[k] = v
			}
			for _, k := range h.GetRequest().GetRemove() {
				gone[k] = true
			}
		}
		text += fmt.Sprintln(d.Destination, d.Weight, set, gone)
	}
	return text
}

// TestNamesOfDelegatesStay: they do not depend on routes, on modes, or on other hosts.
func TestNamesOfDelegatesStay(t *testing.T) {
	b, cfg := load(t, "testdata/cases/serving-tags", "mesh-only")
	cfg.Istio.Delegates = true
	named := func(change func(r *translate.Result)) map[string]string {
		ing := b.Ingresses[0].DeepCopy()
		if change == nil {
			for i := range ing.Spec.Rules { // all lead where the first does: a tag that was promoted
				ing.Spec.Rules[i].HTTP = ing.Spec.Rules[0].HTTP.DeepCopy()
			}
		}
		out := map[string]string{}
		for _, e := range translate.Ingress(snapshot.Ingress(b, cfg, ing)).Plan.Delegates {
			if strings.HasSuffix(e.Host, ".svc.cluster.local") {
				out[e.Host] = e.Name
			}
		}
		return out
	}
	before, after := named(func(*translate.Result) {}), named(nil)
	if len(before) != 4 || fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("names are %v and, once all hosts lead to the same, %v", before, after)
	}
	if before["split.rec.svc.cluster.local"] != "split-delegate" {
		t.Error("the Route's own is called", before["split.rec.svc.cluster.local"])
	}
}

// TestRootsOfEveryLengthAreFound: whatever an Ingress is called, those who delegate to what it has are
// found, and told of what it has not.
func TestRootsOfEveryLengthAreFound(t *testing.T) {
	for _, length := range []int{1, 20, 36, 37, 38, 39, 44, 45, 46, 53, 54, 55, 63, 64, 120, 253} {
		name := strings.Repeat("ab.c", 64)[:length-1] + "z"
		for _, asked := range []bool{true, false} {
			var roots []string
			for _, e := range ofName(t, name, true, "").Plan.Delegates {
				roots = append(roots, fmt.Sprintf("  - delegate: {name: %s, namespace: apps}\n", e.Name))
			}
			r := ofName(t, name, asked, "\n---\n"+rootDocument+strings.Join(roots, ""))
			if len(roots) != 2 {
				t.Fatalf("%s has %d delegates", name, len(roots))
			}
			told := 0
			for _, f := range r.Findings {
				if f.Reason == finding.DelegateMissing {
					told++
				}
			}
			if want := map[bool]int{true: 0, false: 2}[asked]; told != want {
				t.Errorf("%d characters, delegates asked for: %v: told %d times, want %d", length, asked, told, want)
			}
		}
	}
}

const rootDocument = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: root, namespace: clients}\nspec:\n  hosts: [root.example.org]\n  http:\n"

func ofName(t *testing.T, name string, asked bool, more string) translate.Result {
	t.Helper()
	rule := func(host, revision string) string {
		return fmt.Sprintf("  - {hosts: [%s], visibility: ClusterLocal, http: {paths: [{splits: [{serviceName: %s, serviceNamespace: apps, servicePort: 80, percent: 100}]}]}}\n", host, revision)
	}
	b, err := snapshot.ReadBundleStrictly([]byte(fmt.Sprintf("apiVersion: networking.internal.knative.dev/v1alpha1\nkind: Ingress\nmetadata: {name: %s, namespace: apps}\nspec:\n  rules:\n", name) +
		rule("a.apps", "a-1") + rule("b.apps", "b-1") + more))
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Config{Istio: config.Istio{Delegates: asked}, ClusterDomain: clusterDomain, SystemNamespace: systemNamespace}
	return translate.Ingress(snapshot.Ingress(b, cfg, b.Ingresses[0]))
}

// TestMergeRules compares what is told with Istio's rules (MergeHTTPRoutes and below it in
// pilot/pkg/model/virtualservice.go of istio/istio), said once more for whole conditions and not only for
// what ours have: for random VirtualServices that delegate to random Ingresses, exactly the routes are
// told of that Istio leaves out.
func TestMergeRules(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	lost, kept := 0, 0
	for round := range 800 {
		ing := fmt.Sprintf("apiVersion: networking.internal.knative.dev/v1alpha1\nkind: Ingress\nmetadata: {name: i, namespace: apps, uid: u, annotations: {net-mesh.dev/delegate: 'true'}}\nspec:\n  rules:\n"+
			"  - {hosts: [i.apps], visibility: ClusterLocal, http: {paths: [%s, %s]}}\n", randomPath(random), randomPath(random))
		root := &istiov1.VirtualService{
			TypeMeta:   metav1.TypeMeta{APIVersion: "networking.istio.io/v1", Kind: "VirtualService"},
			ObjectMeta: metav1.ObjectMeta{Name: "root", Namespace: "clients"},
		}
		root.Spec.Hosts = []string{"root.example.org"}
		root.Spec.Http = []*v1alpha3.HTTPRoute{{Delegate: &v1alpha3.Delegate{Name: "i-delegate", Namespace: "apps"}}}
		for range random.Intn(3) {
			root.Spec.Http[0].Match = append(root.Spec.Http[0].Match, randomMatch(random))
		}
		text, err := yaml.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		b, err := snapshot.ReadBundleStrictly([]byte(ing), text)
		if err != nil {
			t.Fatal(err)
		}
		r := translate.Ingress(snapshot.Ingress(b, config.Config{ClusterDomain: clusterDomain, SystemNamespace: systemNamespace}, b.Ingresses[0]))
		for _, leaf := range delegatesOf(r.Objects.VirtualServices)[0].Spec.Http {
			want := dropped(root.Spec.Http[0].Match, leaf.Match)
			field := fmt.Sprintf("spec.rules[0].http.paths[%s]", strings.TrimPrefix(leaf.Name, "i.0."))
			told := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Reason == finding.DelegateConflict && f.Path == field })
			if told != want {
				t.Fatalf("round %d: Istio leaves %s out: %v, told: %v\n%s\n%s\n%v", round, leaf.Name, want, told, ing, text, r.Findings)
			}
			if want {
				lost++
			} else {
				kept++
			}
		}
	}
	if lost < 100 || kept < 100 {
		t.Errorf("%d lost, %d kept: these rounds show nothing", lost, kept)
	}
}

func randomPath(random *rand.Rand) string {
	var parts []string
	if path := pick(random, "", "/", "/a", "/a/b", "/b"); path != "" {
		parts = append(parts, "path: "+path)
	}
	if value := pick(random, "", "x", "xy", "z"); value != "" {
		parts = append(parts, "headers: {X-A: {exact: "+value+"}}")
	}
	return "{" + strings.Join(append(parts, "splits: [{serviceName: s, serviceNamespace: apps, servicePort: 80, percent: 100}]"), ", ") + "}"
}

func randomMatch(random *rand.Rand) *v1alpha3.HTTPMatchRequest {
	m := &v1alpha3.HTTPMatchRequest{
		Uri: randomText(random, "/", "/a", "/a/b", "/c", ""), IgnoreUriCase: random.Intn(8) == 0,
		Method: randomText(random, "GET"), Authority: randomText(random, "h"), Scheme: randomText(random, "http"),
		SourceNamespace: pick(random, "", "", "", "", "", "", "clients"),
	}
	for _, name := range []string{"X-A", "x-a", "X-B"} {
		if text := randomText(random, "x", "xy", ""); text != nil {
			if m.Headers == nil {
				m.Headers = map[string]*v1alpha3.StringMatch{}
			}
			m.Headers[name] = text
		}
	}
	if random.Intn(4) == 0 {
		m.WithoutHeaders = map[string]*v1alpha3.StringMatch{"X-A": {MatchType: &v1alpha3.StringMatch_Exact{Exact: "x"}}}
		m.Port, m.Gateways, m.SourceLabels = 80, []string{"mesh"}, map[string]string{"a": "b"}
		m.QueryParams = map[string]*v1alpha3.StringMatch{"q": {MatchType: &v1alpha3.StringMatch_Exact{Exact: "x"}}}
	}
	return m
}

func randomText(random *rand.Rand, values ...string) *v1alpha3.StringMatch {
	value := pick(random, values...)
	switch random.Intn(9) {
	case 0:
		return &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Exact{Exact: value}}
	case 1, 2:
		return &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Prefix{Prefix: value}}
	case 3:
		return &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Regex{Regex: value}}
	}
	return nil
}

func pick(random *rand.Rand, values ...string) string { return values[random.Intn(len(values))] }

// dropped: some condition of the leaf finds none of the root within which it lies.
func dropped(root, leaf []*v1alpha3.HTTPMatchRequest) bool {
	return len(root) > 0 && slices.ContainsFunc(leaf, func(l *v1alpha3.HTTPMatchRequest) bool {
		return !slices.ContainsFunc(root, func(r *v1alpha3.HTTPMatchRequest) bool { return merges(r, l) })
	})
}

func merges(root, leaf *v1alpha3.HTTPMatchRequest) bool {
	texts := within(root.Uri, leaf.Uri) && within(root.Scheme, leaf.Scheme) && within(root.Method, leaf.Method) && within(root.Authority, leaf.Authority)
	for _, m := range [][2]map[string]*v1alpha3.StringMatch{{root.Headers, leaf.Headers}, {root.WithoutHeaders, leaf.WithoutHeaders}, {root.QueryParams, leaf.QueryParams}} {
		for name, text := range m[1] {
			texts = texts && within(m[0][name], text)
		}
	}
	for name, value := range leaf.SourceLabels {
		other, there := root.SourceLabels[name]
		texts = texts && (!there || other == value)
	}
	gateways := len(root.Gateways) == 0 || !slices.ContainsFunc(leaf.Gateways, func(g string) bool { return !slices.Contains(root.Gateways, g) })
	return texts && gateways && root.IgnoreUriCase == leaf.IgnoreUriCase &&
		(root.Port == 0 || leaf.Port == 0 || root.Port == leaf.Port) &&
		(root.SourceNamespace == "" || root.SourceNamespace == leaf.SourceNamespace)
}

// within: either says nothing, or both are written out, and what fits the leaf fits the root.
func within(root, leaf *v1alpha3.StringMatch) bool {
	switch {
	case root == nil || leaf == nil:
		return true
	case root.GetRegex() != "" || leaf.GetRegex() != "" || leaf.GetExact()+leaf.GetPrefix() == "":
		return false
	case root.GetExact() != "":
		return leaf.GetExact() == root.GetExact()
	}
	return root.GetPrefix() != "" && strings.HasPrefix(leaf.GetExact()+leaf.GetPrefix(), root.GetPrefix())
}
