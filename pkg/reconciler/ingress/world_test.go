package ingress

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istioscheme "istio.io/client-go/pkg/clientset/versioned/scheme"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubescheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	networkingscheme "knative.dev/networking/pkg/client/clientset/versioned/scheme"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"
	fakeingressinformer "knative.dev/networking/pkg/client/injection/informers/networking/v1alpha1/ingress/fake"
	ingressreconciler "knative.dev/networking/pkg/client/injection/reconciler/networking/v1alpha1/ingress"
	"knative.dev/networking/pkg/ingress"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"
	fakesecretinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/secret/fake"
	fakeserviceinformer "knative.dev/pkg/client/injection/kube/informers/core/v1/service/fake"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"
	. "knative.dev/pkg/reconciler/testing"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/client"
	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/configstore"
	"github.com/net-mesh/net-mesh/pkg/reconciler/listers"
	"github.com/net-mesh/net-mesh/pkg/reconciler/loopback"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

var scheme = runtime.NewScheme()

func init() {
	for _, add := range []func(*runtime.Scheme) error{kubescheme.AddToScheme, istioscheme.AddToScheme, networkingscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
}

// factory makes a Reconciler whose caches and API hold a row's objects.
func factory(istio map[string]string, data observer) Factory {
	return gated(istio, data, loopback.OpenGate())
}

func gated(istio map[string]string, data observer, gate gate) Factory {
	return func(t *testing.T, row *TableRow) (controller.Reconciler, ActionRecorderList, EventList) {
		sorter := NewObjectSorter(scheme)
		sorter.AddObjects(row.Objects...)
		ctx, _ := SetupFakeContext(t)
		ctx, kube := fakekube.With(ctx, sorter.ObjectsForSchemeFunc(kubescheme.AddToScheme)...)
		ctx, mesh := fakeistio.With(ctx, sorter.ObjectsForSchemeFunc(istioscheme.AddToScheme)...)
		ctx, knative := fakenetworking.With(ctx, sorter.ObjectsForSchemeFunc(networkingscheme.AddToScheme)...)
		secrets, gateways := fakesecretinformer.Get(ctx), client.Gateways(ctx)
		rules, services, entries := client.DestinationRules(ctx), client.VirtualServices(ctx), client.ServiceEntries(ctx)
		if err := apply.AddIndexes(secrets.Informer(), gateways.Informer(), rules.Informer(), services.Informer(), entries.Informer()); err != nil {
			t.Fatal(err)
		}
		if err := services.Informer().AddIndexers(listers.MeshIndexers()); err != nil {
			t.Fatal(err)
		}
		if err := fakeingressinformer.Get(ctx).Informer().AddIndexers(listers.Indexers()); err != nil {
			t.Fatal(err)
		}
		for _, o := range row.Objects {
			var err error
			switch o.(type) {
			case *corev1.Secret:
				err = secrets.Informer().GetIndexer().Add(o)
			case *corev1.Service:
				err = fakeserviceinformer.Get(ctx).Informer().GetIndexer().Add(o)
			case *istiov1.Gateway:
				err = gateways.Informer().GetIndexer().Add(o)
			case *istiov1.VirtualService:
				err = services.Informer().GetIndexer().Add(o)
			case *istiov1.ServiceEntry:
				err = entries.Informer().GetIndexer().Add(o)
			case *v1alpha1.Ingress:
				err = fakeingressinformer.Get(ctx).Informer().GetIndexer().Add(o)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, reactor := range row.WithReactors {
			kube.PrependReactor("*", "*", reactor)
			mesh.PrependReactor("*", "*", reactor)
			knative.PrependReactor("*", "*", reactor)
		}
		recorder := record.NewFakeRecorder(100)
		ctx = controller.WithEventRecorder(ctx, recorder)
		row.Ctx = ctx
		r := &Reconciler{
			reader: listers.Reader{
				Services: fakeserviceinformer.Get(ctx).Lister(), Secrets: secrets.Lister(), Gateways: gateways.Lister(),
				Ingresses: fakeingressinformer.Get(ctx).Informer().GetIndexer(), Mesh: services.Informer().GetIndexer(),
			},
			writer: apply.NewWriter(kube, mesh, apply.Caches{
				Secrets: secrets.Informer().GetIndexer(), Gateways: gateways.Informer().GetIndexer(),
				DestinationRules: rules.Informer().GetIndexer(), VirtualServices: services.Informer().GetIndexer(),
				ServiceEntries: entries.Informer().GetIndexer(),
			}),
			observer: data, tracker: &FakeTracker{}, statuses: knative.NetworkingV1alpha1(), gate: gate, meshHosts: newMeshHosts(),
		}
		rec := ingressreconciler.NewReconciler(ctx, logging.FromContext(ctx), knative, fakeingressinformer.Get(ctx).Lister(),
			recorder, r, Class, controller.Options{ConfigStore: configured(t, istio), SkipStatusUpdates: true})
		leader := rec.(reconciler.LeaderAware)
		if err := leader.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
			t.Fatal(err)
		}
		return rec, ActionRecorderList{kube, mesh, knative}, EventList{Recorder: recorder}
	}
}

func configured(t *testing.T, istio map[string]string) *configstore.Store {
	t.Helper()
	store := configstore.New("cluster.local", "knative-serving", logging.FromContext(t.Context()), record.NewFakeRecorder(10), func() {})
	store.Watch(configmap.NewStaticWatcher(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.IstioConfigMap}, Data: istio},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.NetworkConfigMap}},
	))
	return store
}

// read decodes a file of testdata, and the files it includes by lines "#include NAME".
func read(t *testing.T, name string) []runtime.Object {
	t.Helper()
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var out []runtime.Object
	for _, line := range strings.Split(string(text), "\n") {
		if other, ok := strings.CutPrefix(line, "#include "); ok {
			out = append(out, read(t, other)...)
		}
	}
	text = []byte(placeholders(t).Replace(string(text)))
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if kind.Kind == "" {
			continue
		}
		o, err := scheme.New(kind.GroupVersionKind())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := yaml.UnmarshalStrict(doc, o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, o)
	}
	return out
}

// reported is the Ingress of a world with the status of a file.
func reported(t *testing.T, world []runtime.Object, name string) *v1alpha1.Ingress {
	t.Helper()
	out := ingressOf(t, world).DeepCopy()
	out.Status = ingressOf(t, read(t, name)).Status
	return out
}

func ingressOf(t *testing.T, objects []runtime.Object) *v1alpha1.Ingress {
	t.Helper()
	for _, o := range objects {
		if ing, ok := o.(*v1alpha1.Ingress); ok {
			return ing
		}
	}
	t.Fatal("no Ingress among the objects")
	return nil
}

// placeholders stand for what cannot be written by hand: Knative's hash of the one Ingress
// all worlds are about, and the digests of its exposures under the shipped configuration.
func placeholders(t *testing.T) *strings.Replacer {
	t.Helper()
	var documents [][]byte
	for _, name := range []string{"ingress", "gateways"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, text)
	}
	world, err := snapshot.ReadBundle(documents...)
	if err != nil {
		t.Fatal(err)
	}
	ing := world.Ingresses[0]
	ing.SetDefaults(t.Context())
	sum, err := ingress.ComputeHash(ing)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := world.Config("cluster.local", "knative-serving")
	if err != nil {
		t.Fatal(err)
	}
	pairs := []string{"${HASH}", hex.EncodeToString(sum[:])}
	for _, e := range translate.Ingress(snapshot.Ingress(world, cfg, ing)).Plan.Exposures {
		pairs = append(pairs, "${DIGEST."+string(e.Kind)+"}", e.Digest)
	}
	return strings.NewReplacer(pairs...)
}
