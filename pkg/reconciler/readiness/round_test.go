package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// TestEverySidecarHasToKnow: the condition names the one that does not, and what it said.
func TestEverySidecarHasToKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, told := &mesh{}, &woken{}
		m.tell(inMesh.Host, "m1", own)
		m.tell(inMesh.Host, "m0", remote)
		c := within(t, both, indexed(observers("10.0.0.1")), m, &answers{}, told.wake)
		check(t, c, inMesh)
		pass(linger)
		want := []string{"the sidecar of observer watch/observer, pod 10.0.0.1:8080, which answered 200 of another generation for " +
			"http://hello.apps.svc.cluster.local/healthz in the mesh (wanted this generation)"}
		if s := check(t, c, inMesh); s.Ready || !cmp.Equal(want, s.Waiting) {
			t.Fatalf("got %+v, want %s", s, want)
		}
		m.tell(inMesh.Host, "m1", remote)
		pass(longestPause)
		if s := check(t, c, inMesh); !s.Ready || len(s.Assumed.Mesh) > 0 || told.count() != 1 {
			t.Fatalf("got %+v after %d wakes, want proven after one", s, told.count())
		}
		asked := m.count()
		pass(time.Minute)
		check(t, c, inMesh)
		if m.count() != asked || len(c.rounds) != 0 {
			t.Error("sidecars are asked for what is proven")
		}
		next := inMesh
		next.Digest = "m2"
		if check(t, c, next).Ready {
			t.Error("another object is taken for proven")
		}
	})
}

// TestEveryHostHasToBeKnown: somebody else may have one of them.
func TestEveryHostHasToBeKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mesh{}
		p := inMesh
		p.Also = []string{"hello.apps", "hello.apps.svc"}
		m.tell(p.Host, "m1", own)
		m.tell("hello.apps.svc", "m1", own)
		c := within(t, Sidecars{Own: true}, indexed(), m, &answers{}, (&woken{}).wake)
		c.sidecars.Namespace = "sys"
		check(t, c, p)
		pass(3 * linger)
		want := []string{"the controller's own sidecar, which answered 404 for http://hello.apps/healthz in the mesh (wanted this generation)"}
		if s := check(t, c, p); s.Ready || !cmp.Equal(want, s.Waiting) {
			t.Fatalf("got %+v, want %s", s, want)
		}
		m.tell("hello.apps", "m1", own)
		pass(longestPause)
		if s := check(t, c, p); !s.Ready {
			t.Errorf("got %+v, want ready", s)
		}
	})
}

// TestSilenceIsNotReadiness: an observer that is away is waited for, and so is one that
// has no pod any more.
func TestSilenceIsNotReadiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		index, m, told := indexed(observers("10.0.0.1")), &mesh{}, &woken{}
		m.tell(inMesh.Host, "m1", own, remote)
		m.fail(remote, errors.New("connection refused"))
		c := within(t, both, index, m, &answers{}, told.wake)
		check(t, c, inMesh)
		pass(linger)
		want := []string{"the sidecar of observer watch/observer, pod 10.0.0.1:8080, which could not be asked (connection refused) for " +
			"http://hello.apps.svc.cluster.local/healthz in the mesh (wanted this generation)"}
		if s := check(t, c, inMesh); s.Ready || !cmp.Equal(want, s.Waiting) {
			t.Fatalf("got %+v, want %s", s, want)
		}
		_ = index.Delete(observers())
		c.Handler().OnDelete(observers("10.0.0.1"))
		pass(textPause + linger)
		if s := check(t, c, inMesh); s.Ready || len(s.Waiting) != 1 || told.count() != 1 {
			t.Fatalf("got %+v after %d wakes, want a pod awaited", s, told.count())
		}
		m.fail(own, nil)
		_ = index.Add(observers("10.0.0.1"))
		c.Handler().OnAdd(observers("10.0.0.1"), false)
		pass(longestPause)
		if s := check(t, c, inMesh); !s.Ready {
			t.Errorf("got %+v, want ready as the observer is back", s)
		}
	})
}

// crowd is Ingresses that want one host each.
func crowd(n int) (ings []*v1alpha1.Ingress, probes []plan.Probe) {
	for i := range n {
		p := inMesh
		p.Host = fmt.Sprintf("s%d.apps.svc.cluster.local", i)
		ings = append(ings, &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: fmt.Sprintf("s%d", i)}})
		probes = append(probes, p)
	}
	return ings, probes
}

// TestManyAreAskedForTogether: 300 Ingresses at once cost few requests, and few questions while
// their sidecars know none of them; all are Ready within a fraction of what those took.
func TestManyAreAskedForTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many, silence = 300, 3 * time.Second
		m, told := &mesh{slow: 5 * time.Millisecond}, &woken{}
		c := within(t, both, indexed(observers("10.0.0.1")), m, &answers{}, told.wake)
		ings, probes := crowd(many)
		for i, ing := range ings {
			if _, err := c.Check(t.Context(), ing, planned(probes[i])); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(silence)
		if got, most := m.hosts(), 2*(many+sample*int(silence/samplePause+1)); got > most {
			t.Errorf("two sidecars that know nothing were asked for %d hosts, want each once and a few again, at most %d", got, most)
		}
		for _, p := range probes {
			m.tell(p.Host, "m1", own, remote)
		}
		before := m.count()
		pass(300 * time.Millisecond)
		for i, ing := range ings {
			if s, _ := c.Check(t.Context(), ing, planned(probes[i])); !s.Ready {
				t.Fatalf("%s is not ready 300 ms after its sidecars know it: %v", ing.Name, s.Waiting)
			}
		}
		// The pauses before questions are put once more differ by chance: of 300 runs most took 14 to 18
		// requests, one in fifty 21 or 22, none more.
		if told.count() < many || m.count()-before > 2*many/20 {
			t.Errorf("%d wakes, %d requests for %d answers, want one for twenty or more", told.count(), m.count()-before, 2*many)
		}
		for _, q := range m.questions {
			if len(q.Hosts) > observer.MostHosts {
				t.Errorf("a question about %d hosts", len(q.Hosts))
			}
		}
	})
}

// TestAllTakeTheirTurn: one that a sidecar gets to know alone does not wait for the others, which
// it never does.
func TestAllTakeTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 40 * sample
		m := &mesh{}
		c := within(t, Sidecars{Own: true, Namespace: "sys"}, indexed(), m, &answers{}, (&woken{}).wake)
		ings, probes := crowd(many)
		for i, ing := range ings {
			_, _ = c.Check(t.Context(), ing, planned(probes[i]))
		}
		pass(time.Minute)
		last := many - 1
		m.tell(probes[last].Host, "m1", own)
		pass(many/sample*(samplePause+linger) + longestPause)
		if s, _ := c.Check(t.Context(), ings[last], planned(probes[last])); !s.Ready {
			t.Errorf("got %+v, want it ready after one turn of all", s)
		}
		next := inMesh
		next.Host = "new.apps.svc.cluster.local"
		m.tell(next.Host, "m1", own)
		check(t, c, next)
		pass(3 * linger)
		if s := check(t, c, next); !s.Ready {
			t.Errorf("got %+v, want a new one asked at once", s)
		}
	})
}

// TestNoMoreThanARequestMayHave, and the rest in the next; two at a time.
func TestNoMoreThanARequestMayHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mesh{slow: time.Second}
		c := within(t, Sidecars{Own: true, Namespace: "sys"}, indexed(), m, &answers{}, (&woken{}).wake)
		ings, probes := crowd(3 * observer.MostHosts)
		for i, ing := range ings {
			_, _ = c.Check(t.Context(), ing, planned(probes[i]))
		}
		pass(500 * time.Millisecond)
		if n := len(m.at.list); n != perSidecar {
			t.Errorf("%d requests at a time, want %d", n, perSidecar)
		}
		pass(time.Minute)
		var sizes []int
		for _, q := range m.questions {
			sizes = append(sizes, len(q.Hosts))
		}
		if slices.Max(sizes) != observer.MostHosts {
			t.Errorf("the largest question is about %d hosts", slices.Max(sizes))
		}
	})
}

// TestPatience: a sidecar that is slow is given more time later; what is new does not wait
// with what is not.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mesh{}
		c := within(t, Sidecars{Own: true, Namespace: "sys"}, indexed(), m, &answers{}, (&woken{}).wake)
		check(t, c, inMesh)
		pass(time.Minute)
		for i, q := range m.questions {
			if want := map[bool]time.Duration{true: hurry, false: observer.MostPatience}[i < hurriedTries]; q.Patience != want {
				t.Fatalf("patience %s at try %d, want %s", q.Patience, i, want)
			}
		}
		gaps := m.at.gaps()
		for i, got := range gaps {
			if most := min(longestPause, firstPause*time.Duration(i+1)); got-linger > most || got-linger < most*3/4 {
				t.Errorf("pause %d is %s, want up to a quarter less than %s", i, got, most)
			}
		}
		stuck := &question{proof: &proof{probes: []plan.Probe{inMesh}}, tries: hurriedTries}
		fresh := &question{proof: stuck.proof}
		stuck.ctx, fresh.ctx = t.Context(), t.Context()
		r := &round{waiting: []*question{stuck, fresh}, flights: 1, sampled: map[time.Duration]time.Time{}}
		for _, want := range []time.Duration{hurry, observer.MostPatience} {
			if batch, about, over := c.board(own, r, 0); over || len(batch) != 1 || about.Patience != want {
				t.Errorf("%d questions with patience %s, %d left; want %s", len(batch), about.Patience, len(r.waiting), want)
			}
		}
	})
}

// TestDeadSidecarsKeepNoWorker: gateways are asked meanwhile.
func TestDeadSidecarsKeepNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, data := &mesh{slow: time.Hour}, &answers{}
		s := Sidecars{}
		var pods []string
		for i := range 2 * workers {
			pods = append(pods, fmt.Sprintf("10.0.2.%d", i))
		}
		s.Observers = []types.NamespacedName{watching}
		ctx, cancel := context.WithCancel(t.Context())
		c := within(t, s, indexed(observers(pods...), slice("a", "IPv4", 8080, "10.0.0.1")), m, data, (&woken{}).wake)
		c.look = func(context.Context, viewer, observer.Question) ([]observer.Sight, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		check(t, c, inMesh)
		pass(linger)
		other := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "other"}}
		_, _ = c.Check(t.Context(), other, planned(atHTTP))
		synctest.Wait()
		if s, _ := c.Check(t.Context(), other, planned(atHTTP)); !s.Ready {
			t.Errorf("got %+v, want the gateway asked", s)
		}
		cancel()
	})
}

// TestForgetLeavesTheRound: nobody is asked or woken for what is forgotten.
func TestForgetLeavesTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, told := &mesh{}, &woken{}
		c := within(t, Sidecars{Own: true, Namespace: "sys"}, indexed(), m, &answers{}, told.wake)
		check(t, c, inMesh)
		pass(linger)
		c.Forget(key(hello))
		asked := m.count()
		pass(time.Minute)
		if m.count() != asked || told.count() != 0 || len(c.rounds) != 0 {
			t.Errorf("asked %d times more, woken %d times, %d rounds", m.count()-asked, told.count(), len(c.rounds))
		}
	})
}

// TestWhatIsNewDoesNotWaitForWhatIsSlow: many are never known, and each request about them takes
// as long as patience lasts, as where sidecars pass unknown hosts on to nowhere. What comes later
// is asked for at once, and who waited longer has its turn all the same.
func TestWhatIsNewDoesNotWaitForWhatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck, late = 30 * sample, 20
		m := &mesh{lost: true}
		c := within(t, Sidecars{Own: true, Namespace: "sys"}, indexed(), m, &answers{}, (&woken{}).wake)
		ings, probes := crowd(stuck + late)
		for i := range stuck {
			_, _ = c.Check(t.Context(), ings[i], planned(probes[i]))
		}
		pass(5 * time.Minute)
		for i := stuck; i < stuck+late; i++ {
			m.tell(probes[i].Host, "m1", own)
			_, _ = c.Check(t.Context(), ings[i], planned(probes[i]))
			pass(hurry + 3*linger)
			if s, _ := c.Check(t.Context(), ings[i], planned(probes[i])); !s.Ready {
				t.Fatalf("%s: got %+v, want a new one asked at once", ings[i].Name, s)
			}
		}
		m.tell(probes[0].Host, "m1", own)
		pass(stuck/sample*observer.MostPatience + longestPause)
		if s, _ := c.Check(t.Context(), ings[0], planned(probes[0])); !s.Ready {
			t.Errorf("got %+v, want it ready after one turn of all", s)
		}
	})
}
