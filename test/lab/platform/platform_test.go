package platform

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestParse(t *testing.T) {
	objects, err := Parse([]byte("# a comment only\n---\nkind: A\nmetadata: {name: a}\n---\n---\nkind: B\ndata:\n  text: |\n    ---not a separator\n"))
	if err != nil || len(objects) != 2 || objects[0].GetName() != "a" || objects[1].GetKind() != "B" {
		t.Fatalf("got %v (%v), want A and B", objects, err)
	}
	text, err := Print(objects)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil || len(again) != 2 || !strings.Contains(string(text), "---not a separator") {
		t.Errorf("printed and parsed: got %v (%v) from %s", again, err, text)
	}
	if _, err := Parse([]byte("kind: [")); err == nil {
		t.Error("broken YAML: got nil, want an error")
	}
}

// The activator and the autoscaler carry traffic, so they get a sidecar; the webhook must not.
func TestFit(t *testing.T) {
	for name, want := range map[string]string{"activator": "true", "autoscaler": "true", "webhook": "false", "controller": "false"} {
		o := unstructured.Unstructured{Object: map[string]any{
			"kind": "Deployment", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c"}}}}},
		}}
		fit(&o)
		got, _, _ := unstructured.NestedString(o.Object, "spec", "template", "metadata", "labels", "sidecar.istio.io/inject")
		if got != want {
			t.Errorf("%s: sidecar.istio.io/inject is %q, want %q", name, got, want)
		}
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if cpu, _, _ := unstructured.NestedString(containers[0].(map[string]any), "resources", "requests", "cpu"); cpu != "50m" {
			t.Errorf("%s: requests %q of a processor, want 50m", name, cpu)
		}
	}
}

func TestEmbeddedManifests(t *testing.T) {
	for name, manifest := range map[string][]byte{"CoreDNS": CoreDNS, "Mesh": Mesh, "Demo": Demo, "Rush": Rush} {
		objects, err := Parse(manifest)
		if err != nil || len(objects) == 0 {
			t.Errorf("%s: %d objects (%v)", name, len(objects), err)
		}
	}
}

// TestNamesOfSuites: the lab's DNS leads them where nobody is.
func TestNamesOfSuites(t *testing.T) {
	corefile := string(CoreDNS)
	if !strings.Contains(corefile, " "+MappedDomain+":53 {") || !strings.Contains(corefile, `answer "{{ .Name }} 5 IN A `+AnyIP+`"`) {
		t.Errorf("DNS does not lead names of %s to %s", MappedDomain, AnyIP)
	}
}
