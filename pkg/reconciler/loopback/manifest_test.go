package loopback

import (
	"bytes"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// documents are those of a kind in a file of the install manifests.
func documents[T any](t *testing.T, file, kind string) []T {
	t.Helper()
	text, err := os.ReadFile("../../../config/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		var head metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var one T
		if err := yaml.UnmarshalStrict(doc, &one); err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// TestRightsFitWhatIsWritten: the names that may be changed are those that are written, and
// the rights are bound where it is done.
func TestRightsFitWhatIsWritten(t *testing.T) {
	roles := documents[rbacv1.ClusterRole](t, "200-clusterrole.yaml", "ClusterRole")
	i := slices.IndexFunc(roles, func(r rbacv1.ClusterRole) bool { return r.Name == "net-mesh-loopback" })
	if i < 0 {
		t.Fatal("there is no ClusterRole net-mesh-loopback")
	}
	for _, rule := range roles[i].Rules {
		changes := slices.Contains(rule.Verbs, "update") || slices.Contains(rule.Verbs, "delete")
		want := []string{resources.LoopbackListener, resources.LoopbackSwitch, resources.LoopbackTrial}
		if changes && !slices.Equal(rule.ResourceNames, want) {
			t.Errorf("what may be changed: %v, what is: %v", rule.ResourceNames, want)
		}
	}
	for _, rule := range documents[rbacv1.Role](t, "200-clusterrole.yaml", "Role")[1].Rules {
		if slices.Contains(rule.Verbs, "delete") && !slices.Equal(rule.ResourceNames, []string{config.LocalGateway.Name}) {
			t.Errorf("Services that may be deleted: %v", rule.ResourceNames)
		}
	}
	var bound []string
	for _, file := range []string{"201-rolebinding.yaml", "510-observer.yaml"} {
		for _, b := range documents[rbacv1.RoleBinding](t, file, "RoleBinding") {
			if b.RoleRef.Name == "net-mesh-loopback" {
				bound = append(bound, b.Namespace)
			}
		}
	}
	if want := []string{defaultRootNamespace, observerName.Namespace}; !slices.Equal(bound, want) {
		t.Errorf("bound in %v, written in %v", bound, want)
	}
}

// TestTheManifestSaysWhereTheRootIs, as the controller assumes it.
func TestTheManifestSaysWhereTheRootIs(t *testing.T) {
	for _, e := range documents[appsv1.Deployment](t, "500-controller.yaml", "Deployment")[0].Spec.Template.Spec.Containers[0].Env {
		if e.Name == RootNamespaceVariable {
			got, err := parseRootNamespace(func(string) string { return e.Value })
			if err != nil || got != defaultRootNamespace {
				t.Error(got, err)
			}
			return
		}
	}
	t.Error("the manifest does not say", RootNamespaceVariable)
}

// TestRootNamespaceIsAName.
func TestRootNamespaceIsAName(t *testing.T) {
	if got, err := parseRootNamespace(func(string) string { return "" }); got != defaultRootNamespace || err != nil {
		t.Error(got, err)
	}
	if _, err := parseRootNamespace(func(string) string { return "Istio System" }); err == nil {
		t.Error("it takes what is no name")
	}
}
