package translate_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// TestObjectsFitTheSchemas validates every rendered object against the schema of
// its kind, as Istio ships it to API servers.
func TestObjectsFitTheSchemas(t *testing.T) {
	validators := istioSchemas(t)
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			for _, ing := range b.Ingresses {
				set := translate.Ingress(snapshot.Ingress(b, cfg, ing)).Objects
				for _, g := range set.Gateways {
					valid(t, validators["Gateway"], dir+" in mode "+mode+": "+g.Name, g)
				}
				for _, v := range set.VirtualServices {
					valid(t, validators["VirtualService"], dir+" in mode "+mode+": "+v.Name, v)
				}
				for _, e := range set.ServiceEntries {
					valid(t, validators["ServiceEntry"], dir+" in mode "+mode+": "+e.Name, e)
				}
			}
		}
	}
}

func valid(t *testing.T, validator *validate.SchemaValidator, what string, object any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	if faults := validator.Validate(raw["spec"]); !faults.IsValid() {
		t.Errorf("%s: %v", what, faults.Errors)
	}
}

// istioSchemas reads the schemas of spec in version v1 (v1alpha3 of an EnvoyFilter, which has no other), by kind, from the module
// that the types come from.
func istioSchemas(t *testing.T) map[string]*validate.SchemaValidator {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "istio.io/api").Output()
	if err != nil {
		t.Fatal("go list:", err)
	}
	file := filepath.Join(strings.TrimSpace(string(module)), "kubernetes", "customresourcedefinitions.gen.yaml")
	out := map[string]*validate.SchemaValidator{}
	for _, doc := range strings.Split(string(read(t, file)), "\n---\n") {
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &crd); err != nil {
			t.Fatal(err)
		}
		for _, v := range crd.Spec.Versions {
			if v.Name == "v1" || v.Name == "v1alpha3" && crd.Spec.Names.Kind == "EnvoyFilter" {
				schema := strictly(v.Schema.OpenAPIV3Schema.Properties["spec"])
				out[crd.Spec.Names.Kind] = validate.NewSchemaValidator(&schema, nil, "spec", strfmt.Default)
			}
		}
	}
	return out
}

// strictly forbids fields the schema does not know: an API server would drop them
// in silence.
func strictly(s spec.Schema) spec.Schema {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: false}
	}
	for name, p := range s.Properties {
		s.Properties[name] = strictly(p)
	}
	if s.Items != nil && s.Items.Schema != nil {
		items := strictly(*s.Items.Schema)
		s.Items.Schema = &items
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		values := strictly(*s.AdditionalProperties.Schema)
		s.AdditionalProperties.Schema = &values
	}
	return s
}
