package readiness

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// sidecar answers for a host by itself as soon as it knows it.
func sidecar(t *testing.T, knows *atomic.Bool) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knows.Load() || r.Host != inMesh.Host || r.Header.Get(header.ProbeKey) != header.ProbeValue || r.Header.Get(header.HashKey) != header.HashValueOverride {
			http.NotFound(w, r)
			return
		}
		w.Header().Set(header.HashKey, inMesh.Hash)
		w.Header().Set(plan.DigestHeader, inMesh.Digest)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestAgainstSidecars asks real servers: one beside the controller, and one beside an
// observer that learns the routes late.
func TestAgainstSidecars(t *testing.T) {
	early, late := &atomic.Bool{}, &atomic.Bool{}
	early.Store(true)
	pod := httptest.NewServer(observer.Handler(observer.NewSidecar(sidecar(t, late)).Look))
	t.Cleanup(pod.Close)
	ip, number, _ := net.SplitHostPort(pod.Listener.Addr().String())
	port, _ := strconv.Atoi(number)
	seen := observers(ip)
	seen.Ports = []discoveryv1.EndpointPort{{Name: seen.Ports[0].Name, Port: new(int32(port))}}
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan types.NamespacedName, 100)
	settings := Sidecars{Own: true, Address: sidecar(t, early), Namespace: "sys", Observers: []types.NamespacedName{watching}}
	c := New(ctx, zap.NewNop().Sugar(), settings, discovery.NewEndpointSliceLister(indexed(seen)), func(n types.NamespacedName) { woken <- n })
	for s := check(t, c, inMesh); len(s.Waiting) != 1 || !strings.Contains(s.Waiting[0], "answered 404"); s = check(t, c, inMesh) {
		if s.Ready {
			t.Fatal("ready before the observer has seen it")
		}
		<-woken
	}
	late.Store(true)
	for !check(t, c, inMesh).Ready {
		<-woken
	}
	cancel()
	c.working.Wait()
}
