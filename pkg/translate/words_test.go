package translate_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

type world struct {
	bundle *snapshot.Bundle
	cfg    config.Config
}

// FuzzWords puts any words where a user may write some, into one path of an Ingress: what is
// written is what Istio and Envoy take; whatever becomes of the path, its neighbours are served;
// and if it is not, its user is told.
func FuzzWords(f *testing.F) {
	for _, words := range [][]string{
		{"h.example.com", "/p", "H", "v", "Set", "v", "r.example.com", "Split", "v"},
		{"*.example.com", "", "K-Network-Hash", "override", "K-Network-Hash", "x", "", "k-network-hash", ""},
		{"neighbour.example.com", "/p", "x", "", "Set", "%A%", "R.Example.COM:80", "set", "100%"},
		{"h.apps.svc.cluster.local", "p", "", "v", "", "v", "a..b", "", "v"},
		{"*.apps.svc.cluster.local", "/a b", "a b", " v", "a b", "a\nb", "a b", "a:b", "a\tb"},
		{"h.apps", "/a?b", "Host", "h", "host", "h", "*.a", ":authority", "a\x00b"},
		{"h", "/a#b", ":path", "/", ":path", "/", "a:b", "@request.auth.claims.x", "\x7f"},
		{"h.svc", "/%zz", "@request.auth.claims.x", "y", "ü", "ü", "a:", "ü", "ü"},
		{"a.b.c", "/ü", "ü", "ü", strings.Repeat("x", 20000), "x", strings.Repeat("x", 64) + ".y", "x", strings.Repeat("%", 10000)},
	} {
		f.Add(uint8(0), words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8])
		f.Add(uint8(3), words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8])
	}
	var worlds []world
	for _, mode := range modes(f) {
		b, err := snapshot.ReadBundle(read(f, filepath.Join("testdata/modes", mode+".yaml")))
		if err != nil {
			f.Fatal(err)
		}
		cfg, _, err := b.Config(clusterDomain, systemNamespace)
		if err != nil {
			f.Fatal(err)
		}
		worlds = append(worlds, world{b, cfg})
	}
	f.Fuzz(func(t *testing.T, mode uint8, host, path, match, matched, set, value, rewrite, of, share string) {
		for _, word := range []string{host, path, match, matched, set, value, rewrite, of, share} {
			if !utf8.ValidString(word) {
				return // the API server stores JSON
			}
		}
		backend := v1alpha1.IngressBackend{ServiceNamespace: "apps", ServiceName: "a", ServicePort: intstr.FromInt(80)}
		good := v1alpha1.HTTPIngressPath{Path: "/neighbour", Splits: []v1alpha1.IngressBackendSplit{{IngressBackend: backend}}}
		odd := v1alpha1.HTTPIngressPath{
			Path: path, RewriteHost: rewrite, Headers: map[string]v1alpha1.HeaderMatch{match: {Exact: matched}}, AppendHeaders: map[string]string{set: value},
			Splits: []v1alpha1.IngressBackendSplit{
				{IngressBackend: backend, Percent: 50, AppendHeaders: map[string]string{of: share}}, {IngressBackend: backend, Percent: 50},
			},
		}
		ing := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "words", UID: "u"}, Spec: v1alpha1.IngressSpec{
			HTTPOption: v1alpha1.HTTPOptionEnabled,
			Rules: []v1alpha1.IngressRule{{
				Hosts: []string{"neighbour.example.com", host}, HTTP: &v1alpha1.HTTPIngressRuleValue{Paths: []v1alpha1.HTTPIngressPath{odd, good}},
			}},
		}}
		w := worlds[int(mode)%len(worlds)]
		r := translate.Ingress(snapshot.Ingress(w.bundle, w.cfg, ing))
		for _, broken := range breaches(r) {
			t.Error(broken)
		}
		if !serves(r, 1) {
			t.Error("the path beside is not served")
		}
		if worst, _ := finding.Worst(r.Findings); !serves(r, 0) && worst != finding.Invalid && !toldOf(r, finding.RouteShadowed) {
			t.Errorf("the path is left out, and nobody is told: %v", r.Findings)
		}
	})
}

// serves says whether some route is of a path of the first rule.
func serves(r translate.Result, path int) bool {
	for _, vh := range r.Model.VirtualHosts {
		for _, route := range vh.Resolved() {
			if route.Source.Path == path {
				return len(r.Objects.VirtualServices) > 0
			}
		}
	}
	return false
}

func toldOf(r translate.Result, reason finding.Reason) bool {
	return slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Reason == reason })
}
