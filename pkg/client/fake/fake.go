// Package fake answers: how does a test get Istio's clients and informers without a cluster?
//
// Importing it registers Istio's fake clientset with injection.Fake.
package fake

import (
	"context"

	istio "istio.io/client-go/pkg/apis/networking/v1"
	"istio.io/client-go/pkg/clientset/versioned/fake"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"knative.dev/pkg/injection"

	"github.com/net-mesh/net-mesh/pkg/client"
)

func init() {
	injection.Fake.RegisterClient(func(ctx context.Context, _ *rest.Config) context.Context {
		ctx, _ = With(ctx)
		return ctx
	})
	injection.Fake.RegisterClientFetcher(func(ctx context.Context) any { return Get(ctx) })
	client.RegisterInformers(injection.Fake)
}

// With returns a context whose Istio clientset is a fake that holds the given objects.
func With(ctx context.Context, objects ...runtime.Object) (context.Context, *fake.Clientset) {
	c := fake.NewSimpleClientset()
	for _, o := range objects {
		if err := add(c, o); err != nil {
			panic(err) // two objects of one name: a mistake of the test
		}
	}
	return client.With(ctx, c), c
}

// Add puts an object into the context's fake clientset.
func Add(ctx context.Context, o runtime.Object) error { return add(Get(ctx), o) }

// add names the resource of a Gateway, whose plural the fake guesses wrongly.
func add(c *fake.Clientset, o runtime.Object) error {
	if gateway, ok := o.(*istio.Gateway); ok {
		return c.Tracker().Create(istio.SchemeGroupVersion.WithResource("gateways"), gateway, gateway.Namespace)
	}
	return c.Tracker().Add(o)
}

// Get returns the context's fake clientset. It panics when the clientset is not a fake.
func Get(ctx context.Context) *fake.Clientset {
	return client.Get(ctx).(*fake.Clientset)
}
