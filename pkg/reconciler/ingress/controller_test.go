package ingress

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	fakenetworking "knative.dev/networking/pkg/client/injection/client/fake"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"
	_ "knative.dev/pkg/client/injection/kube/informers/discovery/v1/endpointslice/fake"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	. "knative.dev/pkg/reconciler/testing"

	fakeistio "github.com/net-mesh/net-mesh/pkg/client/fake"
	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/reconciler/loopback"
)

// start runs the controller against fake APIs that hold the objects of the files.
func start(t *testing.T, istio map[string]string, files ...string) context.Context {
	t.Helper()
	return startMeasured(t, noop.NewMeterProvider(), istio, files...)
}

// startMeasured has it measured as well.
func startMeasured(t *testing.T, meters metric.MeterProvider, istio map[string]string, files ...string) context.Context {
	t.Helper()
	t.Setenv("SYSTEM_NAMESPACE", "knative-serving")
	ctx, cancel, informers := SetupFakeContextWithCancel(t)
	for _, file := range files {
		for _, o := range read(t, file) {
			create(t, ctx, o)
		}
	}
	impl := newController(ctx, configmap.NewStaticWatcher(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.IstioConfigMap}, Data: istio},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: config.NetworkConfigMap}},
	), meters, loopback.OpenGate())
	wait, err := RunAndSyncInformers(ctx, informers...)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = controller.StartAll(ctx, impl)
	}()
	t.Cleanup(func() { cancel(); <-done; wait() })
	return ctx
}

func create(t *testing.T, ctx context.Context, o runtime.Object) {
	t.Helper()
	var err error
	switch o := o.(type) {
	case *v1alpha1.Ingress:
		_, err = fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	case *corev1.Service:
		_, err = fakekube.Get(ctx).CoreV1().Services(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	case *discoveryv1.EndpointSlice:
		_, err = fakekube.Get(ctx).DiscoveryV1().EndpointSlices(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	default:
		err = fakeistio.Add(ctx, o)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits for what the controller is to bring about.
func eventually(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if reached() {
			return
		}
	}
	t.Fatalf("in vain: %s", what)
}

func condition(ctx context.Context, name string) string {
	ing, err := fakenetworking.Get(ctx).NetworkingV1alpha1().Ingresses("apps").Get(ctx, "hello", metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, c := range ing.Status.Conditions {
		if string(c.Type) == name {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// TestDriftIsRepaired: whoever deletes one of our objects sees it come back.
func TestDriftIsRepaired(t *testing.T) {
	ctx := start(t, gateways, "ingress", "gateways", "revision")
	services := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps")
	exists := func() bool {
		_, err := services.Get(ctx, "hello-ingress", metav1.GetOptions{})
		return err == nil
	}
	eventually(t, "hello-ingress is written", exists)
	if err := services.Delete(ctx, "hello-ingress", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hello-ingress is written again", exists)
}

// TestDriftOfANameIsRepaired: and so whoever deletes or edits what makes names resolve.
func TestDriftOfANameIsRepaired(t *testing.T) {
	ctx := start(t, named, "ingress", "gateways", "revision")
	entries := fakeistio.Get(ctx).NetworkingV1().ServiceEntries("apps")
	names := func() bool {
		e, err := entries.Get(ctx, "hello-dns", metav1.GetOptions{})
		return err == nil && slices.Equal(e.Spec.Hosts, []string{"hello.example.com"})
	}
	eventually(t, "hello-dns is written", names)
	if err := entries.Delete(ctx, "hello-dns", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hello-dns is written again", names)
	e, err := entries.Get(ctx, "hello-dns", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e = e.DeepCopy()
	e.Spec.Hosts = []string{"tampered.example.com"}
	if _, err := entries.Update(ctx, e, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "hello-dns is as it was", names)
}

// TestWhatIsMissingWakes: gateway, Services and pods may come in any order, later.
func TestWhatIsMissingWakes(t *testing.T) {
	ctx := start(t, map[string]string{"local-gateways": "[]"}, "ingress")
	eventually(t, "the missing gateway is reported", func() bool { return condition(ctx, "NetworkConfigured") == "Unknown GatewayMissing" })
	for _, o := range read(t, "gateways") {
		create(t, ctx, o)
	}
	eventually(t, "the missing Service is reported", func() bool { return condition(ctx, "NetworkConfigured") == "Unknown ServiceMissing" })
	for _, o := range read(t, "revision") {
		create(t, ctx, o)
	}
	eventually(t, "the rules are accepted", func() bool { return condition(ctx, "NetworkConfigured") == "True " })
	eventually(t, "a pod is awaited", func() bool { return condition(ctx, "Ready") == "Unknown AwaitingProof" })
}

// TestAFormerGatewayIsWatched: while a new one is awaited the Ingress is served by the one before, until
// somebody deletes that.
func TestAFormerGatewayIsWatched(t *testing.T) {
	ctx := start(t, map[string]string{
		"external-gateways": "- {namespace: knative-serving, name: misspelt, service: istio-ingressgateway.istio-system.svc.cluster.local}",
	}, "ready", "gateways", "revision", "objects")
	eventually(t, "it is served as before", func() bool {
		return condition(ctx, "NetworkConfigured") == "True GatewayMissing" && condition(ctx, "Ready") == "True "
	})
	if err := fakeistio.Get(ctx).NetworkingV1().Gateways("knative-serving").Delete(ctx, "knative-ingress-gateway", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it no longer is", func() bool { return condition(ctx, "Ready") == "Unknown GatewayMissing" })
}

// TestNamesThatNobodyCanHave: what is named wrongly is told of, and the rest is served.
func TestNamesThatNobodyCanHave(t *testing.T) {
	ctx := start(t, gateways, "gateways", "revision")
	ing := ingressOf(t, read(t, "ingress"))
	ing.Spec.Rules[0].Hosts = append(ing.Spec.Rules[0].Hosts, "Hello.Apps", "a_b.apps.svc.cluster.local")
	ing.Spec.TLS = []v1alpha1.IngressTLS{{Hosts: []string{"hello.example.com"}}, {Hosts: []string{"hello.example.com"}, SecretName: "No Name"}}
	ing.Spec.Rules[1].HTTP.Paths[0].Splits[0].ServiceName = "No Name"
	create(t, ctx, ing)
	eventually(t, "the rest is served, and the names are told", func() bool {
		_, err := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps").Get(ctx, "hello-ingress", metav1.GetOptions{})
		return err == nil && condition(ctx, "NetworkConfigured") == "False HostInvalid"
	})
	// Istio would refuse an object with such a destination.
	if v, err := fakeistio.Get(ctx).NetworkingV1().VirtualServices("apps").Get(ctx, "hello-local", metav1.GetOptions{}); err == nil {
		t.Errorf("what leads to a Service that cannot be is written: %v", v.Spec.Http)
	}
}

// TestAKeyWithoutEffectIsToldOnTheConfigMap, where the operator looks for it, and on no Ingress.
func TestAKeyWithoutEffectIsToldOnTheConfigMap(t *testing.T) {
	ctx := start(t, map[string]string{"misspelt": "x"}, "ingress", "gateways", "revision")
	eventually(t, "a pod is awaited", func() bool { return condition(ctx, "Ready") == "Unknown AwaitingProof" })
	events := controller.GetEventRecorder(ctx).(*record.FakeRecorder).Events
	var told []string
	for len(events) > 0 {
		if e := <-events; strings.Contains(e, "ConfigKeyUnknown") {
			told = append(told, e)
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "key misspelt of config-istio") {
		t.Errorf("told %q, want the key once", told)
	}
}

// TestEventsReachTheAPI, under the name of the object they are about.
func TestEventsReachTheAPI(t *testing.T) {
	ctx, kube := fakekube.With(t.Context())
	ctx, events := recording(ctx)
	if controller.GetEventRecorder(ctx) != events {
		t.Error("the reconciler would make another recorder")
	}
	events.Event(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "knative-serving", Name: "config-istio"}}, corev1.EventTypeNormal, "Reason", "message")
	eventually(t, "the event is written", func() bool {
		list, err := kube.CoreV1().Events("knative-serving").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].InvolvedObject.Kind == "ConfigMap" && list.Items[0].InvolvedObject.Name == "config-istio"
	})
}
