package ingress

import (
	"context"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	networkingclient "knative.dev/networking/pkg/client/injection/client"
	ingressinformer "knative.dev/networking/pkg/client/injection/informers/networking/v1alpha1/ingress"
	ingressreconciler "knative.dev/networking/pkg/client/injection/reconciler/networking/v1alpha1/ingress"
	network "knative.dev/networking/pkg/config"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	secretinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/secret"
	serviceinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/service"
	sliceinformer "knative.dev/pkg/client/injection/kube/informers/discovery/v1/endpointslice"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"
	kubenetwork "knative.dev/pkg/network"
	"knative.dev/pkg/reconciler"
	"knative.dev/pkg/system"

	"github.com/net-mesh/net-mesh/pkg/client"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/configstore"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
	"github.com/net-mesh/net-mesh/pkg/reconciler/loopback"
	"github.com/net-mesh/net-mesh/pkg/reconciler/metrics"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
)

// Class is the ingress class we answer for; it is net-istio's.
const Class = network.IstioIngressClassName

// apiVersions are those of the kinds that are watched by name.
var apiVersions = map[string]string{
	"Service":         corev1.SchemeGroupVersion.String(),
	"Secret":          corev1.SchemeGroupVersion.String(),
	"Gateway":         istiov1.SchemeGroupVersion.String(),
	"VirtualService":  istiov1.SchemeGroupVersion.String(),
	"DestinationRule": istiov1.SchemeGroupVersion.String(),
	"ServiceEntry":    istiov1.SchemeGroupVersion.String(),
}

// agent is the source of our events.
const agent = "net-mesh-controller"

// NewController wires the loop to the cluster. The gate is that of the loopback.
func NewController(gate *loopback.Gate) injection.ControllerConstructor {
	return func(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
		return newController(ctx, cmw, otel.GetMeterProvider(), gate) // that of Knative's set-up
	}
}

func newController(ctx context.Context, cmw configmap.Watcher, meters metric.MeterProvider, gate *loopback.Gate) *controller.Impl {
	secrets := secretinformer.Get(ctx).Informer()
	logger := logging.FromContext(ctx)
	if err := prepare(ctx, secrets); err != nil {
		logger.Fatalw("Cannot prepare the caches", "error", err)
	}
	reader := listers.Reader{
		Services:  serviceinformer.Get(ctx).Lister(),
		Secrets:   secretinformer.Get(ctx).Lister(),
		Gateways:  client.Gateways(ctx).Lister(),
		Ingresses: ingressinformer.Get(ctx).Informer().GetIndexer(),
		Mesh:      client.VirtualServices(ctx).Informer().GetIndexer(),
	}
	r := &Reconciler{
		reader: reader,
		writer: apply.NewWriter(kubeclient.Get(ctx), client.Get(ctx), apply.Caches{
			Secrets:          secrets.GetIndexer(),
			Gateways:         client.Gateways(ctx).Informer().GetIndexer(),
			DestinationRules: client.DestinationRules(ctx).Informer().GetIndexer(),
			VirtualServices:  client.VirtualServices(ctx).Informer().GetIndexer(),
			ServiceEntries:   client.ServiceEntries(ctx).Informer().GetIndexer(),
		}),
		statuses:  networkingclient.Get(ctx).NetworkingV1alpha1(),
		meshHosts: newMeshHosts(),
	}
	mine := reconciler.AnnotationFilterFunc(networking.IngressClassAnnotationKey, Class, false)
	ingresses := ingressinformer.Get(ctx).Informer()
	ctx, events := recording(ctx)
	impl := ingressreconciler.NewImpl(ctx, r, Class, func(impl *controller.Impl) controller.Options {
		store := configstore.New(kubenetwork.GetClusterDomainName(), system.Namespace(), logger.Named("config"), events,
			func() { impl.FilteredGlobalResync(mine, ingresses) })
		store.Watch(cmw)
		return controller.Options{ConfigStore: store, PromoteFilterFunc: mine, AgentName: agent, SkipStatusUpdates: true}
	})
	r.tracker, r.gate = impl.Tracker, gate
	gate.OnOpen(func() { impl.FilteredGlobalResync(mine, ingresses) })
	sidecars, err := readiness.ParseSidecars(os.Getenv, system.Namespace())
	if err != nil {
		logger.Fatalw("Cannot tell which sidecars are to be asked", "error", err)
	}
	checker := readiness.New(ctx, logger.Named("probes"), sidecars, sliceinformer.Get(ctx).Lister(), func(n types.NamespacedName) { impl.EnqueueKey(n) })
	r.observer = checker
	if r.metrics, err = metrics.New(meters, checker.InFlight); err != nil {
		logger.Fatalw("Cannot make the instruments", "error", err)
	}
	r.writer.OnChange(r.metrics.Changed)
	watch(ctx, impl, mine)
	wake := func(ing *v1alpha1.Ingress) { impl.Enqueue(ing) }
	handle(ingresses, neighbours(reader.Claimants, wake))
	handle(ingresses, heads(reader.Leading, wake))
	handle(client.VirtualServices(ctx).Informer(), roots(reader.Delegated, wake))
	handle(client.VirtualServices(ctx).Informer(), r.meshHosts.handler(impl.EnqueueKey))
	handle(sliceinformer.Get(ctx).Informer(), checker.Handler())
	return impl
}

// recording makes the recorder of events that Knative's reconciler would make for itself, so that
// others have it too.
func recording(ctx context.Context) (context.Context, record.EventRecorder) {
	if events := controller.GetEventRecorder(ctx); events != nil {
		return controller.WithEventRecorder(ctx, bounded{events}), bounded{events}
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kubeclient.Get(ctx).CoreV1().Events("")})
	events := bounded{broadcaster.NewRecorder(kubescheme.Scheme, corev1.EventSource{Component: agent})}
	return controller.WithEventRecorder(ctx, events), events
}

// prepare shapes the caches before they start.
func prepare(ctx context.Context, secrets cache.SharedIndexInformer) error {
	if err := secrets.SetTransform(withoutForeignBytes); err != nil {
		return err
	}
	if err := ingressinformer.Get(ctx).Informer().AddIndexers(listers.Indexers()); err != nil {
		return err
	}
	if err := client.VirtualServices(ctx).Informer().AddIndexers(listers.MeshIndexers()); err != nil {
		return err
	}
	return apply.AddIndexes(secrets, client.Gateways(ctx).Informer(),
		client.DestinationRules(ctx).Informer(), client.VirtualServices(ctx).Informer(), client.ServiceEntries(ctx).Informer())
}

// watch says what wakes an Ingress: itself, what it owns, and what it leads to. Other
// Ingresses are watched by themselves.
func watch(ctx context.Context, impl *controller.Impl, mine func(any) bool) {
	handle(ingressinformer.Get(ctx).Informer(), cache.FilteringResourceEventHandler{
		FilterFunc: mine, Handler: controller.HandleAll(impl.Enqueue),
	})
	owned := cache.FilteringResourceEventHandler{
		FilterFunc: controller.FilterController(&v1alpha1.Ingress{}),
		Handler:    controller.HandleAll(impl.EnqueueControllerOf),
	}
	handle(client.VirtualServices(ctx).Informer(), owned)
	handle(client.DestinationRules(ctx).Informer(), owned)
	handle(client.Gateways(ctx).Informer(), owned)
	handle(client.ServiceEntries(ctx).Informer(), owned)
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"VirtualService":  client.VirtualServices(ctx).Informer(),
		"DestinationRule": client.DestinationRules(ctx).Informer(),
		"Gateway":         client.Gateways(ctx).Informer(),
		"ServiceEntry":    client.ServiceEntries(ctx).Informer(),
		"Service":         serviceinformer.Get(ctx).Informer(),
		"Secret":          secretinformer.Get(ctx).Informer(),
	} {
		gvk := schema.FromAPIVersionAndKind(apiVersions[kind], kind)
		handle(informer, notice{of: controller.EnsureTypeMeta(impl.Tracker.OnChanged, gvk), users: impl.EnqueueKey})
	}
}

func handle(informer cache.SharedIndexInformer, h cache.ResourceEventHandler) {
	if _, err := informer.AddEventHandler(h); err != nil {
		panic(err) // only an informer that was stopped refuses
	}
}

// withoutForeignBytes keeps Secrets that are no certificates, which nobody here reads,
// out of the memory, and the field managers' bookkeeping with them.
func withoutForeignBytes(o any) (any, error) {
	if s, ok := o.(*corev1.Secret); ok {
		s.ManagedFields = nil
		if _, certificate := s.Data[corev1.TLSCertKey]; !certificate {
			s.Data = nil
		}
	}
	return o, nil
}
