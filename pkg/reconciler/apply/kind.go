package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// object is what all kinds have in common.
type object interface {
	metav1.Object
	runtime.Object
}

// client is the part of a typed client that writing needs.
type client[T object] interface {
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// kind describes one kind of object to the one path that compares and writes.
type kind[T object] struct {
	name   string
	cached cache.Indexer
	client func(namespace string) client[T]
	// same and set compare and copy the content that is ours, metadata aside.
	same func(have, want T) bool
	set  func(into, from T)
	// holding says whose objects are.
	holding holding[T]
	// refused are the namespaces in which what is stale is left alone; nil: none.
	refused *refusals
	// contests are about objects that somebody else changes each time; nil: about none.
	contests *contests
	// changed is told of each write, with the name of the kind; nil: nobody is.
	changed func(ctx context.Context, kind, change string)
}

// did tells of a write, as an event of the owner and to whoever counts.
func (k kind[T]) did(ctx context.Context, owner Owner, change string, o T) {
	tell(ctx, owner, change, k.ref(o))
	k.count(ctx, change)
}

func (k kind[T]) count(ctx context.Context, change string) {
	if k.changed != nil {
		k.changed(ctx, k.name, change)
	}
}

// sync has the cluster hold what is wanted.
func (k kind[T]) sync(ctx context.Context, owner Owner, wanted []T, c *Changes) error {
	return k.syncOnTheWay(ctx, owner, wanted, wanted, c)
}

// syncOnTheWay has it hold what is wanted now, where each is to be as settled says in the end.
func (k kind[T]) syncOnTheWay(ctx context.Context, owner Owner, wanted, settled []T, c *Changes) error {
	k.look(owner, wanted, c)
	return k.write(ctx, owner, wanted, settled, c)
}

// look tells what is there and not wanted.
func (k kind[T]) look(owner Owner, wanted []T, c *Changes) {
	for _, o := range k.stale(owner, wanted) {
		c.Stale = append(c.Stale, k.ref(o))
	}
}

// write creates first and updates then: a host that moves from one object to another is never in
// neither.
func (k kind[T]) write(ctx context.Context, owner Owner, wanted, settled []T, c *Changes) error {
	var errs []error
	var existing [][3]T
	for i, want := range wanted {
		have, found := k.get(want)
		switch {
		case !found:
			errs = append(errs, k.create(ctx, owner, want, c))
		case !k.holding.owns(owner, have, want):
			c.Refused = append(c.Refused, k.ref(have))
		default:
			existing = append(existing, [3]T{have, want, settled[i]})
		}
	}
	for _, o := range existing {
		errs = append(errs, k.update(ctx, owner, o[0], o[1], o[2], c))
	}
	return errors.Join(errs...)
}

func (k kind[T]) create(ctx context.Context, owner Owner, want T, c *Changes) error {
	want = want.DeepCopyObject().(T)
	k.holding.take(owner, want)
	_, err := k.client(want.GetNamespace()).Create(ctx, want, metav1.CreateOptions{})
	if apierrs.IsAlreadyExists(err) {
		// The cache was a moment behind. That is what a conflict is to whoever tries again.
		err = apierrs.NewConflict(schema.GroupResource{Resource: k.name}, want.GetName(), err)
	}
	if err != nil {
		return k.failed(ctx, owner, "create", want, err)
	}
	k.did(ctx, owner, eventCreated, want)
	c.Created = append(c.Created, k.ref(want))
	return nil
}

// update writes only what is ours: the content, and the labels and annotations that are
// wanted. What others have put beside them stays. A contest is about what is settled: what is wanted on
// the way there depends on what somebody else has written.
func (k kind[T]) update(ctx context.Context, owner Owner, have, want, settled T, c *Changes) error {
	contest := k.contest(owner, have, settled)
	lost, told := contest.lost()
	if told {
		c.Contested = append(c.Contested, k.ref(have))
	}
	if lost {
		c.Left = true
		return nil
	}
	next, differs := k.next(owner, have, want)
	if !differs {
		return nil
	}
	_, err := k.client(next.GetNamespace()).Update(ctx, next, metav1.UpdateOptions{})
	switch {
	case apierrs.IsNotFound(err):
		// Another owner was the last one a moment ago.
		return k.create(ctx, owner, want, c)
	case err != nil:
		return k.failed(ctx, owner, "update", next, err)
	}
	contest.written()
	k.did(ctx, owner, eventUpdated, next)
	c.Updated = append(c.Updated, k.ref(next))
	return nil
}

func (k kind[T]) remove(ctx context.Context, owner Owner, objects []T) error {
	var errs []error
	for _, o := range objects {
		if err := k.delete(ctx, owner, o); err != nil {
			errs = append(errs, k.failed(ctx, owner, "delete", o, err))
		}
	}
	return errors.Join(errs...)
}

// delete gives the error as the API gave it; what is gone already is none. An object that
// others need too stays, and only forgets this owner.
func (k kind[T]) delete(ctx context.Context, owner Owner, o T) error {
	uid := o.GetUID()
	// The cache may be old: never delete a successor of the same name.
	preconditions := &metav1.Preconditions{UID: &uid}
	if k.holding.drop != nil {
		if next := o.DeepCopyObject().(T); k.holding.drop(owner, next) {
			return k.leave(ctx, next)
		}
		// Nor one that somebody has come to need: that is a write, and so another version.
		version := o.GetResourceVersion()
		preconditions.ResourceVersion = &version
	}
	err := k.client(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: preconditions})
	switch {
	case apierrs.IsNotFound(err):
		return nil
	case err == nil:
		k.did(ctx, owner, eventDeleted, o)
	}
	return err
}

// leave writes an object that has forgotten an owner.
func (k kind[T]) leave(ctx context.Context, o T) error {
	_, err := k.client(o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
	switch {
	case apierrs.IsNotFound(err):
		return nil
	case err == nil:
		k.count(ctx, eventUpdated)
	}
	return err
}

// stale lists the owner's objects that are not wanted, and may be taken away as far as is known.
func (k kind[T]) stale(owner Owner, wanted []T) []T {
	keep := map[string]bool{}
	for _, o := range wanted {
		keep[o.GetNamespace()+"/"+o.GetName()] = true
	}
	var out []T
	for _, o := range k.owned(owner) {
		if !keep[o.GetNamespace()+"/"+o.GetName()] && !k.refused.hold(o.GetNamespace()) {
			out = append(out, o)
		}
	}
	return out
}

// skipped lists the owner's objects where taking away was refused of late.
func (k kind[T]) skipped(owner Owner) []T {
	return slices.DeleteFunc(k.owned(owner), func(o T) bool { return !k.refused.hold(o.GetNamespace()) })
}

// owned lists what the owner has, from the cache, by name.
func (k kind[T]) owned(owner Owner) []T {
	items, err := k.cached.ByIndex(k.holding.index, k.holding.key(owner))
	if err != nil {
		panic(fmt.Sprintf("apply: the cache of %s was not given its index: %v", k.name, err))
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		out = append(out, item.(T))
	}
	return sortByName(out)
}

func (k kind[T]) get(want T) (T, bool) {
	item, found, err := k.cached.GetByKey(want.GetNamespace() + "/" + want.GetName())
	if err != nil || !found {
		var none T
		return none, false
	}
	return item.(T), true
}

func (k kind[T]) failed(ctx context.Context, owner Owner, verb string, o T, err error) error {
	err = fmt.Errorf("cannot %s %s %s/%s: %w", verb, k.name, o.GetNamespace(), o.GetName(), err)
	if rejected(err) {
		warn(ctx, owner, eventRejected, err.Error())
	}
	return err
}

func (k kind[T]) ref(o T) finding.Ref {
	return finding.Ref{Kind: k.name, Namespace: o.GetNamespace(), Name: o.GetName()}
}
