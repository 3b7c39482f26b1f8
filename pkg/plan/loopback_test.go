package plan_test

import (
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

func looping(external []snapshot.Gateway, private bool) snapshot.World {
	w := snapshot.World{External: external, Config: config.Config{ClusterDomain: "cluster.local", SystemNamespace: "sys"}}
	w.Config.Istio.Loopback, w.Config.Istio.PrivateLoopback = true, private
	for _, g := range external {
		w.Config.Istio.External = append(w.Config.Istio.External, g.Gateway)
	}
	return w
}

// TestBehindDoors: what sidecars serve under names of the cluster external gateways reach too,
// each by its door, and it is not proven. The world's names are not there.
func TestBehindDoors(t *testing.T) {
	one, two := gateway("one", 80, false), gateway("two", 80, false)
	same := gateway("same", 80, false)
	same.Service = one.Service
	m := model.Model{
		Name: types.NamespacedName{Namespace: "ns", Name: "i"},
		VirtualHosts: []model.VirtualHost{
			virtualHost(config.External, "public", public, model.Host{Name: "b.ns.svc.cluster.local", Short: []string{"b.ns", "b.ns.svc"}}),
			virtualHost(config.Local, "private", private),
		},
	}
	p, _ := plan.Decide(m, looping([]snapshot.Gateway{one, two, same}, false))
	doors := map[string][]string{}
	for _, e := range p.Exposures {
		if e.Kind != plan.Local {
			if got := slices.Contains(e.Drops, plan.MarkHeader); got != (e.Kind == plan.Mesh) {
				t.Errorf("%s drops %v", e.Name, e.Drops)
			}
			continue
		}
		if e.Probed || len(e.Entries) != 2 {
			t.Errorf("%s is probed: %v, at %v; want one door for each Service", e.Name, e.Probed, e.Entries)
		}
		doors[e.Routes[0].Splits[0].Backend.Host] = e.Hosts
	}
	want := map[string][]string{"public": {"b.ns", "b.ns.svc", "b.ns.svc.cluster.local"}, "private": {"a.ns", "a.ns.svc", "a.ns.svc.cluster.local"}}
	if diff := cmp.Diff(want, doors); diff != "" {
		t.Error("(-want +got)", diff)
	}
	for _, probe := range p.Probes {
		if strings.Contains(string(probe.Entry), "net-mesh-loopback") {
			t.Error("nobody can be asked for", probe)
		}
	}
}

// TestTheLoopbackIsOnlyWithoutLocalGateway, and where it is not switched off.
func TestTheLoopbackIsOnlyWithoutLocalGateway(t *testing.T) {
	external, local := []snapshot.Gateway{gateway("ext", 80, false)}, gateway("loc", 8081, false)
	m := model.Model{Name: types.NamespacedName{Namespace: "ns", Name: "i"}, VirtualHosts: []model.VirtualHost{virtualHost(config.Local, "private", private)}}
	withLocal, off := looping(external, true), looping(external, false)
	withLocal.Local, withLocal.Config.Istio.Local = []snapshot.Gateway{local}, []config.Gateway{local.Gateway}
	off.Config.Istio.Loopback = false
	for name, tt := range map[string]struct {
		world   snapshot.World
		loops   bool
		address plan.Address
	}{
		"half mesh":          {looping(external, false), true, plan.Address{MeshOnly: true}},
		"half mesh, by name": {looping(external, true), true, plan.Address{DomainInternal: "knative-local-gateway.istio-system.svc.cluster.local", MeshOnly: true}},
		"mesh only, by name": {looping(nil, true), true, plan.Address{DomainInternal: "knative-local-gateway.istio-system.svc.cluster.local", MeshOnly: true}},
		"a local gateway":    {withLocal, false, plan.Address{DomainInternal: "loc.istio-system.svc.cluster.local"}},
		"switched off":       {off, false, plan.Address{MeshOnly: true}},
	} {
		p, _ := plan.Decide(m, tt.world)
		if p.LoopsBack != tt.loops || p.Private[0] != tt.address {
			t.Errorf("%s: %v, address %+v", name, p.LoopsBack, p.Private[0])
		}
		for _, e := range p.Exposures {
			if drops := len(e.Drops) > 0; e.Kind == plan.Mesh && drops != tt.loops {
				t.Errorf("%s: %s drops %v", name, e.Name, e.Drops)
			}
		}
	}
}

// TestNobodyElseCanNameTheHostsOfTheLoopback: they are added to route tables after Istio has seen to
// it that no host is there twice, and Envoy refuses a table with a host twice as a whole. So one
// VirtualService, ServiceEntry or Ingress of whatever tenant that named such a host would keep every
// sidecar of the mesh from its routes. All of these take DNS names only, whatever their case.
func TestNobodyElseCanNameTheHostsOfTheLoopback(t *testing.T) {
	for _, host := range []string{plan.TrialHost, plan.ListenerHost, plan.SwitchHost} {
		if !plan.OfLoopback(host) || len(validation.IsDNS1123Subdomain(host)) == 0 {
			t.Errorf("others can name %s", host)
		}
		// A wildcard covers what ends as it does, and each that Istio accepts ends as a name does.
		if end := host[len(host)-1:]; len(validation.IsDNS1123Label(end)) == 0 {
			t.Errorf("others can cover %s by a wildcard", host)
		}
		if faults := validation.IsDNS1123Subdomain(strings.ReplaceAll(host, "_", "")); len(faults) > 0 {
			t.Errorf("%s is no authority of a request: %s", host, faults)
		}
	}
	if plan.OfLoopback("_other.net-mesh.internal_") {
		t.Error("others are taken for one of the loopback")
	}
}
