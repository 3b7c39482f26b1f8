package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

func from(t *testing.T, text string) (model.Model, []finding.Finding) {
	t.Helper()
	b, err := snapshot.ReadBundleStrictly([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := b.Config("cluster.local", "knative-serving")
	if err != nil {
		t.Fatal(err)
	}
	return model.FromIngress(snapshot.Ingress(b, cfg, b.Ingresses[0]))
}

const ordered = `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata:
  name: ing
  namespace: ns
  annotations:
    networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev
    networking.internal.knative.dev/rollout: '{}'
  labels: {serving.knative.dev/route: ing, serving.knative.dev/service: ing}
spec:
  rules:
  - hosts: [b.example.com, a.example.com]
    http:
      paths:
      - splits: [{serviceName: rest, serviceNamespace: ns, servicePort: 1}]
      - headers: {Knative-Serving-Tag: {exact: t}}
        splits: [{serviceName: tagged, serviceNamespace: ns, servicePort: 2}]
      - path: /a
        splits: [{serviceName: a, serviceNamespace: ns, servicePort: 3}]
      - path: /a/b
        splits: [{serviceName: ab, serviceNamespace: ns, servicePort: 4}]
      - path: /a
        headers: {Knative-Serving-Tag: {exact: t}}
        splits: [{serviceName: a-tagged, serviceNamespace: ns, servicePort: 5}]
  - hosts: [short.ns]
    visibility: ClusterLocal
    http:
      paths:
      - splits: [{serviceName: one, serviceNamespace: ns, servicePort: web, percent: 60}, {serviceName: one, serviceNamespace: ns, servicePort: 81, percent: 40}, {serviceName: gone, serviceNamespace: ns, servicePort: web, percent: 0}]
---
apiVersion: v1
kind: Service
metadata: {name: one, namespace: ns}
spec: {ports: [{name: other, port: 1}, {name: web, port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: short, namespace: ns}
spec: {clusterIP: 10.0.0.1}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: rest, namespace: ns}}
- {apiVersion: v1, kind: Service, metadata: {name: tagged, namespace: ns}}
- {apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}}
- {apiVersion: v1, kind: Service, metadata: {name: ab, namespace: ns}}
- {apiVersion: v1, kind: Service, metadata: {name: a-tagged, namespace: ns}}
`

func TestRoutesAreTriedInTheRightOrder(t *testing.T) {
	m, findings := from(t, ordered)
	if len(findings) > 0 {
		t.Error("findings:", findings)
	}
	var got []string
	for _, r := range m.VirtualHosts[0].Routes {
		got = append(got, r.Splits[0].Backend.Service.Name)
	}
	if diff := cmp.Diff([]string{"ab", "a-tagged", "a", "tagged", "rest"}, got); diff != "" {
		t.Error("longest path first, then headers (-want +got)", diff)
	}
}

func TestHostsAndPortsAreNoAlternatives(t *testing.T) {
	m, _ := from(t, ordered)
	want := []model.Host{{Name: "short.ns.svc.cluster.local", Short: []string{"short.ns", "short.ns.svc"}, Backing: model.ClusterIPService}}
	if diff := cmp.Diff(want, m.VirtualHosts[1].Hosts); diff != "" {
		t.Error("(-want +got)", diff)
	}
	splits := m.VirtualHosts[1].Routes[0].Splits
	if len(splits) != 2 || splits[0].Backend.Port != 8080 || splits[1].Backend.Port != 81 {
		t.Errorf("splits = %+v; a named port is looked up, a share of nothing is dropped", splits)
	}
}

func TestOnlyWhatIsNeededIsKept(t *testing.T) {
	m, _ := from(t, ordered)
	wantLabels := []model.KV{{Key: "serving.knative.dev/route", Value: "ing"}}
	wantAnnotations := []model.KV{{Key: "networking.knative.dev/ingress.class", Value: "istio.ingress.networking.knative.dev"}}
	if diff := cmp.Diff(wantLabels, m.Labels) + cmp.Diff(wantAnnotations, m.Annotations); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

func TestMatch(t *testing.T) {
	m, _ := from(t, ordered)
	tag := []model.KV{{Key: "knative-serving-tag", Value: "t"}}
	for _, tt := range []struct {
		scope config.Scope
		q     model.Request
		want  string
	}{
		{config.External, model.Request{Host: "a.example.com", Path: "/"}, "rest"},
		{config.External, model.Request{Host: "A.example.com:8080", Path: "/ax"}, "a"},
		{config.External, model.Request{Host: "b.example.com", Path: "/a", Headers: tag}, "a-tagged"},
		{config.External, model.Request{Host: "b.example.com", Path: "/a/b", Headers: tag}, "ab"},
		{config.External, model.Request{Host: "short.ns", Path: "/"}, ""},
		{config.Local, model.Request{Host: "short.ns.svc", Path: "/"}, "one"},
		{config.Local, model.Request{Host: "a.example.com", Path: "/"}, ""},
	} {
		route, ok := m.Match(tt.scope, tt.q)
		if ok != (tt.want != "") || (ok && route.Splits[0].Backend.Service.Name != tt.want) {
			t.Errorf("Match(%s, %+v) = %+v, %v, want %q", tt.scope, tt.q, route.Splits, ok, tt.want)
		}
	}
}

// TestAMissingServiceHasARoute: what comes later is served at once, and is awaited.
func TestAMissingServiceHasARoute(t *testing.T) {
	m, findings := from(t, `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  rules:
  - hosts: [foo.com]
    http:
      paths:
      - splits: [{serviceName: gone, serviceNamespace: ns, servicePort: 80, percent: 50}, {serviceName: there, serviceNamespace: ns, servicePort: 80, percent: 50}, {serviceName: later, serviceNamespace: ns, servicePort: 80, percent: 0}]
---
{apiVersion: v1, kind: Service, metadata: {name: there, namespace: ns}}
`)
	if len(findings) != 1 || findings[0].Reason != finding.ServiceMissing || findings[0].Path != "spec.rules[0].http.paths[0].splits[0]" {
		t.Error("findings:", findings)
	}
	if len(m.VirtualHosts) != 1 || len(m.VirtualHosts[0].Routes[0].Splits) != 2 {
		t.Error("virtual hosts:", m.VirtualHosts)
	}
}

// TestAsked states what counts as asked for, though it cannot be served: all but what is
// refused.
func TestAsked(t *testing.T) {
	m, _ := from(t, `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  rules:
  - hosts: [b.example.com, a.ns.svc.cluster.local, "*.victim", NoHost]
    http: {paths: [{splits: [{serviceName: missing, serviceNamespace: ns, servicePort: named}]}]}
  tls:
  - {hosts: [b.example.com], secretName: missing}
  - {hosts: [a.ns.svc.cluster.local], secretName: theirs, secretNamespace: other}
`)
	want := model.Asked{Hosts: []string{"a.ns", "a.ns.svc", "a.ns.svc.cluster.local", "b.example.com"}, TLS: []string{"b.example.com"}}
	if diff := cmp.Diff(want, m.Asked); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if len(m.VirtualHosts) > 0 {
		t.Error("something is served:", m.VirtualHosts)
	}
}

// TestHostsOfARuleAreToldOnce: hosts and paths are the writer's to multiply, so what is said of a path is said once for all hosts of
// its rule.
func TestHostsOfARuleAreToldOnce(t *testing.T) {
	const hosts, paths = 300, 300
	var text strings.Builder
	text.WriteString(`{"apiVersion": "networking.internal.knative.dev/v1alpha1", "kind": "Ingress", "metadata": {"namespace": "apps", "name": "wide"}, "spec": {"rules": [{"visibility": "ExternalIP", "hosts": ["a.example.com"`)
	for i := range hosts - 1 {
		fmt.Fprintf(&text, `, "host-%d.example.com"`, i)
	}
	text.WriteString(`], "http": {"paths": [`)
	for i := range paths {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, `{"path": "/same", "appendHeaders": {"N": "%d"}, "splits": [{"percent": 100, "serviceNamespace": "apps", "serviceName": "one", "servicePort": 80}]}`, i)
	}
	text.WriteString(`]}}]}}`)
	m, findings := from(t, text.String())
	if len(m.VirtualHosts) != 1 || len(m.VirtualHosts[0].Hosts) != hosts || len(m.VirtualHosts[0].Routes) != 1 {
		t.Fatalf("got %d virtual hosts", len(m.VirtualHosts))
	}
	shadowed := slices.DeleteFunc(findings, func(f finding.Finding) bool { return f.Reason != finding.RouteShadowed })
	if len(shadowed) != paths-1 || !strings.HasPrefix(shadowed[0].Message, "host a.example.com, and of 299 more: ") {
		t.Errorf("got %d findings, the first of which is %q", len(shadowed), shadowed[0].Message)
	}
}
