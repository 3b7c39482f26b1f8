package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// withLocalTLS asks for TLS on a cluster-local host, and for redirects.
func withLocalTLS() model.Model {
	return model.Model{
		Name: types.NamespacedName{Namespace: "ns", Name: "i"}, Hash: "h", Plain: model.Redirect,
		VirtualHosts: []model.VirtualHost{virtualHost(config.Local, "private", private)},
		Certificates: []model.Certificate{{Scope: config.Local, Hosts: []string{private.Name}, Secret: types.NamespacedName{Namespace: "ns", Name: "cert"}, UID: "u"}},
	}
}

// TestLocalTLSIsEndedAtTheLocalGateway: its pods, its namespace, and the port its own
// Service leads callers of 443 to. The external gateway has no part in it.
func TestLocalTLSIsEndedAtTheLocalGateway(t *testing.T) {
	for _, row := range []struct {
		name  string
		ports []snapshot.Port
		want  uint32
		probe int32 // port of the Service that is asked over TLS, 0 if none leads there
	}{
		{"as Knative installs it", []snapshot.Port{{Name: "http2", Number: 80, Target: 8081}, {Name: "https", Number: 443, Target: 8444}}, 8444, 443},
		{"another port of the pods", []snapshot.Port{{Name: "http2", Number: 80, Target: 8081}, {Name: "https", Number: 443, Target: 9443}}, 9443, 443},
		{"a port given by name", []snapshot.Port{{Name: "http2", Number: 80, Target: 8081}, {Name: "https", Number: 443}}, 443, 443},
		{"8444 beside 443", []snapshot.Port{{Name: "http2", Number: 80, Target: 8081}, {Name: "other", Number: 443, Target: 9443}, {Name: "https", Number: 8444, Target: 8444}}, 8444, 8444},
		{"none", []snapshot.Port{{Name: "http2", Number: 80, Target: 8081}}, 8444, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			local := gateway("loc", 8081, false)
			local.Service.Namespace, local.Pods.Name.Namespace = "local-system", "local-system"
			local.Pods.Ports = row.ports
			p, findings := plan.Decide(withLocalTLS(), snapshot.World{External: []snapshot.Gateway{gateway("ext", 80, false)}, Local: []snapshot.Gateway{local}})
			if len(p.Listeners) != 1 || p.Listeners[0].Service != local.Service || !slices.Equal(p.Listeners[0].Selector, local.Pods.Selector) {
				t.Fatalf("listeners = %+v, want one at the pods of the local gateway", p.Listeners)
			}
			want := []plan.Server{{Name: "ns/i:0", Port: row.want, Hosts: []string{private.Name}, Credential: "i-u"}}
			if diff := cmp.Diff(want, p.Listeners[0].Servers); diff != "" {
				t.Error("servers (-want +got)", diff)
			}
			if len(p.Copies) != 1 || p.Copies[0].To.Namespace != "local-system" {
				t.Errorf("copies = %+v, want one in the namespace of the local gateway", p.Copies)
			}
			var asked int32
			for _, probe := range p.Probes {
				if probe.Scheme == plan.HTTPS {
					asked = probe.ServicePort
				}
			}
			if asked != row.probe || (unserved(findings) == "") != (row.probe > 0) {
				t.Errorf("asked over TLS at port %d, want %d; not served: %q", asked, row.probe, unserved(findings))
			}
		})
	}
}

// TestLocalTLSIsNotForTheWorld: where the local gateway's Service leads 443 to a port of
// pods that the world reaches too, no TLS is ended for cluster-local hosts.
func TestLocalTLSIsNotForTheWorld(t *testing.T) {
	for _, row := range []struct {
		name   string
		port   snapshot.Port
		listen bool
	}{
		{"a port of its own", snapshot.Port{Number: 443, Target: 8444}, true},
		{"the port of the pods", snapshot.Port{Number: 443, Target: 8443}, false},
		{"a port given by name, which Istio takes for 443", snapshot.Port{Number: 443}, false},
	} {
		for _, same := range []bool{true, false} {
			external, local := gateway("ext", 80, false), gateway("loc", 8081, false)
			external.Pods.Ports = []snapshot.Port{{Number: 80, Target: 8080}, {Number: 443, Target: 8443}}
			local.Pods.Ports = []snapshot.Port{{Number: 80, Target: 8081}, row.port}
			if same {
				local.Pods.Selector = external.Pods.Selector
			}
			p, findings := plan.Decide(withLocalTLS(), snapshot.World{External: []snapshot.Gateway{external}, Local: []snapshot.Gateway{local}})
			unfit := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Reason == finding.GatewayServiceUnfit })
			if want := row.listen || !same; (len(p.Listeners) == 1) != want || unfit == want {
				t.Errorf("%s, same pods %t: listeners %+v, findings %+v; want a listener %t", row.name, same, p.Listeners, findings, want)
			}
		}
	}
}

// TestWildcardCertificatesAreShared: each gateway has one listener and one copy for a
// certificate, whatever the number of blocks, and a redirect is still the Ingress' own.
func TestWildcardCertificatesAreShared(t *testing.T) {
	secret := types.NamespacedName{Namespace: "ns", Name: "wild"}
	m := withTLS(model.Redirect)
	m.Certificates = nil
	for i := range 2 {
		m.Certificates = append(m.Certificates, model.Certificate{
			Scope: config.External, Hosts: []string{public.Name}, Shared: true, Names: []string{"*.example.com"}, Secret: secret, UID: "u", Index: i,
		})
	}
	beside := gateway("own", 80, false)
	beside.Service.Namespace, beside.Pods.Name.Namespace = "ns", "ns"
	p, _ := plan.Decide(m, snapshot.World{External: []snapshot.Gateway{gateway("ext", 80, false), beside}})
	var got, copies []string
	for _, l := range p.Listeners {
		var servers []string
		for _, s := range l.Servers {
			servers = append(servers, strings.Join(s.Hosts, " ")+" "+s.Credential)
		}
		got = append(got, string(l.Sharing)+" at "+l.Service.Name+": "+strings.Join(servers, ", "))
	}
	for _, c := range p.Copies {
		copies = append(copies, string(c.Sharing)+" "+c.To.String())
	}
	want := []string{
		"ByCertificate at ext: *.example.com ns--wild-wildcard", "Alone at ext: a.example.com ",
		"ByCertificate at own: *.example.com wild", "Alone at own: a.example.com ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("listeners (-want +got)", diff)
	}
	if diff := cmp.Diff([]string{"ByCertificate istio-system/ns--wild-wildcard"}, copies); diff != "" {
		t.Error("copies (-want +got)", diff)
	}
	if got := len(p.Exposures[0].Entries); got != 6 {
		t.Errorf("entries = %v, want those of both gateways, and two listeners at each", p.Exposures[0].Entries)
	}
	for _, l := range p.Listeners {
		if !slices.ContainsFunc(p.Probes, func(probe plan.Probe) bool {
			return string(probe.Entry) == l.Namespace+"/"+l.Name && probe.Host == public.Name
		}) {
			t.Errorf("listener %s is not asked", l.Name)
		}
	}
}
