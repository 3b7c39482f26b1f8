package ingress

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// roots has what changes in a VirtualService that delegates wake the Ingresses that it delegates to,
// or tries to. Others are nobody's concern, and most are such.
func roots(delegated func(delegateKey types.NamespacedName) []*v1alpha1.Ingress, wake func(*v1alpha1.Ingress)) cache.ResourceEventHandler {
	changed := func(versions ...*istiov1.VirtualService) {
		for _, vs := range versions {
			for _, key := range snapshot.Delegations(vs) {
				for _, ing := range delegated(key) {
					wake(ing)
				}
			}
		}
	}
	return onChange(routeAlike, changed)
}
