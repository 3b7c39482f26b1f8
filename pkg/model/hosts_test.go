package model_test

import (
	"testing"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// TestWildcards states which wildcards an Ingress of namespace ns may claim, in either
// scope.
func TestWildcards(t *testing.T) {
	for _, row := range []struct {
		hosts []string
		legal bool
	}{
		{[]string{"*.example.com", "*.ns.example.com", "*.svc.example.com", "*.victim.example.com", "*.cluster.example.com"}, true},
		{[]string{"*.ns.svc.cluster.local", "*.sub.ns.svc.cluster.local"}, true},
		{[]string{"*.svc.cluster.local", "*.cluster.local", "*.local"}, false},
		{[]string{"*.victim.svc.cluster.local", "*.sub.victim.svc.cluster.local", "*.ns.victim.svc.cluster.local", "*.xns.svc.cluster.local"}, false},
		{[]string{"*.svc", "*.victim.svc", "*.sub.victim.svc", "*.ns.svc"}, false},
		{[]string{"*.victim", "*.ns", "*.com", "*.cluster"}, false},
		{[]string{"*"}, false},
	} {
		for _, host := range row.hosts {
			for _, visibility := range []string{"ExternalIP", "ClusterLocal"} {
				m, findings := from(t, `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  rules:
  - hosts: ["`+host+`"]
    visibility: `+visibility+`
    http: {paths: [{splits: [{serviceName: a, serviceNamespace: ns, servicePort: 1}]}]}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}}
`)
				if legal := len(m.VirtualHosts) == 1 && len(findings) == 0; legal != row.legal {
					t.Errorf("%s, %s: legal is %v, want %v; findings %v", host, visibility, legal, row.legal, findings)
				}
			}
		}
	}
}

// TestWhoseHost states which names an Ingress of namespace ns may claim, and which belong to
// other namespaces or to nobody. Service web.victim exists.
func TestWhoseHost(t *testing.T) {
	for _, row := range []struct {
		host   string
		reason finding.Reason // "": it may
	}{
		{"a.ns.svc.cluster.local", ""}, {"a.ns.svc", ""}, {"a.ns", ""}, {"pod.a.ns.svc.cluster.local", ""}, {"pod.a.ns.svc", ""}, {"ns.svc.cluster.local", ""},
		{"foo.com", ""}, {"a.victim.example.com", ""}, {"a.victim", ""}, // no such Service, so a domain of the world
		{"a.victim.svc.example.org", ""}, {"victim.svc", ""}, // of another cluster; of namespace svc, if at all
		{"a.victim.svc.cluster.local", finding.ForeignNamespaceHost}, {"a.victim.svc", finding.ForeignNamespaceHost}, {"web.victim", finding.ForeignNamespaceHost},
		{"pod.a.victim.svc.cluster.local", finding.ForeignNamespaceHost}, {"pod.a.victim.svc", finding.ForeignNamespaceHost},
		{"ns.a.victim.svc", finding.ForeignNamespaceHost}, {"victim.svc.cluster.local", finding.ForeignNamespaceHost},
		{"name.svc", finding.ForeignNamespaceHost}, // Service name of namespace svc exists
		{"A.victim.svc.cluster.local", finding.HostInvalid}, {"a.victim.svc.CLUSTER.local", finding.HostInvalid}, {"Foo.com", finding.HostInvalid},
		{"a.victim.svc.cluster.local.", finding.HostInvalid}, {"foo.com.", finding.HostInvalid}, {".foo.com", finding.HostInvalid}, {"a..com", finding.HostInvalid},
		{"a.victim.svc.cluster.local:80", finding.HostInvalid}, {"foo.com:443", finding.HostInvalid}, {"10.0.0.1", finding.HostInvalid}, {"a b.com", finding.HostInvalid},
	} {
		for _, visibility := range []string{"ExternalIP", "ClusterLocal"} {
			m, findings := from(t, `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: ing, namespace: ns}
spec:
  rules:
  - hosts: ["`+row.host+`"]
    visibility: `+visibility+`
    http: {paths: [{splits: [{serviceName: a, serviceNamespace: ns, servicePort: 1}]}]}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: ns}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: victim}}
---
{apiVersion: v1, kind: Service, metadata: {name: name, namespace: svc}}
`)
			var got finding.Reason
			if len(findings) > 0 {
				got = findings[0].Reason
			}
			if got != row.reason || (got == "") != (len(m.VirtualHosts) == 1) {
				t.Errorf("%s, %s: %q, want %q; findings %v", row.host, visibility, got, row.reason, findings)
			}
		}
	}
}
