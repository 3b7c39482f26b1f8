package apply

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
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
