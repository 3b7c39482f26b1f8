package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

var ingressgateway = types.NamespacedName{Namespace: "istio-system", Name: "istio-ingressgateway"}

func TestListenerNamesAreNetIstiosWhereUnique(t *testing.T) {
	if got := listenerName("tls", ingressgateway); got != "tls-3797421420" {
		t.Error("listenerName =", got)
	}
}

func TestListenerNamesAreLabelsAndDoNotCollide(t *testing.T) {
	long := strings.Repeat("a", 60)
	seen := map[string]string{}
	for _, ingress := range []string{"a.b", "a-b", long + "x", long + "y", strings.Repeat("a.", 100) + "a", "1.2.3"} {
		name := listenerName(ingress, ingressgateway)
		if errs := validation.IsDNS1123Label(name); len(errs) > 0 {
			t.Errorf("%s: %q: %v", ingress, name, errs)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s share %s", ingress, other, name)
		}
		seen[name] = ingress
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
