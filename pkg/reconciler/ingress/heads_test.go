package ingress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
)

// TestATargetMovesItsHead: a DomainMapping waits for its Route, follows it when it comes and
// when it changes, and says so when it goes.
func TestATargetMovesItsHead(t *testing.T) {
	ctx := start(t, map[string]string{"local-gateways": "[]", "external-gateways": "[]"}, "mapping", "revision")
	ingresses := fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses("apps")
	leadsTo := func(host string) func() bool {
		return func() bool {
			vs, err := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps").Get(ctx, "www.example.org-mesh", metav1.GetOptions{})
			return err == nil && vs.Spec.Http[1].Route[0].Destination.Host == host+".apps.svc.cluster.local"
		}
	}
	told := func(reason string) func() bool {
		return func() bool {
			ing, err := ingresses.Get(ctx, "www.example.org", metav1.GetOptions{})
			c := ing.Status.GetCondition(v1alpha1.IngressConditionNetworkConfigured)
			return err == nil && c != nil && c.Reason == reason
		}
	}
	eventually(t, "the missing target is told of", told("TargetMissing"))
	for _, o := range read(t, "ingress") {
		create(t, ctx, o)
	}
	eventually(t, "the target is followed", leadsTo("hello-00001"))
	// The fake API lets a status that is written at the same moment bring the old spec back,
	// so it is looked at each time.
	eventually(t, "its change is followed", func() bool {
		hello, err := ingresses.Get(ctx, "hello", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if split := &hello.Spec.Rules[1].HTTP.Paths[0].Splits[0]; split.ServiceName != "hello-00002" {
			split.ServiceName = "hello-00002"
			if _, err := ingresses.Update(ctx, hello, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			return false
		}
		return leadsTo("hello-00002")()
	})
	if err := ingresses.Delete(ctx, "hello", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its end is told of", told("TargetMissing"))
}

// TestWhichHeadsAreWoken states whom a change of one Ingress concerns that others lead to.
func TestWhichHeadsAreWoken(t *testing.T) {
	leads := func(name, to string) *v1alpha1.Ingress {
		ing := claimant(name, name+".apps.svc.cluster.local")
		ing.Spec.Rules[0].HTTP.Paths[0].RewriteHost = to
		return ing
	}
	split := claimant("split", "split.example.com")
	split.Spec.Rules[0].HTTP.Paths[0].Splits = []v1alpha1.IngressBackendSplit{{IngressBackend: v1alpha1.IngressBackend{ServiceNamespace: "apps", ServiceName: "target"}}}
	indexer := indexed(t, split, leads("near", "target.apps.svc.cluster.local"), leads("far", "near.apps"), leads("farther", "far.apps.svc"),
		leads("round", "other.apps.svc.cluster.local"), leads("other", "round.apps.svc.cluster.local"), leads("wild", "some.example.com"),
		claimant("bystander", "target.apps.svc.cluster.local"))
	target := claimant("target", "target.apps")
	for _, tt := range []struct {
		name   string
		change func(*v1alpha1.Ingress)
		want   []string
	}{
		{"nothing of interest", func(i *v1alpha1.Ingress) { i.Status.ObservedGeneration++ }, nil},
		{"another path", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/other" }, []string{"far", "farther", "near", "split"}},
		{"a host goes", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts[0] = "gone.apps" }, []string{"far", "farther", "near", "split"}},
		{"deletion begins", func(i *v1alpha1.Ingress) { i.DeletionTimestamp = &metav1.Time{} }, []string{"far", "farther", "near", "split"}},
		{"a wildcard comes", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts = append(i.Spec.Rules[0].Hosts, "*.example.com") }, []string{"far", "farther", "near", "split", "wild"}},
		{"a circle", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts[0] = "other.apps" }, []string{"far", "farther", "near", "other", "round", "split"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			after := target.DeepCopy()
			tt.change(after)
			if diff := cmp.Diff(tt.want, headsWoken(indexer, func(h cache.ResourceEventHandler) { h.OnUpdate(target, after) })); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
	for name, event := range map[string]func(cache.ResourceEventHandler){
		"created":             func(h cache.ResourceEventHandler) { h.OnAdd(target, false) },
		"deleted":             func(h cache.ResourceEventHandler) { h.OnDelete(target) },
		"deleted out of view": func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: target}) },
	} {
		if diff := cmp.Diff([]string{"far", "farther", "near", "split"}, headsWoken(indexer, event)); diff != "" {
			t.Errorf("%s: (-want +got) %s", name, diff)
		}
	}
}

func headsWoken(indexer cache.Indexer, event func(cache.ResourceEventHandler)) []string {
	var names []string
	event(heads(listers.Reader{Ingresses: indexer}.Leading, func(ing *v1alpha1.Ingress) { names = append(names, ing.Name) }))
	slices.Sort(names)
	return names
}
