package ingress

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"
)

// errUntold: there is nothing to report yet, and we are woken when there is.
var errUntold = errors.New("nothing to report yet")

// ReconcileKind implements Knative's reconciler. It writes the status itself, which that
// leaves to us (Options.SkipStatusUpdates): Knative would write it from the version before
// the finalizer, so the first status of each Ingress would be refused, the Ingress fetched,
// and the status written once more. And it would write a first one that says nothing but
// that a proof is awaited, of an Ingress that is proven a moment later.
func (r *Reconciler) ReconcileKind(ctx context.Context, ing *v1alpha1.Ingress) reconciler.Event {
	before := ing.DeepCopy()
	reconciler.PreProcessReconcile(ctx, ing)
	err := r.bring(ctx, ing)
	if errors.Is(err, errUntold) {
		return nil
	}
	if err != nil && behind(err) {
		return err
	}
	reconciler.PostProcessReconcile(ctx, ing, before)
	if failure := r.report(ctx, before, ing); failure != nil {
		if waits, _ := controller.IsRequeueKey(err); waits {
			err = nil // else this would wait as long
		}
		return errors.Join(err, fmt.Errorf("cannot write the status: %w", failure))
	}
	return err
}

// report writes a status that differs. A version that was too old is looked up again; another
// Ingress of the name, made meanwhile, gets a status of its own.
func (r *Reconciler) report(ctx context.Context, before, after *v1alpha1.Ingress) error {
	client := r.statuses.Ingresses(after.Namespace)
	return reconciler.RetryUpdateConflicts(func(attempts int) error {
		current := before
		if attempts > 0 {
			var err error
			if current, err = client.Get(ctx, after.Name, metav1.GetOptions{}); err != nil {
				return err
			}
			if current.UID != after.UID {
				return nil
			}
		}
		if equality.Semantic.DeepEqual(current.Status, after.Status) {
			return nil
		}
		next := current.DeepCopy()
		next.Status = after.Status
		_, err := client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
		return err
	})
}
