package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestRecords states for which hosts sidecars are to answer DNS.
func TestRecords(t *testing.T) {
	named := func(names ...string) []model.VirtualHost {
		vh := virtualHost(config.External, "s", nil...)
		for _, n := range names {
			vh.Hosts = append(vh.Hosts, model.Host{Name: n, Backing: model.NoService})
		}
		return []model.VirtualHost{vh}
	}
	plain, secure := gateway("ext", 80, false), gateway("ext", 80, false)
	secure.Servers = append(secure.Servers, snapshot.Server{Port: 443, Protocol: "HTTPS", Hosts: []string{"*.secure.com"}})
	passing := gateway("ext", 80, false)
	passing.Servers = append(passing.Servers, snapshot.Server{Port: 443, Protocol: "TLS", Passthrough: true, Hosts: []string{"a.com"}})
	on, inMesh := config.Istio{MeshDNS: true}, config.Istio{MeshDNS: true, ExternalInMesh: true}
	for _, row := range []struct {
		name     string
		istio    config.Istio
		external []snapshot.Gateway
		hosts    []model.VirtualHost
		tls      []string
		want     []string
	}{
		{name: "not asked for", hosts: named("a.com")},
		{name: "without an external gateway", istio: on, hosts: named("b.com", "a.com"), want: []string{"a.com", "b.com"}},
		{name: "beside one, in the mesh", istio: inMesh, external: []snapshot.Gateway{plain}, hosts: named("a.com"), want: []string{"a.com"}},
		{name: "beside one, at that only", istio: on, external: []snapshot.Gateway{plain}, hosts: named("a.com")},
		{name: "a host that a cluster-local rule names too, at gateways only", istio: on, external: []snapshot.Gateway{plain},
			hosts: append(named("a.com"), virtualHost(config.Local, "s", model.Host{Name: "a.com"}))},
		{name: "and in the mesh", istio: on, hosts: append(named("a.com"), virtualHost(config.Local, "s", model.Host{Name: "a.com"})), want: []string{"a.com"}},
		{name: "cluster-local hosts", istio: on, hosts: []model.VirtualHost{virtualHost(config.Local, "s", private, model.Host{Name: "local.com"})}},
		{name: "a public rule names a host of the cluster", istio: on, hosts: []model.VirtualHost{virtualHost(config.External, "s", private, model.Host{Name: "*.ns.svc.cluster.local"})}},
		{name: "a wildcard, for the sake of its routes", istio: on, hosts: named("*.a.com", "b.a.com"), want: []string{"*.a.com", "b.a.com"}},
		{name: "a wildcard of the cluster alone, for the sake of its routes", istio: on,
			hosts: append(named("b.a.com"), virtualHost(config.Local, "s", model.Host{Name: "*.a.com"}, model.Host{Name: "c.com"})), want: []string{"*.a.com", "b.a.com"}},
		{name: "a certificate at an external gateway", istio: inMesh, external: []snapshot.Gateway{plain}, hosts: named("a.com", "b.com"), tls: []string{"b.com"}, want: []string{"a.com"}},
		{name: "a certificate, and no external gateway", istio: on, hosts: named("a.com"), tls: []string{"a.com"}, want: []string{"a.com"}},
		{name: "an external gateway with a certificate of its own", istio: inMesh, external: []snapshot.Gateway{plain, secure}, hosts: named("a.com", "b.secure.com"), want: []string{"a.com"}},
		{name: "one that passes TLS on", istio: inMesh, external: []snapshot.Gateway{passing}, hosts: named("a.com", "b.com"), want: []string{"b.com"}},
		{name: "a wildcard over TLS has no address anyway", istio: inMesh, external: []snapshot.Gateway{secure}, hosts: named("*.secure.com"), want: []string{"*.secure.com"}},
		{name: "a name of one label is that of a Service in each namespace", istio: on, hosts: named("redis", "a.com"), want: []string{"a.com"}},
		{name: "a host that another Ingress has, by being first by name", istio: on, hosts: named("taken.com", "a.com"), want: []string{"a.com"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := model.Model{
				Name: types.NamespacedName{Namespace: "ns", Name: "i"}, VirtualHosts: row.hosts, ExportTo: []string{"ns", "shop"},
				Asked:  model.Asked{TLS: row.tls},
				Rivals: []model.Rival{{Ingress: types.NamespacedName{Namespace: "a", Name: "a"}, Scope: config.External, Host: model.Host{Name: "taken.com"}}},
			}
			for _, vh := range row.hosts {
				for _, h := range vh.Hosts {
					m.Claims = append(m.Claims, model.Claim{Scope: vh.Scope, Host: h, Source: "spec.rules[0]"})
				}
			}
			p, _ := plan.Decide(m, snapshot.World{Config: config.Config{Istio: row.istio, ClusterDomain: "cluster.local"}, External: row.external})
			var want []plan.Record
			if row.want != nil {
				want = []plan.Record{{Name: "i-dns", Hosts: row.want, ExportTo: m.ExportTo}}
			}
			if diff := cmp.Diff(want, p.Records); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
}

// TestRecordsAreDivided: Istio takes 256 hosts in one ServiceEntry.
func TestRecordsAreDivided(t *testing.T) {
	const hosts = 600
	vh := virtualHost(config.External, "s", nil...)
	for i := range hosts {
		vh.Hosts = append(vh.Hosts, model.Host{Name: fmt.Sprintf("h%d.com", i)})
	}
	m := model.Model{Name: types.NamespacedName{Namespace: "ns", Name: strings.Repeat("long.", 50) + "x"}, VirtualHosts: []model.VirtualHost{vh}}
	p, _ := plan.Decide(m, snapshot.World{Config: config.Config{Istio: config.Istio{MeshDNS: true}}})
	var all, names []string
	for _, r := range p.Records {
		if faults := validation.IsDNS1123Subdomain(r.Name); len(faults) > 0 || slices.Contains(names, r.Name) || len(r.Hosts) > 256 {
			t.Errorf("%d hosts in %s, %v", len(r.Hosts), r.Name, faults)
		}
		all, names = append(all, r.Hosts...), append(names, r.Name)
	}
	if !slices.IsSorted(all) || len(slices.Compact(all)) != hosts || len(names) != 3 {
		t.Errorf("%d hosts in %d Records, want %d in 3", len(all), len(names), hosts)
	}
}
