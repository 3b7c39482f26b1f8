package apply

import (
	"errors"
	"fmt"
	"slices"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// Verb says what would be done to an object.
type Verb string

// The verbs of a Preview.
const (
	Create Verb = "Create"
	Update Verb = "Update"
	Delete Verb = "Delete"
	// Refuse: the object belongs to somebody else and would be left alone.
	Refuse Verb = "Refuse"
)

// Change is what would be done to one object.
type Change struct {
	Verb Verb
	finding.Ref
	// Have is the object as it is, Next as it would be; nil where there is none.
	Have, Next runtime.Object
}

// Preview says what Sync and, once all is proven, Prune would have done in the end. It
// reads the caches only, so the Writer needs no clients. The error names Secrets that
// are to be copied and are not there; the rest is said all the same.
func (w *Writer) Preview(owner Owner, set resources.Set) ([]Change, error) {
	copies, err := w.copies(set.Secrets)
	shared, errToo := w.copies(set.SharedSecrets)
	changes := slices.Concat(
		w.secrets.preview(owner, copies),
		w.sharedSecrets.preview(owner, shared),
		w.sharedGateways.preview(owner, set.SharedGateways),
		w.gateways.preview(owner, set.Gateways),
		w.destinationRules.preview(owner, set.DestinationRules),
		w.virtualServices.preview(owner, set.VirtualServices),
		w.serviceEntries.preview(owner, set.ServiceEntries),
	)
	promised := map[finding.Ref]bool{}
	for _, c := range slices.Concat(set.Secrets, set.SharedSecrets) {
		promised[finding.Ref{Kind: w.secrets.name, Namespace: c.To.Namespace, Name: c.To.Name}] = true
	}
	// A copy whose source has gone is no longer kept up, but it is not given up either.
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Verb == Delete && promised[c.Ref] }), errors.Join(err, errToo)
}

func (k kind[T]) preview(owner Owner, wanted []T) []Change {
	var out []Change
	for _, want := range wanted {
		have, found := k.get(want)
		if !found {
			next := want.DeepCopyObject().(T)
			k.holding.take(owner, next)
			out = append(out, Change{Verb: Create, Ref: k.ref(want), Next: next})
			continue
		}
		if !k.holding.owns(owner, have, want) {
			out = append(out, Change{Verb: Refuse, Ref: k.ref(have), Have: have})
			continue
		}
		if next, differs := k.next(owner, have, want); differs {
			out = append(out, Change{Verb: Update, Ref: k.ref(have), Have: have, Next: next})
		}
	}
	for _, o := range k.stale(owner, wanted) {
		if k.holding.drop != nil {
			if next := o.DeepCopyObject().(T); k.holding.drop(owner, next) {
				out = append(out, Change{Verb: Update, Ref: k.ref(o), Have: o, Next: next})
				continue
			}
		}
		out = append(out, Change{Verb: Delete, Ref: k.ref(o), Have: o})
	}
	return out
}

// NewCaches returns caches that no informer fills, for a Preview.
func NewCaches() Caches {
	indexed := func(by cache.Indexers) cache.Indexer { return cache.NewIndexer(cache.MetaNamespaceKeyFunc, by) }
	return Caches{
		Secrets:          indexed(cache.Indexers{ownerIndex: holderOf, userIndex: secretUsers}),
		Gateways:         indexed(cache.Indexers{ownerIndex: controllerOf, userIndex: gatewayUsers}),
		DestinationRules: indexed(cache.Indexers{ownerIndex: controllerOf}),
		VirtualServices:  indexed(cache.Indexers{ownerIndex: controllerOf}),
		ServiceEntries:   indexed(cache.Indexers{ownerIndex: controllerOf}),
	}
}

// Add puts an object of one of the kinds of a Set into its cache.
func (c Caches) Add(o runtime.Object) error {
	switch o.(type) {
	case *corev1.Secret:
		return c.Secrets.Add(o)
	case *istiov1.Gateway:
		return c.Gateways.Add(o)
	case *istiov1.DestinationRule:
		return c.DestinationRules.Add(o)
	case *istiov1.VirtualService:
		return c.VirtualServices.Add(o)
	case *istiov1.ServiceEntry:
		return c.ServiceEntries.Add(o)
	}
	return fmt.Errorf("no cache for %T", o)
}
