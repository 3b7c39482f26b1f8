package model_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestCertificates states what a TLS block becomes, given the names of its certificate:
// one Certificate for each scope, written "scope hosts", and "shared names" behind it.
func TestCertificates(t *testing.T) {
	public, local := "a.ns.example.com", "a.ns.svc.cluster.local"
	for _, row := range []struct {
		name    string
		names   []string
		hosts   []string
		gateway bool
		want    []string
		reasons []finding.Reason
	}{
		{name: "a public host", names: []string{public}, hosts: []string{public}, gateway: true, want: []string{"External " + public}},
		{name: "a cluster-local one", names: []string{local}, hosts: []string{local}, gateway: true, want: []string{"Local " + local}},
		{name: "both in one block", names: []string{public, local}, hosts: []string{public, local}, gateway: true, want: []string{"External " + public, "Local " + local}},
		{name: "without a local gateway", names: []string{public, local}, hosts: []string{public, local}, want: []string{"External " + public}, reasons: []finding.Reason{finding.LocalTLSWithoutGateway}},
		{name: "a wildcard", names: []string{"*.ns.example.com"}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com"}},
		{name: "a wildcard and its domain", names: []string{"*.ns.example.com", "ns.example.com"}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com ns.example.com"}},
		{name: "a wildcard that does not fit", names: []string{"*.example.com"}, hosts: []string{public}, gateway: true, reasons: []finding.Reason{finding.CertificateInvalid}},
		{name: "a wildcard of other namespaces", names: []string{"*.ns.example.com", "*.svc.cluster.local", "*.other.svc.cluster.local"}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com"}},
		{name: "names of others beside a wildcard", names: []string{"*.ns.example.com", "shop.victim.example.com"}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com"}},
		{name: "an own name beside a wildcard", names: []string{"*.ns.example.org", public}, hosts: []string{public}, gateway: true, want: []string{"External " + public}},
		{name: "names of other namespaces beside a wildcard", names: []string{"*.ns.example.com", "a.other.svc.cluster.local", "a.other.svc", "a.ns.svc.cluster.local"}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com"}},
		{name: "names that no Gateway may have, or that take everything", names: []string{"*", "*.ns.example.com", "*/*", "other/*.example.com", "a b", "*.*.example.com", "a.example.com.", "1.2.3.4", ""}, hosts: []string{public}, gateway: true, want: []string{"External " + public + " shared *.ns.example.com"}},
		{name: "a wildcard for a cluster-local host is not shared", names: []string{"*.ns.svc.cluster.local"}, hosts: []string{local}, gateway: true, want: []string{"Local " + local}},
	} {
		t.Run(row.name, func(t *testing.T) {
			secret := types.NamespacedName{Namespace: "ns", Name: "cert"}
			world := snapshot.World{Config: config.Config{ClusterDomain: "cluster.local"}, Services: []snapshot.Service{{Name: types.NamespacedName{Namespace: "ns", Name: "one"}, Found: true}}, Certificates: []snapshot.Certificate{{Secret: secret, Found: true, Names: row.names}}}
			if row.gateway {
				world.Local = []snapshot.Gateway{{}}
			}
			m, findings := model.FromIngress(snapshot.Snapshot{Ingress: withTLS(row.hosts, public, local), World: world})
			var got []string
			for _, c := range m.Certificates {
				line := string(c.Scope) + " " + strings.Join(c.Hosts, " ")
				if c.Shared {
					line += " shared " + strings.Join(c.Names, " ")
				}
				got = append(got, line)
			}
			var reasons []finding.Reason
			for _, f := range findings {
				reasons = append(reasons, f.Reason)
			}
			if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error("certificates (-want +got)", diff)
			}
			if diff := cmp.Diff(row.reasons, reasons, cmpopts.EquateEmpty()); diff != "" {
				t.Error("findings (-want +got)", diff)
			}
		})
	}
}

// withTLS asks for TLS on some hosts of a public and a cluster-local rule.
func withTLS(hosts []string, public, local string) *v1alpha1.Ingress {
	ing := &v1alpha1.Ingress{}
	ing.Namespace, ing.Name = "ns", "i"
	paths := &v1alpha1.HTTPIngressRuleValue{Paths: []v1alpha1.HTTPIngressPath{{Splits: []v1alpha1.IngressBackendSplit{{
		Percent: 100, IngressBackend: v1alpha1.IngressBackend{ServiceNamespace: "ns", ServiceName: "one", ServicePort: intstr.FromInt32(80)},
	}}}}}
	ing.Spec.Rules = []v1alpha1.IngressRule{
		{Hosts: []string{public}, Visibility: v1alpha1.IngressVisibilityExternalIP, HTTP: paths},
		{Hosts: []string{local}, Visibility: v1alpha1.IngressVisibilityClusterLocal, HTTP: paths},
	}
	ing.Spec.TLS = []v1alpha1.IngressTLS{{Hosts: hosts, SecretName: "cert"}}
	return ing
}
