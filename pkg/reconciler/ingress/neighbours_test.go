package ingress

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
)

// TestHostsChangeHands lives through the life of a conflict: an older Ingress comes to claim a
// host, gives it up, claims it again and is deleted. Each time the younger one is woken.
func TestHostsChangeHands(t *testing.T) {
	ctx := start(t, gateways, "ingress", "gateways", "revision", "first")
	written := func(namespace, name string) bool {
		_, err := fakeistio.Get(ctx).NetworkingV1().VirtualServices(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil
	}
	lost := func() bool {
		return condition(ctx, "NetworkConfigured") == "False HostConflict" && !written("apps", "hello-ingress") && written("shop", "first-ingress")
	}
	had := func() bool {
		return condition(ctx, "NetworkConfigured") == "True " && written("apps", "hello-ingress")
	}
	eventually(t, "the younger one is told", lost)

	ingresses := fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses("shop")
	// The fake API lets a status that is written at the same moment bring the old spec back,
	// so it is looked at each time.
	claim := func(host string, reached func() bool) func() bool {
		return func() bool {
			first, err := ingresses.Get(ctx, "first", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if first.Spec.Rules[0].Hosts[0] != host {
				first.Spec.Rules[0].Hosts = []string{host}
				if _, err := ingresses.Update(ctx, first, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				return false
			}
			return reached()
		}
	}
	eventually(t, "the younger one takes over what is given up", claim("first.example.com", had))
	eventually(t, "the younger one gives up what is claimed again", claim("hello.example.com", lost))
	if err := ingresses.Delete(ctx, "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the younger one takes over what is left behind", had)
}

// TestWhoIsWoken states whom a change of one Ingress concerns.
func TestWhoIsWoken(t *testing.T) {
	shop := claimant("shop", "shop.example.com")
	mesh := claimant("mesh", "hello.apps.svc.cluster.local")
	alien := claimant("alien", "shop.example.com")
	alien.Annotations = nil
	indexer := indexed(t, shop, mesh, alien, claimant("bystander", "bystander.example.com"))
	for _, tt := range []struct {
		name   string
		change func(*v1alpha1.Ingress)
		hosts  []string // of the one that changes
		want   []string
	}{
		{"nothing of interest", func(i *v1alpha1.Ingress) { i.Status.ObservedGeneration++ }, []string{"shop.example.com"}, nil},
		{"another split", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = "/other" }, []string{"shop.example.com"}, nil},
		{"a host comes", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts = []string{"hello.apps"} }, []string{"own.example.com"}, []string{"mesh"}},
		{"a host goes", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts = nil }, []string{"shop.example.com"}, []string{"shop"}},
		{"one for another", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Hosts[0] = "hello.apps.svc" }, []string{"shop.example.com"}, []string{"mesh", "shop"}},
		{"visibility", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].Visibility = v1alpha1.IngressVisibilityClusterLocal }, []string{"shop.example.com"}, []string{"shop"}},
		{"deletion begins", func(i *v1alpha1.Ingress) { i.DeletionTimestamp = &metav1.Time{} }, []string{"shop.example.com"}, []string{"shop"}},
		{"class", func(i *v1alpha1.Ingress) { i.Annotations = nil }, []string{"shop.example.com"}, []string{"shop"}},
		{"labels, which choose gateways", func(i *v1alpha1.Ingress) { i.Labels = map[string]string{"a": "b"} }, []string{"shop.example.com"}, []string{"shop"}},
		{"an invalid rule", func(i *v1alpha1.Ingress) { i.Spec.Rules[0].HTTP = nil }, []string{"shop.example.com"}, []string{"shop"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := claimant("changes", tt.hosts...)
			after := before.DeepCopy()
			tt.change(after)
			got := woken(indexer, func(h cache.ResourceEventHandler) { h.OnUpdate(before, after) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got)", diff)
			}
		})
	}
	one := claimant("changes", "shop.example.com")
	for name, event := range map[string]func(cache.ResourceEventHandler){
		"created":             func(h cache.ResourceEventHandler) { h.OnAdd(one, false) },
		"deleted":             func(h cache.ResourceEventHandler) { h.OnDelete(one) },
		"deleted out of view": func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: one}) },
	} {
		if diff := cmp.Diff([]string{"shop"}, woken(indexer, event)); diff != "" {
			t.Errorf("%s: (-want +got) %s", name, diff)
		}
	}
}

func woken(indexer cache.Indexer, event func(cache.ResourceEventHandler)) []string {
	var names []string
	event(neighbours(listers.Reader{Ingresses: indexer}.Claimants, func(ing *v1alpha1.Ingress) { names = append(names, ing.Name) }))
	slices.Sort(names)
	return slices.Compact(names)
}

func indexed(t *testing.T, all ...*v1alpha1.Ingress) cache.Indexer {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, listers.Indexers())
	for _, ing := range all {
		if err := indexer.Add(ing); err != nil {
			t.Fatal(err)
		}
	}
	return indexer
}

func claimant(name string, hosts ...string) *v1alpha1.Ingress {
	ing := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: name, Annotations: map[string]string{networking.IngressClassAnnotationKey: Class},
	}}
	ing.Spec.Rules = []v1alpha1.IngressRule{{
		Hosts: hosts, Visibility: v1alpha1.IngressVisibilityExternalIP,
		HTTP: &v1alpha1.HTTPIngressRuleValue{Paths: []v1alpha1.HTTPIngressPath{{}}},
	}}
	return ing
}
