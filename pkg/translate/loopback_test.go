package translate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

const loopbacks = "testdata/loopback"

func loopback(t *testing.T, dir, mode string) translate.LoopbackResult {
	t.Helper()
	b, cfg := load(t, dir, mode)
	return translate.Loopback(snapshot.LoopbackOf(b, cfg, "istio-system", []types.NamespacedName{{Namespace: "net-mesh-observers", Name: "net-mesh-observer"}}))
}

// TestLoopbackGolden translates every case of the loopback under every mode.
func TestLoopbackGolden(t *testing.T) {
	known := []string{"in.yaml"}
	for _, mode := range modes(t) {
		known = append(known, "in."+mode+".yaml", mode+".yaml", mode+".plan.yaml")
	}
	for _, dir := range glob(t, loopbacks+"/*") {
		for _, mode := range modes(t) {
			r := loopback(t, dir, mode)
			compare(t, filepath.Join(dir, mode+".yaml"), stream(t, r.Objects.All()))
			compare(t, filepath.Join(dir, mode+".plan.yaml"), stream(t, []any{r.Plan, r.Findings}))
		}
		for _, file := range glob(t, dir+"/*") {
			if !slices.Contains(known, filepath.Base(file)) {
				t.Error("Nobody reads", file)
			}
		}
	}
}

// TestLawsOfTheLoopback: what concerns every proxy is in the root namespace and is the same as
// what is tried, but for where it is; and the doors are those that Ingresses are exposed at.
func TestLawsOfTheLoopback(t *testing.T) {
	validators := istioSchemas(t)
	for _, dir := range glob(t, loopbacks+"/*") {
		for _, mode := range modes(t) {
			r := loopback(t, dir, mode)
			if r.Plan.Wanted != (mode == "half-mesh" || mode == "mesh-only") {
				t.Errorf("%s: wanted in mode %s: %v", dir, mode, r.Plan.Wanted)
			}
			if !r.Plan.Wanted {
				if len(r.Objects.All()) > 0 {
					t.Error("there are objects that are not wanted")
				}
				continue
			}
			for _, f := range append(slices.Clone(r.Objects.Trials), r.Objects.Listener, r.Objects.Switch) {
				valid(t, validators["EnvoyFilter"], dir+" in mode "+mode+": "+f.Name, f)
				if tried := f.Spec.WorkloadSelector != nil; tried == (f.Namespace == "istio-system") {
					t.Errorf("%s/%s: for all: %v", f.Namespace, f.Name, !tried)
				}
			}
			for _, one := range r.Objects.Trials {
				if got, want := written(one), strings.NewReplacer(`net-mesh-loopback"`, `net-mesh-loopback-trial"`, plan.ListenerHost, plan.TrialHost).Replace(written(r.Objects.Listener)); got != want {
					t.Errorf("another listener is tried than is given to all:\n%s\n%s", got, want)
				}
			}
			for _, g := range r.Objects.Doors {
				valid(t, validators["Gateway"], dir+" in mode "+mode+": "+g.Name, g)
				if s := g.Spec.Servers; len(s) != 1 || s[0].Bind != "127.0.0.1" || len(g.Spec.Selector) == 0 {
					t.Error("the world may reach", g)
				}
			}
		}
	}
}

// written gives what patches add, without spaces that protobuf puts in by chance.
func written(f *istiov1alpha3.EnvoyFilter) string {
	var out strings.Builder
	for _, p := range f.Spec.ConfigPatches {
		if p.Patch.Operation == v1alpha3.EnvoyFilter_Patch_ADD {
			text, err := p.Patch.Value.MarshalJSON()
			if err != nil {
				panic(err)
			}
			out.WriteString(strings.ReplaceAll(string(text), `": `, `":`) + "\n")
		}
	}
	return out.String()
}

// TestDoorsAreThoseOfTheLoopback: an Ingress is exposed at Gateways that the loopback makes, or
// that it cannot make.
func TestDoorsAreThoseOfTheLoopback(t *testing.T) {
	var doors []string
	for _, g := range loopback(t, loopbacks+"/observed", "half-mesh").Objects.Doors {
		doors = append(doors, g.Namespace+"/"+g.Name)
	}
	found := false
	for _, vs := range result(t, "serving-plain", "half-mesh", "plain").Objects.VirtualServices {
		if strings.HasSuffix(vs.Name, "-local") {
			found = true
			if !slices.Equal(vs.Spec.Gateways, doors) {
				t.Errorf("%s is at %v, and the doors are %v", vs.Name, vs.Spec.Gateways, doors)
			}
		}
	}
	if !found {
		t.Error("nothing is exposed at doors")
	}
}
