package client_test

import (
	"testing"

	istio "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	_ "knative.dev/pkg/reconciler/testing" // its init makes fake clients and watch lists get along

	"github.com/net-mesh/net-mesh/pkg/client"
	"github.com/net-mesh/net-mesh/pkg/client/fake"
)

func TestInformersDeliverThroughInjection(t *testing.T) {
	ctx, informers := injection.Fake.SetupInformers(t.Context(), &rest.Config{})
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "name", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}
	c := fake.Get(ctx).NetworkingV1()
	if _, err := c.VirtualServices("ns").Create(ctx, &istio.VirtualService{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Gateways("ns").Create(ctx, &istio.Gateway{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DestinationRules("ns").Create(ctx, &istio.DestinationRule{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ServiceEntries("ns").Create(ctx, &istio.ServiceEntry{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := controller.StartInformers(ctx.Done(), informers...); err != nil {
		t.Fatal(err)
	}
	for kind, store := range map[string]cache.Store{
		"VirtualService":  client.VirtualServices(ctx).Informer().GetStore(),
		"Gateway":         client.Gateways(ctx).Informer().GetStore(),
		"DestinationRule": client.DestinationRules(ctx).Informer().GetStore(),
		"ServiceEntry":    client.ServiceEntries(ctx).Informer().GetStore(),
	} {
		if n := len(store.ListKeys()); n != 1 {
			t.Errorf("%s: %d objects in the cache, want 1", kind, n)
		}
	}
	vs, err := client.VirtualServices(ctx).Lister().VirtualServices("ns").Get("name")
	if err != nil || vs.ManagedFields != nil {
		t.Errorf("VirtualService from the cache: managed fields %v, error %v, want neither", vs.ManagedFields, err)
	}
}

func TestFakeHoldsWhatItIsGiven(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "name"}
	ctx, c := fake.With(t.Context(), &istio.Gateway{ObjectMeta: meta}, &istio.VirtualService{ObjectMeta: meta})
	if _, err := c.NetworkingV1().Gateways("ns").Get(ctx, "name", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.NetworkingV1().VirtualServices("ns").Get(ctx, "name", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestMissingWiringPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Get on a bare context did not panic")
		}
	}()
	client.Get(t.Context())
}
