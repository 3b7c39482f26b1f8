package ingress

import (
	"strings"
	"testing"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/pkg/controller"
	. "knative.dev/pkg/reconciler/testing"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
)

// TestAContestEnds: a webhook that changes one of our objects whenever it is written does not have it
// written without end, and people are told.
func TestAContestEnds(t *testing.T) {
	ctx := start(t, gateways, "ingress", "gateways", "revision")
	eventually(t, "a pod is awaited", func() bool { return condition(ctx, "Ready") == "Unknown AwaitingProof" })
	istio := fakeistio.Get(ctx)
	// The reactor is called with the clientset locked; nobody else changes the list meanwhile.
	istio.PrependReactor("update", "virtualservices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		v := a.(clienttesting.UpdateAction).GetObject().(*istiov1.VirtualService)
		v.Spec.Http = []*v1alpha3.HTTPRoute{{Name: "theirs"}}
		return false, nil, nil
	})
	v, err := istio.NetworkingV1().VirtualServices("apps").Get(ctx, "hello-mesh", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := istio.NetworkingV1().VirtualServices("apps").Update(ctx, v, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "people are told", func() bool { return condition(ctx, "NetworkConfigured") == "False Contested" })
}

// TestAContestAboutWhatIsNarrowedEnds: Sync leaves what somebody adds until the new way is proven, so it is
// Prune that is contested.
func TestAContestAboutWhatIsNarrowedEnds(t *testing.T) {
	ctx := start(t, map[string]string{"local-gateways": "[]", "external-gateways": "[]"}, "ingress", "revision")
	eventually(t, "all is ready", func() bool { return strings.HasPrefix(condition(ctx, "Ready"), "True") })
	istio := fakeistio.Get(ctx)
	istio.PrependReactor("update", "virtualservices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		v := a.(clienttesting.UpdateAction).GetObject().(*istiov1.VirtualService)
		v.Spec.Gateways = append(v.Spec.Gateways, "their/gateway")
		return false, nil, nil
	})
	create(t, ctx, &istiov1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "their", Name: "gateway"}})
	v, err := istio.NetworkingV1().VirtualServices("apps").Get(ctx, "hello-mesh", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := istio.NetworkingV1().VirtualServices("apps").Update(ctx, v.DeepCopy(), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "people are told", func() bool { return condition(ctx, "NetworkConfigured") == "False Contested" })
}

// TestAContestWaitsForNoStatus: a status that could not be written is written again soon, and not after
// the pause of the contest that it tells of.
func TestAContestWaitsForNoStatus(t *testing.T) {
	objects := read(t, "steady")
	for _, o := range objects {
		if v, ok := o.(*istiov1.VirtualService); ok {
			v.Spec.Http = []*v1alpha3.HTTPRoute{{Name: "theirs"}}
		}
	}
	for name, row := range map[string]struct {
		reactors []clienttesting.ReactionFunc
		waits    bool
	}{
		"written": {waits: true}, "not written": {reactors: []clienttesting.ReactionFunc{InduceFailure("update", "ingresses")}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _, _ := factory(gateways, proven)(t, &TableRow{Objects: objects, WithReactors: row.reactors})
			var err error
			for range 10 { // the caches see nothing of what is written
				err = r.Reconcile(t.Context(), "apps/hello")
			}
			if waits, _ := controller.IsRequeueKey(err); waits != row.waits || err == nil {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
