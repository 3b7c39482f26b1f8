// Package apply answers: how does the cluster come to hold exactly a Set of objects?
// It decides nothing: what is wanted arrives as a Set, whose it is as an owner.
//
// Sync adds and widens; Prune narrows and deletes. Between the two the new way is
// proven, so that a request is served by the old one or the new one at any moment. What
// is no longer asked for has no new way to wait for: Sync takes it away.
package apply

import (
	"context"
	"errors"
	"time"

	"istio.io/client-go/pkg/clientset/versioned"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/kmeta"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

// Owner is the object on whose behalf a Set exists.
type Owner interface {
	kmeta.OwnerRefable
	runtime.Object
}

// Changes says what Sync did and found.
type Changes struct {
	Created, Updated []finding.Ref
	// Refused are objects of a wanted name that belong to somebody else. They were
	// left alone.
	Refused []finding.Ref
	// Contested are objects that somebody else changes as often as they are put right. They are left as
	// they are for ContestPause; those that are wanted have been if Left says so.
	Contested []finding.Ref
	Left      bool
	// Stale are objects of the owner that are no longer wanted and still there. Prune deletes
	// them.
	Stale []finding.Ref
	// Widened says that wanted objects still serve what is not wanted any more. Prune narrows
	// them.
	Widened bool
	// Kept are the gateways at which VirtualServices of the owner go on serving beside those
	// that are wanted, sorted. Prune takes them away. Lost are those that have been deleted
	// meanwhile, so that nobody is served there.
	Kept, Lost []string
}

// Wrote says whether anything was created or updated.
func (c Changes) Wrote() bool { return len(c.Created)+len(c.Updated) > 0 }

// Leaves says whether something is left for Prune.
func (c Changes) Leaves() bool { return c.Widened || len(c.Stale) > 0 }

// Caches are the informers' indexers that hold the kinds of a Set. Each must have been
// given its index by AddIndexes.
type Caches struct {
	Secrets, Gateways, DestinationRules, VirtualServices, ServiceEntries cache.Indexer
}

// Writer makes Sets so.
type Writer struct {
	kube             kubernetes.Interface
	secrets          kind[*corev1.Secret]
	sharedSecrets    kind[*corev1.Secret]
	gateways         kind[*istiov1.Gateway]
	sharedGateways   kind[*istiov1.Gateway]
	destinationRules kind[*istiov1.DestinationRule]
	virtualServices  kind[*istiov1.VirtualService]
	serviceEntries   kind[*istiov1.ServiceEntry]
}

// NewWriter returns a Writer that compares with caches and writes with the clients.
func NewWriter(kube kubernetes.Interface, istio versioned.Interface, caches Caches) *Writer {
	refused := &refusals{now: time.Now}
	w := &Writer{
		kube:             kube,
		secrets:          secretKind(kube, caches.Secrets, ownCopies(), refused),
		sharedSecrets:    secretKind(kube, caches.Secrets, sharedCopies(), refused),
		gateways:         gatewayKind(istio, caches.Gateways, controlled[*istiov1.Gateway]()),
		sharedGateways:   gatewayKind(istio, caches.Gateways, sharedListeners()),
		destinationRules: destinationRuleKind(istio, caches.DestinationRules),
		virtualServices:  virtualServiceKind(istio, caches.VirtualServices),
		serviceEntries:   serviceEntryKind(istio, caches.ServiceEntries),
	}
	w.guard(&contests{now: time.Now, of: map[contested]*contest{}})
	return w
}

// guard has contests looked at before anything is put right.
func (w *Writer) guard(c *contests) {
	w.secrets.contests, w.sharedSecrets.contests = c, c
	w.gateways.contests, w.sharedGateways.contests = c, c
	w.destinationRules.contests, w.virtualServices.contests = c, c
	w.serviceEntries.contests = c
}

// OnChange has a function told of each write, with the kind of the object and Created, Updated or
// Deleted. It is to be called before the Writer is used.
func (w *Writer) OnChange(changed func(ctx context.Context, kind, change string)) {
	w.secrets.changed, w.sharedSecrets.changed = changed, changed
	w.gateways.changed, w.sharedGateways.changed = changed, changed
	w.destinationRules.changed, w.virtualServices.changed = changed, changed
	w.serviceEntries.changed = changed
}

// Sync creates what is missing and updates what differs, without taking anything away
// that is asked for and may still serve. What one object's failure does not touch is written all the
// same; the error joins all failures of the API.
func (w *Writer) Sync(ctx context.Context, owner Owner, set resources.Set) (Changes, error) {
	gateways, services := w.widenedGateways(owner, set), w.widened(owner, set)
	c := Changes{
		Widened: w.gateways.differ(gateways, set.Gateways) || w.virtualServices.differ(services, set.VirtualServices),
	}
	c.Kept, c.Lost = w.former(owner, services, set)
	copies, missing := w.copies(set.Secrets)
	shared, missingToo := w.copies(set.SharedSecrets)
	unnamed, names := w.losing(set.ServiceEntries)
	err := errors.Join(missing, missingToo,
		w.secrets.sync(ctx, owner, copies, &c),
		w.sharedSecrets.sync(ctx, owner, shared, &c),
		w.sharedGateways.sync(ctx, owner, set.SharedGateways, &c),
		w.gateways.syncOnTheWay(ctx, owner, gateways, set.Gateways, &c),
		w.destinationRules.sync(ctx, owner, set.DestinationRules, &c),
		w.unname(ctx, owner, set, unnamed, &c),
		w.virtualServices.syncOnTheWay(ctx, owner, services, set.VirtualServices, &c),
		w.serviceEntries.write(ctx, owner, names, names, &c))
	if err != nil {
		return c, err
	}
	err = w.withdraw(ctx, owner, set, &c)
	return c, err
}

// Prune narrows what Sync widened and deletes what the owner has beside the Set, in
// reverse order of application.
func (w *Writer) Prune(ctx context.Context, owner Owner, set resources.Set) error {
	unnamed := w.serviceEntries.remove(ctx, owner, w.serviceEntries.stale(owner, set.ServiceEntries))
	narrowed := errors.Join(unnamed,
		w.virtualServices.sync(ctx, owner, set.VirtualServices, &Changes{}),
		w.gateways.sync(ctx, owner, set.Gateways, &Changes{}))
	if narrowed != nil {
		return narrowed
	}
	return errors.Join(
		w.virtualServices.remove(ctx, owner, w.virtualServices.stale(owner, set.VirtualServices)),
		w.destinationRules.remove(ctx, owner, w.destinationRules.stale(owner, set.DestinationRules)),
		w.gateways.remove(ctx, owner, w.gateways.stale(owner, set.Gateways)),
		w.sharedGateways.remove(ctx, owner, w.sharedGateways.stale(owner, set.SharedGateways)),
		w.sharedSecrets.removeCopies(ctx, owner, w.sharedSecrets.stale(owner, named(set.SharedSecrets))),
		w.secrets.removeCopies(ctx, owner, w.secrets.stale(owner, named(set.Secrets))))
}

// Finalize takes away everything the owner has. The API is asked for copies of Secrets: one
// that was made a moment ago may not be in the cache yet, and nobody would collect it later. For
// the same reason it tries once more what was refused of late.
func (w *Writer) Finalize(ctx context.Context, owner Owner) error {
	skipped, skippedToo := w.secrets.skipped(owner), w.sharedSecrets.skipped(owner)
	copies, err := w.listed(ctx, ownLabels(owner))
	shared, errToo := w.listed(ctx, userLabels(owner))
	// After listing: what comes into the cache in between is seen here.
	pruned := w.Prune(ctx, owner, resources.Set{})
	return errors.Join(err, errToo, pruned,
		w.secrets.removeCopies(ctx, owner, append(skipped, copies...)),
		w.sharedSecrets.removeCopies(ctx, owner, append(skippedToo, shared...)))
}
