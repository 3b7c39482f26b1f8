package readiness

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

var (
	service = types.NamespacedName{Namespace: "istio-system", Name: "gw"}
	hello   = &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello"}}
	atHTTP  = plan.Probe{
		Entry: "ns/gateway", Service: service, ServicePort: 80, PortName: "http2", Scheme: plan.HTTP,
		Host: "hello.example.com", Path: "/healthz", Expect: plan.ExpectHash, Hash: "h1", Digest: "d1",
	}
	atMesh = plan.Probe{Entry: plan.MeshEntry, Host: "hello.apps.svc.cluster.local", Digest: "m"}
)

// answers is a data plane by the address of its pods; of those it does not hold, each
// serves.
type answers struct {
	mu     sync.Mutex
	faults map[string]*fault
	asked  []string
}

func (a *answers) ask(_ context.Context, _ plan.Probe, address string) *fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, address)
	return a.faults[address]
}

func (a *answers) set(address string, f *fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.faults == nil {
		a.faults = map[string]*fault{}
	}
	a.faults[address] = f
}

func (a *answers) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

// woken counts.
type woken struct {
	mu sync.Mutex
	n  int
}

func (w *woken) wake(types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
}

func (w *woken) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

var notFound = &fault{did: "answered 404", wanted: thisGeneration}

// checker asks a data plane that is made up. Its end is awaited with the test's.
func checker(t *testing.T, index cache.Indexer, ask func(context.Context, plan.Probe, string) *fault, wake func(types.NamespacedName)) *Checker {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := New(ctx, zap.NewNop().Sugar(), Sidecars{}, discovery.NewEndpointSliceLister(index), wake)
	c.ask = ask
	t.Cleanup(func() {
		cancel()
		c.working.Wait()
	})
	return c
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
		p.Exposures = append(p.Exposures, plan.Exposure{Probed: true, Entries: []plan.Entry{probe.Entry}, Hosts: []string{probe.Host}, Digest: probe.Digest})
	}
	return p
}

func TestNothingExposedIsNotReady(t *testing.T) {
	if s := check(t, checker(t, indexed(), nil, nil)); s.Ready || len(s.Waiting) == 0 {
		t.Errorf("got %+v, want something awaited", s)
	}
}

func TestMeshIsAssumed(t *testing.T) {
	if s := check(t, checker(t, indexed(), nil, nil), atMesh); !s.Ready || len(s.Assumed.Mesh) != 1 {
		t.Errorf("got %+v, want ready and assumed", s)
	}
}

// TestWhatCannotBeAskedIsAssumed: and said to be.
func TestWhatCannotBeAskedIsAssumed(t *testing.T) {
	withHeader := atHTTP
	withHeader.Headers, withHeader.Host, withHeader.Digest = []model.KV{{Key: "Tag", Value: "blue"}}, "blue.example.com", "d2"
	p := planned(atHTTP, withHeader, atMesh)
	p.Exposures = append(p.Exposures, plan.Exposure{Probed: true, Entries: []plan.Entry{"ns/mutual"}, Hosts: []string{"mutual.example.com"}, Digest: "d3"})
	p.Exposures = append(p.Exposures, plan.Exposure{Probed: true, Entries: []plan.Entry{plan.MeshEntry}, Hosts: []string{"hello.apps", "hello.apps.svc", "hello.apps.svc.cluster.local", "a.com", "a.com.au"}})
	c := &Checker{}
	ask, assumed := c.sorted(p)
	want := Assumed{Mesh: []string{"a.com", "a.com.au", "hello.apps.svc.cluster.local"}, Gateways: []string{"mutual.example.com"}}
	if diff := cmp.Diff(want, assumed); diff != "" || len(ask) != 2 {
		t.Errorf("%d asked, assumed (-want +got):\n%s", len(ask), diff)
	}
	redirected := plan.Probe{Entry: "ns/gateway", Host: "r.example.com", Expect: plan.ExpectRedirect}
	if _, assumed := c.sorted(planned(redirected)); len(assumed.Mesh)+len(assumed.Gateways) != 0 {
		t.Errorf("assumed %v though a redirect proves it", assumed)
	}
}

// TestOnlyChangesAreNews: resyncs repeat what is known.
func TestOnlyChangesAreNews(t *testing.T) {
	index := indexed()
	c := checker(t, index, (&answers{}).ask, (&woken{}).wake)
	check(t, c, atHTTP)
	pod := slice("a", discoveryv1.AddressTypeIPv4, 8080, "10.0.0.1")
	pod.ResourceVersion = "1"
	_ = index.Add(pod)
	known := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.proofs[key(hello)].missing)
	}
	c.Handler().OnUpdate(pod, pod)
	if known() != 1 {
		t.Error("a resync was taken for a change")
	}
	c.Handler().OnAdd(pod, false)
	if known() != 0 {
		t.Error("a pod came and is still missing")
	}
	c.Handler().OnDelete(cache.DeletedFinalStateUnknown{Obj: "nonsense"})
}
