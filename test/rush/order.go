package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	network "knative.dev/networking/pkg/config"
)

// label marks the Ingresses of a run; the lab deletes by it.
const label = "net-mesh.dev/rush"

// order is what to make.
type order struct {
	namespace string
	count     int
	backends  []string
}

// ingresses are cluster-local ones, as Serving writes them for a Service with one revision. Backends take
// turns.
func (o order) ingresses() []*v1alpha1.Ingress {
	all := make([]*v1alpha1.Ingress, 0, o.count)
	for i := range o.count {
		name := fmt.Sprintf("rush-%d", i)
		domain := name + "." + o.namespace
		all = append(all, &v1alpha1.Ingress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: o.namespace, Name: name, Labels: map[string]string{label: ""},
				Annotations: map[string]string{networking.IngressClassAnnotationKey: network.IstioIngressClassName},
			},
			Spec: v1alpha1.IngressSpec{HTTPOption: v1alpha1.HTTPOptionEnabled, Rules: []v1alpha1.IngressRule{{
				Hosts:      []string{domain + ".svc.cluster.local", domain + ".svc", domain},
				Visibility: v1alpha1.IngressVisibilityClusterLocal,
				HTTP:       &v1alpha1.HTTPIngressRuleValue{Paths: []v1alpha1.HTTPIngressPath{o.path(name, o.backends[i%len(o.backends)])}},
			}}},
		})
	}
	return all
}

func (o order) path(name, backend string) v1alpha1.HTTPIngressPath {
	return v1alpha1.HTTPIngressPath{
		AppendHeaders: map[string]string{"Knative-Serving-Default-Route": "true"},
		Splits: []v1alpha1.IngressBackendSplit{{
			IngressBackend: v1alpha1.IngressBackend{ServiceNamespace: o.namespace, ServiceName: backend, ServicePort: intstr.FromInt32(80)},
			Percent:        100,
			AppendHeaders:  map[string]string{"Knative-Serving-Namespace": o.namespace, "Knative-Serving-Revision": name + "-00001"},
		}},
	}
}
