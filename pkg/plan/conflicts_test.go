package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// day is one of January 2026; 0 is none.
func day(n int) metav1.Time {
	if n == 0 {
		return metav1.Time{}
	}
	return metav1.Date(2026, 1, n, 10, 0, 0, 0, time.UTC)
}

func rival(name string, created int, scope config.Scope, host model.Host) model.Rival {
	return model.Rival{Ingress: types.NamespacedName{Namespace: "ns", Name: name}, Created: day(created), Scope: scope, Host: host}
}

func neighbour(name string, external, local []snapshot.Gateway) snapshot.Neighbour {
	n := snapshot.Neighbour{Name: types.NamespacedName{Namespace: "ns", Name: name}}
	for _, g := range external {
		n.External = append(n.External, g.Gateway)
	}
	for _, g := range local {
		n.Local = append(n.Local, g.Gateway)
	}
	return n
}

// TestConflicts states who has a host, seen by Ingress ns/i of the fifth day, which claims
// a.example.com for the world and a.ns for the cluster.
func TestConflicts(t *testing.T) {
	one, two, local := gateway("one", 80, false), gateway("two", 80, false), gateway("local", 80, false)
	behind := gateway("behind", 8080, false)
	behind.Service = one.Service
	all := func(g ...snapshot.Gateway) []snapshot.Gateway { return g }
	abbreviation := model.Host{Name: "a.ns"}
	for _, tt := range []struct {
		name            string
		external, local []snapshot.Gateway
		created         int
		rivals          []model.Rival
		neighbours      []snapshot.Neighbour
		want            string // what is left to others, as kind:to
	}{
		{"older", all(one), all(local), 5, []model.Rival{rival("r", 4, config.External, public)}, []snapshot.Neighbour{neighbour("r", all(one), nil)}, "ingress:r"},
		{"younger", all(one), all(local), 5, []model.Rival{rival("a", 6, config.External, public)}, []snapshot.Neighbour{neighbour("a", all(one), nil)}, ""},
		{"as old, earlier name", all(one), all(local), 5, []model.Rival{rival("h", 5, config.External, public)}, []snapshot.Neighbour{neighbour("h", all(one), nil)}, "ingress:h"},
		{"as old, later name", all(one), all(local), 5, []model.Rival{rival("j", 5, config.External, public)}, []snapshot.Neighbour{neighbour("j", all(one), nil)}, ""},
		{"not created yet", all(one), all(local), 5, []model.Rival{rival("a", 0, config.External, public)}, []snapshot.Neighbour{neighbour("a", all(one), nil)}, ""},
		{"this one not created yet", all(one), all(local), 0, []model.Rival{rival("z", 9, config.External, public)}, []snapshot.Neighbour{neighbour("z", all(one), nil)}, "ingress:z"},
		{"cluster-local", all(one), all(local), 5, []model.Rival{rival("r", 4, config.Local, private)}, []snapshot.Neighbour{neighbour("r", all(one), all(local))}, "local:r mesh:r"},
		{"cluster-local without gateway", all(one), nil, 5, []model.Rival{rival("r", 4, config.Local, private)}, []snapshot.Neighbour{neighbour("r", all(one), nil)}, "mesh:r"},
		{"public for the other", all(one), all(local), 5, []model.Rival{rival("r", 4, config.External, private)}, []snapshot.Neighbour{neighbour("r", all(one), all(local))}, "mesh:r"},
		{"public in the mesh only", nil, nil, 5, []model.Rival{rival("r", 4, config.External, public)}, []snapshot.Neighbour{neighbour("r", nil, nil)}, "mesh:r"},
		{"an older one names an abbreviation", nil, nil, 5, []model.Rival{rival("r", 4, config.External, abbreviation)}, []snapshot.Neighbour{neighbour("r", nil, nil)}, ""},
		{"at another gateway", all(one), all(local), 5, []model.Rival{rival("r", 4, config.External, public)}, []snapshot.Neighbour{neighbour("r", all(two), nil)}, ""},
		{"at another gateway with the same pods", all(one), all(local), 5, []model.Rival{rival("r", 4, config.External, public)}, []snapshot.Neighbour{neighbour("r", all(behind), nil)}, "ingress:r"},
		{"one Gateway for both scopes", all(one), all(one), 5, []model.Rival{rival("r", 4, config.External, private)}, []snapshot.Neighbour{neighbour("r", all(one), all(one))}, "local:r mesh:r"},
		{"who has lost it himself is nobody's rival", all(two), all(local), 5,
			[]model.Rival{rival("oldest", 1, config.External, public), rival("old", 2, config.External, public)},
			[]snapshot.Neighbour{neighbour("old", all(one, two), nil), neighbour("oldest", all(one), nil)}, ""},
		{"two others", all(one), all(local), 5,
			[]model.Rival{rival("r", 4, config.External, public), rival("s", 3, config.External, public)},
			[]snapshot.Neighbour{neighbour("r", all(one), nil), neighbour("s", all(one), nil)}, "ingress:s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := model.Model{
				Name: types.NamespacedName{Namespace: "ns", Name: "i"}, Created: day(tt.created), Rivals: tt.rivals,
				VirtualHosts: []model.VirtualHost{virtualHost(config.External, "public", public), virtualHost(config.Local, "private", private)},
				Claims: []model.Claim{
					{Scope: config.External, Host: public, Source: "spec.rules[0].hosts[0]"}, {Scope: config.Local, Host: private, Source: "spec.rules[1].hosts[0]"},
				},
			}
			p, findings := plan.Decide(m, snapshot.World{External: tt.external, Local: tt.local, Neighbours: tt.neighbours})
			var got []string
			for _, y := range p.Yields {
				got = append(got, string(y.Kind)+":"+y.To.Name)
				for _, e := range p.Exposures {
					if e.Kind == y.Kind && strings.Contains(exposure(e)+" ", " "+y.Hosts[0]+" ") {
						t.Errorf("%v is exposed all the same: %s", y, exposure(e))
					}
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error("(-want +got)", diff)
			}
			told := 0
			for _, f := range findings {
				if f.Reason == finding.HostConflict {
					told++
				}
			}
			if (told > 0) != (tt.want != "") {
				t.Error("findings:", findings)
			}
		})
	}
}

// TestWhatIsLostIsNotAskedFor: else what is older of this Ingress would go on serving it.
func TestWhatIsLostIsNotAskedFor(t *testing.T) {
	m := withTLS(model.Redirect)
	m.Asked = model.Asked{Hosts: append([]string{public.Name}, private.Names()...), TLS: []string{public.Name}}
	m.Claims = []model.Claim{{Scope: config.External, Host: public, Source: "a"}, {Scope: config.External, Host: private, Source: "b"}}
	m.Rivals = []model.Rival{rival("r", 1, config.External, public), rival("r", 1, config.Local, private)}
	m.VirtualHosts[0].Hosts = append(m.VirtualHosts[0].Hosts, private)
	one := gateway("one", 80, false)
	p, _ := plan.Decide(m, snapshot.World{External: []snapshot.Gateway{one}, Neighbours: []snapshot.Neighbour{neighbour("r", []snapshot.Gateway{one}, nil)}})
	want := model.Asked{Hosts: []string{"a.ns.svc", "a.ns.svc.cluster.local"}, TLS: []string{}}
	if diff := cmp.Diff(want, p.Asked); diff != "" {
		t.Error("asked (-want +got)", diff)
	}
	if len(p.Listeners) != 1 || len(p.Listeners[0].Servers) != 1 || len(p.Copies) != 0 {
		t.Errorf("listeners %+v, copies %v; want a redirect of what is left and no TLS", p.Listeners, p.Copies)
	}
	if m.Asked.TLS[0] != public.Name || len(m.Asked.Hosts) != 4 {
		t.Error("the Model was changed:", m.Asked)
	}
}
