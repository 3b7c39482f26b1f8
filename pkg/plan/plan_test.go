package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

func gateway(name string, port uint32, redirect bool) snapshot.Gateway {
	service := types.NamespacedName{Namespace: "istio-system", Name: name}
	return snapshot.Gateway{
		Gateway: config.Gateway{Name: types.NamespacedName{Namespace: "sys", Name: name}, Service: service, ServiceHost: name + ".istio-system.svc.cluster.local"},
		Found:   true,
		Servers: []snapshot.Server{{Port: port, Protocol: "HTTP", Hosts: []string{"*"}, Redirect: redirect}},
		Pods: snapshot.Service{
			Name: service, Found: true, Selector: []snapshot.KV{{Key: "app", Value: name}},
			Ports: []snapshot.Port{{Name: "http2", Number: 80, Target: 8080}, {Name: "local", Number: 81, Target: 8081}, {Name: "https", Number: 443}},
		},
	}
}

func virtualHost(scope config.Scope, service string, hosts ...model.Host) model.VirtualHost {
	return model.VirtualHost{
		Scope: scope, Hosts: hosts, Source: "spec.rules[0]",
		Routes: []model.Route{{Splits: []model.Split{{Backend: model.Backend{Host: service, Port: 80}, Percent: 100}}}},
	}
}

var (
	public  = model.Host{Name: "a.example.com", Backing: model.NoService}
	private = model.Host{Name: "a.ns.svc.cluster.local", Short: []string{"a.ns", "a.ns.svc"}, Backing: model.ClusterIPService}
	alias   = model.Host{Name: "a.ns.svc.cluster.local", Short: []string{"a.ns", "a.ns.svc"}, Backing: model.AliasService}
)

// TestModeTable is the table of the architecture, line by line.
func TestModeTable(t *testing.T) {
	external, local := []snapshot.Gateway{gateway("ext", 80, false)}, []snapshot.Gateway{gateway("loc", 8081, false)}
	for name, tt := range map[string]struct {
		host            model.Host
		world           snapshot.World
		want            []string
		public, private plan.Address
	}{
		"gateway": {
			host: alias, world: snapshot.World{External: external, Local: local},
			want: []string{
				"i-ingress at sys/ext: a.example.com",
				"i-local at sys/loc: a.ns a.ns.svc a.ns.svc.cluster.local",
				"i-mesh at mesh: a.ns a.ns.svc a.ns.svc.cluster.local",
			},
			public:  plan.Address{DomainInternal: "ext.istio-system.svc.cluster.local"},
			private: plan.Address{DomainInternal: "loc.istio-system.svc.cluster.local"},
		},
		"half mesh": {
			host: private, world: snapshot.World{External: external},
			want:    []string{"i-ingress at sys/ext: a.example.com", "i-mesh at mesh: a.ns.svc.cluster.local"},
			public:  plan.Address{DomainInternal: "ext.istio-system.svc.cluster.local"},
			private: plan.Address{MeshOnly: true},
		},
		"the other half": {
			host: alias, world: snapshot.World{Local: local},
			want: []string{
				"i-local at sys/loc: a.ns a.ns.svc a.ns.svc.cluster.local",
				"i-mesh at mesh: a.ns a.ns.svc a.ns.svc.cluster.local",
				"i-mesh-X at mesh: a.example.com",
			},
			public:  plan.Address{MeshOnly: true},
			private: plan.Address{DomainInternal: "loc.istio-system.svc.cluster.local"},
		},
		"mesh only": {
			host:    private,
			want:    []string{"i-mesh at mesh: a.ns.svc.cluster.local", "i-mesh-X at mesh: a.example.com"},
			public:  plan.Address{MeshOnly: true},
			private: plan.Address{MeshOnly: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := model.Model{
				Name: types.NamespacedName{Namespace: "ns", Name: "i"},
				VirtualHosts: []model.VirtualHost{
					virtualHost(config.External, "public", public), virtualHost(config.Local, "private", tt.host),
				},
			}
			p, _ := plan.Decide(m, tt.world)
			var got []string
			for _, e := range p.Exposures {
				got = append(got, exposure(e))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)", diff)
			}
			if p.Public[0] != tt.public || p.Private[0] != tt.private {
				t.Errorf("addresses = %+v, %+v", p.Public, p.Private)
			}
			if len(p.Probes) != len(p.Exposures) {
				t.Errorf("%d probes for %d exposures", len(p.Probes), len(p.Exposures))
			}
		})
	}
}

// exposure writes one in a line; the hash of a name is left out.
func exposure(e plan.Exposure) string {
	name := e.Name
	if i := strings.LastIndex(name, "-"); len(name)-i == 9 {
		name = name[:i] + "-X"
	}
	entries := make([]string, 0, len(e.Entries))
	for _, entry := range e.Entries {
		entries = append(entries, string(entry))
	}
	return name + " at " + strings.Join(entries, " ") + ": " + strings.Join(e.Hosts, " ")
}

func decideTLS(t *testing.T, plain model.Plain, g snapshot.Gateway) plan.Plan {
	t.Helper()
	p, _ := plan.Decide(withTLS(plain), snapshot.World{External: []snapshot.Gateway{g}})
	return p
}

func withTLS(plain model.Plain) model.Model {
	return model.Model{
		Name: types.NamespacedName{Namespace: "ns", Name: "i"}, Hash: "h", Plain: plain,
		VirtualHosts: []model.VirtualHost{virtualHost(config.External, "public", public)},
		Certificates: []model.Certificate{{Scope: config.External, Hosts: []string{public.Name}, Secret: types.NamespacedName{Namespace: "ns", Name: "cert"}, UID: "u"}},
	}
}

func TestTLSIsEndedBesideTheGatewaysPods(t *testing.T) {
	p := decideTLS(t, model.Serve, gateway("ext", 80, false))
	wantCopy := plan.Copy{From: types.NamespacedName{Namespace: "ns", Name: "cert"}, To: types.NamespacedName{Namespace: "istio-system", Name: "i-u"}, Sharing: plan.Alone}
	if diff := cmp.Diff([]plan.Copy{wantCopy}, p.Copies); diff != "" {
		t.Error("copies (-want +got)", diff)
	}
	want := []plan.Server{{Name: "ns/i:0", Port: 443, Hosts: []string{public.Name}, Credential: "i-u"}}
	if diff := cmp.Diff(want, p.Listeners[0].Servers); diff != "" {
		t.Error("servers (-want +got)", diff)
	}
	if got := exposure(p.Exposures[0]); !strings.HasPrefix(got, "i-ingress at ns/i-") || !strings.HasSuffix(got, " sys/ext: a.example.com") {
		t.Error("the shared gateway stays attached for plain requests:", got)
	}
}

func TestRedirectsAnswerOnEveryPlainPort(t *testing.T) {
	p := decideTLS(t, model.Redirect, gateway("ext", 8080, false))
	redirect := p.Listeners[0].Servers[1]
	if redirect.Port != 8080 || !redirect.Redirect {
		t.Errorf("server = %+v, want a redirect where the shared gateway would answer in plain", redirect)
	}
	var got []string
	for _, probe := range p.Probes {
		got = append(got, string(probe.Scheme)+" "+probe.PortName+" "+string(probe.Expect)+" "+probe.Hash)
	}
	if diff := cmp.Diff([]string{"https https Hash h", "http http2 Redirect "}, got); diff != "" {
		t.Error("probes (-want +got)", diff)
	}
}

func TestNoGatewayAnswersInPlainWhatItShouldRedirect(t *testing.T) {
	blind := gateway("ext", 80, false)
	blind.Pods.Selector = nil
	if p := decideTLS(t, model.Redirect, blind); len(p.Exposures) > 0 {
		t.Errorf("exposures = %+v; the gateway cannot be told to redirect", p.Exposures)
	}
}

func TestDigestChangesWithAnythingRendered(t *testing.T) {
	one := decideTLS(t, model.Serve, gateway("ext", 80, false)).Exposures[0].Digest
	two := decideTLS(t, model.Serve, gateway("other", 80, false)).Exposures[0].Digest
	if one == "" || one == two {
		t.Error("digests:", one, two)
	}
}

// TestEveryHostInTheMeshIsProved, by the one answer that precedes all routes: not so at
// gateways, where what serves one host of an Exposure serves all.
func TestEveryHostInTheMeshIsProved(t *testing.T) {
	routes := []model.Route{
		{Match: model.Match{PathPrefix: "/only", Headers: []model.KV{{Key: "Tag", Value: "x"}}}, Splits: []model.Split{{Backend: model.Backend{Host: "b", Port: 80}, Percent: 100}}},
	}
	m := model.Model{
		Name: types.NamespacedName{Namespace: "ns", Name: "i"}, Hash: "h",
		VirtualHosts: []model.VirtualHost{{Scope: config.Local, Hosts: []model.Host{alias}, Routes: routes}},
	}
	p, _ := plan.Decide(m, snapshot.World{})
	want := []plan.Probe{{
		Entry: plan.MeshEntry, Scheme: plan.HTTP, Host: "a.ns.svc.cluster.local", Also: []string{"a.ns", "a.ns.svc"}, Path: "/healthz",
		ExportTo: []string{plan.Everywhere}, Expect: plan.ExpectDirect, Hash: "h", Digest: p.Exposures[0].Digest,
	}}
	if diff := cmp.Diff(want, p.Probes); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if !p.Exposures[0].Direct {
		t.Error("backends would be asked")
	}
}
