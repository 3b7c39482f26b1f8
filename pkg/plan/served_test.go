package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestHostNotServed states which hosts are reported, given what the servers of the shared
// Gateways are.
func TestHostNotServed(t *testing.T) {
	other := model.Host{Name: "b.example.org", Backing: model.NoService}
	server := func(change func(*snapshot.Server), hosts ...string) snapshot.Gateway {
		g := gateway("ext", 80, false)
		g.Servers[0].Hosts = hosts
		if change != nil {
			change(&g.Servers[0])
		}
		return g
	}
	port := func(n uint32) func(*snapshot.Server) { return func(s *snapshot.Server) { s.Port = n } }
	missing := server(nil, "*.org")
	missing.Found = false
	second := server(nil, "*.org")
	second.Name.Name = "second"
	const none = ""
	for _, row := range []struct {
		name     string
		gateways []snapshot.Gateway
		want     string
	}{
		{"everything is covered", []snapshot.Gateway{server(nil, "*")}, none},
		{"by a suffix and a name", []snapshot.Gateway{server(nil, "*.com", "b.example.org")}, none},
		{"the pods' own port", []snapshot.Gateway{server(port(8080), "*")}, none},
		{"one of two is covered", []snapshot.Gateway{server(nil, "*.com")}, "Gateway sys/ext has no HTTP or HTTPS server for b.example.org;"},
		{"none is", []snapshot.Gateway{server(nil, "*.net")}, "Gateway sys/ext has no HTTP or HTTPS server for a.example.com, b.example.org;"},
		{"two gateways share the hosts", []snapshot.Gateway{server(nil, "*.com"), second}, none},
		{"two gateways leave one out", []snapshot.Gateway{server(nil, "*.net"), second}, "Gateway sys/ext, sys/second has no HTTP or HTTPS server for a.example.com;"},
		{"another protocol", []snapshot.Gateway{server(func(s *snapshot.Server) { s.Protocol = "TCP" }, "*")}, "Gateway sys/ext has no HTTP"},
		{"a client's certificate is wanted", []snapshot.Gateway{server(func(s *snapshot.Server) { s.Protocol, s.ClientCertificate = "HTTPS", true }, "*")}, none},
		{"TLS is passed through", []snapshot.Gateway{server(func(s *snapshot.Server) { s.Protocol, s.Passthrough = "TLS", true }, "*")}, none},
		{"no port leads there", []snapshot.Gateway{server(port(9000), "*")}, "Service istio-system/ext has no port that leads to port 9000 of its gateway, to serve a.example.com, b.example.org;"},
		{"what is missing is reported as such", []snapshot.Gateway{missing}, none},
		{"no gateway", nil, none},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, findings := plan.Decide(model.Model{
				Name:         types.NamespacedName{Namespace: "ns", Name: "i"},
				VirtualHosts: []model.VirtualHost{virtualHost(config.External, "public", public, other)},
			}, snapshot.World{External: row.gateways})
			if got := unserved(findings); !strings.HasPrefix(got, row.want) || (got == none) != (row.want == none) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// A listener of our own may be all that lets a host in, and TLS has to get there too.
func TestHostNotServedWithTLS(t *testing.T) {
	for _, row := range []struct {
		name string
		g    func(*snapshot.Gateway)
		want string
	}{
		{"our listener serves what the shared Gateway does not", func(g *snapshot.Gateway) { g.Servers = nil }, ""},
		{"no port leads to it", func(g *snapshot.Gateway) { g.Pods.Ports = g.Pods.Ports[:2] }, "Service istio-system/ext has no port that leads to port 443 of its gateway, to serve a.example.com;"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := gateway("ext", 80, false)
			row.g(&g)
			_, findings := plan.Decide(withTLS(model.Serve), snapshot.World{External: []snapshot.Gateway{g}})
			if got := unserved(findings); !strings.HasPrefix(got, row.want) || (got == "") != (row.want == "") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func unserved(findings []finding.Finding) string {
	var out []string
	for _, f := range findings {
		if f.Reason == finding.HostNotServed {
			out = append(out, f.Message)
		}
	}
	return strings.Join(out, "\n")
}
