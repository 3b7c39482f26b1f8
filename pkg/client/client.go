// Package client answers: how does a reconciler get at Istio's objects through Knative's injection?
//
// Knative's generator would write some forty files for this; four kinds need four registrations.
// Importing the package registers the Istio clientset, one informer factory and the informers of
// VirtualService, Gateway, DestinationRule and ServiceEntry with injection.Default; pkg/client/fake
// does the same for tests.
package client

import (
	"context"
	"fmt"

	"istio.io/client-go/pkg/clientset/versioned"
	"istio.io/client-go/pkg/informers/externalversions"
	networking "istio.io/client-go/pkg/informers/externalversions/networking/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
)

type (
	clientKey          struct{}
	factoryKey         struct{}
	virtualServiceKey  struct{}
	gatewayKey         struct{}
	destinationRuleKey struct{}
	serviceEntryKey    struct{}
)

func init() {
	injection.Default.RegisterClient(func(ctx context.Context, cfg *rest.Config) context.Context {
		return With(ctx, versioned.NewForConfigOrDie(cfg))
	})
	injection.Default.RegisterClientFetcher(func(ctx context.Context) any { return Get(ctx) })
	RegisterInformers(injection.Default)
}

// With returns a context that carries the given clientset.
func With(ctx context.Context, c versioned.Interface) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// Get returns the context's Istio clientset. It panics when there is none: a wiring mistake.
func Get(ctx context.Context) versioned.Interface {
	return must[versioned.Interface](ctx, clientKey{})
}

// VirtualServices returns the context's informer of VirtualServices.
func VirtualServices(ctx context.Context) networking.VirtualServiceInformer {
	return must[networking.VirtualServiceInformer](ctx, virtualServiceKey{})
}

// Gateways returns the context's informer of Gateways.
func Gateways(ctx context.Context) networking.GatewayInformer {
	return must[networking.GatewayInformer](ctx, gatewayKey{})
}

// DestinationRules returns the context's informer of DestinationRules.
func DestinationRules(ctx context.Context) networking.DestinationRuleInformer {
	return must[networking.DestinationRuleInformer](ctx, destinationRuleKey{})
}

// ServiceEntries returns the context's informer of ServiceEntries.
func ServiceEntries(ctx context.Context) networking.ServiceEntryInformer {
	return must[networking.ServiceEntryInformer](ctx, serviceEntryKey{})
}

// RegisterInformers adds the informer factory and the informers of all kinds to in. They use
// whatever clientset the context carries when injection sets them up.
func RegisterInformers(in injection.Interface) {
	in.RegisterInformerFactory(withFactory)
	register(in, virtualServiceKey{}, networking.Interface.VirtualServices)
	register(in, gatewayKey{}, networking.Interface.Gateways)
	register(in, destinationRuleKey{}, networking.Interface.DestinationRules)
	register(in, serviceEntryKey{}, networking.Interface.ServiceEntries)
}

func withFactory(ctx context.Context) context.Context {
	options := []externalversions.SharedInformerOption{externalversions.WithTransform(dropManagedFields)}
	if injection.HasNamespaceScope(ctx) {
		options = append(options, externalversions.WithNamespace(injection.GetNamespaceScope(ctx)))
	}
	factory := externalversions.NewSharedInformerFactoryWithOptions(Get(ctx), controller.GetResyncPeriod(ctx), options...)
	return context.WithValue(ctx, factoryKey{}, factory)
}

// informer is what the generated informers of all kinds have in common.
type informer interface {
	Informer() cache.SharedIndexInformer
}

func register[I informer](in injection.Interface, key any, kind func(networking.Interface) I) {
	in.RegisterInformer(func(ctx context.Context) (context.Context, controller.Informer) {
		inf := kind(must[externalversions.SharedInformerFactory](ctx, factoryKey{}).Networking().V1())
		return context.WithValue(ctx, key, inf), inf.Informer()
	})
}

func must[T any](ctx context.Context, key any) T {
	v, ok := ctx.Value(key).(T)
	if !ok {
		panic(fmt.Sprintf("client: no %T in the context: was the context set up by injection?", key))
	}
	return v
}
