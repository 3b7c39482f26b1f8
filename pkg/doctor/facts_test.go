package doctor

import (
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	"istio.io/api/security/v1beta1"
	typev1beta1 "istio.io/api/type/v1beta1"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	securityv1 "istio.io/client-go/pkg/apis/security/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestImports(t *testing.T) {
	const host = "hello.shop.svc.cluster.local"
	for entry, want := range map[string]bool{
		"*/*": true, "shop/*": true, "./*": false, "~/*": false, "other/*": false, "shop/" + host: true, "*/" + host: true,
		"shop/*.svc.cluster.local": true, "shop/*.local": true, "shop/hello": false, "shop": false, "": false, "/": false, "shop/*.other.svc.cluster.local": false,
	} {
		s := &istiov1.Sidecar{Spec: v1alpha3.Sidecar{Egress: []*v1alpha3.IstioEgressListener{{Hosts: []string{entry}}}}}
		if got := imports(s, "clients", 80, "shop", host); got != want {
			t.Errorf("%q: %v", entry, got)
		}
		if got := imports(s, "shop", 80, "shop", host); got != (want || entry == "./*") {
			t.Errorf("%q from its own namespace: %v", entry, got)
		}
	}
	for entries, want := range map[string]bool{
		"*/* ~shop/*": false, "*/* ~/*": false, "*/* ~other/*": true, "~shop/hello.shop.svc.cluster.local shop/*": false, "shop/* ~/other.shop.svc.cluster.local": true,
	} {
		s := &istiov1.Sidecar{Spec: v1alpha3.Sidecar{Egress: []*v1alpha3.IstioEgressListener{{Hosts: strings.Fields(entries)}}}}
		if got := imports(s, "clients", 80, "shop", host); got != want {
			t.Errorf("%q: %v", entries, got)
		}
		if fix, _ := widened(s, []string{"shop"}).Object.(*istiov1.Sidecar); !imports(fix, "clients", 80, "shop", host) {
			t.Errorf("%q does not become wide enough: %v", entries, fix.Spec.Egress)
		}
	}
	if !imports(nil, "clients", 80, "shop", host) || !imports(&istiov1.Sidecar{}, "clients", 80, "shop", host) {
		t.Error("without a Sidecar, or without egress, all is known")
	}
}

// TestScope: the nearest Sidecar holds, the oldest of several.
func TestScope(t *testing.T) {
	at := func(namespace, name string, year int, selector map[string]string) *istiov1.Sidecar {
		s := &istiov1.Sidecar{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.Date(year, 1, 1, 0, 0, 0, 0, metav1.Now().Location())}}
		if selector != nil {
			s.Spec.WorkloadSelector = &v1alpha3.WorkloadSelector{Labels: selector}
		}
		return s
	}
	f := newFacts(World{Objects: Objects{Sidecars: []*istiov1.Sidecar{
		at("istio-system", "root", 2020, nil), at("istio-system", "not-for-others", 2019, map[string]string{"app": "a"}),
		at("clients", "young", 2025, nil), at("clients", "old", 2021, nil), at("clients", "selects", 2024, map[string]string{"app": "a"}),
	}}})
	for _, tt := range []struct {
		namespace, app, want string
	}{{"clients", "a", "selects"}, {"clients", "b", "old"}, {"shop", "a", "root"}, {"istio-system", "a", "not-for-others"}} {
		s, unsure := f.scope(Workload{Namespace: tt.namespace, Labels: map[string]string{"app": tt.app}})
		if s == nil || s.Name != tt.want || unsure {
			t.Errorf("%v: %v, %v", tt, s.GetName(), unsure)
		}
	}
	if s, unsure := f.scope(Workload{Namespace: "clients", Vague: true}); s.Name != "old" || !unsure {
		t.Error(s.Name, unsure)
	}
}

func TestMTLS(t *testing.T) {
	at := func(namespace string, mode mtlsMode, selector map[string]string, ports map[uint32]mtlsMode) *securityv1.PeerAuthentication {
		p := &securityv1.PeerAuthentication{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		p.Spec.Mtls = &v1beta1.PeerAuthentication_MutualTLS{Mode: mode}
		if selector != nil {
			p.Spec.Selector = &typev1beta1.WorkloadSelector{MatchLabels: selector}
		}
		for port, m := range ports {
			p.Spec.PortLevelMtls = map[uint32]*v1beta1.PeerAuthentication_MutualTLS{port: {Mode: m}}
		}
		return p
	}
	f := newFacts(World{Objects: Objects{PeerAuthentications: []*securityv1.PeerAuthentication{
		at("istio-system", strict, nil, nil), at("lax", permissive, nil, nil), at("silent", unset, nil, nil),
		at("lax", strict, map[string]string{"app": "a"}, map[uint32]mtlsMode{9090: disabled}),
	}}})
	for _, tt := range []struct {
		namespace, app string
		port           uint32
		want           mtlsMode
	}{{"shop", "a", 80, strict}, {"silent", "a", 80, strict}, {"lax", "b", 80, permissive}, {"lax", "a", 80, strict}, {"lax", "a", 9090, disabled}} {
		if got := f.mtls(Workload{Namespace: tt.namespace, Labels: map[string]string{"app": tt.app}}, tt.port); got != tt.want {
			t.Errorf("%v: %v", tt, got)
		}
	}
	if got := newFacts(World{}).namespaceMTLS("shop"); got != permissive {
		t.Error("without any:", got)
	}
}

// TestSources: who may call, by a rule of an AuthorizationPolicy.
func TestSources(t *testing.T) {
	f := newFacts(World{SystemNamespace: "knative-serving"})
	const me = "cluster.local/ns/knative-serving/sa/activator"
	for _, tt := range []struct {
		name        string
		source      *v1beta1.Source
		may, surely bool
	}{
		{"anybody", &v1beta1.Source{}, true, true},
		{"nobody said", nil, true, false},
		{"by name", &v1beta1.Source{Principals: []string{"other", me}}, true, true},
		{"by its end", &v1beta1.Source{Principals: []string{"*/sa/activator"}}, true, true},
		{"by its beginning", &v1beta1.Source{Principals: []string{"cluster.local/ns/knative-serving/*"}}, true, true},
		{"all with a name", &v1beta1.Source{Principals: []string{"*"}}, true, true},
		{"others", &v1beta1.Source{Principals: []string{"cluster.local/ns/clients/sa/caller"}}, false, false},
		{"all but it", &v1beta1.Source{NotPrincipals: []string{me}}, false, false},
		{"by namespace", &v1beta1.Source{Namespaces: []string{"knative-serving"}}, true, true},
		{"by another namespace", &v1beta1.Source{Namespaces: []string{"clients"}}, false, false},
		{"not from there", &v1beta1.Source{NotNamespaces: []string{"knative-*"}}, false, false},
		{"by account", &v1beta1.Source{ServiceAccounts: []string{"knative-serving/activator"}}, true, true},
		{"with a token", &v1beta1.Source{RequestPrincipals: []string{"*"}}, true, false},
	} {
		rule := &v1beta1.Rule{From: []*v1beta1.Rule_From{{Source: tt.source}}}
		if may, surely := f.from(rule, false), f.from(rule, true); may != tt.may || surely != tt.surely {
			t.Errorf("%s: %v, surely %v", tt.name, may, surely)
		}
	}
}

// TestCatalogue: each reason once, with words.
func TestCatalogue(t *testing.T) {
	seen := map[Reason]bool{}
	for _, e := range Catalogue() {
		if seen[e.Reason] || e.Help == "" || rank(e.Verdict) < 0 {
			t.Error(e)
		}
		seen[e.Reason] = true
	}
	if Reason("Forgotten").Entry().Verdict != Wrong {
		t.Error("a reason that is not in the catalogue is not seen")
	}
}
