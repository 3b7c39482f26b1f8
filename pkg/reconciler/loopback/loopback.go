// Package loopback answers: how do sidecars come to stand in for the local gateway, and how
// do they cease to?
//
// One loop keeps one set of objects, which is of no Ingress. Each new listener is tried by
// observers alone, and given to all sidecars only after their proxies have answered by it.
// The name of the local gateway is led there last; on the way back that ends first. What
// stands where is read from the cluster each time, so that a restart goes on where the one
// before was.
package loopback

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
	"istio.io/client-go/pkg/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/reconciler"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

const (
	// patience is how long sidecars that can be asked may take to show a listener.
	patience = time.Minute
	// soon and later are when to look again: while something is awaited, and at what is in
	// force. What is awaited for longer than hurried looks is looked at by and by.
	soon    = 500 * time.Millisecond
	later   = time.Minute
	byAndBy = 5 * time.Second
	hurried = 120
	// mercy is when a listener that was withdrawn is tried again: the mesh may have been at
	// fault.
	mercy = 10 * time.Minute
)

// Reconciler keeps the loopback.
type Reconciler struct {
	reconciler.LeaderAwareFuncs

	logger *zap.SugaredLogger
	kube   kubernetes.Interface
	istio  versioned.Interface
	reader snapshot.Reader
	// root is Istio's root namespace, observers are the Services of observers.
	root      string
	observers []types.NamespacedName
	config    func() (config.Config, error)
	// see asks the sidecars about a host.
	see       func(ctx context.Context, host string) ([]readiness.View, error)
	ingresses func() ([]*v1alpha1.Ingress, error)
	events    record.EventRecorder
	gate      *Gate
	now       func() time.Time
	// again has the loop look once more after a while.
	again func(time.Duration)

	// What follows is of one look after the other: there is one key.

	// on is the way that the looks before were on; what follows is of that one.
	on way

	// awaited is since when each step waits for its proof.
	awaited map[step]time.Time
	// refused is the digest of a listener that was withdrawn, and refusedAt when.
	refused   string
	refusedAt time.Time
	// before is what the listener was before it was changed.
	before *filterSpec
	// looks counts those in a row at which something was awaited.
	looks int
	// told is what was last said of the state, so that it is said once.
	told string
	// sound: it was said last that what is in force answers.
	sound bool
}

// progress says how far a look has come.
type progress struct {
	// settled: nothing is under way.
	settled bool
	// waiting says what is awaited, for the log.
	waiting string
	// again is when to look again without being woken; 0: not.
	again time.Duration
}

func waitingFor(what string) progress { return progress{waiting: what, again: soon} }

// Reconcile looks once, and goes as far as it can without waiting. The errors are the API's.
func (r *Reconciler) Reconcile(ctx context.Context, key string) error {
	cfg, err := r.config()
	if err != nil {
		// Nothing is decided without a configuration; a good one wakes us.
		r.turn(nowhere)
		return nil
	}
	l := translate.Loopback(snapshot.LoopbackOf(r.reader, cfg, r.root, r.observers))
	namespace, name, _ := splitKey(key)
	if !r.IsLeaderFor(types.NamespacedName{Namespace: namespace, Name: name}) {
		r.turn(nowhere)
		settled, err := r.looksSettled(ctx, l)
		r.gate.set(l.Plan.Wanted, settled)
		r.again(later)
		return err
	}
	advance, on := r.leave, away
	if l.Plan.Wanted {
		advance, on = r.begin, there
	}
	r.turn(on)
	p, err := advance(ctx, cfg, l)
	if err != nil {
		return r.failed(cfg, l, err)
	}
	r.over(working)
	if p.waiting != "" {
		r.logger.Debugw("The loopback waits", "for", p.waiting)
	}
	r.gate.set(l.Plan.Wanted, p.settled)
	if pause := r.pause(p); pause > 0 {
		r.again(pause)
	}
	return nil
}

// failed tells of what does not pass by itself, and returns it.
func (r *Reconciler) failed(cfg config.Config, l translate.LoopbackResult, err error) error {
	switch {
	case apierrs.IsForbidden(err):
		// Who may not write a loopback has none, so nobody waits for it.
		r.gate.set(l.Plan.Wanted, true)
		r.tell(cfg, corev1.EventTypeWarning, forbidden, err.Error()+"; grant the rights of 200-clusterrole.yaml where Istio's root namespace and the observers are")
	case errors.Is(err, errTheirs), r.overdue(working):
		r.sound = false
		r.tell(cfg, corev1.EventTypeWarning, failing, err.Error())
	}
	return err
}

// way is where the loop is going.
type way string

const (
	nowhere way = ""
	there   way = "to the loopback"
	away    way = "from the loopback"
)

// turn forgets what was awaited on another way: it says nothing of this one, and may be long ago.
func (r *Reconciler) turn(to way) {
	if r.on == to {
		return
	}
	r.on, r.awaited, r.before, r.looks = to, map[step]time.Time{}, nil, 0
	if to == nowhere {
		r.refused, r.told, r.sound = "", "", false
	}
}

// pause is when to look again.
func (r *Reconciler) pause(p progress) time.Duration {
	if p.again != soon {
		r.looks = 0
		return p.again
	}
	if r.looks++; r.looks > hurried {
		return byAndBy
	}
	return soon
}

// looksSettled is for who does not lead: it judges by what the leader has written, and by what keeps
// that from writing. Only that a trial failed it cannot know, so it waits.
func (r *Reconciler) looksSettled(ctx context.Context, l translate.LoopbackResult) (bool, error) {
	sw, err := r.filter(ctx, switchName(r.root))
	switch {
	case apierrs.IsForbidden(err):
		return true, nil // it is to the leader too
	case err != nil:
		return false, err
	case !l.Plan.Wanted:
		return sw == nil, nil
	case sw != nil || len(l.Plan.Trials) > 0:
		return provenGeneration(sw) == l.Objects.Digest, nil
	}
	listener, err := r.filter(ctx, listenerName(r.root))
	return err == nil && !sameFilter(listener, l.Objects.Listener), err // nobody can try it
}

// step is one of the things that are waited for.
type step string

const (
	trying   step = "trial"
	adding   step = "listener"
	moving   step = "ingresses"
	leading  step = "switch"
	clearing step = "clearing"
	// hearing is for sidecars that could not be asked.
	hearing step = "hearing"
	// working is for failures of the API to pass.
	working step = "working"
)

// overdue says whether a step has waited for longer than patience allows, and lets the first
// call of a step begin the waiting.
func (r *Reconciler) overdue(s step) bool {
	since, ok := r.awaited[s]
	if !ok {
		r.awaited[s] = r.now()
		return false
	}
	return r.now().Sub(since) > patience
}

// over ends the waiting of a step.
func (r *Reconciler) over(s step) { delete(r.awaited, s) }

// tell makes an event of what has not just been said.
func (r *Reconciler) tell(cfg config.Config, kind, reason, message string) {
	if r.told == reason+message {
		return
	}
	r.told = reason + message
	r.events.Event(&corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: cfg.SystemNamespace, Name: config.IstioConfigMap}, kind, reason, message)
}
