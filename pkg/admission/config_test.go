package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/configmap"
)

// What the controller would not read is refused, with its own words.
func TestConfigThatCannotBeReadIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		data map[string]string
		want []string
	}{
		"no list": {
			data: map[string]string{"local-gateways": "none"},
			want: []string{"config-istio: local-gateways: ", "want a YAML list of {namespace, name, service, labelSelector}"},
		},
		"an entry without a name": {
			data: map[string]string{"external-gateways": "- {namespace: a, service: b.c.svc.cluster.local}"},
			want: []string{"config-istio: external-gateways: entry 0: name is missing", "namespace, name and service"},
		},
		"neither yes nor no": {
			data: map[string]string{"mesh-dns": "on"},
			want: []string{`config-istio: mesh-dns: "on" is neither "true" nor "false"`},
		},
		"both formats": {
			data: map[string]string{"external-gateways": "[]", "gateway.a.b": "c.d.svc"},
			want: []string{"config-istio: ", "cannot be mixed", "keep one format"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := answer(t, configMap("config-istio", tt.data))
			if got.Allowed {
				t.Fatal("allowed, want a refusal")
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Result.Message, want) {
					t.Errorf("message %q, want one that says %q", got.Result.Message, want)
				}
			}
		})
	}
}

func TestConfigWithoutEffectOnlyWarns(t *testing.T) {
	got := answer(t, configMap("config-istio", map[string]string{
		"local-gateways": "", "external-gatewayz": "[]", "local-gateway.mesh": "mesh",
	}))
	want := []string{
		"key external-gatewayz of config-istio has no effect: it is not known; delete it or correct its spelling",
		`key local-gateway.mesh of config-istio has no effect: it was removed from net-istio; write local-gateways: "[]" to serve cluster-local hosts in the mesh only`,
		`key local-gateways of config-istio has no effect: it is empty, and empty means the default; for no gateway write "[]"`,
	}
	if diff := cmp.Diff(want, got.Warnings); !got.Allowed || diff != "" {
		t.Errorf("allowed %t, want true; warnings (-want +got) %s", got.Allowed, diff)
	}
}

func TestOtherConfigIsLetThrough(t *testing.T) {
	for name, request := range map[string]*admissionv1.AdmissionRequest{
		"what works":               request(t, configMap("config-istio", map[string]string{"local-gateways": "[]"})),
		"a ConfigMap of others":    request(t, configMap("config-domain", map[string]string{"example.com": ""})),
		"a request to delete ours": {Operation: admissionv1.Delete, Name: "config-istio"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ask(t, request); !got.Allowed || len(got.Warnings) > 0 {
				t.Errorf("allowed %t, warnings %q; want true, and none", got.Allowed, got.Warnings)
			}
		})
	}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "knative-serving", Name: name}, Data: data}
}

func request(t *testing.T, m *corev1.ConfigMap) *admissionv1.AdmissionRequest {
	t.Helper()
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return &admissionv1.AdmissionRequest{
		Operation: admissionv1.Update, Kind: metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Object: runtime.RawExtension{Raw: raw},
	}
}

func answer(t *testing.T, m *corev1.ConfigMap) *admissionv1.AdmissionResponse {
	t.Helper()
	return ask(t, request(t, m))
}

// ask goes through the controller as it is wired in the process.
func ask(t *testing.T, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	ctx, cancel, _ := fakeContext(t)
	defer cancel()
	return NewConfigController(ctx, configmap.NewStaticWatcher()).Reconciler.(keeper).Admit(ctx, r)
}
