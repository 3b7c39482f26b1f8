package apply

import (
	"cmp"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"istio.io/client-go/pkg/clientset/versioned"
	"k8s.io/client-go/tools/cache"

	"google.golang.org/protobuf/proto"
)

// ownerIndex lists an owner's objects without looking at everybody else's.
const ownerIndex = "net-mesh.dev/owner"

// AddIndexes prepares the caches for a Writer. It must be called before they start.
func AddIndexes(secrets, gateways, destinationRules, virtualServices, serviceEntries cache.SharedIndexInformer) error {
	byController := cache.Indexers{ownerIndex: controllerOf}
	for _, informer := range []cache.SharedIndexInformer{gateways, destinationRules, virtualServices, serviceEntries} {
		if err := informer.AddIndexers(byController); err != nil {
			return err
		}
	}
	if err := gateways.AddIndexers(cache.Indexers{userIndex: gatewayUsers}); err != nil {
		return err
	}
	return secrets.AddIndexers(cache.Indexers{ownerIndex: holderOf, userIndex: secretUsers})
}

func virtualServiceKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.VirtualService] {
	return kind[*istiov1.VirtualService]{
		name: "VirtualService", cached: cached, holding: controlled[*istiov1.VirtualService](),
		client: func(ns string) client[*istiov1.VirtualService] { return c.NetworkingV1().VirtualServices(ns) },
		same:   func(have, want *istiov1.VirtualService) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.VirtualService) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func gatewayKind(c versioned.Interface, cached cache.Indexer, whose holding[*istiov1.Gateway]) kind[*istiov1.Gateway] {
	return kind[*istiov1.Gateway]{
		name: "Gateway", cached: cached, holding: whose,
		client: func(ns string) client[*istiov1.Gateway] { return c.NetworkingV1().Gateways(ns) },
		same:   func(have, want *istiov1.Gateway) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.Gateway) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func destinationRuleKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.DestinationRule] {
	return kind[*istiov1.DestinationRule]{
		name: "DestinationRule", cached: cached, holding: controlled[*istiov1.DestinationRule](),
		client: func(ns string) client[*istiov1.DestinationRule] { return c.NetworkingV1().DestinationRules(ns) },
		same:   func(have, want *istiov1.DestinationRule) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.DestinationRule) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func serviceEntryKind(c versioned.Interface, cached cache.Indexer) kind[*istiov1.ServiceEntry] {
	return kind[*istiov1.ServiceEntry]{
		name: "ServiceEntry", cached: cached, holding: controlled[*istiov1.ServiceEntry](),
		client: func(ns string) client[*istiov1.ServiceEntry] { return c.NetworkingV1().ServiceEntries(ns) },
		same:   func(have, want *istiov1.ServiceEntry) bool { return proto.Equal(&have.Spec, &want.Spec) },
		set:    func(into, from *istiov1.ServiceEntry) { from.Spec.DeepCopyInto(&into.Spec) },
	}
}

func sortByName[T object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects
}
