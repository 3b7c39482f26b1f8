package readiness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

var (
	watching = types.NamespacedName{Namespace: "watch", Name: "observer"}
	inMesh   = plan.Probe{
		Entry: plan.MeshEntry, Scheme: plan.HTTP, Host: "hello.apps.svc.cluster.local", Path: "/healthz",
		ExportTo: []string{plan.Everywhere}, Expect: plan.ExpectDirect, Hash: "h1", Digest: "m1",
	}
)

func observers(ips ...string) *discoveryv1.EndpointSlice {
	s := slice("observers", discoveryv1.AddressTypeIPv4, 8080, ips...)
	s.Namespace, s.Labels[discoveryv1.LabelServiceName] = watching.Namespace, watching.Name
	name := observer.PortName
	s.Ports[0].Name = &name
	return s
}

func TestParseSidecars(t *testing.T) {
	for _, row := range []struct {
		name string
		env  map[string]string
		want Sidecars
		err  string
	}{
		{name: "nothing", want: Sidecars{Address: "192.0.2.1:80", Namespace: "sys"}},
		{name: "injected", env: map[string]string{observer.SidecarVariable: `{"containers":["istio-proxy"]}`},
			want: Sidecars{Own: true, Address: "192.0.2.1:80", Namespace: "sys"}},
		{name: "another address", env: map[string]string{observer.AddressVariable: "[2001:db8::1]:80"},
			want: Sidecars{Address: "[2001:db8::1]:80", Namespace: "sys"}},
		{name: "observers", env: map[string]string{ObserversVariable: "watch/observer, other/observer"},
			want: Sidecars{Address: "192.0.2.1:80", Namespace: "sys", Observers: []types.NamespacedName{watching, {Namespace: "other", Name: "observer"}}}},
		{name: "a name for an address", env: map[string]string{observer.AddressVariable: "probe.local:80"},
			err: `NET_MESH_PROBE_ADDRESS is "probe.local:80"; want an IP address and a port, such as 192.0.2.1:80`},
		{name: "no namespace", env: map[string]string{ObserversVariable: "observer"},
			err: `NET_MESH_OBSERVERS names "observer"; want namespace/name of a Service`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ParseSidecars(func(name string) string { return row.env[name] }, "sys")
			if diff := cmp.Diff(row.want, got); row.err == "" && (diff != "" || err != nil) {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
			if row.err != "" && (err == nil || err.Error() != row.err) {
				t.Errorf("got %v, want %s", err, row.err)
			}
		})
	}
}

// TestWhoIsAsked states which sidecars have to pass, by whom the object is exported to.
func TestWhoIsAsked(t *testing.T) {
	const own, first, second = "the controller's own sidecar",
		"the sidecar of observer watch/observer, pod 10.0.0.1:8080", "the sidecar of observer watch/observer, pod 10.0.0.2:8080"
	all := Sidecars{Own: true, Namespace: "sys", Observers: []types.NamespacedName{watching}}
	alone, others := all, all
	alone.Observers, others.Own = nil, false
	for _, row := range []struct {
		name     string
		sidecars Sidecars
		exportTo []string
		pods     []string
		asked    []string
		missing  string
		assumed  bool
	}{
		{name: "all", sidecars: all, exportTo: []string{"*"}, pods: []string{"10.0.0.1", "10.0.0.2"}, asked: []string{own, first, second}},
		{name: "no observer is configured", sidecars: alone, exportTo: []string{"*"}, asked: []string{own}},
		{name: "no sidecar of its own", sidecars: others, exportTo: []string{"*"}, pods: []string{"10.0.0.1"}, asked: []string{first}},
		{name: "exported to both", sidecars: all, exportTo: []string{"apps", "sys", "watch"}, pods: []string{"10.0.0.1"}, asked: []string{own, first}},
		{name: "not exported to the observer", sidecars: all, exportTo: []string{"apps", "sys"}, pods: []string{"10.0.0.1"}, asked: []string{own}},
		{name: "exported to the observer only", sidecars: all, exportTo: []string{"watch"}, pods: []string{"10.0.0.1"}, asked: []string{first}},
		{name: "an observer without a pod", sidecars: all, exportTo: []string{"*"}, asked: []string{own},
			missing: "a ready pod of observer watch/observer, to see hello.apps.svc.cluster.local in the mesh"},
		{name: "nobody", sidecars: Sidecars{}, exportTo: []string{"*"}, assumed: true},
		{name: "exported to nobody of them", sidecars: all, exportTo: []string{"apps"}, pods: []string{"10.0.0.1"}, assumed: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			probe := inMesh
			probe.ExportTo = row.exportTo
			c := &Checker{sidecars: row.sidecars, slices: discovery.NewEndpointSliceLister(indexed(observers(row.pods...)))}
			ask, assumed := c.sorted(planned(probe))
			targets, missing, err := c.targets(ask)
			var got []string
			for _, target := range targets {
				got = append(got, target.by.String())
			}
			if diff := cmp.Diff(row.asked, got); diff != "" || err != nil {
				t.Errorf("error %v, asked (-want +got):\n%s", err, diff)
			}
			if m := strings.Join(missing, "; "); m != row.missing || (len(assumed.Mesh) > 0) != row.assumed {
				t.Errorf("missing %q, assumed %v", m, assumed)
			}
			if known := c.Known(planned(probe)); (len(known.Assumed.Mesh) > 0) != row.assumed {
				t.Errorf("known to be assumed: %v", known.Assumed)
			}
		})
	}
}

// TestDirectAnswers states which answer of a sidecar proves something.
func TestDirectAnswers(t *testing.T) {
	for _, row := range []struct {
		name  string
		sight observer.Sight
		did   string // empty: it passes
	}{
		{name: "its own answer", sight: observer.Sight{Status: 200, Hash: "h1", Digest: "m1"}},
		{name: "no route", sight: observer.Sight{Status: 404}, did: "answered 404"},
		{name: "a Service without a route", sight: observer.Sight{Status: 503}, did: "answered 503"},
		{name: "a backend", sight: observer.Sight{Status: 200, Hash: "h1"}, did: "answered 200"},
		{name: "the object before", sight: observer.Sight{Status: 200, Hash: "h0", Digest: "m0"}, did: "answered 200 of another generation"},
		{name: "the same Ingress rendered otherwise", sight: observer.Sight{Status: 200, Hash: "h1", Digest: "m0"}, did: "answered 200 of another generation"},
		{name: "somebody who copies the digest", sight: observer.Sight{Status: 200, Digest: "m1"}, did: "answered 200 with another K-Network-Hash"},
		{name: "not the sidecar itself", sight: observer.Sight{Status: 503, Hash: "h1", Digest: "m1"}, did: "answered 503"},
		{name: "silence", sight: observer.Sight{Fault: "timed out"}, did: "gave no answer (timed out)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := ""
			if f := direct(inMesh, row.sight); f != nil {
				got = f.did
			}
			if got != row.did {
				t.Errorf("got %q, want %q", got, row.did)
			}
		})
	}
}
