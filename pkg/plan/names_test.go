package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/config"
)

var ingressgateway = types.NamespacedName{Namespace: "istio-system", Name: "istio-ingressgateway"}

func TestListenerNamesAreNetIstiosWhereUnique(t *testing.T) {
	if got := listenerName("tls", config.External, ingressgateway); got != "tls-3797421420" {
		t.Error("listenerName =", got)
	}
}

func TestListenerNamesAreLabelsAndDoNotCollide(t *testing.T) {
	long := strings.Repeat("a", 60)
	seen := map[string]string{}
	for _, ingress := range []string{"a.b", "a-b", long + "x", long + "y", strings.Repeat("a.", 100) + "a", "1.2.3"} {
		name := listenerName(ingress, config.External, ingressgateway)
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("%s: %q: %v", ingress, name, errs)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s share %s", ingress, other, name)
		}
		seen[name] = ingress
	}
}

// TestExposuresNeverShareAName: two hosts with one short hash are soon found, and two objects
// of one name would be written in turns for ever.
func TestExposuresNeverShareAName(t *testing.T) {
	one, other := "h98560.example.com", "h111637.example.com"
	if digest(one)[:8] != digest(other)[:8] {
		t.Fatal("the hashes differ, so nothing is shown")
	}
	for _, ingress := range []string{"i", strings.Repeat("a", 60)} {
		var all []Exposure
		for _, host := range []string{"first.example.com", one, other, other} {
			name := exposureName(ingress, Ingress, all, host)
			for _, e := range all {
				if e.Name == name {
					t.Errorf("%s is taken", name)
				}
			}
			if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
				t.Errorf("%s: %v", name, errs)
			}
			all = append(all, Exposure{Name: name, Kind: Ingress})
		}
	}
}

func TestCopyNamesFit(t *testing.T) {
	if got := copyName("i", "u"); got != "i-u" {
		t.Error("copyName =", got)
	}
	if got := copyName(strings.Repeat("a", 250), "00000000-0000-4000-8000-000000000001"); len(validation.IsDNS1123Subdomain(got)) > 0 {
		t.Error("copyName =", got)
	}
}

// The names of a wildcard certificate's objects are those that net-istio was recorded with.
func TestSharedNamesAreNetIstiosWhereUnique(t *testing.T) {
	if got := sharedListenerName("wild-cert", ingressgateway); got != "wildcard-726e1122" {
		t.Error("sharedListenerName =", got)
	}
	for secret, want := range map[types.NamespacedName]string{
		{Namespace: "rec", Name: "wild-cert"}:              "rec--wild-cert-wildcard",
		{Namespace: "a", Name: "b--c"}:                     "a--b--c-wildcard",
		{Namespace: "a--b", Name: "c"}:                     digest(types.NamespacedName{Namespace: "a--b", Name: "c"})[:32] + "-wildcard",
		{Namespace: "a", Name: strings.Repeat("long", 62)}: digest(types.NamespacedName{Namespace: "a", Name: strings.Repeat("long", 62)})[:32] + "-wildcard",
	} {
		if got := sharedCopyName(secret); got != want || len(validation.IsDNS1123Subdomain(got)) > 0 {
			t.Errorf("sharedCopyName(%s) = %s, want %s", secret, got, want)
		}
	}
}

func TestLocalListenersHaveNamesOfTheirOwn(t *testing.T) {
	if external, local := listenerName("i", config.External, ingressgateway), listenerName("i", config.Local, ingressgateway); external == local {
		t.Errorf("both are %s", local)
	}
}

func TestConcreteHosts(t *testing.T) {
	for want, hosts := range map[string][]string{
		"a.ns.svc.cluster.local": {"a.ns", "a.ns.svc", "a.ns.svc.cluster.local", "b.ns.svc.cluster.local"},
		"probe.example.com":      {"*.example.com"},
	} {
		if got := concrete(hosts); got != want {
			t.Errorf("concrete(%v) = %s, want %s", hosts, got, want)
		}
	}
}
