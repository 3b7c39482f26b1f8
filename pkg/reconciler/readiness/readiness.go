// Package readiness answers: has the data plane got it?
//
// Gateways are asked: each port of each pod of a gateway gets a request that only the
// wanted generation of an exposure answers rightly, until it does. So are sidecars: that of
// this process, and those of observers. What is asked comes from the Plan alone, who is
// asked in the mesh from the settings of the process. Where there is no sidecar to be asked
// the mesh is assumed to serve, and State says so.
package readiness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/util/workqueue"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// State is what is known of the data plane.
type State struct {
	// Ready: nothing is awaited.
	Ready bool
	// Assumed are hosts of which nobody could be asked whether they are served.
	Assumed Assumed
	// Waiting has a line for each thing that is awaited.
	Waiting []string
	// Fresh: the Ingress is known since a moment only. Who is told so anyhow is woken a second
	// after that, if what is awaited lasts.
	Fresh bool
}

// Assumed are hosts by why nobody could be asked. Of a name and its abbreviations only the
// name is there.
type Assumed struct {
	// Mesh: sidecars serve them, and neither this process nor an observer has one that
	// gets to know them.
	Mesh []string
	// Gateways: their gateways answer nobody without a client's certificate.
	Gateways []string
}

// Checker proves Plans.
type Checker struct {
	ctx    context.Context
	logger *zap.SugaredLogger
	slices discovery.EndpointSliceLister
	// ask puts one question to one pod; nil is a pass.
	ask func(ctx context.Context, p plan.Probe, address string) *fault
	// sidecars are whom the mesh is asked through, by look.
	sidecars Sidecars
	look     func(ctx context.Context, by viewer, q observer.Question) ([]observer.Sight, error)
	queue    workqueue.TypedDelayingInterface[*question]
	// working is done when no worker and no round is left.
	working sync.WaitGroup

	// mu guards what follows, and all proofs. It is held while wake is called, so that
	// nobody is woken for an Ingress after Forget has returned.
	mu     sync.Mutex
	wake   func(types.NamespacedName)
	proofs map[types.NamespacedName]*proof
	// since is when something was first awaited for an Ingress. It outlasts proofs: somebody
	// may rewrite the objects time and again, and that is to be told.
	since map[types.NamespacedName]time.Time
	// busy counts the requests under way by the address of the pod.
	busy map[string]int
	// rounds are the questions to sidecars that wait for the next request.
	rounds map[viewer]*round
}

// New returns a Checker that asks the sidecars for the mesh, finds pods with the lister and
// calls wake for an Ingress of which there is news. wake must neither block nor call the
// Checker. Probing ends with the context.
func New(ctx context.Context, logger *zap.SugaredLogger, sidecars Sidecars, lister discovery.EndpointSliceLister, wake func(types.NamespacedName)) *Checker {
	c := &Checker{
		ctx: ctx, logger: logger, slices: lister, ask: ask, wake: wake,
		sidecars: sidecars, look: sidecars.look(),
		queue:  workqueue.NewTypedDelayingQueue[*question](),
		proofs: map[types.NamespacedName]*proof{},
		since:  map[types.NamespacedName]time.Time{},
		busy:   map[string]int{},
		rounds: map[viewer]*round{},
	}
	for range workers {
		c.working.Go(c.work)
	}
	context.AfterFunc(ctx, c.queue.ShutDown)
	return c
}

// Check says whether what the Plan exposes is served, and starts to find out if that is
// not known. The callback of the Checker tells when to ask again.
func (c *Checker) Check(_ context.Context, ing *v1alpha1.Ingress, p plan.Plan) (State, error) {
	probes, assumed := c.sorted(p)
	state := State{Assumed: assumed}
	var err error
	switch {
	case len(p.Exposures) == 0:
		c.Anew(key(ing))
		state.Waiting = []string{"something to be exposed: no host of this Ingress has a way in"}
	case len(probes) == 0:
		// A gateway that comes back later has to be asked again.
		c.Anew(key(ing))
		state.Ready = true
	default:
		state.Waiting, state.Fresh, err = c.prove(key(ing), probes)
		state.Ready = err == nil && len(state.Waiting) == 0
	}
	return state, err
}

// prove returns what is awaited until all probes have been passed, and whether the Ingress is
// known since a moment only.
func (c *Checker) prove(ing types.NamespacedName, probes []plan.Probe) (waiting []string, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := identity(probes)
	p := c.proofs[ing]
	if p == nil || p.of != of {
		c.forget(ing)
		if _, known := c.since[ing]; !known {
			c.since[ing] = time.Now()
		}
		p = newProof(c.ctx, ing, of, probes, c.services(probes), c.since[ing])
		c.proofs[ing] = p
	}
	if p.done {
		return nil, false, nil
	}
	if err := c.refresh(p); err != nil {
		return nil, false, fmt.Errorf("cannot find the pods to be asked: %w", err)
	}
	waiting = p.waiting()
	if len(waiting) == 0 {
		p.conclude()
		return nil, false, nil
	}
	if fresh = time.Since(p.since) < textPause; fresh {
		// Nobody need tell of it yet.
		c.remind(p)
		return waiting, true, nil
	}
	p.told, p.toldAt = strings.Join(waiting, "\n"), time.Now()
	return waiting, false, nil
}

// Known is the State of a Plan that has been proven before.
func (c *Checker) Known(p plan.Plan) State {
	_, assumed := c.sorted(p)
	return State{Ready: true, Assumed: assumed}
}

// InFlight counts the requests under way, to gateways and to sidecars.
func (c *Checker) InFlight() (gateways, sidecars int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.busy {
		gateways += n
	}
	for _, r := range c.rounds {
		sidecars += r.flights
	}
	return gateways, sidecars
}

// Forget ends the probing of an Ingress that goes, requests under way included. Nobody is woken
// for it afterwards.
func (c *Checker) Forget(ing types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(ing)
	delete(c.since, ing)
}

// Anew has the next Check prove from the beginning, since something was written. Nobody is woken
// before.
func (c *Checker) Anew(ing types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(ing)
}

func (c *Checker) forget(ing types.NamespacedName) {
	if p := c.proofs[ing]; p != nil {
		p.end()
		delete(c.proofs, ing)
	}
}

// PodsChanged has proofs under way ask the pods that came to a Service, and no longer wait
// for those that went. What is proven stays so: a gateway's pod gets its routes before it
// becomes ready.
func (c *Checker) PodsChanged(service types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.proofs {
		if p.done || !p.concerns(service) {
			continue
		}
		if err := c.refresh(p); err != nil {
			c.logger.Errorw("Cannot find the pods of a Service", "service", service, "error", err)
			continue
		}
		c.news(p)
	}
}

func key(ing *v1alpha1.Ingress) types.NamespacedName {
	return types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}
}

// identity is equal for equal values.
func identity(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("readiness: marshalling %T: %v", v, err))
	}
	return string(text)
}
