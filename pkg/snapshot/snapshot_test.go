package snapshot_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

func TestParseHost(t *testing.T) {
	for _, tt := range []struct {
		host  string
		scope config.Scope
		want  string
	}{
		{"a.ns.svc.cluster.local", config.Local, "ns/a"},
		{"a.ns.svc", config.Local, "ns/a"},
		{"a.ns", config.Local, "ns/a"},
		{"a.other.svc.cluster.local", config.Local, "other/a"},
		{"a.other", config.Local, ""}, // a domain of the world, for all we know
		{"foo.com", config.Local, ""},
		{"a.b.ns", config.Local, ""},
		{"a.b.ns.svc.cluster.local", config.Local, ""},
		{"*.ns.svc.cluster.local", config.Local, ""},
		{"a.ns.svc.cluster.local", config.External, "ns/a"},
		{"a.ns.svc", config.External, ""},
		{"a.ns", config.External, ""},
		{"ns", config.Local, ""},
		{".ns", config.Local, ""},
	} {
		got, ok := snapshot.ParseHost(tt.host, "cluster.local", tt.scope, "ns")
		if ok != (tt.want != "") || (ok && got.String() != tt.want) {
			t.Errorf("ParseHost(%s, %s) = %v, %v, want %q", tt.host, tt.scope, got, ok, tt.want)
		}
	}
}

const world = `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  rules:
  - hosts: [a.ns, a.ns.svc.cluster.local, foo.com]
    visibility: ClusterLocal
    http:
      paths:
      - splits:
        - {serviceName: named, serviceNamespace: ns, servicePort: web, percent: 100}
        - {serviceName: numbered, serviceNamespace: ns, servicePort: 80, percent: 100}
        - {serviceName: later, serviceNamespace: ns, servicePort: 80, percent: 0}
  tls:
  - {hosts: [a.ns], secretName: cert}
  - {hosts: [a.ns], secretName: cert, secretNamespace: other}
---
apiVersion: v1
kind: Secret
metadata: {name: cert, namespace: ns, uid: u}
stringData: {}
data: {tls.key: dG9wIHNlY3JldA==, tls.crt: bm90aGluZw==}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: ns}
spec: {type: ExternalName, externalName: elsewhere.example.com}
---
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, namespace: ns}
`

func gather(t *testing.T) snapshot.Snapshot {
	t.Helper()
	b, err := snapshot.ReadBundle([]byte(world))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Ignored) != 1 || b.Ignored[0].Name != "d" {
		t.Error("Ignored =", b.Ignored)
	}
	cfg, _, err := b.Config("cluster.local", "knative-serving")
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Ingress(b, cfg, b.Ingresses[0])
}

func TestWhatIsReadIsWatched(t *testing.T) {
	var got []string
	for _, r := range gather(t).World.Refs {
		found := "missing"
		if r.Found {
			found = "found"
		}
		got = append(got, r.Kind+" "+r.Namespace+"/"+r.Name+" "+found)
	}
	want := []string{
		"Gateway knative-serving/knative-ingress-gateway missing", // which must not listen where the local one does
		"Gateway knative-serving/knative-local-gateway missing",
		"Secret ns/cert found",
		"Service com/foo missing", // foo.com may be taken for it
		"Service istio-system/istio-ingressgateway missing",
		"Service istio-system/knative-local-gateway missing",
		"Service ns/a found",
		"Service ns/named missing",
		"Service ns/numbered missing", // and not the one that is a place to roll out to
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// TestWhatIsNotNeededWakesNobody: an Ingress with public rules only does not look at local gateways, nor
// one with local rules at external ones where there is no local gateway.
func TestWhatIsNotNeededWakesNobody(t *testing.T) {
	for visibility, unwanted := range map[string]string{"ExternalIP": "local-gateway", "ClusterLocal": "ingress"} {
		b, err := snapshot.ReadBundle([]byte(strings.ReplaceAll(world, "ClusterLocal", visibility)), []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: config-istio, namespace: knative-serving}
data: {local-gateways: "[]"}
`))
		if err != nil {
			t.Fatal(err)
		}
		cfg, _, err := b.Config("cluster.local", "knative-serving")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range snapshot.Ingress(b, cfg, b.Ingresses[0]).World.Refs {
			if strings.Contains(r.Name, unwanted) {
				t.Errorf("%s: %s %s is looked at", visibility, r.Kind, r.Name)
			}
		}
	}
}

func TestNoKeyGoesFurther(t *testing.T) {
	text, err := json.Marshal(gather(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"top secret", "dG9wIHNlY3JldA"} {
		if strings.Contains(string(text), secret) {
			t.Error("the key is in the snapshot")
		}
	}
}

func TestFactsAboutObjects(t *testing.T) {
	w := gather(t).World
	if c := w.Certificates[0]; !c.Found || c.UID != "u" || c.Fault != "its tls.crt is not PEM" {
		t.Errorf("certificate = %+v", c)
	}
	for _, s := range w.Services {
		if s.Name == (types.NamespacedName{Namespace: "ns", Name: "a"}) && s.ExternalName != "elsewhere.example.com" {
			t.Errorf("service = %+v", s)
		}
	}
}

func TestBundleErrorsNameTheLine(t *testing.T) {
	_, err := snapshot.ReadBundle([]byte("kind: Nothing\n---\n\n---\napiVersion: v1\nkind: Service\nspec: [1]\n"))
	if err == nil || !strings.Contains(err.Error(), "line 4") {
		t.Error("error =", err)
	}
	_, err = snapshot.ReadBundleStrictly([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\ncolour: red\n"))
	if err == nil || !strings.Contains(err.Error(), "colour") {
		t.Error("strictly, error =", err)
	}
}

func TestBundleErrorsNameTheFile(t *testing.T) {
	_, err := snapshot.ReadFiles(
		snapshot.File{Name: "a.yaml", Text: []byte("kind: Nothing\n---\nkind: [\n")},
		snapshot.File{Name: "b.yaml", Text: []byte("no: kind\n")},
	)
	want := "a.yaml:3: did not find expected node content\n" +
		"b.yaml:1: it has no kind, so it is no object of Kubernetes; add apiVersion and kind, or remove it"
	if err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

const twice = `
apiVersion: v1
kind: ConfigMap
metadata: {name: config-istio, namespace: serving}
data: {local-gateways: none}
--- # the last one counts
apiVersion: v1
kind: ConfigMap
metadata: {name: config-istio, namespace: serving}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: config-network, namespace: elsewhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: serving}
`

func TestBundleConfig(t *testing.T) {
	b, err := snapshot.ReadBundle([]byte(twice))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Replaced) != 1 || b.Replaced[0].Name != config.IstioConfigMap || len(b.Ignored) != 1 {
		t.Errorf("Replaced = %v, Ignored = %v", b.Replaced, b.Ignored)
	}
	namespace, err := b.SystemNamespace()
	if err != nil || namespace != "serving" {
		t.Errorf("SystemNamespace() = %s, %v", namespace, err)
	}
	name := types.NamespacedName{Namespace: namespace, Name: config.IstioConfigMap}
	b.Set(name, "local-gateways", "[]")
	if cfg, _, err := b.Config("cluster.local", namespace); err != nil || len(cfg.Istio.Local) != 0 || len(cfg.Istio.External) != 1 {
		t.Errorf("Config() = %+v, %v", cfg, err)
	}
	b.Set(name, "local-gateways", "none")
	if _, _, err := b.Config("cluster.local", namespace); err == nil || !strings.HasPrefix(err.Error(), "document at line 6: ") {
		t.Error("Config() with a wrong value:", err)
	}
}

func TestPlainTextOfSecrets(t *testing.T) {
	b, err := snapshot.ReadBundle([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\nstringData: {tls.crt: text}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s, found := b.Secret(types.NamespacedName{Namespace: "b", Name: "a"}); !found || string(s.Data["tls.crt"]) != "text" {
		t.Errorf("Secret = %v, %v", s, found)
	}
}

func TestUnknownFieldsAreNotedWithTheirLines(t *testing.T) {
	const text = `apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: a, namespace: b, labels: {c.d/e: f}}
spec:
  x-rules: &paths
    paths: []
  rules:
  - hosts: [a.b]
    http: *paths
  - http:
      paths:
      - path: /
        rewritehost: no
        headers: {X-A: {exact: b, Prefix: c}}
`
	b, err := snapshot.ReadFiles(snapshot.File{Name: "in.yaml", Text: []byte("# before\n---\n" + text)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, u := range b.Unknown {
		if u.File != "in.yaml" || u.Object.Namespace != "b" || u.Object.Name != "a" {
			t.Errorf("%+v", u)
		}
		got[u.Path] = u.Line
	}
	want := map[string]int{"spec.x-rules": 7, "spec.rules[1].http.paths[0].rewritehost": 15, "spec.rules[1].http.paths[0].headers.X-A.Prefix": 16}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if b, err = snapshot.ReadFiles(snapshot.File{Text: []byte(text), Served: true}); err != nil || len(b.Unknown) > 0 {
		t.Errorf("an API server may be newer than we are: %v, %+v", err, b.Unknown)
	}
}
