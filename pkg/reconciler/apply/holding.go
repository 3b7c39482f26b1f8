package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// holding says whose objects are, and makes them so.
type holding[T object] struct {
	// index of the cache, and the value under which it lists an owner's objects.
	index string
	key   func(Owner) string
	// owns says whether an object that exists is the owner's to write, given what it wants.
	owns func(o Owner, have, want T) bool
	// has says whether an object names the owner as one who needs it, and take writes that
	// down.
	has  func(Owner, T) bool
	take func(Owner, T)
	// drop takes the owner out, and says whether others are left who need the object. Nil:
	// there never are any.
	drop func(Owner, T) bool
}

// controlled is the holding of objects in the namespace of their one owner, who is their
// controller: the garbage collector then needs no help from us.
func controlled[T object]() holding[T] {
	return holding[T]{
		index: ownerIndex, key: ownerUID, owns: controls[T],
		has: func(o Owner, have T) bool { return metav1.IsControlledBy(have, o.GetObjectMeta()) },
		take: func(o Owner, into T) {
			if metav1.GetControllerOf(into) == nil {
				into.SetOwnerReferences(append(into.GetOwnerReferences(), *kmeta.NewControllerRef(o)))
			}
		},
	}
}

func ownerUID(o Owner) string { return string(o.GetObjectMeta().GetUID()) }

// controls says whether an object is the owner's: controlled by it, as net-istio's are
// too, or labelled for it and controlled by nobody, as after a restore from a backup.
func controls[T object](o Owner, have, _ T) bool {
	if metav1.GetControllerOf(have) != nil {
		return metav1.IsControlledBy(have, o.GetObjectMeta())
	}
	return have.GetLabels()[resources.IngressLabel] == resources.LabelValue(o.GetObjectMeta().GetName())
}

func controllerOf(o any) ([]string, error) {
	if owner := metav1.GetControllerOf(o.(metav1.Object)); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}
