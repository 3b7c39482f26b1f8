// Package ingress answers: what happens when a Knative Ingress, or anything it leads to,
// changes? It is the loop around the line: gather, translate, apply, observe, report,
// prune.
package ingress

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrs "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	networkingclient "knative.dev/networking/pkg/client/clientset/versioned/typed/networking/v1alpha1"
	ingressreconciler "knative.dev/networking/pkg/client/injection/reconciler/networking/v1alpha1/ingress"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/reconciler"
	"knative.dev/pkg/tracker"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/configstore"
	"github.com/net-mesh/net-mesh/pkg/reconciler/metrics"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/reconciler/status"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// observer is the part of a readiness.Checker that the loop needs.
type observer interface {
	Check(ctx context.Context, ing *v1alpha1.Ingress, p plan.Plan) (readiness.State, error)
	Known(p plan.Plan) readiness.State
	Anew(ing types.NamespacedName)
	Forget(ing types.NamespacedName)
}

// gate says whether sidecars stand in for the local gateway everywhere, or nowhere any more.
type gate interface{ Settled(loopback bool) bool }

// Reconciler brings the cluster in line with one Ingress at a time.
type Reconciler struct {
	reader   snapshot.Reader
	writer   *apply.Writer
	observer observer
	tracker  tracker.Interface
	gate     gate
	metrics  *metrics.Instruments
	statuses networkingclient.IngressesGetter
	// meshHosts tells whom VirtualServices of others concern.
	meshHosts *meshHosts
}

var (
	_ ingressreconciler.Interface    = (*Reconciler)(nil)
	_ ingressreconciler.Finalizer    = (*Reconciler)(nil)
	_ reconciler.OnDeletionInterface = (*Reconciler)(nil)
)

// bring brings the cluster in line and the status with it. It returns failures of the API
// only; everything else is in the status, and wakes us by itself.
func (r *Reconciler) bring(ctx context.Context, ing *v1alpha1.Ingress) error {
	cfg, err := configstore.FromContext(ctx)
	if err != nil {
		status.Unconfigured(ing, err)
		return nil
	}
	began := time.Now()
	world := r.gather(cfg, ing)
	result := translate.Ingress(world)
	r.metrics.Translated(ctx, began)
	if err := r.track(ing, world.World.Refs, result.Objects); err != nil {
		return failed(ing, err)
	}
	changes, err := r.writer.Sync(ctx, ing, result.Objects)
	if err := errors.Join(err, r.watch(ing, slices.Concat(changes.Refused, former(changes)))); err != nil {
		return failed(ing, err)
	}
	state, err := r.observe(ctx, ing, result.Plan, changes)
	if err != nil {
		return failed(ing, err)
	}
	if state.Fresh && status.Untold(ing, result, changes) {
		return errUntold
	}
	published := status.Write(ctx, ing, result, changes, state)
	r.metrics.See(ctx, looked(ing, result, changes, state))
	// What was left is not what was proven. And what others send through the local gateway, or
	// through the loopback, may still need what is older: we are woken when it does not.
	if published && !changes.Wrote() && !changes.Left && (!changes.Leaves() || r.gate.Settled(result.Plan.LoopsBack)) {
		if err := r.writer.Prune(ctx, ing, result.Objects); err != nil {
			return failed(ing, err)
		}
	}
	if len(changes.Contested) > 0 {
		return controller.NewRequeueAfter(apply.ContestPause)
	}
	return nil
}

// gather looks once more where it has looked for VirtualServices by new keys: what changed before
// it was known to look by them has woken nobody.
func (r *Reconciler) gather(cfg config.Config, ing *v1alpha1.Ingress) snapshot.Snapshot {
	world := snapshot.Ingress(r.reader, cfg, ing)
	// Keys that change again change by what KServe's VirtualService says, and that wakes us.
	if r.meshHosts.look(name(ing), world.World.MeshKeys) {
		world = snapshot.Ingress(r.reader, cfg, ing)
		r.meshHosts.look(name(ing), world.World.MeshKeys)
	}
	return world
}

// FinalizeKind takes away everything the Ingress has, in whatever namespace.
func (r *Reconciler) FinalizeKind(ctx context.Context, ing *v1alpha1.Ingress) reconciler.Event {
	r.observer.Forget(name(ing))
	r.metrics.Forget(name(ing))
	r.meshHosts.look(name(ing), nil)
	return r.writer.Finalize(ctx, ing)
}

// ObserveDeletion implements Knative's reconciler for an Ingress that is gone.
func (r *Reconciler) ObserveDeletion(_ context.Context, key types.NamespacedName) error {
	r.observer.Forget(key)
	r.metrics.Forget(key)
	r.meshHosts.look(key, nil)
	return nil
}

// looked is how an Ingress is doing after a reconciliation.
func looked(ing *v1alpha1.Ingress, r translate.Result, c apply.Changes, s readiness.State) metrics.Seen {
	return metrics.Seen{
		Ingress: name(ing), Generation: ing.Generation, Created: ing.CreationTimestamp.Time,
		New:   ing.Status.ObservedGeneration != ing.Generation, // set after us
		Ready: ing.Status.GetCondition(v1alpha1.IngressConditionReady).IsTrue(), Proven: len(s.Assumed.Mesh)+len(s.Assumed.Gateways) == 0,
		Mode: metrics.Mode(r.Plan), Findings: status.Findings(r, c),
	}
}

// observe spares the proof where nothing was written, nothing is left to be taken away, and
// the status tells of one: a new leader need not ask for thousands of Ingresses. As long as
// something older is left, the status may tell of the proof of that: what is written now may
// be from an attempt that failed before it was reported. What was assumed is proven as soon
// as there is somebody to be asked.
func (r *Reconciler) observe(ctx context.Context, ing *v1alpha1.Ingress, p plan.Plan, c apply.Changes) (readiness.State, error) {
	if c.Wrote() {
		r.observer.Anew(name(ing))
	} else if known := r.observer.Known(p); !c.Leaves() && status.Proven(ing, p, known) {
		return known, nil
	}
	return r.observer.Check(ctx, ing, p)
}

// track has exactly what was looked at wake the Ingress, and what it is not the controller
// of: copies of Secrets, and Gateways that others need as well.
func (r *Reconciler) track(ing *v1alpha1.Ingress, looked []snapshot.Ref, set resources.Set) error {
	refs := make([]finding.Ref, 0, len(looked))
	for _, ref := range looked {
		refs = append(refs, finding.Ref{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name})
	}
	for _, c := range slices.Concat(set.Secrets, set.SharedSecrets) {
		refs = append(refs, finding.Ref{Kind: "Secret", Namespace: c.To.Namespace, Name: c.To.Name})
	}
	for _, g := range set.SharedGateways {
		refs = append(refs, finding.Ref{Kind: "Gateway", Namespace: g.Namespace, Name: g.Name})
	}
	return r.watch(ing, refs)
}

// former are the gateways by which the Ingress is served until the new way is proven, or no longer.
func former(c apply.Changes) []finding.Ref {
	var refs []finding.Ref
	for _, gateway := range slices.Concat(c.Kept, c.Lost) {
		if namespace, name, isGateway := strings.Cut(gateway, "/"); isGateway {
			refs = append(refs, finding.Ref{Kind: "Gateway", Namespace: namespace, Name: name})
		}
	}
	return refs
}

// watch has changes of objects wake the Ingress, which includes their coming and going.
func (r *Reconciler) watch(ing *v1alpha1.Ingress, refs []finding.Ref) error {
	var errs []error
	for _, ref := range refs {
		errs = append(errs, r.tracker.TrackReference(tracker.Reference{
			APIVersion: apiVersions[ref.Kind], Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name,
		}, ing))
	}
	return errors.Join(errs...)
}

// failed shows the text of a failure, unless the next attempt is likely to mend it.
func failed(ing *v1alpha1.Ingress, err error) error {
	if !behind(err) {
		status.Failed(ing, err)
	}
	return err
}

// behind: nothing is wrong but that a cache was a moment behind, which concerns nobody. Knative
// makes no event of it either, and tries again.
func behind(err error) bool {
	if all, joined := err.(interface{ Unwrap() []error }); joined { //nolint:errorlint // each of the joined is looked at
		return !slices.ContainsFunc(all.Unwrap(), func(one error) bool { return !behind(one) })
	}
	return apierrs.IsConflict(err)
}

func name(ing *v1alpha1.Ingress) types.NamespacedName {
	return types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}
}
