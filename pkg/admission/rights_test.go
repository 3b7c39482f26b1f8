package admission

import (
	"slices"
	"strings"
	"testing"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	clienttesting "k8s.io/client-go/testing"
)

const account = "net-mesh-webhook"

// elsewhere lists rights that the reconcilers of the webhook do not use themselves.
var elsewhere = map[string]string{
	"configmaps":            "knative.dev/pkg/injection/sharedmain reads and watches Knative's settings",
	"leases":                "knative.dev/pkg/leaderelection elects one pod for each reconciler",
	"namespaces/finalizers": "the API server's admission plugin OwnerReferencesPermissionEnforcement asks for it",
}

// What the process asks of the API is allowed, and what is allowed is asked for.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	_, actions := run(t, theNamespace(),
		shipped[corev1.Secret](t, "Secret", SecretName),
		shipped[admissionregistration.MutatingWebhookConfiguration](t, "MutatingWebhookConfiguration", DeploymentWebhook),
		shipped[admissionregistration.ValidatingWebhookConfiguration](t, "ValidatingWebhookConfiguration", ConfigWebhook))
	rules := rights(t)
	used := map[string]bool{}
	for _, a := range actions {
		right := right{a.GetVerb(), a.GetResource().Group, a.GetResource().Resource, nameOf(t, a)}
		if !slices.ContainsFunc(rules, right.allowedBy) {
			t.Errorf("%+v is used and not allowed", right)
		}
		used[a.GetVerb()+" "+a.GetResource().Resource] = true
	}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				if !used[verb+" "+resource] && elsewhere[resource] == "" {
					t.Errorf("%s %s is allowed and not used", verb, resource)
				}
			}
		}
	}
}

type right struct{ verb, group, resource, name string }

func (r right) allowedBy(rule rbacv1.PolicyRule) bool {
	return slices.Contains(rule.Verbs, r.verb) && slices.Contains(rule.APIGroups, r.group) && slices.Contains(rule.Resources, r.resource) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.name))
}

// nameOf is the name that the API server's authorizer sees: that of the object, or the one that a
// list or watch is restricted to.
func nameOf(t *testing.T, a clienttesting.Action) string {
	t.Helper()
	restricted := func(selector fields.Selector) string {
		name, _ := selector.RequiresExactMatch("metadata.name")
		return name
	}
	switch a := a.(type) {
	case clienttesting.ListAction:
		return restricted(a.GetListRestrictions().Fields)
	case clienttesting.WatchAction:
		return restricted(a.GetWatchRestrictions().Fields)
	case clienttesting.UpdateAction: // one of create, too
		object, err := meta.Accessor(a.GetObject())
		if err != nil {
			t.Fatal(err)
		}
		return object.GetName()
	case clienttesting.GetAction:
		return a.GetName()
	}
	t.Fatalf("action %T is not known here", a)
	return ""
}

// rights are all that is bound to the account.
func rights(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	ofRole := shipped[rbacv1.Role](t, "Role", shipped[rbacv1.RoleBinding](t, "RoleBinding", account).RoleRef.Name)
	ofCluster := shipped[rbacv1.ClusterRole](t, "ClusterRole", shipped[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding", account).RoleRef.Name)
	for _, subjects := range [][]rbacv1.Subject{
		shipped[rbacv1.RoleBinding](t, "RoleBinding", account).Subjects,
		shipped[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding", account).Subjects,
	} {
		if len(subjects) != 1 || subjects[0].Name != account || subjects[0].Namespace != namespace {
			t.Errorf("bound to %v, want to %s alone", subjects, account)
		}
	}
	for _, rule := range append(ofRole.Rules, ofCluster.Rules...) {
		if strings.Contains(strings.Join(append(rule.Verbs, rule.Resources...), " "), "*") {
			t.Errorf("rule %v holds an asterisk", rule)
		}
	}
	return append(ofRole.Rules, ofCluster.Rules...)
}
