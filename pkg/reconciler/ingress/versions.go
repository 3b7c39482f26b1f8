package ingress

import (
	"google.golang.org/protobuf/proto"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
)

// onChange calls changed with the version of an object that comes or goes, and with both, the
// older first, where they are not alike.
func onChange[T any](alike func(before, after T) bool, changed func(versions ...T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { changed(o.(T)) },
		UpdateFunc: func(before, after any) {
			if old, now := before.(T), after.(T); !alike(old, now) {
				changed(old, now)
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			changed(o.(T))
		},
	}
}

// routeAlike compares what others look at in a VirtualService: what it says, and whose it is. Two
// versions may be of two objects, one deleted and one created, which differ in age.
func routeAlike(a, b *istiov1.VirtualService) bool {
	return a.UID == b.UID && equality.Semantic.DeepEqual(a.OwnerReferences, b.OwnerReferences) && proto.Equal(&a.Spec, &b.Spec)
}
