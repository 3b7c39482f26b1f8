package ingress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
)

// TestARootWakesItsIngress: who delegates in vain is told of when he comes, and no longer when he goes.
func TestARootWakesItsIngress(t *testing.T) {
	ctx := start(t, gateways, "ingress", "gateways", "revision")
	told := func() bool { return condition(ctx, "NetworkConfigured") == "True DelegateMissing" }
	eventually(t, "the Ingress is accepted", func() bool { return condition(ctx, "NetworkConfigured") == "True " })
	for _, o := range read(t, "root") {
		create(t, ctx, o)
	}
	eventually(t, "the root is told of", told)
	if err := fakeistio.Get(ctx).NetworkingV1().VirtualServices("clients").Delete(ctx, "models", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is no longer", func() bool { return !told() })
}

// TestDriftOfADelegateIsRepaired: whoever deletes a delegate sees it come back.
func TestDriftOfADelegateIsRepaired(t *testing.T) {
	ctx := start(t, delegating, "ingress", "gateways", "revision")
	services := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps")
	exists := func() bool {
		_, err := services.Get(ctx, "hello-delegate", metav1.GetOptions{})
		return err == nil
	}
	eventually(t, "hello-delegate is written", exists)
	if err := services.Delete(ctx, "hello-delegate", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hello-delegate is written again", exists)
}

// TestWhomRootsWake: those that they delegate to, by whatever name, before and after, and nobody else.
func TestWhomRootsWake(t *testing.T) {
	to := func(names ...string) *istiov1.VirtualService {
		vs := &istiov1.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "root"}}
		vs.Spec.Hosts = []string{"root.example.org"}
		for _, name := range names {
			vs.Spec.Http = append(vs.Spec.Http, &v1alpha3.HTTPRoute{Delegate: &v1alpha3.Delegate{Name: name}})
		}
		return vs
	}
	elsewhere, hostless, labelled := to("a-delegate"), to("a-delegate"), to("a-delegate")
	elsewhere.Spec.Http[0].Delegate.Namespace = "shop"
	hostless.Spec.Hosts = nil
	labelled.Labels = map[string]string{"a": "b"}
	for _, tt := range []struct {
		name  string
		event func(cache.ResourceEventHandler)
		want  []string
	}{
		{"comes", func(h cache.ResourceEventHandler) { h.OnAdd(to("a-delegate", "b-delegate-0a1b2c3d"), false) }, []string{"a", "b"}},
		{"goes", func(h cache.ResourceEventHandler) { h.OnDelete(to("a-delegate")) }, []string{"a"}},
		{"is seen to have gone", func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: to("a-delegate")}) }, []string{"a"}},
		{"turns to another", func(h cache.ResourceEventHandler) { h.OnUpdate(to("a-delegate"), to("b-delegate")) }, []string{"a", "b"}},
		{"stays", func(h cache.ResourceEventHandler) { h.OnUpdate(to("a-delegate"), to("a-delegate")) }, nil},
		{"is labelled", func(h cache.ResourceEventHandler) { h.OnUpdate(to("a-delegate"), labelled) }, nil},
		{"is for another namespace", func(h cache.ResourceEventHandler) { h.OnAdd(elsewhere, false) }, nil},
		{"is a delegate itself", func(h cache.ResourceEventHandler) { h.OnAdd(hostless, false) }, nil},
		{"delegates to what is no delegate of ours", func(h cache.ResourceEventHandler) { h.OnAdd(to("a", "a-mesh", "a-delegate-x"), false) }, nil},
		{"does not delegate", func(h cache.ResourceEventHandler) { h.OnAdd(to(), false) }, nil},
	} {
		var names []string
		indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, listers.Indexers())
		for _, name := range []string{"a", "b", "c"} {
			if err := indexer.Add(&v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		tt.event(roots(listers.Reader{Ingresses: indexer}.Delegated, func(ing *v1alpha1.Ingress) { names = append(names, ing.Name) }))
		slices.Sort(names)
		if diff := cmp.Diff(tt.want, slices.Compact(names)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}
