package readiness

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// times are when something has happened.
type times struct {
	mu   sync.Mutex
	list []time.Time
}

func (t *times) note() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = append(t.list, time.Now())
}

// gaps are between one time and the next.
func (t *times) gaps() []time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []time.Duration
	for i := range len(t.list) - 1 {
		out = append(out, t.list[i+1].Sub(t.list[i]))
	}
	return out
}

// TestAsksAtOnceAndThenLessOften gives the times at which a pod is asked that never serves.
func TestAsksAtOnceAndThenLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := &times{}
		asked.note()
		c := checker(t, indexed(pods("10.0.0.1")), func(context.Context, plan.Probe, string) *fault {
			asked.note()
			return notFound
		}, (&woken{}).wake)
		check(t, c, atHTTP)
		pass(time.Minute)
		gaps := asked.gaps()
		if len(gaps) < 30 || gaps[0] != 0 {
			t.Fatalf("asked %d times in a minute, first after %s", len(gaps), gaps[0])
		}
		for i, got := range gaps[1:] {
			if most := min(longestPause, firstPause<<min(i, 10)); got > most || got < most*3/4 {
				t.Errorf("pause %d is %s, want up to a quarter less than %s", i, got, most)
			}
		}
	})
}

// TestTextIsToldOncePerSecond though it changes with each answer.
func TestTextIsToldOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		wakes := &times{}
		c := checker(t, indexed(pods("10.0.0.1", "10.0.0.2", "10.0.0.3")), func(context.Context, plan.Probe, string) *fault {
			return &fault{did: fmt.Sprintf("answered for the %dth time", n.Add(1)), wanted: thisGeneration}
		}, func(types.NamespacedName) { wakes.note() })
		wakes.note()
		check(t, c, atHTTP)
		pass(time.Minute)
		gaps := wakes.gaps()
		for _, gap := range gaps {
			if gap < textPause {
				t.Errorf("woken %s after the time before", gap)
			}
		}
		if len(gaps) < 20 {
			t.Errorf("woken %d times in a minute of changes", len(gaps))
		}
	})
}

// TestWhoIsToldAMomentLater: what is awaited since a moment need not be told of, and who is
// told so is woken when it has lasted, whether somebody could be asked or not.
func TestWhoIsToldAMomentLater(t *testing.T) {
	for _, ips := range [][]string{{"10.0.0.1"}, nil} {
		synctest.Test(t, func(t *testing.T) {
			c, _, told := awaiting(t, indexed(pods(ips...)), first)
			if s := check(t, c, atHTTP); s.Ready || !s.Fresh {
				t.Errorf("%d pods: got %+v", len(ips), s)
			}
			pass(textPause)
			if s := check(t, c, atHTTP); told.count() != 1 || s.Ready || s.Fresh {
				t.Errorf("%d pods: woken %d times, got %+v", len(ips), told.count(), s)
			}
		})
	}
}

// TestWhoRewritesIsTold: somebody writes our objects as often as we do, so that each proof is
// begun anew. That is told a second after the first, and one that goes is forgotten.
func TestWhoRewritesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := awaiting(t, indexed(pods("10.0.0.1")), first)
		for i := range 10 {
			if s := check(t, c, atHTTP); s.Fresh != (i < 3) {
				t.Errorf("%d00 ms after it was known: %+v", 4*i, s)
			}
			pass(textPause * 4 / 10)
			c.Anew(key(hello))
		}
		c.Forget(key(hello))
		if s := check(t, c, atHTTP); !s.Fresh {
			t.Errorf("another of the name: got %+v", s)
		}
	})
}

func TestTheSameTextIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, told := awaiting(t, indexed(pods("10.0.0.1")), first)
		if told.count() != 0 {
			t.Error("woken before the first second is over")
		}
		pass(time.Minute)
		if told.count() != 1 {
			t.Errorf("woken %d times for one text", told.count())
		}
	})
}

// TestRequestsAreBounded in all, and to one pod.
func TestRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ips []string
		for i := range 100 {
			ips = append(ips, fmt.Sprintf("10.0.1.%d", i))
		}
		var probes []plan.Probe
		for i := range 20 {
			p := atHTTP
			p.Path = fmt.Sprintf("/%d", i)
			probes = append(probes, p)
		}
		var all atomic.Int32
		most, mostOfOne := 0, 0
		var c *Checker
		c = checker(t, indexed(pods(ips...)), func(context.Context, plan.Probe, string) *fault {
			all.Add(1)
			<-time.After(time.Millisecond)
			c.mu.Lock()
			defer c.mu.Unlock()
			sum := 0
			for _, n := range c.busy {
				sum, mostOfOne = sum+n, max(mostOfOne, n)
			}
			most = max(most, sum)
			return nil
		}, (&woken{}).wake)
		s := check(t, c, probes...)
		if n := len(s.Waiting); n != mostLines+1 || s.Waiting[n-1] != "1995 more" {
			t.Errorf("told %d lines, the last %q", n, s.Waiting[n-1])
		}
		pass(time.Minute)
		if !check(t, c, probes...).Ready || all.Load() != 2000 {
			t.Errorf("asked %d questions, want each of 2000 once", all.Load())
		}
		if most > workers || mostOfOne > perPod {
			t.Errorf("%d requests at a time, %d to one pod", most, mostOfOne)
		}
	})
}
