package loopback

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"istio.io/client-go/pkg/informers/externalversions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	ingressinformer "knative.dev/networking/pkg/client/injection/informers/networking/v1alpha1/ingress"
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
	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/reconciler/configstore"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// RootNamespaceVariable says which namespace is Istio's root namespace, rootNamespace of its
// mesh configuration.
const RootNamespaceVariable = "NET_MESH_ROOT_NAMESPACE"

const defaultRootNamespace = "istio-system"

// agent is the source of our events.
const agent = "net-mesh-controller"

// NewController wires the loop to the cluster. The gate tells the loop of Ingresses how far
// this one is.
func NewController(gate *Gate) injection.ControllerConstructor {
	return func(ctx context.Context, cmw configmap.Watcher) *controller.Impl {
		logger := logging.FromContext(ctx)
		sidecars, err := readiness.ParseSidecars(os.Getenv, system.Namespace())
		if err != nil {
			logger.Fatalw("Cannot tell which sidecars are to be asked", "error", err)
		}
		root, err := parseRootNamespace(os.Getenv)
		if err != nil {
			logger.Fatalw("Cannot tell where EnvoyFilters for all belong", "error", err)
		}
		key := types.NamespacedName{Namespace: system.Namespace(), Name: "loopback"}
		r := &Reconciler{
			LeaderAwareFuncs: reconciler.LeaderAwareFuncs{PromoteFunc: func(b reconciler.Bucket, enqueue func(reconciler.Bucket, types.NamespacedName)) error {
				enqueue(b, key)
				return nil
			}},
			logger: logger.Named("loopback"),
			kube:   kubeclient.Get(ctx), istio: client.Get(ctx),
			reader: listers.Reader{
				Services: serviceinformer.Get(ctx).Lister(), Secrets: secretinformer.Get(ctx).Lister(),
				Gateways: client.Gateways(ctx).Lister(), Ingresses: ingressinformer.Get(ctx).Informer().GetIndexer(),
			},
			root: root, observers: sidecars.Observers,
			see: readiness.NewViews(sidecars, sliceinformer.Get(ctx).Lister()).Of,
			ingresses: func() ([]*v1alpha1.Ingress, error) {
				return ingressinformer.Get(ctx).Lister().List(labels.Everything())
			},
			events: recorder(ctx),
			gate:   gate, now: time.Now, awaited: map[step]time.Time{},
		}
		impl := controller.NewContext(ctx, r, controller.ControllerOptions{WorkQueueName: "loopback", Logger: r.logger})
		wake := func() { impl.EnqueueKey(key) }
		r.again = func(after time.Duration) { impl.EnqueueKeyAfter(key, after) }
		// The loop of Ingresses tells what is to be said of the ConfigMaps.
		store := configstore.New(kubenetwork.GetClusterDomainName(), system.Namespace(), logger.Named("config"), configstore.Unheard, wake)
		store.Watch(cmw)
		r.config = store.Current
		watch(ctx, r, wake)
		return impl
	}
}

func parseRootNamespace(getenv func(string) string) (string, error) {
	root := cmp.Or(getenv(RootNamespaceVariable), defaultRootNamespace)
	if faults := validation.IsDNS1123Label(root); len(faults) > 0 {
		return "", fmt.Errorf("%s is %q, which is not the name of a namespace: %s", RootNamespaceVariable, root, faults[0])
	}
	return root, nil
}

// watch wakes the loop when something of the loopback changes, or what it is decided by.
// EnvoyFilters may be looked at in a few namespaces only.
func watch(ctx context.Context, r *Reconciler, wake func()) {
	handle(serviceinformer.Get(ctx).Informer(), r.concerns, wake)
	handle(client.Gateways(ctx).Informer(), isOurs, wake)
	namespaces := sets.New(r.root)
	for _, o := range r.observers {
		namespaces.Insert(o.Namespace)
	}
	for _, namespace := range sets.List(namespaces) {
		factory := externalversions.NewSharedInformerFactoryWithOptions(r.istio, controller.GetResyncPeriod(ctx),
			externalversions.WithNamespace(namespace),
			externalversions.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = resources.LoopbackLabel }))
		handle(factory.Networking().V1alpha3().EnvoyFilters().Informer(), isOurs, wake)
		factory.Start(ctx.Done())
	}
}

func isOurs(o any) bool {
	m, ok := o.(metav1.Object)
	return ok && m.GetLabels()[resources.LoopbackLabel] != ""
}

// concerns picks the Services that are looked at: that of the local gateway, those of
// observers and those of external gateways.
func (r *Reconciler) concerns(o any) bool {
	m, ok := o.(metav1.Object)
	if !ok {
		return false
	}
	cfg, err := r.config()
	return nameOf(m) == config.LocalGateway || slices.Contains(r.observers, nameOf(m)) ||
		err == nil && slices.ContainsFunc(cfg.Istio.External, func(g config.Gateway) bool { return g.Service == nameOf(m) })
}

func handle(informer cache.SharedIndexInformer, concerns func(any) bool, wake func()) {
	_, err := informer.AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: concerns, Handler: controller.HandleAll(func(any) { wake() }),
	})
	if err != nil {
		panic(err) // only an informer that was stopped refuses
	}
}

// recorder is that of the context, or one of our own.
func recorder(ctx context.Context) record.EventRecorder {
	if events := controller.GetEventRecorder(ctx); events != nil {
		return events
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kubeclient.Get(ctx).CoreV1().Events("")})
	return broadcaster.NewRecorder(kubescheme.Scheme, corev1.EventSource{Component: agent})
}
