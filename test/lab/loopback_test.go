package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// The product of this checkout is waited for; who has no loopback, or nobody to try it, is not.
func TestKeepsLoopback(t *testing.T) {
	product, err := Plugin{Manifests: []string{"../../config"}}.read()
	if err != nil {
		t.Fatal(err)
	}
	const observers = "value: net-mesh-observers/net-mesh-observer"
	for name, row := range map[string]struct {
		manifest string
		want     bool
	}{
		"product":          {string(product), true},
		"without observer": {strings.ReplaceAll(string(product), observers, `value: ""`), false},
		"without rights":   {strings.ReplaceAll(string(product), loopbackSwitch, "other"), false},
		"somebody else":    {"kind: Deployment\n", false},
		"none":             {"", false},
	} {
		if got := keepsLoopback([]byte(row.manifest)); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
	if !strings.Contains(string(product), observers) {
		t.Errorf("no manifest has %q, so its absence is not tested", observers)
	}
}

// The names are those of the product.
func TestLoopbackIsNamedAsTheProductNamesIt(t *testing.T) {
	for got, want := range map[string]string{
		loopbackLabel: resources.LoopbackLabel, loopbackSwitch: resources.LoopbackSwitch,
		loopbackListener: resources.LoopbackListener, digestOf: resources.DigestAnnotation,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	source, err := os.ReadFile(filepath.FromSlash("../../pkg/reconciler/loopback/objects.go"))
	if err != nil || !strings.Contains(string(source), `"`+provenFor+`"`) {
		t.Errorf("the loop does not write %s (%v)", provenFor, err)
	}
}

func TestInForce(t *testing.T) {
	filter := func(name, digest, proven string, contexts ...v1alpha3.EnvoyFilter_PatchContext) *istiov1alpha3.EnvoyFilter {
		f := &istiov1alpha3.EnvoyFilter{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{digestOf: digest, provenFor: proven}}}
		for _, c := range contexts {
			f.Spec.ConfigPatches = append(f.Spec.ConfigPatches, &v1alpha3.EnvoyFilter_EnvoyConfigObjectPatch{Match: &v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch{Context: c}})
		}
		return f
	}
	listener, trial := filter(loopbackListener, "a", ""), filter("net-mesh-loopback-trial", "a", "")
	sidecars, both := filter(loopbackSwitch, "a", "a", v1alpha3.EnvoyFilter_SIDECAR_OUTBOUND), filter(loopbackSwitch, "a", "a", v1alpha3.EnvoyFilter_SIDECAR_OUTBOUND, v1alpha3.EnvoyFilter_GATEWAY)
	for name, row := range map[string]struct {
		filters  []*istiov1alpha3.EnvoyFilter
		gateways bool
		want     bool
	}{
		"mesh only":                       {[]*istiov1alpha3.EnvoyFilter{listener, sidecars}, false, true},
		"half mesh":                       {[]*istiov1alpha3.EnvoyFilter{listener, both}, true, true},
		"half mesh, without gateways yet": {[]*istiov1alpha3.EnvoyFilter{listener, sidecars}, true, false},
		"mesh only, with gateways still":  {[]*istiov1alpha3.EnvoyFilter{listener, both}, false, false},
		"not proven":                      {[]*istiov1alpha3.EnvoyFilter{listener, filter(loopbackSwitch, "a", "")}, false, false},
		"another generation proven":       {[]*istiov1alpha3.EnvoyFilter{listener, filter(loopbackSwitch, "b", "a")}, false, false},
		"on trial":                        {[]*istiov1alpha3.EnvoyFilter{listener, sidecars, trial}, false, false},
		"no switch":                       {[]*istiov1alpha3.EnvoyFilter{listener, trial}, false, false},
		"nothing":                         {nil, false, false},
	} {
		if err := inForce(row.filters, row.gateways); (err == nil) != row.want {
			t.Errorf("%s: got %v, want in force %v", name, err, row.want)
		}
	}
	if noLoopback(nil) != nil || noLoopback([]*istiov1alpha3.EnvoyFilter{trial}) == nil {
		t.Error("what is left is not seen")
	}
}

// With the loopback's name as the private address an Ingress names the local gateway, and is not at it.
func TestStillAtGateways(t *testing.T) {
	const list = `{"items": [
	  {"metadata": {"namespace": "a", "name": "mesh"}, "status": {"publicLoadBalancer": {"ingress": [{"meshOnly": true}]}, "privateLoadBalancer": {"ingress": [{"meshOnly": true}]}}},
	  {"metadata": {"namespace": "a", "name": "loopback"}, "status": {"privateLoadBalancer": {"ingress": [{"meshOnly": true, "domainInternal": "knative-local-gateway.istio-system.svc.cluster.local"}]}}},
	  {"metadata": {"namespace": "a", "name": "new"}},
	  {"metadata": {"namespace": "a", "name": "private"}, "status": {"privateLoadBalancer": {"ingress": [{"domainInternal": "g"}]}}},
	  {"metadata": {"namespace": "a", "name": "public"}, "status": {"publicLoadBalancer": {"ingress": [{"domainInternal": "g"}]}}}]}`
	got, err := stillAtGateways([]byte(list))
	if want := "a/private a/public"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %v (%v), want %s", got, err, want)
	}
}
