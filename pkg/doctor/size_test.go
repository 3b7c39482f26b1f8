package doctor

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// BenchmarkExamine is a cluster of 100 namespaces with 50 Services each, that call one another,
// and 20 NetworkPolicies each, which tell all pods apart.
func BenchmarkExamine(b *testing.B) {
	w := World{SystemNamespace: "knative-serving", ClusterDomain: "cluster.local", Config: &config.Config{}}
	pod := func(namespace, name string, labels map[string]string) {
		w.Pods = append(w.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: map[string]string{"sidecar.istio.io/status": "{}"}},
			Status:     corev1.PodStatus{PodIP: "10.0.0.1"},
		})
	}
	pod("knative-serving", "activator", map[string]string{"app": "activator"})
	pod("istio-system", "istiod", map[string]string{"app": "istiod"})
	for n := range 100 {
		namespace := fmt.Sprintf("team-%d", n)
		w.Namespaces = append(w.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		for p := range 20 {
			w.NetworkPolicies = append(w.NetworkPolicies, &networkingv1.NetworkPolicy{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("p", p)},
				Spec: networkingv1.NetworkPolicySpec{PodSelector: *byLabel(appLabel, fmt.Sprintf("svc-%d-00001", p)), Ingress: []networkingv1.NetworkPolicyIngressRule{{
					From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}}},
			})
		}
		for s := range 50 {
			name := fmt.Sprintf("svc-%d-00001", s)
			pod(namespace, name, map[string]string{"app": name, revisionLabel: name})
			key := types.NamespacedName{Namespace: namespace, Name: name}
			w.Revisions = append(w.Revisions, Revision{Name: key})
			w.Routes = append(w.Routes, Route{Ingress: key, VirtualService: name, Mesh: true, Hosts: []string{name + "." + namespace + ".svc.cluster.local"}})
		}
	}
	for b.Loop() {
		if !Examine(w).Unfit() {
			b.Fatal("fit")
		}
	}
}
