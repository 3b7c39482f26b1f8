package loopback

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// leave takes the loopback away, the other way round: first the name of the local gateway
// leads to its Service again, then the listener goes, and then the rest.
func (r *Reconciler) leave(ctx context.Context, cfg config.Config, l translate.LoopbackResult) (progress, error) {
	r.refused, r.sound = "", false
	sw, err := r.filter(ctx, switchName(r.root))
	if err != nil {
		return progress{}, err
	}
	if sw != nil {
		if l.Plan.Replaced {
			if waits, err := r.unpublished(false); err != nil || len(waits) > 0 {
				return r.awaitIngresses(cfg, "at the local gateway", waits), err
			}
			r.over(moving)
		}
		if err := r.deleteFilter(ctx, switchName(r.root)); err != nil {
			return progress{}, err
		}
		return waitingFor("sidecars to lead the local gateway's name to its Service again"), nil
	}
	listener, err := r.filter(ctx, listenerName(r.root))
	if err != nil {
		return progress{}, err
	}
	if listener != nil {
		if p, clear, err := r.cleared(ctx); err != nil || !clear {
			return p, err
		}
		if err := r.deleteFilter(ctx, listenerName(r.root)); err != nil {
			return progress{}, err
		}
		r.tell(cfg, corev1.EventTypeNormal, ended, "callers' sidecars no longer stand in for the local gateway")
	}
	if err := r.deleteTrials(ctx); err != nil {
		return progress{}, err
	}
	if err := r.syncDoors(ctx, cfg, nil); err != nil {
		return progress{}, err
	}
	return progress{settled: true}, r.deleteService(ctx)
}

// cleared says whether no sidecar that can be asked leads to the listener any more. Who cannot
// be asked is not waited for longer than patience allows.
func (r *Reconciler) cleared(ctx context.Context) (progress, bool, error) {
	views, err := r.see(ctx, plan.SwitchHost)
	if err != nil {
		return progress{}, false, err
	}
	for _, v := range views {
		if (v.Silent || v.Sight.Digest != "") && !r.overdue(clearing) {
			return waitingFor(v.By + " to lead nowhere near the listener"), false, nil
		}
	}
	r.over(clearing)
	return progress{}, true, nil
}

// deleteTrials takes the trial away from beside every observer.
func (r *Reconciler) deleteTrials(ctx context.Context) error {
	for _, o := range r.observers {
		if err := r.deleteFilter(ctx, types.NamespacedName{Namespace: o.Namespace, Name: resources.LoopbackTrial}); err != nil {
			return err
		}
	}
	return nil
}

// deleteService takes the Service away if it is ours and nobody has given it pods since.
func (r *Reconciler) deleteService(ctx context.Context) error {
	s, found := r.reader.Service(config.LocalGateway)
	if !found || s.Labels[resources.LoopbackLabel] == "" || len(s.Spec.Selector) > 0 {
		return nil
	}
	return gone(r.kube.CoreV1().Services(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &s.UID, ResourceVersion: &s.ResourceVersion},
	}))
}
