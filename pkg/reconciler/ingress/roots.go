package ingress

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"google.golang.org/protobuf/proto"

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
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { changed(o.(*istiov1.VirtualService)) },
		UpdateFunc: func(before, after any) {
			if old, new := before.(*istiov1.VirtualService), after.(*istiov1.VirtualService); !proto.Equal(&old.Spec, &new.Spec) {
				changed(old, new)
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			changed(o.(*istiov1.VirtualService))
		},
	}
}
