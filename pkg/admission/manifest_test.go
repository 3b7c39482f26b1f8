package admission

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	fakekube "knative.dev/pkg/client/injection/kube/client/fake"
	"knative.dev/pkg/webhook/certificates/resources"
)

// Names and ports in the manifests are those of the process, and lead to each other.
func TestShippedManifestsAgree(t *testing.T) {
	deployment := shipped[appsv1.Deployment](t, "Deployment", Component)
	service := shipped[corev1.Service](t, "Service", Component)
	shipped[corev1.Secret](t, "Secret", SecretName)
	pod := deployment.Spec.Template
	for _, selector := range []map[string]string{deployment.Spec.Selector.MatchLabels, service.Spec.Selector} {
		for key, want := range selector {
			if got := pod.Labels[key]; got != want {
				t.Errorf("label %s of the pods: %q, want %q", key, got, want)
			}
		}
	}
	// net-istio's selector cannot be changed, and its container has to be replaced, not joined.
	if want := map[string]string{"app": "net-istio-webhook", "role": "net-istio-webhook"}; !cmp.Equal(want, deployment.Spec.Selector.MatchLabels) {
		t.Errorf("selector %v, want net-istio's %v", deployment.Spec.Selector.MatchLabels, want)
	}
	container := pod.Spec.Containers[0]
	if container.Name != "webhook" {
		t.Errorf("container %s, want net-istio's name webhook", container.Name)
	}
	ports := map[string]int32{}
	for _, p := range container.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, p := range service.Spec.Ports {
		if ports[p.TargetPort.StrVal] == 0 {
			t.Errorf("port %d of the Service leads to %q, which no container has", p.Port, p.TargetPort.StrVal)
		}
	}
	if ports["https-webhook"] != port {
		t.Errorf("container port %d, want that of the process, %d", ports["https-webhook"], port)
	}
	for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe.HTTPGet.Port != intstr.FromString("https-webhook") || probe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("a probe asks %s at %v; only the webhook's port is served", probe.HTTPGet.Scheme, probe.HTTPGet.Port)
		}
	}
	shipped[corev1.ServiceAccount](t, "ServiceAccount", pod.Spec.ServiceAccountName)
	if pod.Spec.ServiceAccountName != account {
		t.Errorf("account %s, want %s, to which the roles are bound", pod.Spec.ServiceAccountName, account)
	}
}

// Every image in config/ is a program of ours, so that ko and the lab can build it.
func TestShippedImagesAreOurPrograms(t *testing.T) {
	found := 0
	for _, doc := range documents(t) {
		for _, m := range regexp.MustCompile(`image: (\S+)`).FindAllSubmatch(doc, -1) {
			found++
			program, ours := bytes.CutPrefix(m[1], []byte("ko://github.com/net-mesh/net-mesh/"))
			if _, err := os.Stat("../../" + string(program) + "/main.go"); !ours || err != nil {
				t.Errorf("image %s is no program of ours", m[1])
			}
		}
	}
	if found != 3 {
		t.Errorf("%d images, want those of controller, observer and webhook", found)
	}
}

// Applied over net-istio's configurations, whose outage refuses, ours do not refuse: with and
// without what "kubectl apply" remembers of net-istio, and after our process has been at them.
func TestOutageRefusesNothingAfterASwitch(t *testing.T) {
	mutating := shipped[admissionregistration.MutatingWebhookConfiguration](t, "MutatingWebhookConfiguration", DeploymentWebhook)
	validating := shipped[admissionregistration.ValidatingWebhookConfiguration](t, "ValidatingWebhookConfiguration", ConfigWebhook)
	for name, theirs := range map[string]struct {
		mutating   *admissionregistration.MutatingWebhookConfiguration
		validating *admissionregistration.ValidatingWebhookConfiguration
	}{
		"onto nothing":                            {nil, nil},
		"onto net-istio's as kubectl applied it":  {netIstioMutating(), netIstioValidating()},
		"onto net-istio's that an operator wrote": {&admissionregistration.MutatingWebhookConfiguration{}, &admissionregistration.ValidatingWebhookConfiguration{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, v := mutating.DeepCopy(), validating.DeepCopy()
			if theirs.mutating != nil {
				m = apply(t, theirs.mutating, mutating, liveMutating())
				v = apply(t, theirs.validating, validating, liveValidating())
			}
			ctx, _ := run(t, m, v, shipped[corev1.Secret](t, "Secret", SecretName), theNamespace())
			api := fakekube.Get(ctx)
			secret, err := api.CoreV1().Secrets(namespace).Get(ctx, SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			gotM, err := api.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, DeploymentWebhook, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			gotV, err := api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, ConfigWebhook, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			checkMutating(t, mutating.Webhooks[0], gotM, secret.Data[resources.CACert])
			checkValidating(t, validating.Webhooks[0], gotV, secret.Data[resources.CACert])
		})
	}
}

func checkMutating(t *testing.T, want admissionregistration.MutatingWebhook, got *admissionregistration.MutatingWebhookConfiguration, ca []byte) {
	t.Helper()
	if len(got.Webhooks) != 1 || *want.FailurePolicy != admissionregistration.Ignore || *want.TimeoutSeconds > 5 {
		t.Fatalf("%d webhooks, failurePolicy %s, %d s; want one that lets through, and soon", len(got.Webhooks), *want.FailurePolicy, *want.TimeoutSeconds)
	}
	// What the API server defaulted stays; what the process writes, and nothing else of it.
	want.ClientConfig.Service.Port, want.MatchPolicy = got.Webhooks[0].ClientConfig.Service.Port, got.Webhooks[0].MatchPolicy
	want.ClientConfig.CABundle, want.ClientConfig.Service.Path = ca, new(deploymentPath)
	want.ReinvocationPolicy = new(admissionregistration.IfNeededReinvocationPolicy)
	want.Rules = []admissionregistration.RuleWithOperations{{
		Operations: []admissionregistration.OperationType{admissionregistration.Create, admissionregistration.Update},
		Rule:       admissionregistration.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "deployments/status"}},
	}}
	if diff := cmp.Diff(want, got.Webhooks[0]); diff != "" {
		t.Errorf("mutating webhook (-want +got) %s", diff)
	}
}

func checkValidating(t *testing.T, want admissionregistration.ValidatingWebhook, got *admissionregistration.ValidatingWebhookConfiguration, ca []byte) {
	t.Helper()
	if len(got.Webhooks) != 1 || *want.FailurePolicy != admissionregistration.Ignore {
		t.Fatalf("%d webhooks, failurePolicy %s; want one that lets through", len(got.Webhooks), *want.FailurePolicy)
	}
	want.ClientConfig.Service.Port, want.MatchPolicy = got.Webhooks[0].ClientConfig.Service.Port, got.Webhooks[0].MatchPolicy
	want.ClientConfig.CABundle, want.ClientConfig.Service.Path = ca, new(configPath)
	want.Rules = []admissionregistration.RuleWithOperations{{
		Operations: []admissionregistration.OperationType{admissionregistration.Create, admissionregistration.Update},
		Rule: admissionregistration.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps/*"},
			Scope: new(admissionregistration.NamespacedScope)},
	}}
	if diff := cmp.Diff(want, got.Webhooks[0]); diff != "" {
		t.Errorf("validating webhook (-want +got) %s", diff)
	}
}

// Only what is a revision's, and only our config-istio, is sent to the process.
func TestWebhooksAskForNothingElse(t *testing.T) {
	m := shipped[admissionregistration.MutatingWebhookConfiguration](t, "MutatingWebhookConfiguration", DeploymentWebhook).Webhooks[0]
	v := shipped[admissionregistration.ValidatingWebhookConfiguration](t, "ValidatingWebhookConfiguration", ConfigWebhook).Webhooks[0]
	istio := shipped[corev1.ConfigMap](t, "ConfigMap", "config-istio")
	for _, tt := range []struct {
		what     string
		selector *metav1.LabelSelector
		labels   map[string]string
		want     bool
	}{
		{"a Deployment of a revision", m.ObjectSelector, map[string]string{revisionLabel: "r", configurationLabel: "c"}, true},
		{"another Deployment", m.ObjectSelector, map[string]string{"app": "x"}, false},
		{"the shipped config-istio", v.ObjectSelector, istio.Labels, true},
		{"another ConfigMap", v.ObjectSelector, map[string]string{"app.kubernetes.io/name": "knative-serving"}, false},
		{"the namespace of config-istio", v.NamespaceSelector, map[string]string{corev1.LabelMetadataName: istio.Namespace}, true},
		{"another namespace", v.NamespaceSelector, map[string]string{corev1.LabelMetadataName: "apps"}, false},
	} {
		selector, err := metav1.LabelSelectorAsSelector(tt.selector)
		if err != nil {
			t.Fatal(err)
		}
		if got := selector.Matches(labels(tt.labels)); got != tt.want {
			t.Errorf("%s: selected %t, want %t", tt.what, got, tt.want)
		}
	}
	if want := []admissionregistration.MatchCondition{{Name: "not-a-status", Expression: `!has(request.subResource) || request.subResource == ""`}}; !slices.Equal(want, m.MatchConditions) {
		t.Errorf("conditions %v, want %v", m.MatchConditions, want)
	}
}

// apply does what "kubectl apply" does.
func apply[T any](t *testing.T, original, modified, current *T) *T {
	t.Helper()
	texts := [][]byte{}
	for _, o := range []*T{original, modified, current} {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(new(T))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], schema, true)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := strategicpatch.StrategicMergePatch(texts[2], patch, new(T))
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(merged, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

func theNamespace() runtime.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "the-namespace"}}
}
