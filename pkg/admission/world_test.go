package admission

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clienttesting "k8s.io/client-go/testing"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/admissionregistration/v1/mutatingwebhookconfiguration/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/admissionregistration/v1/validatingwebhookconfiguration/fake"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/clients/namespacedkube/informers/core/v1/secret"
	_ "knative.dev/pkg/injection/clients/namespacedkube/informers/core/v1/secret/fake"
	"knative.dev/pkg/reconciler"
	reconcilertesting "knative.dev/pkg/reconciler/testing"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates"
	"sigs.k8s.io/yaml"
)

const namespace = "knative-serving"

func init() { injection.Fake.RegisterInformerFactory(WithOwnSecretOnly) }

func fakeContext(t *testing.T) (context.Context, context.CancelFunc, []controller.Informer) {
	t.Helper()
	t.Setenv("SYSTEM_NAMESPACE", namespace)
	return reconcilertesting.SetupFakeContextWithCancel(t, func(ctx context.Context) context.Context {
		return webhook.WithOptions(ctx, Options())
	})
}

// run lets the reconcilers of the process put a cluster in order that holds the objects, and returns
// what they asked of the API.
func run(t *testing.T, objects ...runtime.Object) (context.Context, []clienttesting.Action) {
	t.Helper()
	ctx, cancel, informers := fakeContext(t)
	client := fakekube.Get(ctx)
	for _, o := range objects {
		if err := client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	cmw := configmap.NewStaticWatcher()
	certificate := certificates.NewController(ctx, cmw)
	configs, deployments := NewConfigController(ctx, cmw), NewDeploymentController(ctx, cmw)
	ended, err := reconcilertesting.RunAndSyncInformers(ctx, informers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); ended() })
	reconcile(ctx, t, certificate)
	seen := func(context.Context) (bool, error) {
		s, err := secret.Get(ctx).Lister().Secrets(namespace).Get(SecretName)
		return err == nil && len(s.Data) > 0, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 10*time.Second, true, seen); err != nil {
		t.Fatal("the certificate was not seen:", err)
	}
	reconcile(ctx, t, configs)
	reconcile(ctx, t, deployments)
	return ctx, client.Actions()
}

// reconcile does as the leader does.
func reconcile(ctx context.Context, t *testing.T, impl *controller.Impl) {
	t.Helper()
	leader := impl.Reconciler.(reconciler.LeaderAware)
	err := leader.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {})
	if err == nil {
		err = impl.Reconciler.Reconcile(ctx, namespace+"/the one")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shipped decodes the object of the kind and name that config/ holds.
func shipped[T any](t *testing.T, kind, name string) *T {
	t.Helper()
	for _, doc := range documents(t) {
		var head metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind || head.Name != name {
			continue
		}
		var object T
		if err := yaml.UnmarshalStrict(doc, &object); err != nil {
			t.Fatalf("%s %s: %v", kind, name, err)
		}
		return &object
	}
	t.Fatalf("config/ holds no %s %s", kind, name)
	return nil
}

func documents(t *testing.T) [][]byte {
	t.Helper()
	files, err := filepath.Glob("../../config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests (%v)", err)
	}
	var all [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Split(text, []byte("\n---\n"))...)
	}
	return all
}
