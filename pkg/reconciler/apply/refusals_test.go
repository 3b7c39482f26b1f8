package apply

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// forged is a Secret that somebody has labelled as a copy, for an owner and for a user.
func forged(name string) []runtime.Object {
	shared := carried(owner)
	shared.Namespace, shared.Name = "attacker", name+"-shared"
	return []runtime.Object{secret("attacker", name, "k", ours), shared}
}

// TestForgedCopiesCostNothing: the first deletion is refused and told of; after that no Ingress tries
// one there, nor is anything left to be proven because of it. Later, since rights may have come, and
// when the Ingress goes, it is tried once more.
func TestForgedCopiesCostNothing(t *testing.T) {
	ctx, w, c := newCluster(t, append(forged("one"), forged("two")...)...)
	c.kube.PrependReactor("*", "secrets", refuseDeletion)
	now := time.Unix(1000, 0)
	w.secrets.refused.now = func() time.Time { return now }
	other := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "other", UID: "uid-of-other"}}
	tries := func(want int) {
		t.Helper()
		for range 5 {
			for _, o := range []Owner{owner, other} {
				changes, err := w.Sync(ctx, o, resources.Set{})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Prune(ctx, o, resources.Set{}); err != nil {
					t.Fatal(err)
				}
				if changes.Leaves() && len(c.writes()) != want {
					t.Errorf("stale is %v, and nothing is tried", changes.Stale)
				}
			}
		}
		if got := len(c.writes()); got != want {
			t.Errorf("%d requests, want %d: %v", got, want, c.writes())
		}
		c.kube.ClearActions()
	}
	tries(1)
	tries(0)
	now = now.Add(refusalHolds)
	tries(1)
	if err := w.Finalize(ctx, owner); err != nil {
		t.Fatal(err)
	}
	if got := len(c.writes()); got != 2 {
		t.Errorf("%d requests of who goes, want one for its own copies and one for those it shares: %v", got, c.writes())
	}
}

// TestWhoIsCalledAsAnotherIsCut: the copies of an Ingress with a long name are not those of one that is
// called so, in either sense.
func TestWhoIsCalledAsAnotherIsCut(t *testing.T) {
	const name = "www.a-service-with-a-very-long-name.and-a-domain-that-is-long-as-well.example.com"
	long := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name, UID: "uid-of-long"}}
	own := map[string]string{resources.IngressLabel: resources.LabelValue(name), resources.OwnerNamespaceLabel: "apps"}
	for k, v := range origin {
		own[k] = v
	}
	var copies []runtime.Object
	for _, s := range []*corev1.Secret{secret("gw", "own", "k", own), carried(long)} {
		copies = append(copies, s)
	}
	for _, called := range []string{name[:63], kmeta.ChildName(name, ""), name + "x"} {
		ctx, w, c := newCluster(t, copies...)
		another := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: called, UID: "uid-of-another"}}
		if err := w.Finalize(ctx, another); err != nil {
			t.Fatal(err)
		}
		same(t, "writes of "+called, nil, c.writes())
	}
	ctx, w, c := newCluster(t, copies...)
	if err := w.Finalize(ctx, long); err != nil {
		t.Fatal(err)
	}
	same(t, "writes", []string{"delete secrets gw/" + sharedCopyName, "delete secrets gw/own"}, c.writes())
}
