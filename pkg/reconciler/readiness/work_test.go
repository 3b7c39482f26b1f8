package readiness

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// These tests run in bubbles: time passes when all is quiet, and a goroutine that is left
// over fails the test.

const (
	first  = "10.0.0.1:8080"
	second = "10.0.0.2:8080"
)

// pass lets time pass, and what happens in it come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func pods(ips ...string) *discoveryv1.EndpointSlice {
	return slice("a", discoveryv1.AddressTypeIPv4, 8080, ips...)
}

func TestZeroTargetsAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index, data, told := indexed(), &answers{}, &woken{}
		c := checker(t, index, data.ask, told.wake)
		if s := check(t, c, atHTTP, atMesh); s.Ready || len(s.Waiting) != 1 || data.count() != 0 {
			t.Fatalf("got %+v after asking %d times, want one thing awaited and nobody asked", s, data.count())
		}
		_ = index.Add(pods("10.0.0.1"))
		c.Handler().OnAdd(pods("10.0.0.1"), false)
		synctest.Wait()
		if told.count() != 1 {
			t.Fatalf("woken %d times after a pod has come and served, want once", told.count())
		}
		if s := check(t, c, atHTTP, atMesh); !s.Ready || len(s.Assumed.Mesh) != 1 {
			t.Fatalf("got %+v, want ready with one host assumed", s)
		}
		_ = index.Update(pods("10.0.0.1", "10.0.0.2"))
		c.PodsChanged(service)
		synctest.Wait()
		if told.count() != 1 || data.count() != 1 {
			t.Error("a further pod mattered to an Ingress that is proven")
		}
	})
}

// awaiting is a checker that has asked once, and was told by one address that it does not serve yet.
func awaiting(t *testing.T, index cache.Indexer, address string) (*Checker, *answers, *woken) {
	t.Helper()
	data, told := &answers{}, &woken{}
	data.set(address, notFound)
	c := checker(t, index, data.ask, told.wake)
	check(t, c, atHTTP)
	synctest.Wait()
	return c, data, told
}

func TestEveryPodHasToServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index := indexed(pods("10.0.0.1", "10.0.0.2"))
		c, data, told := awaiting(t, index, second)
		s := check(t, c, atHTTP)
		want := []string{"pod 10.0.0.2:8080 of Service istio-system/gw, which answered 404 for http://hello.example.com/healthz at Gateway ns/gateway (wanted this generation)"}
		if diff := cmp.Diff(want, s.Waiting); s.Ready || diff != "" {
			t.Fatalf("ready %t, waiting (-want +got):\n%s", s.Ready, diff)
		}
		data.set(second, nil)
		pass(longestPause)
		if s := check(t, c, atHTTP); !s.Ready || told.count() != 1 {
			t.Errorf("got %+v after %d wakes, want ready after one", s, told.count())
		}
		if n := strings.Count(strings.Join(data.asked, " "), first); n != 1 {
			t.Errorf("a pod that serves was asked %d times", n)
		}
	})
}

func TestPodsComeAndGoWhileProving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index, data, told := indexed(pods("10.0.0.1")), &answers{}, &woken{}
		data.set(first, notFound)
		data.set(second, notFound)
		c := checker(t, index, data.ask, told.wake)
		check(t, c, atHTTP)
		_ = index.Update(pods("10.0.0.1", "10.0.0.2"))
		c.PodsChanged(service)
		synctest.Wait()
		if s := check(t, c, atHTTP); s.Ready || len(s.Waiting) != 2 {
			t.Fatalf("got %+v, want both pods awaited", s)
		}
		data.set(second, nil)
		_ = index.Update(pods("10.0.0.2"))
		c.PodsChanged(service)
		pass(longestPause)
		if s := check(t, c, atHTTP); !s.Ready || told.count() != 1 {
			t.Errorf("got %+v after %d wakes, want ready after one, as the pod that did not serve has gone", s, told.count())
		}
	})
}

// TestTheLastPodGoes: what no pod serves is not served, whoever passed before.
func TestTheLastPodGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index := indexed(pods("10.0.0.1", "10.0.0.2"))
		c, data, told := awaiting(t, index, second)
		_ = index.Delete(pods())
		c.Handler().OnDelete(pods("10.0.0.1", "10.0.0.2"))
		pass(textPause)
		if s := check(t, c, atHTTP); s.Ready || len(s.Waiting) != 1 || told.count() != 1 {
			t.Errorf("got %+v after %d wakes, want a pod awaited and that told once", s, told.count())
		}
		asked := data.count()
		pass(time.Minute)
		if data.count() != asked {
			t.Error("pods that have gone were asked")
		}
	})
}

// TestProofIsOfThePlan: the same Ingress exposed in another way needs another proof.
func TestProofIsOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data, told := &answers{}, &woken{}
		c := checker(t, indexed(pods("10.0.0.1")), data.ask, told.wake)
		ready := func(p plan.Probe) {
			t.Helper()
			if check(t, c, p).Ready {
				t.Fatal("ready without having asked")
			}
			synctest.Wait()
			if !check(t, c, p).Ready {
				t.Fatal("not ready")
			}
		}
		ready(atHTTP)
		if !check(t, c, atHTTP).Ready || data.count() != 1 {
			t.Errorf("asked %d times for one plan, want once", data.count())
		}
		other := atHTTP
		other.Digest = "d2"
		ready(other)
		check(t, c, atMesh) // the gateway has gone, and comes back
		ready(other)
		if data.count() != 3 || told.count() != 3 {
			t.Errorf("asked %d times and woken %d times, want 3 and 3", data.count(), told.count())
		}
	})
}

// TestForgetInFlight: an answer that comes after Forget is of no interest.
func TestForgetInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &woken{}
		var ended atomic.Bool
		c := checker(t, indexed(pods("10.0.0.1")), func(ctx context.Context, _ plan.Probe, _ string) *fault {
			<-ctx.Done()
			ended.Store(true)
			return nil
		}, told.wake)
		check(t, c, atHTTP)
		synctest.Wait()
		c.Forget(key(hello))
		synctest.Wait()
		if !ended.Load() || len(c.proofs) != 0 || len(c.busy) != 0 {
			t.Errorf("request ended %t, %d proofs and %d pods busy", ended.Load(), len(c.proofs), len(c.busy))
		}
		pass(time.Minute)
		if told.count() != 0 {
			t.Error("woken for an Ingress that is forgotten")
		}
	})
}

// TestForgetStopsTheReminder of a text that has changed.
func TestForgetStopsTheReminder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, data, told := awaiting(t, indexed(pods("10.0.0.1")), first)
		c.Forget(key(hello))
		pass(time.Minute)
		if told.count() != 0 || data.count() != 1 {
			t.Errorf("woken %d times, asked %d times", told.count(), data.count())
		}
	})
}

// TestEndsWithTheContext: no goroutine is left, which the bubble checks, and no callback.
func TestEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		told := &woken{}
		c := checker(t, indexed(pods("10.0.0.1")), func(asked context.Context, _ plan.Probe, _ string) *fault {
			cancel()
			<-asked.Done()
			return nil
		}, told.wake)
		c.ctx = ctx
		check(t, c, atHTTP)
		synctest.Wait()
		c.PodsChanged(service)
		if s := check(t, c, atHTTP); s.Ready || told.count() != 0 {
			t.Errorf("got %+v after %d wakes", s, told.count())
		}
	})
}
