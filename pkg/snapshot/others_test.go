package snapshot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
)

func TestMeshHostKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		gateways, hosts, want []string
	}{
		"no gateways mean sidecars":   {nil, []string{"Hello.Example.com", "hello.example.com"}, []string{"hello.example.com"}},
		"sidecars among gateways":     {[]string{"a/b", "mesh"}, []string{"iris.models.svc.cluster.local", "iris.models"}, []string{"iris.models"}},
		"gateways only":               {[]string{"a/b"}, []string{"iris.models"}, nil},
		"one label is a Service here": {nil, []string{"iris"}, []string{"iris.models"}},
		"wildcards":                   {nil, []string{"*.example.com", "*"}, []string{"*", "*.example.com"}},
		"a delegate":                  {nil, nil, nil},
	} {
		vs := &istiov1.VirtualService{}
		vs.Namespace = "models"
		vs.Spec.Gateways, vs.Spec.Hosts = tt.gateways, tt.hosts
		if diff := cmp.Diff(tt.want, MeshHostKeys(vs)); diff != "" {
			t.Errorf("%s: (-want +got) %s", name, diff)
		}
	}
}

// TestUnrouted: a sidecar keeps a host for a VirtualService whose routes there are for others.
func TestUnrouted(t *testing.T) {
	const host = "iris.example.com"
	regex := func(text string) *v1alpha3.StringMatch {
		return &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Regex{Regex: text}}
	}
	inside := &v1alpha3.HTTPMatchRequest{Authority: regex(`^iris\.models$`), Gateways: []string{"mesh"}}
	outside := &v1alpha3.HTTPMatchRequest{Authority: regex(`^iris\.example\.com(?::\d{1,5})?$`), Gateways: []string{"a/b"}}
	with := func(change func(*v1alpha3.HTTPMatchRequest)) *v1alpha3.HTTPMatchRequest {
		m := outside.DeepCopy()
		change(m)
		return m
	}
	for name, tt := range map[string]struct {
		matches []*v1alpha3.HTTPMatchRequest
		want    bool
	}{
		"as KServe does":             {[]*v1alpha3.HTTPMatchRequest{inside, outside}, true},
		"all is taken":               {nil, false},
		"sidecars too":               {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Gateways = []string{"mesh"} })}, false},
		"wherever":                   {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Gateways = nil })}, false},
		"any host in sidecars":       {[]*v1alpha3.HTTPMatchRequest{outside, {Gateways: []string{"mesh"}}}, false},
		"another host":               {[]*v1alpha3.HTTPMatchRequest{inside}, false},
		"by a path":                  {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Uri = regex("/a") })}, false},
		"by a header":                {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Headers = map[string]*v1alpha3.StringMatch{"a": nil} })}, false},
		"any host at gateways":       {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Authority = nil })}, false},
		"a part of the host":         {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Authority = regex("iris") })}, false},
		"no regular expression":      {[]*v1alpha3.HTTPMatchRequest{with(func(m *v1alpha3.HTTPMatchRequest) { m.Authority = regex("(") })}, false},
		"a condition that is absent": {[]*v1alpha3.HTTPMatchRequest{nil}, false},
	} {
		routes := []*v1alpha3.HTTPRoute{{
			Match: tt.matches, Headers: &v1alpha3.Headers{Request: &v1alpha3.Headers_HeaderOperations{Set: map[string]string{"Host": "Iris-predictor.models"}}},
		}, nil}
		if tt.matches != nil {
			routes = routes[:1]
		}
		var want []Lead
		if tt.want {
			want = []Lead{{Host: host, To: "iris-predictor.models"}}
		}
		if diff := cmp.Diff(want, unrouted(routes, []string{host})); diff != "" {
			t.Errorf("%s: (-want +got) %s", name, diff)
		}
	}
}

// TestNobodyKeepsTheControllerBusy: whoever may write an InferenceService's VirtualService may write
// what takes hours to be understood. It is not looked at; KServe's is small.
func TestNobodyKeepsTheControllerBusy(t *testing.T) {
	regex := func(text string) *v1alpha3.HTTPMatchRequest {
		return &v1alpha3.HTTPMatchRequest{Gateways: []string{"a/b"}, Authority: &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Regex{Regex: text}}}
	}
	many := func(n int, m *v1alpha3.HTTPMatchRequest) []*v1alpha3.HTTPRoute {
		return []*v1alpha3.HTTPRoute{{Match: slices.Repeat([]*v1alpha3.HTTPMatchRequest{m}, n)}}
	}
	hosts := func(n int) []string { return slices.Repeat([]string{"iris.example.com"}, n) }
	for name, tt := range map[string]struct {
		routes []*v1alpha3.HTTPRoute
		hosts  []string
	}{
		"many hosts and conditions": {many(15_000, regex("iris[.]example[.]com")), hosts(20_000)},
		"many routes":               {slices.Repeat(many(1, regex("iris[.]example[.]com")), 15_000), hosts(20_000)},
		"a huge expression":         {many(1, regex("iris.example.com|"+strings.Repeat("(a?){1000}", 100_000))), hosts(1)},
		"a small one of much":       {many(1, regex("iris.example.com|((a{1,9}){1,9}){1,9}"+strings.Repeat("(b?){1000}", 20))), hosts(1)},
	} {
		if got := unrouted(tt.routes, tt.hosts); got != nil {
			t.Errorf("%s: it was looked at", name)
		}
	}
	if got := unrouted(many(20, regex(`^(?i)iris\.example\.com(?::\d{1,5})?$`)), hosts(20)); len(got) != 20 {
		t.Error("what KServe writes is too much:", got)
	}
}

// TestWhatIsNotUnderstoodIsNotServed: an expression that only Envoy reads may fit in sidecars.
func TestWhatIsNotUnderstoodIsNotServed(t *testing.T) {
	match := func(text, gateway string) *v1alpha3.HTTPRoute {
		return &v1alpha3.HTTPRoute{Match: []*v1alpha3.HTTPMatchRequest{{
			Gateways: []string{gateway}, Authority: &v1alpha3.StringMatch{MatchType: &v1alpha3.StringMatch_Regex{Regex: text}},
		}}}
	}
	for _, inSidecars := range []string{"(", `\C+`, "(?i", "a{2000}"} {
		if got := unrouted([]*v1alpha3.HTTPRoute{match(inSidecars, "mesh"), match("iris.*", "a/b")}, []string{"iris.example.com"}); got != nil {
			t.Errorf("%s: %v", inSidecars, got)
		}
	}
}
