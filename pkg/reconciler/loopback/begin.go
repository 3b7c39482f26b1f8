package loopback

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// Reasons of events, beside those of findings.
const (
	inForce   = "LoopbackInForce"
	withdrawn = "LoopbackWithdrawn"
	failing   = "LoopbackFailing"
	ended     = "LoopbackEnded"
	forbidden = "LoopbackForbidden"
	awaiting  = "LoopbackAwaits"
)

// begin goes towards the loopback: Service and doors, which harm nobody, then the trial, the
// listener and the switch, each when the one before is proven.
func (r *Reconciler) begin(ctx context.Context, cfg config.Config, l translate.LoopbackResult) (progress, error) {
	set := l.Objects
	if err := r.ensureService(ctx, set.Service); err != nil {
		return progress{}, err
	}
	if err := r.syncDoors(ctx, cfg, set.Doors); err != nil {
		return progress{}, err
	}
	have, err := r.filter(ctx, nameOf(set.Listener))
	if err != nil {
		return progress{}, err
	}
	if !sameFilter(have, set.Listener) {
		if p, ready, err := r.mayWrite(ctx, cfg, l, have); err != nil || !ready {
			return p, err
		}
		if err := r.writeFilter(ctx, have, set.Listener); err != nil {
			return progress{}, err
		}
	}
	return r.lead(ctx, cfg, l)
}

// mayWrite says whether all sidecars may have the listener: it has been tried. One that was in force
// needs no trial. Somebody deleted or edited it, and what is led to it fails until it is back.
func (r *Reconciler) mayWrite(ctx context.Context, cfg config.Config, l translate.LoopbackResult, have *envoyFilter) (progress, bool, error) {
	sw, err := r.filter(ctx, nameOf(l.Objects.Switch))
	if err != nil {
		return progress{}, false, err
	}
	same := have == nil || have.Annotations[resources.DigestAnnotation] == l.Objects.Digest
	if same && provenGeneration(sw) == l.Objects.Digest {
		return progress{}, true, nil
	}
	p, ready, err := r.tryFirst(ctx, cfg, l)
	if ready && have != nil {
		r.before = &filterSpec{spec: have.Spec.DeepCopy(), digest: have.Annotations[resources.DigestAnnotation]}
	}
	return p, ready, err
}

// tryFirst has observers try the listener, and says whether all sidecars may have it.
func (r *Reconciler) tryFirst(ctx context.Context, cfg config.Config, l translate.LoopbackResult) (p progress, ready bool, err error) {
	digest := l.Objects.Digest
	if len(l.Plan.Trials) == 0 {
		for _, f := range l.Findings {
			r.tell(cfg, corev1.EventTypeNormal, string(f.Reason), f.Message)
		}
		return progress{settled: true, waiting: "an observer to try the listener", again: later}, false, nil
	}
	if r.refused == digest && r.now().Sub(r.refusedAt) < mercy {
		return progress{settled: true, waiting: "time to pass before the listener is tried again", again: mercy - r.now().Sub(r.refusedAt)}, false, nil
	}
	for _, t := range l.Objects.Trials {
		if err := r.ensureFilter(ctx, t); err != nil {
			return progress{}, false, err
		}
	}
	seen, err := r.ask(ctx, plan.TrialHost, digest, true)
	switch {
	case err != nil:
		return progress{}, false, err
	case seen.proven():
		r.over(trying)
		return progress{}, true, nil
	case seen.silent != "":
		// It says nothing of the listener.
		r.over(trying)
		return r.awaitSidecar(cfg, seen.silent), false, nil
	case !r.overdue(trying):
		return waitingFor(seen.wrong), false, nil
	}
	return r.refuse(ctx, cfg, digest, "observers did not show it: "+seen.wrong)
}

// refuse withdraws a listener that has not been led to, from wherever it is.
func (r *Reconciler) refuse(ctx context.Context, cfg config.Config, digest, why string) (progress, bool, error) {
	r.refused, r.refusedAt = digest, r.now()
	r.over(trying)
	r.over(adding)
	if err := r.deleteTrials(ctx); err != nil {
		return progress{}, false, err
	}
	r.tell(cfg, corev1.EventTypeWarning, withdrawn, fmt.Sprintf(
		"the loopback in place of a local gateway was withdrawn, since %s; look for the listener in the log of that pod's istio-proxy and of istiod. It is tried again in %s, or set loopback to \"false\" in %s",
		why, mercy, config.IstioConfigMap))
	return progress{settled: true, waiting: why, again: mercy}, false, nil
}

// lead has the listener proven by all that can be asked, leads the name of the local gateway
// to it when every Ingress is served in the mesh, and has that proven too.
func (r *Reconciler) lead(ctx context.Context, cfg config.Config, l translate.LoopbackResult) (progress, error) {
	set := l.Objects
	sw, err := r.filter(ctx, nameOf(set.Switch))
	if err != nil {
		return progress{}, err
	}
	if sameFilter(sw, set.Switch) && provenGeneration(sw) == set.Digest {
		return r.watch(ctx, cfg, set)
	}
	seen, err := r.ask(ctx, plan.ListenerHost, set.Digest, false)
	switch {
	case err != nil:
		return progress{}, err
	case seen.silent != "":
		r.over(adding)
		return r.awaitSidecar(cfg, seen.silent), nil
	case !seen.proven() && !r.overdue(adding):
		return waitingFor(seen.wrong), nil
	case !seen.proven():
		return r.takeBack(ctx, cfg, set, sw != nil, seen.wrong)
	}
	r.over(adding)
	if sw == nil {
		if waits, err := r.unpublished(true); err != nil || len(waits) > 0 {
			return r.awaitIngresses(cfg, "in the mesh", waits), err
		}
		r.over(moving)
	}
	if !sameFilter(sw, set.Switch) {
		if err := r.writeFilter(ctx, sw, set.Switch); err != nil {
			return progress{}, err
		}
		r.over(leading)
	}
	return r.conclude(ctx, cfg, set, provenGeneration(sw) != "")
}

// awaitSidecar tells people who is silent, if that takes long: nothing can be said of the listener then, and
// nothing is withdrawn.
func (r *Reconciler) awaitSidecar(cfg config.Config, silent string) progress {
	if r.overdue(hearing) {
		r.tell(cfg, corev1.EventTypeWarning, awaiting, "the loopback in place of a local gateway waits for a sidecar that is to be asked: "+silent+
			"; what was served before is kept until then. Look at that pod, or take its Service out of NET_MESH_OBSERVERS")
	}
	return waitingFor(silent)
}

// awaitIngresses tells people what the whole mesh waits for, if that takes long: who is served
// as before for another reason, such as a gateway that is missing, does not move.
func (r *Reconciler) awaitIngresses(cfg config.Config, where string, names []string) progress {
	what := "Ingresses to be served " + where + ": " + few(names)
	if len(names) > 0 && r.overdue(moving) {
		r.tell(cfg, corev1.EventTypeNormal, awaiting, "the way between the loopback and a local gateway waits for "+what+"; both ways are kept until then. The conditions of these Ingresses say what is missing")
	}
	return waitingFor(what)
}

// conclude waits until the name leads to the listener, and ends the trial. A name that was led there
// before stays so, whatever sidecars answer: Ingresses have left what it led to earlier.
func (r *Reconciler) conclude(ctx context.Context, cfg config.Config, set resources.LoopbackSet, led bool) (progress, error) {
	seen, err := r.ask(ctx, plan.SwitchHost, set.Digest, false)
	switch {
	case err != nil:
		return progress{}, err
	case seen.silent != "":
		r.over(leading)
		return r.awaitSidecar(cfg, seen.silent), nil
	case !seen.proven() && !r.overdue(leading):
		return waitingFor(seen.wrong), nil
	case !seen.proven() && led:
		return r.fails(cfg, "not every sidecar leads the name of the local gateway to the loopback: "+seen.wrong), nil
	case !seen.proven():
		r.over(leading)
		if err := r.deleteFilter(ctx, nameOf(set.Switch)); err != nil {
			return progress{}, err
		}
		return r.takeBack(ctx, cfg, set, false, seen.wrong)
	}
	r.over(leading)
	if err := r.deleteTrials(ctx); err != nil {
		return progress{}, err
	}
	if err := r.markProven(ctx, set); err != nil {
		return progress{}, err
	}
	r.before, r.refused = nil, ""
	r.tellInForce(cfg)
	return progress{settled: true, again: later}, nil
}

// takeBack undoes a change of the listener that sidecars do not show, though observers did.
// Where requests are led to it already the one before is put back: without any they would fail.
func (r *Reconciler) takeBack(ctx context.Context, cfg config.Config, set resources.LoopbackSet, led bool, why string) (progress, error) {
	r.over(adding)
	switch {
	case led && r.before == nil:
		return r.fails(cfg, "not every sidecar shows the loopback's listener: "+why), nil
	case led:
		if err := r.restore(ctx, set.Listener); err != nil {
			return progress{}, err
		}
	default:
		if err := r.deleteFilter(ctx, nameOf(set.Listener)); err != nil {
			return progress{}, err
		}
	}
	p, _, err := r.refuse(ctx, cfg, set.Digest, "not every sidecar showed it: "+why)
	return p, err
}

// watch looks at what is in force. It is not withdrawn any more, because what is led to it has
// no other way; but people are told.
func (r *Reconciler) watch(ctx context.Context, cfg config.Config, set resources.LoopbackSet) (progress, error) {
	seen, err := r.ask(ctx, plan.SwitchHost, set.Digest, false)
	switch {
	case err != nil:
		return progress{}, err
	case seen.wrong != "" && r.overdue(leading):
		r.fails(cfg, "the loopback does not answer everywhere any more: "+seen.wrong)
	case seen.wrong == "":
		r.over(leading)
		if seen.proven() && !r.sound {
			r.tellInForce(cfg)
		}
	}
	return progress{settled: true, waiting: seen.wrong, again: later}, r.deleteTrials(ctx)
}

// fails tells people what they have to look at, since nothing can be taken back.
func (r *Reconciler) fails(cfg config.Config, why string) progress {
	r.sound = false
	r.tell(cfg, corev1.EventTypeWarning, failing, why+"; look in the log of that pod's istio-proxy")
	return progress{waiting: why, again: later}
}

// tellInForce is said once, and again after anything else was said of it: who reads events goes
// by the last.
func (r *Reconciler) tellInForce(cfg config.Config) {
	r.sound = true
	r.tell(cfg, corev1.EventTypeNormal, inForce, "callers' sidecars stand in for the local gateway: what is sent to its Service is routed once more where it is sent from")
}

// few names some of many.
func few(names []string) string {
	slices.Sort(names)
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}
