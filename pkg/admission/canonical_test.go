package admission

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	logtesting "knative.dev/pkg/logging/testing"
	"sigs.k8s.io/yaml"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

const (
	namePath             = "/metadata/labels/service.istio.io~1canonical-name"
	revisionPath         = "/metadata/labels/service.istio.io~1canonical-revision"
	templateNamePath     = "/spec/template" + namePath
	templateRevisionPath = "/spec/template" + revisionPath
)

// The labels are those that net-istio sets.
func TestDeploymentGetsCanonicalLabels(t *testing.T) {
	for name, tt := range map[string]struct {
		deployment string
		want       []operation
	}{
		"a revision of a Service": {
			deployment: `
metadata: {labels: {serving.knative.dev/service: shop, serving.knative.dev/configuration: shop-config, serving.knative.dev/revision: shop-00001}}
spec: {replicas: 3, template: {metadata: {labels: {app: shop-00001}}}}`,
			want: []operation{
				{"add", namePath, "shop"}, {"add", revisionPath, "shop-00001"},
				{"add", templateNamePath, "shop"}, {"add", templateRevisionPath, "shop-00001"},
			},
		},
		"a revision of a Configuration without a Service": {
			deployment: `
metadata: {labels: {serving.knative.dev/configuration: conf, serving.knative.dev/revision: conf-00001}}
spec: {template: {metadata: {labels: {app: x}}}}`,
			want: []operation{
				{"add", namePath, "conf"}, {"add", revisionPath, "conf-00001"},
				{"add", templateNamePath, "conf"}, {"add", templateRevisionPath, "conf-00001"},
			},
		},
		"a template without labels, and fields that no Go type of ours knows": {
			deployment: `
metadata: {labels: {serving.knative.dev/revision: bare}}
spec: {somethingOfTheFuture: {a: 1}, template: {spec: {containers: [{name: x, invented: true}]}}}`,
			want: []operation{
				{"add", revisionPath, "bare"},
				{"add", "/spec/template/metadata", map[string]any{"labels": map[string]any{"service.istio.io/canonical-revision": "bare"}}},
			},
		},
		"labels of the user give way to what Serving tells, as with net-istio": {
			deployment: `
metadata: {labels: {serving.knative.dev/service: s, serving.knative.dev/revision: s-1, service.istio.io/canonical-name: mine, service.istio.io/canonical-revision: s-1}}
spec: {template: {metadata: {labels: {service.istio.io/canonical-name: mine, service.istio.io/canonical-revision: s-1, version: v7}}}}`,
			want: []operation{{"replace", namePath, "s"}, {"replace", templateNamePath, "s"}},
		},
		"labelled already": {
			deployment: `
metadata: {labels: {serving.knative.dev/service: s, serving.knative.dev/revision: s-1, service.istio.io/canonical-name: s, service.istio.io/canonical-revision: s-1}}
spec: {template: {metadata: {labels: {service.istio.io/canonical-name: s, service.istio.io/canonical-revision: s-1}}}}`,
		},
		"no revision's, though it has a label of Serving": {
			deployment: `
metadata: {labels: {serving.knative.dev/configuration: conf}}
spec: {template: {metadata: {labels: {app: x}}}}`,
		},
		"nobody's": {deployment: "metadata: {name: x}\nspec: {}"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update} {
				response := admit(t, verb, "", asJSON(t, tt.deployment))
				var got []operation
				if response.PatchType != nil {
					if err := json.Unmarshal(response.Patch, &got); err != nil {
						t.Fatalf("patch %s: %v", response.Patch, err)
					}
				}
				byPath := cmp.Transformer("byPath", func(all []operation) map[string]operation {
					sorted := map[string]operation{}
					for _, o := range all {
						sorted[o.Path] = o
					}
					return sorted
				})
				if diff := cmp.Diff(tt.want, got, byPath); diff != "" {
					t.Errorf("%s: patch (-want +got) %s", verb, diff)
				}
			}
		})
	}
}

// Whatever comes, no Deployment is refused, and none is changed that is not understood.
func TestNoDeploymentIsRefused(t *testing.T) {
	revision := asJSON(t, "metadata: {labels: {serving.knative.dev/revision: r}}")
	for name, tt := range map[string]struct {
		verb        admissionv1.Operation
		subresource string
		object      []byte
	}{
		"a status":                   {admissionv1.Update, "status", revision},
		"a request to delete":        {admissionv1.Delete, "", nil},
		"a request to connect":       {admissionv1.Connect, "", revision},
		"no object":                  {admissionv1.Create, "", nil},
		"no JSON":                    {admissionv1.Create, "", []byte("{")},
		"labels that are none":       {admissionv1.Update, "", asJSON(t, "metadata: {labels: [a, b]}")},
		"a template that is none":    {admissionv1.Update, "", asJSON(t, "metadata: {labels: {serving.knative.dev/revision: r}}\nspec: {template: 7}")},
		"labels that are no strings": {admissionv1.Update, "", asJSON(t, "metadata: {labels: {serving.knative.dev/revision: 7}}")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := admit(t, tt.verb, tt.subresource, tt.object); len(got.Patch) > 0 {
				t.Errorf("patch %s, want none", got.Patch)
			}
		})
	}
}

func admit(t *testing.T, verb admissionv1.Operation, subresource string, object []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	response := admitDeployment(logtesting.TestContextWithLogger(t), &admissionv1.AdmissionRequest{
		Operation: verb, SubResource: subresource, Object: runtime.RawExtension{Raw: object},
	})
	if !response.Allowed {
		t.Fatalf("refused: %v", response.Result)
	}
	return response
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
