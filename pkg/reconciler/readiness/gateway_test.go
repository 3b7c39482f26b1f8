package readiness

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// gateway is a pod that learns its routes late.
type gateway struct {
	*httptest.Server
	serves atomic.Bool
	asked  chan struct{}
}

func newGateway(t *testing.T) *gateway {
	g := &gateway{asked: make(chan struct{}, 1)}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case g.asked <- struct{}{}:
		default:
		}
		if !g.serves.Load() || r.Host != atHTTP.Host || r.Header.Get(header.HashKey) != header.HashValueOverride {
			http.NotFound(w, r)
			return
		}
		w.Header().Set(header.HashKey, atHTTP.Hash)
		w.Header().Set(plan.DigestHeader, atHTTP.Digest)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) slice(name string) *discoveryv1.EndpointSlice {
	ip, number, _ := net.SplitHostPort(g.Listener.Addr().String())
	port, _ := strconv.Atoi(number)
	return slice(name, discoveryv1.AddressTypeIPv4, int32(port), ip)
}

// TestAgainstGateways asks real servers, of which the second serves late.
func TestAgainstGateways(t *testing.T) {
	one, two := newGateway(t), newGateway(t)
	one.serves.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	woken := make(chan types.NamespacedName, 100)
	c := New(ctx, zap.NewNop().Sugar(), Sidecars{}, discovery.NewEndpointSliceLister(indexed(one.slice("a"), two.slice("b"))),
		func(n types.NamespacedName) { woken <- n })
	if s := check(t, c, atHTTP); s.Ready || len(s.Waiting) != 2 {
		t.Fatalf("got %+v, want both pods awaited", s)
	}
	<-one.asked
	<-two.asked
	two.serves.Store(true)
	for !check(t, c, atHTTP).Ready {
		if n := <-woken; n != key(hello) {
			t.Fatalf("woken for %s", n)
		}
	}
	cancel()
	c.working.Wait()
}
