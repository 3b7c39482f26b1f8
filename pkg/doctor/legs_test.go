package doctor

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestEachFixHasAName: what is alike and in two namespaces, such as a second observer made of the
// same manifest, or two gateways of one name, is admitted by two policies, and both are offered.
func TestEachFixHasAName(t *testing.T) {
	meta := func(namespace, name, app string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{appLabel: app}}
	}
	w := World{SystemNamespace: "knative-serving", ClusterDomain: "cluster.local"}
	place := func(namespace, app string) types.NamespacedName {
		w.Pods = append(w.Pods, &corev1.Pod{ObjectMeta: meta(namespace, app, app)})
		w.Services = append(w.Services, &corev1.Service{ObjectMeta: meta(namespace, app, app), Spec: corev1.ServiceSpec{
			Selector: map[string]string{appLabel: app}, Ports: []corev1.ServicePort{{Port: 80}}}})
		return types.NamespacedName{Namespace: namespace, Name: app}
	}
	place("knative-serving", controllerName)
	observers := ""
	for _, namespace := range []string{"a", "b"} {
		observers += place(namespace, "observer").String() + ","
		name := place(namespace, "gateway")
		w.Gateways = append(w.Gateways, Gateway{Name: name, Service: name, Found: true})
	}
	w.Deployments = []*appsv1.Deployment{{ObjectMeta: meta("knative-serving", controllerName, controllerName), Spec: appsv1.DeploymentSpec{
		Selector: byLabel(appLabel, controllerName), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			ServiceAccountName: controllerAccount, Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: observersVariable, Value: observers}}}}}}}}}
	w.NetworkPolicies = []*networkingv1.NetworkPolicy{{ObjectMeta: meta("knative-serving", "deny", ""), Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}}}}
	place("knative-serving", activatorName)
	f := newFacts(w)
	seen := map[string]string{}
	offered := 0
	for _, finding := range checkPolicies(f) {
		for _, fix := range finding.Fixes {
			if offered++; seen[fix.key()] != "" {
				t.Errorf("%s is to admit what these say: %s; %s", fix.key(), seen[fix.key()], finding.Message)
			}
			seen[fix.key()] = finding.Message
		}
	}
	if offered < 6 {
		t.Errorf("%d fixes, want some for each observer and each gateway, out and in: %v", offered, seen)
	}
}
