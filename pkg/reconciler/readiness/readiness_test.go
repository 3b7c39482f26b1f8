package readiness

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/http/header"
	"knative.dev/networking/pkg/ingress"
	"knative.dev/networking/pkg/status"
	"knative.dev/pkg/logging"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

var (
	service = types.NamespacedName{Namespace: "istio-system", Name: "gw"}
	hello   = &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello"}}
	atHTTP  = plan.Probe{
		Entry: "ns/gateway", Service: service, ServicePort: 80, PortName: "http2", Scheme: plan.HTTP,
		Host: "hello.example.com", Path: "/healthz", Digest: "d1",
	}
	atMesh = plan.Probe{Entry: plan.MeshEntry, Host: "hello.apps.svc.cluster.local", Digest: "m"}
)

func slice(name string, family discoveryv1.AddressType, port int32, ips ...string) *discoveryv1.EndpointSlice {
	portName := "http2"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: family,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, ip := range ips {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
	}
	return s
}

func unready(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	no := false
	for i := range s.Endpoints {
		s.Endpoints[i].Conditions.Ready = &no
	}
	return s
}

func indexed(slices ...*discoveryv1.EndpointSlice) cache.Indexer {
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, s := range slices {
		_ = index.Add(s)
	}
	return index
}

// TestTargets states which pods are asked, on which of their ports, and for what.
func TestTargets(t *testing.T) {
	https := atHTTP
	https.Scheme, https.ServicePort, https.PortName, https.Path = plan.HTTPS, 443, "https", "/blue"
	tls := slice("tls", discoveryv1.AddressTypeIPv4, 8443, "10.0.0.1")
	name := "https"
	tls.Ports[0].Name = &name
	target := func(port, service, url string, ips ...string) status.ProbeTarget {
		return status.ProbeTarget{PodIPs: sets.New(ips...), PodPort: port, Port: service, URLs: urls(url)}
	}
	for _, row := range []struct {
		name    string
		slices  []*discoveryv1.EndpointSlice
		probe   plan.Probe
		want    []status.ProbeTarget
		missing string
	}{
		{name: "pods of all slices", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.2"),
		}, want: []status.ProbeTarget{target("8080", "80", "http://hello.example.com", "10.0.0.1", "10.0.0.2")}},
		{name: "pods that number their port differently", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv4, 9080, "10.0.0.2"),
		}, want: []status.ProbeTarget{
			target("8080", "80", "http://hello.example.com", "10.0.0.1"), target("9080", "80", "http://hello.example.com", "10.0.0.2"),
		}},
		{name: "TLS, by the port's name", probe: https, slices: []*discoveryv1.EndpointSlice{tls, slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")},
			want: []status.ProbeTarget{target("8443", "443", "https://hello.example.com/blue", "10.0.0.1")}},
		{name: "dual stack", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{
			slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"), slice("b", discoveryv1.AddressTypeIPv6, 8080, "fd00::1"),
		}, want: []status.ProbeTarget{target("8080", "80", "http://hello.example.com", "10.0.0.1")}},
		{name: "no slice", probe: atHTTP, missing: "a ready pod behind port 80 of Service istio-system/gw, to serve hello.example.com at Gateway ns/gateway"},
		{name: "no pod that is ready", probe: atHTTP, slices: []*discoveryv1.EndpointSlice{unready(slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1"))},
			missing: "a ready pod behind port 80 of Service istio-system/gw, to serve hello.example.com at Gateway ns/gateway"},
		{name: "no such port", probe: https, slices: []*discoveryv1.EndpointSlice{slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")},
			missing: "a ready pod behind port 443 of Service istio-system/gw, to serve hello.example.com at Gateway ns/gateway"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &Checker{slices: discovery.NewEndpointSliceLister(indexed(row.slices...))}
			got, missing := c.targets([]plan.Probe{row.probe})
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			if strings.Join(missing, "; ") != row.missing {
				t.Errorf("missing %q, want %q", missing, row.missing)
			}
		})
	}
}

func urls(text string) []*url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return []*url.URL{u}
}

// scripted is a prober that answers as told.
type scripted struct {
	ready     bool
	asked     int
	cancelled int
	pods      []string
}

func (s *scripted) IsReady(context.Context, *v1alpha1.Ingress) (bool, error) {
	s.asked++
	return s.ready, nil
}
func (s *scripted) CancelIngressProbingByKey(types.NamespacedName) { s.cancelled++ }
func (s *scripted) CancelPodProbing(pod any)                       { s.pods = append(s.pods, pod.(*corev1.Pod).Status.PodIP) }

func checker(index cache.Indexer, p prober, wake func(types.NamespacedName)) *Checker {
	return &Checker{slices: discovery.NewEndpointSliceLister(index), prober: p, wake: wake, proofs: map[types.NamespacedName]proof{}}
}

func check(t *testing.T, c *Checker, probes ...plan.Probe) State {
	t.Helper()
	s, err := c.Check(t.Context(), hello, planned(probes...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// planned has an exposure for each probe.
func planned(probes ...plan.Probe) plan.Plan {
	p := plan.Plan{Probes: probes}
	for _, probe := range probes {
		p.Exposures = append(p.Exposures, plan.Exposure{Entries: []plan.Entry{probe.Entry}, Hosts: []string{probe.Host}, Digest: probe.Digest})
	}
	return p
}

func TestZeroTargetsAreAwaited(t *testing.T) {
	index, p := indexed(), &scripted{ready: true}
	var woken []types.NamespacedName
	c := checker(index, p, func(n types.NamespacedName) { woken = append(woken, n) })
	if s := check(t, c, atHTTP, atMesh); s.Ready || len(s.Waiting) != 1 || p.asked != 0 {
		t.Fatalf("got %+v after asking %d times, want one thing awaited and nobody asked", s, p.asked)
	}
	pod := slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")
	_ = index.Add(pod)
	c.Handler().OnAdd(pod, false)
	if len(woken) != 1 || woken[0] != key(hello) {
		t.Fatalf("a pod that came woke %v, want the Ingress", woken)
	}
	if s := check(t, c, atHTTP, atMesh); !s.Ready || len(s.Assumed) != 1 {
		t.Fatalf("got %+v, want ready with one host assumed", s)
	}
	c.Handler().OnAdd(slice("b", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.2"), false)
	if len(woken) != 1 {
		t.Error("a further pod woke an Ingress that is proven")
	}
}

func TestNothingExposedIsNotReady(t *testing.T) {
	if s := check(t, checker(indexed(), &scripted{ready: true}, nil)); s.Ready || len(s.Waiting) == 0 {
		t.Errorf("got %+v, want something awaited", s)
	}
}

func TestMeshIsAssumed(t *testing.T) {
	if s := check(t, checker(indexed(), &scripted{}, nil), atMesh); !s.Ready || len(s.Assumed) != 1 {
		t.Errorf("got %+v, want ready and assumed", s)
	}
}

// TestWhatCannotBeAskedIsAssumed: and said to be.
func TestWhatCannotBeAskedIsAssumed(t *testing.T) {
	withHeader := atHTTP
	withHeader.Headers, withHeader.Host, withHeader.Digest = []model.KV{{Key: "Tag", Value: "blue"}}, "blue.example.com", "d2"
	p := planned(atHTTP, withHeader, atMesh)
	p.Exposures = append(p.Exposures, plan.Exposure{Entries: []plan.Entry{"ns/mutual"}, Hosts: []string{"mutual.example.com"}, Digest: "d3"})
	ask, assumed := sorted(p)
	want := []string{"blue.example.com", "hello.apps.svc.cluster.local", "mutual.example.com"}
	if diff := cmp.Diff(want, assumed); diff != "" || len(ask) != 1 {
		t.Errorf("%d asked, assumed (-want +got):\n%s", len(ask), diff)
	}
	redirected := plan.Probe{Entry: "ns/gateway", Host: "r.example.com", Expect: plan.ExpectRedirect}
	if _, assumed := sorted(planned(redirected)); len(assumed) != 0 {
		t.Errorf("assumed %v though a redirect proves it", assumed)
	}
}

// TestProofIsOfThePlan: the same generation exposed in another way needs another proof.
func TestProofIsOfThePlan(t *testing.T) {
	index, p := indexed(slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")), &scripted{ready: true}
	c := checker(index, p, nil)
	check(t, c, atHTTP)
	check(t, c, atHTTP)
	if p.asked != 1 {
		t.Fatalf("asked %d times for one plan, want once", p.asked)
	}
	p.ready, p.cancelled = false, 0
	other := atHTTP
	other.Digest = "d2"
	if s := check(t, c, other); s.Ready || p.asked != 2 || p.cancelled != 1 {
		t.Fatalf("got %+v after asking %d and cancelling %d times, want another proof begun", s, p.asked, p.cancelled)
	}
	check(t, c, other)
	if p.cancelled != 1 {
		t.Error("a proof under way was begun again")
	}
	_ = index.Add(slice("b", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.2"))
	check(t, c, other)
	if p.cancelled != 2 {
		t.Error("a pod that came while the proof was under way was not asked")
	}
	c.Forget(key(hello))
	if len(c.proofs) != 0 {
		t.Error("a forgotten Ingress is remembered")
	}
}

func TestAGatewayThatComesBackIsAskedAgain(t *testing.T) {
	p := &scripted{ready: true}
	c := checker(indexed(slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")), p, nil)
	check(t, c, atHTTP)
	check(t, c, atMesh)
	check(t, c, atHTTP)
	if p.asked != 2 {
		t.Errorf("asked %d times, want twice", p.asked)
	}
}

func TestPodsThatGoAreNotAskedAgain(t *testing.T) {
	p := &scripted{}
	c := checker(indexed(), p, nil)
	before, after := slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1", "10.0.0.2"), slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.2")
	before.ResourceVersion, after.ResourceVersion = "1", "2"
	c.Handler().OnUpdate(before, after)
	c.Handler().OnUpdate(after, after)
	c.Handler().OnDelete(cache.DeletedFinalStateUnknown{Obj: after})
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2"}, p.pods); diff != "" {
		t.Errorf("cancelled (-want +got):\n%s", diff)
	}
}

// TestAgainstAGateway has Knative's prober ask a server that learns its routes late.
func TestAgainstAGateway(t *testing.T) {
	sum, err := ingress.ComputeHash(hello)
	if err != nil {
		t.Fatal(err)
	}
	var serves atomic.Bool
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !serves.Load() || r.Host != atHTTP.Host || r.URL.Path != "/healthz" || r.Header.Get(header.HashKey) != header.HashValueOverride {
			http.NotFound(w, r)
			return
		}
		w.Header().Set(header.HashKey, hex.EncodeToString(sum[:]))
	}))
	defer gateway.Close()
	at, _ := url.Parse(gateway.URL)
	port, _ := strconv.Atoi(at.Port())
	woken := make(chan types.NamespacedName, 1)
	lister := discovery.NewEndpointSliceLister(indexed(slice("a", discoveryv1.AddressTypeIPv4, int32(port), "127.0.0.1")))
	c := New(t.Context(), logging.FromContext(t.Context()), lister, func(n types.NamespacedName) { woken <- n })
	if s := check(t, c, atHTTP); s.Ready || len(s.Waiting) != 1 {
		t.Fatalf("got %+v, want the gateway awaited", s)
	}
	time.Sleep(300 * time.Millisecond)
	serves.Store(true)
	select {
	case <-woken:
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told that the gateway serves")
	}
	if s := check(t, c, atHTTP); !s.Ready {
		t.Errorf("got %+v, want ready", s)
	}
}
