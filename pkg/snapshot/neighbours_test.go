package snapshot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

const own = `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: own, namespace: ns, annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}}
spec:
  rules:
  - hosts: [a.ns, foo.com]
    visibility: ClusterLocal
    http: {paths: [{splits: []}]}
---
`

// TestNeighbours states who is one: another Ingress of ours that claims a host of this one
// in whatever spelling, with no more of it than that.
func TestNeighbours(t *testing.T) {
	for _, tt := range []struct {
		name, meta, rule string
		want             []string
	}{
		{"the same host", "", "{hosts: [foo.com], http: {paths: [{}]}}", []string{"External foo.com"}},
		{"another spelling", "", "{hosts: [a.ns.svc.cluster.local, b.ns], visibility: ClusterLocal, http: {paths: [{}]}}", []string{"Local a.ns.svc.cluster.local"}},
		{"another host", "", "{hosts: [b.ns, bar.com], http: {paths: [{}]}}", nil},
		{"a wildcard that covers it", "", "{hosts: ['*.com'], http: {paths: [{}]}}", nil},
		{"it is being deleted", `, deletionTimestamp: "2026-01-01T10:00:00Z"`, "{hosts: [foo.com], http: {paths: [{}]}}", nil},
		{"it is of another class", `, annotations: {networking.knative.dev/ingress.class: kourier.ingress.networking.knative.dev}`, "{hosts: [foo.com], http: {paths: [{}]}}", nil},
		{"it has no class", `, annotations: {}`, "{hosts: [foo.com], http: {paths: [{}]}}", nil},
		{"its rule says nothing", "", "{hosts: [foo.com]}", nil},
		{"its rule cannot be understood", "", "{hosts: [foo.com], visibility: Galaxy, http: {paths: [{}]}}", nil},
	} {
		meta := tt.meta
		if meta == "" || meta[2] != 'a' {
			meta += ", annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}"
		}
		b, err := snapshot.ReadBundle([]byte(own + `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: other, namespace: elsewhere` + meta + `}
spec: {rules: [` + tt.rule + `]}
`))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		cfg, _, err := b.Config("cluster.local", "knative-serving")
		if err != nil {
			t.Fatal(err)
		}
		w := snapshot.Ingress(b, cfg, b.Ingresses[1]).World
		var got []string
		for _, n := range w.Neighbours {
			for _, c := range n.Claims {
				got = append(got, string(c.Scope)+" "+c.Host)
			}
			if n.Name.Name != "other" || len(n.External) != 1 || len(n.Local) != 1 {
				t.Errorf("%s: neighbour = %+v", tt.name, n)
			}
		}
		if diff := cmp.Diff(tt.want, got) + cmp.Diff([]string{"a.ns", "foo.com"}, w.HostKeys); diff != "" {
			t.Errorf("%s: (-want +got) %s", tt.name, diff)
		}
	}
}

func TestShorthand(t *testing.T) {
	for host, want := range map[string]string{
		"a.ns": "ns/a", "a.ns.svc": "ns/a", "a.svc": "svc/a", "a.svc.svc": "svc/a", "a.b.ns.svc": "", "a": "", "svc": "", "*.ns": "", "a.b.c": "",
	} {
		got, ok := snapshot.Shorthand(host)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("Shorthand(%s) = %v, %v, want %q", host, got, ok, want)
		}
	}
}

// TestHostKey: whatever a Service is called by has one key.
func TestHostKey(t *testing.T) {
	for key, hosts := range map[string][]string{
		"a.ns":    {"a.ns", "a.ns.svc", "a.ns.svc.cluster.local", "a.ns.svc.example.org"},
		"svc.ns":  {"svc.ns", "svc.ns.svc", "svc.ns.svc.cluster.local"},
		"a":       {"a.svc", "a.svc.svc", "a.svc.svc.cluster.local"}, // of namespace svc
		"foo.com": {"foo.com"},
		"*.ns":    {"*.ns.svc.cluster.local"},
	} {
		for _, host := range hosts {
			if got := snapshot.HostKey(host); got != key {
				t.Errorf("HostKey(%s) = %s, want %s", host, got, key)
			}
		}
	}
}
