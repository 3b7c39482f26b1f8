package apply

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// tampered is what somebody makes of each object as soon as it is written.
func tampered(v *istiov1.VirtualService) {
	v.Spec.Http = []*v1alpha3.HTTPRoute{{Name: "theirs"}}
}

// TestContestedObjectsAreLeftForAWhile: what somebody changes as often as it is written is put right a few
// times, and then once a minute, and told of in between. Who wants something else begins anew.
func TestContestedObjectsAreLeftForAWhile(t *testing.T) {
	ctx, w, c := newCluster(t, vs("a", tampered))
	now := time.Unix(1000, 0)
	w.virtualServices.contests.now = func() time.Time { return now }
	sync := func(times, wantWrites int, want *istiov1.VirtualService) {
		t.Helper()
		c.istio.ClearActions()
		var last Changes
		for range times {
			var err error
			if last, err = w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{want}}); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(c.writes()); got != wantWrites {
			t.Errorf("%d writes in %d attempts, want %d", got, times, wantWrites)
		}
		var told []finding.Ref
		if wantWrites < times {
			told = []finding.Ref{{Kind: "VirtualService", Namespace: "apps", Name: "a"}}
		}
		if diff := cmp.Diff(told, last.Contested); diff != "" {
			t.Errorf("contested (-want +got):\n%s", diff)
		}
	}
	sync(contestBurst, contestBurst, vs("a"))
	sync(3, 0, vs("a"))
	now = now.Add(ContestPause)
	sync(3, 1, vs("a"))
	sync(3, 3, vs("a", label("other", "content")))
	now = now.Add(contestBurst * ContestPause)
	sync(contestBurst+1, contestBurst, vs("a"))
	if n := len(w.virtualServices.contests.of); n != 1 {
		t.Errorf("%d contests are remembered, want 1", n)
	}
}

// TestWhatWasNotWrittenIsNoContest: an update that is refused because the cache is a moment behind is made
// again at once, however often.
func TestWhatWasNotWrittenIsNoContest(t *testing.T) {
	ctx, w, c := newCluster(t, vs("a", tampered))
	c.istio.PrependReactor("update", "virtualservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrs.NewConflict(schema.GroupResource{Resource: "virtualservices"}, "a", errors.New("old"))
	})
	for range 3 * contestBurst {
		changes, err := w.Sync(ctx, owner, resources.Set{VirtualServices: []*istiov1.VirtualService{vs("a")}})
		if !apierrs.IsConflict(err) || len(changes.Contested) > 0 {
			t.Fatalf("error %v, contested %v, want a conflict each time", err, changes.Contested)
		}
	}
}

// interfere has somebody change each VirtualService on its way to the API.
func (c *cluster) interfere(change func(*istiov1.VirtualService)) {
	c.istio.PrependReactor("update", "virtualservices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		change(a.(clienttesting.UpdateAction).GetObject().(*istiov1.VirtualService))
		return false, nil, nil
	})
}

// reconcile does what the loop does where all is proven, once the cache has seen what is there.
func (c *cluster) reconcile(t *testing.T, w *Writer, set resources.Set) Changes {
	t.Helper()
	seen := func() {
		t.Helper()
		list, err := c.istio.NetworkingV1().VirtualServices("apps").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		for _, v := range list.Items {
			all = append(all, v)
		}
		if err := c.caches.VirtualServices.Replace(all, ""); err != nil {
			t.Fatal(err)
		}
	}
	seen()
	changes, err := w.Sync(t.Context(), owner, set)
	if err != nil {
		t.Fatal(err)
	}
	if seen(); !changes.Wrote() && !changes.Left {
		if err := w.Prune(t.Context(), owner, set); err != nil {
			t.Fatal(err)
		}
	}
	return changes
}

// updates counts the writes of VirtualServices that are there.
func (c *cluster) updates() (n int) {
	for _, a := range c.istio.Actions() {
		if a.Matches("update", "virtualservices") {
			n++
		}
	}
	return n
}

// TestWhateverSomebodyChanges: it is a contest too where Sync would leave what somebody adds, until Prune
// narrows, and where only the owner is taken out.
func TestWhateverSomebodyChanges(t *testing.T) {
	times := 0
	for name, change := range map[string]func(*istiov1.VirtualService){
		"routes":                tampered,
		"a label":               func(v *istiov1.VirtualService) { v.Labels[resources.IngressLabel] = "theirs" },
		"a gateway behind ours": func(v *istiov1.VirtualService) { v.Spec.Gateways = append(v.Spec.Gateways, "their/gateway") },
		"a gateway before ours": func(v *istiov1.VirtualService) {
			v.Spec.Gateways = append([]string{"their/gateway"}, v.Spec.Gateways...)
		},
		"another gateway each time": func(v *istiov1.VirtualService) {
			times++
			v.Spec.Gateways = []string{fmt.Sprintf("their/gateway-%d", times), "ns/gateway"}
		},
		"a host that is asked for": func(v *istiov1.VirtualService) { v.Spec.Hosts = append([]string{"x.com"}, v.Spec.Hosts...) },
		"the owner":                uncontrolled,
	} {
		t.Run(name, func(t *testing.T) {
			_, w, c := newCluster(t, vs("a", change))
			c.interfere(change)
			set := resources.Set{Asked: asks, VirtualServices: []*istiov1.VirtualService{vs("a")}}
			var last Changes
			for range 6 * contestBurst {
				last = c.reconcile(t, w, set)
			}
			if n := c.updates(); n > contestBurst {
				t.Errorf("%d writes, want %d at most", n, contestBurst)
			}
			if len(last.Contested) == 0 {
				t.Error("nobody is told")
			}
		})
	}
}

// TestAContestIsToldOfUntilItIsWon: each attempt would else tell people that all is well. When it
// succeeds, all is well at once.
func TestAContestIsToldOfUntilItIsWon(t *testing.T) {
	for name, change := range map[string]func(*istiov1.VirtualService){
		"in Sync": tampered, "in Prune": func(v *istiov1.VirtualService) { v.Spec.Gateways = append(v.Spec.Gateways, "their/gateway") },
	} {
		t.Run(name, func(t *testing.T) {
			_, w, c := newCluster(t, vs("a", tampered))
			now, there := time.Unix(1000, 0), true
			w.virtualServices.contests.now = func() time.Time { return now }
			c.interfere(func(v *istiov1.VirtualService) {
				if there {
					change(v)
				}
			})
			set := resources.Set{Asked: asks, VirtualServices: []*istiov1.VirtualService{vs("a")}}
			for range 2 * contestBurst {
				c.reconcile(t, w, set)
			}
			for minute := range 3 {
				now = now.Add(ContestPause)
				before := c.updates()
				for range 3 {
					if changes := c.reconcile(t, w, set); len(changes.Contested) == 0 {
						t.Fatalf("minute %d: nobody is told", minute)
					}
				}
				if n := c.updates() - before; n != 1 {
					t.Errorf("minute %d: %d writes, want 1", minute, n)
				}
			}
			there, now = false, now.Add(ContestPause)
			c.reconcile(t, w, set)
			if changes := c.reconcile(t, w, set); len(changes.Contested) > 0 || changes.Left {
				t.Errorf("it is over, and told of: %+v", changes)
			}
		})
	}
}

// TestAContestAboutWhatIsStale: it is told of, and does not keep Prune from ending it.
func TestAContestAboutWhatIsStale(t *testing.T) {
	_, w, c := newCluster(t, vs("old", hosts("x.com", "gone.com"), gateways("mesh")))
	c.interfere(hosts("x.com", "gone.com"))
	var last Changes
	for range 2 * contestBurst {
		var err error
		if last, err = w.Sync(t.Context(), owner, resources.Set{Asked: asks}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.updates(); n != contestBurst || len(last.Contested) == 0 || last.Left {
		t.Errorf("%d writes, then %+v", n, last)
	}
}

// TestContestsAreForgotten: what was written once is not kept for ever, though nothing has to be written any
// more.
func TestContestsAreForgotten(t *testing.T) {
	_, w, c := newCluster(t, vs("a", tampered))
	now := time.Unix(1000, 0)
	w.virtualServices.contests.now = func() time.Time { return now }
	set := resources.Set{Asked: asks, VirtualServices: []*istiov1.VirtualService{vs("a")}}
	c.reconcile(t, w, set)
	now = now.Add(2 * ContestPause)
	c.reconcile(t, w, set)
	if n := len(w.virtualServices.contests.of); c.updates() != 1 || n != 0 {
		t.Errorf("%d contests are remembered after %d writes, want none", n, c.updates())
	}
}
