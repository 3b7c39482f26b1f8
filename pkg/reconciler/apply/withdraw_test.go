package apply

import (
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// TestWithdraw states what Sync takes away of stale objects, which no proof has to come
// before: hello.example.com and x.com are asked for, a.com and b.com with TLS.
func TestWithdraw(t *testing.T) {
	tls := func(hosts ...string) *v1alpha3.Server {
		return &v1alpha3.Server{Hosts: hosts, Port: &v1alpha3.Port{Name: hosts[0]}, Tls: &v1alpha3.ServerTLSSettings{CredentialName: "c"}}
	}
	redirect := func(hosts ...string) *v1alpha3.Server {
		return &v1alpha3.Server{Hosts: hosts, Port: &v1alpha3.Port{Name: "http-server"}, Tls: &v1alpha3.ServerTLSSettings{HttpsRedirect: true}}
	}
	gateway := func(servers ...*v1alpha3.Server) *istiov1.Gateway {
		g := &istiov1.Gateway{ObjectMeta: vs("old").ObjectMeta}
		g.Spec.Servers = servers
		return g
	}
	for _, row := range []struct {
		name   string
		have   runtime.Object
		writes []string
		hosts  []string // of the old object, afterwards
	}{
		{name: "a host that is not asked for goes, and its object", have: vs("old", hosts("gone.com")), writes: []string{"delete virtualservices apps/old"}},
		{name: "in the mesh too", have: vs("old", hosts("gone.com"), gateways("mesh")), writes: []string{"delete virtualservices apps/old"}},
		{name: "what is asked for beside it stays", have: vs("old", hosts("gone.com", "x.com")), writes: []string{"update virtualservices apps/old"}, hosts: []string{"x.com"}},
		{name: "a host that moves to another entry stays", have: vs("old", gateways("ns/old")), hosts: []string{"hello.example.com"}},
		{name: "a host that is asked for but cannot be served now stays", have: vs("old", hosts("x.com")), hosts: []string{"x.com"}},
		{name: "another owner's stays", have: vs("old", hosts("gone.com"), by("another")), hosts: []string{"gone.com"}},
		{name: "TLS that is not asked for goes", have: gateway(tls("hello.example.com")), writes: []string{"delete gateways apps/old"}},
		{name: "TLS that is asked for stays, for hosts that are", have: gateway(tls("a.com", "gone.com"), tls("gone.com")), writes: []string{"update gateways apps/old"}, hosts: []string{"a.com"}},
		{name: "a listener that is asked for stays as it is", have: gateway(tls("a.com"), redirect("x.com")), hosts: []string{"a.com", "x.com"}},
		{name: "a redirect of hosts that are not asked for goes", have: gateway(tls("a.com"), redirect("gone.com")), writes: []string{"update gateways apps/old"}, hosts: []string{"a.com"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := vs("a")
			ctx, w, c := newCluster(t, want, row.have)
			changes, err := w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{want}, Asked: asks})
			if err != nil {
				t.Fatal(err)
			}
			if changes.Wrote() {
				t.Error("to take away counts as written, so that what is proven would be asked again")
			}
			same(t, "writes", row.writes, c.writes())
			if row.hosts == nil {
				return
			}
			var got []string
			if _, ok := row.have.(*istiov1.VirtualService); ok {
				got = c.virtualService(t, "old").Spec.Hosts
			} else {
				g, err := c.istio.NetworkingV1().Gateways("apps").Get(ctx, "old", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range g.Spec.Servers {
					got = append(got, s.Hosts...)
				}
			}
			same(t, "hosts", row.hosts, got)
		})
	}
}

// TestWhatAnotherOwnerHasGoesAtOnce: neither what is stale nor what is widened goes on serving
// a host where another owner has it, however long the proof takes; elsewhere it stays.
func TestWhatAnotherOwnerHasGoesAtOnce(t *testing.T) {
	in := func(kind plan.Kind, entry plan.Entry) []plan.Yield {
		return []plan.Yield{{Hosts: []string{"x.com", "x"}, Kind: kind, Entries: []plan.Entry{entry}}}
	}
	listener := &istiov1.Gateway{ObjectMeta: vs("old").ObjectMeta}
	listener.Spec.Servers = []*v1alpha3.Server{{Hosts: []string{"x.com"}, Port: &v1alpha3.Port{Name: "http-server"}, Tls: &v1alpha3.ServerTLSSettings{HttpsRedirect: true}}}
	for _, row := range []struct {
		name   string
		have   runtime.Object
		yields []plan.Yield
		writes []string
	}{
		{"a stale VirtualService there", vs("old", hosts("x.com"), gateways("mesh")), in(plan.Mesh, "mesh"), []string{"delete virtualservices apps/old"}},
		{"a stale VirtualService elsewhere", vs("old", hosts("x.com"), gateways("ns/old")), in(plan.Mesh, "mesh"), nil},
		{"a host that was kept there", vs("a", hosts("hello.example.com", "x.com")), in(plan.Ingress, "ns/gateway"), []string{"update virtualservices apps/a"}},
		{"a host that was kept elsewhere", vs("a", hosts("hello.example.com", "x.com")), in(plan.Mesh, "mesh"), nil},
		{"a redirect", listener, in(plan.Ingress, "ns/gateway"), []string{"delete gateways apps/old"}},
		{"a redirect of what is lost in the mesh", listener, in(plan.Mesh, "mesh"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := vs("a")
			objects := []runtime.Object{row.have}
			if v, ok := row.have.(*istiov1.VirtualService); !ok || v.Name != want.Name {
				objects = append(objects, want)
			}
			ctx, w, c := newCluster(t, objects...)
			if _, err := w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{want}, Asked: asks, Yields: row.yields}); err != nil {
				t.Fatal(err)
			}
			same(t, "writes", row.writes, c.writes())
		})
	}
}

// TestTLSIsKept: a server that ends TLS for hosts that want it goes with Prune only, others
// and redirects at once.
func TestTLSIsKept(t *testing.T) {
	server := func(name, credential string) *v1alpha3.Server {
		return &v1alpha3.Server{Hosts: []string{name + ".com"}, Port: &v1alpha3.Port{Name: name}, Tls: &v1alpha3.ServerTLSSettings{CredentialName: credential, HttpsRedirect: credential == ""}}
	}
	gateway := func(servers ...*v1alpha3.Server) *istiov1.Gateway {
		g := &istiov1.Gateway{ObjectMeta: vs("gw").ObjectMeta}
		g.Spec.Servers = servers
		return g
	}
	have := gateway(server("a", "cert-a"), server("b", "cert-b"), server("gone", "cert-c"), server("http-server", ""))
	ctx, w, c := newCluster(t, have)
	set := resources.Set{Gateways: []*istiov1.Gateway{gateway(server("a", "cert-a"))}, Asked: asks}
	for _, step := range []struct {
		do   func() error
		want []string
	}{
		{func() error { _, err := w.Sync(ctx, owner, set); return err }, []string{"a", "b"}},
		{func() error { return w.Prune(ctx, owner, set) }, []string{"a"}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		got, err := c.istio.NetworkingV1().Gateways("apps").Get(ctx, "gw", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range got.Spec.Servers {
			names = append(names, s.Port.Name)
		}
		same(t, "servers", step.want, names)
	}
}

// TestWhatStandsInTheWay states which listeners go before the proof: those that would end
// TLS for a host in place of a new one.
func TestWhatStandsInTheWay(t *testing.T) {
	pods := map[string]string{"app": "gw", "istio": "gw"}
	tls := func(port uint32, hosts ...string) *v1alpha3.Server {
		return &v1alpha3.Server{Hosts: hosts, Port: &v1alpha3.Port{Name: hosts[0], Number: port}, Tls: &v1alpha3.ServerTLSSettings{CredentialName: "c"}}
	}
	gateway := func(name string, selector map[string]string, servers ...*v1alpha3.Server) *istiov1.Gateway {
		g := &istiov1.Gateway{ObjectMeta: vs(name).ObjectMeta}
		g.Spec.Selector, g.Spec.Servers = selector, servers
		return g
	}
	want := gateway("new", map[string]string{"istio": "gw"}, tls(443, "a.com"))
	for _, row := range []struct {
		name   string
		have   *istiov1.Gateway
		writes []string
	}{
		{"the same host, port and pods", gateway("old", pods, tls(443, "a.com")), []string{"delete gateways apps/old"}},
		{"and no more than that", gateway("old", pods, tls(443, "a.com"), tls(443, "b.com")), []string{"update gateways apps/old"}},
		{"another port", gateway("old", pods, tls(8444, "a.com")), nil},
		{"another host", gateway("old", pods, tls(443, "b.com")), nil},
		{"other pods", gateway("old", map[string]string{"istio": "other"}, tls(443, "a.com")), nil},
	} {
		for what, set := range map[string]resources.Set{
			"alone":  {Gateways: []*istiov1.Gateway{want}, Asked: asks},
			"shared": {SharedGateways: []*istiov1.Gateway{want}, Asked: asks},
		} {
			t.Run(row.name+"/"+what, func(t *testing.T) {
				ctx, w, c := newCluster(t, row.have)
				if _, err := w.Sync(ctx, owner, set); err != nil {
					t.Fatal(err)
				}
				same(t, "writes", append([]string{"create gateways apps/new"}, row.writes...), c.writes())
			})
		}
	}
}
