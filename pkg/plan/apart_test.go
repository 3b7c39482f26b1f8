package plan_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestNothingLocalIsExposedWhereTheWorldListens: not at a local gateway that has a listener in common
// with an external one, whoever that is for. In the mesh the host is served as ever, and a local
// gateway beside serves on.
func TestNothingLocalIsExposedWhereTheWorldListens(t *testing.T) {
	label := func(key, value string) []snapshot.KV { return []snapshot.KV{{Key: key, Value: value}} }
	for _, row := range []struct {
		name   string
		change func(external, local *snapshot.Gateway)
		open   bool
	}{
		{"another port of the same pods, as Knative installs it", func(_, l *snapshot.Gateway) { l.Servers[0].Port = 8081 }, false},
		{"the same port of a Service", func(_, l *snapshot.Gateway) { l.Servers[0].Port = 80 }, true},
		{"the port of the pods behind it", func(_, l *snapshot.Gateway) { l.Servers[0].Port = 8080 }, true},
		{"another port of a Service with the same target", func(_, l *snapshot.Gateway) {
			l.Servers[0].Port, l.Pods.Ports = 81, []snapshot.Port{{Number: 81, Target: 8080}}
		}, true},
		{"one number, by its own Service another port", func(_, l *snapshot.Gateway) {
			l.Servers[0].Port, l.Pods.Ports = 80, []snapshot.Port{{Number: 80, Target: 8081}}
		}, true},
		{"the same port of other pods", func(_, l *snapshot.Gateway) { l.Servers[0].Port, l.PodLabels = 80, label("app", "other") }, false},
		{"the same port of pods that may be the same", func(_, l *snapshot.Gateway) {
			l.Servers[0].Port, l.PodLabels, l.Pods.Selector = 80, label("istio", "gateway"), label("istio", "gateway")
		}, true},
		{"another address", func(e, l *snapshot.Gateway) {
			l.Servers[0].Port, l.Servers[0].Bind, e.Servers[0].Bind = 80, "10.0.0.1", "10.0.0.2"
		}, false},
		{"an address, and all", func(_, l *snapshot.Gateway) { l.Servers[0].Port, l.Servers[0].Bind = 80, "10.0.0.1" }, true},
		{"one Gateway", func(e, l *snapshot.Gateway) { l.Name = e.Name }, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			external, local, beside := gateway("ext", 80, false), gateway("loc", 8081, false), gateway("beside", 8081, false)
			local.Pods.Selector = external.Pods.Selector
			row.change(&external, &local)
			m := model.Model{Name: types.NamespacedName{Namespace: "ns", Name: "i"}, Hash: "h", VirtualHosts: []model.VirtualHost{
				virtualHost(config.External, "public", private), virtualHost(config.Local, "private", private),
			}}
			// The external gateway is one for other Ingresses.
			p, findings := plan.Decide(m, snapshot.World{
				External: []snapshot.Gateway{gateway("mine", 80, false)}, Outside: []snapshot.Gateway{external}, Local: []snapshot.Gateway{local, beside},
			})
			var at []plan.Entry
			for _, e := range p.Exposures {
				if e.Kind == plan.Local {
					at = append(at, e.Entries...)
				}
			}
			want := []plan.Entry{"sys/beside", "sys/loc"}
			if row.open {
				want = want[:1]
			}
			if !slices.Equal(at, want) {
				t.Errorf("exposed at %v, want %v", at, want)
			}
			told := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Reason == finding.LocalGatewayPublic })
			if told != row.open {
				t.Errorf("told %t, want %t", told, row.open)
			}
			if !slices.ContainsFunc(p.Exposures, func(e plan.Exposure) bool { return e.Kind == plan.Mesh }) {
				t.Error("the mesh does not serve it")
			}
		})
	}
}
