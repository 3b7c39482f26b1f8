package readiness

import (
	"bytes"
	"net/netip"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/observer"
)

// shipped decodes the object of a kind from a file in config/.
func shipped[T any](t *testing.T, file, kind string) T {
	t.Helper()
	var object T
	text, err := os.ReadFile("../../../config/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &meta); err != nil {
			t.Fatal(err)
		}
		if meta.Kind != kind {
			continue
		}
		if err := yaml.UnmarshalStrict(doc, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	t.Fatalf("%s has no %s", file, kind)
	return object
}

// TestSidecarsTakeProbesOnly: the sidecars of both pods take what is sent to the address that
// the process sends its questions to, and nothing else, in or out; and the process learns
// whether there is one.
func TestSidecarsTakeProbesOnly(t *testing.T) {
	for _, file := range []string{"500-controller.yaml", "510-observer.yaml"} {
		pod := shipped[appsv1.Deployment](t, file, "Deployment").Spec.Template
		if pod.Labels["sidecar.istio.io/inject"] != "true" {
			t.Errorf("%s: not injected", file)
		}
		address, err := netip.ParseAddrPort(variable(pod.Spec, observer.AddressVariable).Value)
		if err != nil || address.String() != observer.DefaultAddress {
			t.Errorf("%s: probe address %s, error %v", file, address, err)
		}
		if got, want := pod.Annotations["traffic.sidecar.istio.io/includeOutboundIPRanges"], netip.PrefixFrom(address.Addr(), 32).String(); got != want {
			t.Errorf("%s: the sidecar takes %q, want %q", file, got, want)
		}
		if ports, set := pod.Annotations["traffic.sidecar.istio.io/includeInboundPorts"]; !set || ports != "" {
			t.Errorf("%s: the sidecar takes what comes in", file)
		}
		if pod.Annotations["sidecar.istio.io/rewriteAppHTTPProbers"] != "false" {
			t.Errorf("%s: the kubelet asks the sidecar", file)
		}
		if from := variable(pod.Spec, observer.SidecarVariable).ValueFrom; from == nil || from.FieldRef.FieldPath != "metadata.annotations['sidecar.istio.io/status']" {
			t.Errorf("%s: it cannot know whether it has a sidecar", file)
		}
	}
}

// TestTheControllerStartsWithoutItsSidecar, whatever the mesh's defaults are.
func TestTheControllerStartsWithoutItsSidecar(t *testing.T) {
	pod := shipped[appsv1.Deployment](t, "500-controller.yaml", "Deployment").Spec.Template
	var proxy struct {
		Hold *bool `json:"holdApplicationUntilProxyStarts"`
	}
	if err := yaml.Unmarshal([]byte(pod.Annotations["proxy.istio.io/config"]), &proxy); err != nil || proxy.Hold == nil || *proxy.Hold {
		t.Errorf("it waits for the proxy (error %v)", err)
	}
	if pod.Annotations["sidecar.istio.io/nativeSidecar"] != "false" {
		t.Error("the proxy starts before it")
	}
}

// TestTheObserverIsFound by what the controller is told, and admits it.
func TestTheObserverIsFound(t *testing.T) {
	controller := shipped[appsv1.Deployment](t, "500-controller.yaml", "Deployment")
	env := func(name string) string { return variable(controller.Spec.Template.Spec, name).Value }
	settings, err := ParseSidecars(env, controller.Namespace)
	if err != nil || len(settings.Observers) != 1 {
		t.Fatalf("got %+v, error %v", settings, err)
	}
	service, pods := shipped[corev1.Service](t, "510-observer.yaml", "Service"), shipped[appsv1.Deployment](t, "510-observer.yaml", "Deployment")
	if got := (types.NamespacedName{Namespace: service.Namespace, Name: service.Name}); got != settings.Observers[0] || got.Namespace == controller.Namespace {
		t.Errorf("observer %s, the controller in %s looks for %s", got, controller.Namespace, settings.Observers[0])
	}
	pod, port := pods.Spec.Template, service.Spec.Ports[0]
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)) || port.Name != observer.PortName ||
		port.TargetPort.StrVal != pod.Spec.Containers[0].Ports[0].Name {
		t.Errorf("Service port %+v does not lead to the pods", port)
	}
	policy := shipped[networkingv1.NetworkPolicy](t, "510-observer.yaml", "NetworkPolicy")
	admitted, err := metav1.LabelSelectorAsSelector(policy.Spec.Ingress[0].From[0].PodSelector)
	if err != nil || !admitted.Matches(labels.Set(controller.Spec.Template.Labels)) ||
		policy.Spec.Ingress[0].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != controller.Namespace {
		t.Errorf("the policy does not admit the controller (error %v)", err)
	}
	if account := shipped[corev1.ServiceAccount](t, "510-observer.yaml", "ServiceAccount"); *account.AutomountServiceAccountToken || pod.Spec.ServiceAccountName != account.Name {
		t.Error("the observer has a token for the API")
	}
}

func variable(pod corev1.PodSpec, name string) corev1.EnvVar {
	for _, v := range pod.Containers[0].Env {
		if v.Name == name {
			return v
		}
	}
	return corev1.EnvVar{}
}
