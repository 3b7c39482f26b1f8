package apply

import (
	"cmp"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"istio.io/client-go/pkg/clientset/versioned"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"google.golang.org/protobuf/proto"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// ownerIndex lists an owner's objects without looking at everybody else's.
const ownerIndex = "net-mesh.dev/owner"

// AddIndexes prepares the caches for a Writer. It must be called before they start.
func AddIndexes(secrets, gateways, destinationRules, virtualServices cache.SharedIndexInformer) error {
	byController := cache.Indexers{ownerIndex: controllerOf}
	for _, informer := range []cache.SharedIndexInformer{gateways, destinationRules, virtualServices} {
		if err := informer.AddIndexers(byController); err != nil {
			return err
		}
	}
	return secrets.AddIndexers(cache.Indexers{ownerIndex: holderOf})
}

func controllerOf(o any) ([]string, error) {
	if owner := metav1.GetControllerOf(o.(metav1.Object)); owner != nil {
		return []string{string(owner.UID)}, nil
	}
	return nil, nil
}

func virtualServiceKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.VirtualService] {
	return kind[*istiov1.VirtualService]{
		name: "VirtualService", cached: cached, local: true, key: ownerUID, owns: controls[*istiov1.VirtualService],
		client: func(ns string) client[*istiov1.VirtualService] { return c.NetworkingV1().VirtualServices(ns) },
		same:   func(have, want *istiov1.VirtualService) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.VirtualService) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func gatewayKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.Gateway] {
	return kind[*istiov1.Gateway]{
		name: "Gateway", cached: cached, local: true, key: ownerUID, owns: controls[*istiov1.Gateway],
		client: func(ns string) client[*istiov1.Gateway] { return c.NetworkingV1().Gateways(ns) },
		same:   func(have, want *istiov1.Gateway) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.Gateway) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func destinationRuleKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.DestinationRule] {
	return kind[*istiov1.DestinationRule]{
		name: "DestinationRule", cached: cached, local: true, key: ownerUID, owns: controls[*istiov1.DestinationRule],
		client: func(ns string) client[*istiov1.DestinationRule] { return c.NetworkingV1().DestinationRules(ns) },
		same:   func(have, want *istiov1.DestinationRule) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.DestinationRule) { from.Spec.DeepCopyInto(&into.Spec) },
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

func sortByName[T object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}
