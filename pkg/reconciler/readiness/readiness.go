// Package readiness answers: has the data plane got it?
//
// Gateways are asked: each port of each pod of a gateway gets a request that only the
// wanted generation of the Ingress answers rightly. So far Knative's status
// prober sends the requests; what it is to ask comes from the Plan alone. Sidecars cannot
// be asked yet: what they serve is assumed, and State says so.
package readiness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	discovery "k8s.io/client-go/listers/discovery/v1"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/networking/pkg/status"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// State is what is known of the data plane.
type State struct {
	// Ready: nothing is awaited.
	Ready bool
	// Assumed are hosts of which nobody could be asked whether they are served.
	Assumed []string
	// Waiting has a line for each thing that is awaited.
	Waiting []string
}

// prober is the part of Knative's status.Prober that is used.
type prober interface {
	IsReady(ctx context.Context, ing *v1alpha1.Ingress) (bool, error)
	CancelIngressProbingByKey(key types.NamespacedName)
	CancelPodProbing(pod any)
}

// Checker proves Plans.
type Checker struct {
	slices discovery.EndpointSliceLister
	prober prober
	wake   func(types.NamespacedName)

	mu sync.Mutex
	// proofs remembers, by Ingress, what is being proven or has been.
	proofs map[types.NamespacedName]proof
}

// proof is the evidence for one set of probes.
type proof struct {
	// of identifies the probes, at the pods that have to pass them.
	of, at string
	done   bool
	// services are in front of those pods.
	services []types.NamespacedName
}

// New returns a Checker that finds gateway pods with the lister and calls wake for an
// Ingress of which there is news. Probing ends with the context.
func New(ctx context.Context, logger *zap.SugaredLogger, lister discovery.EndpointSliceLister, wake func(types.NamespacedName)) *Checker {
	c := &Checker{slices: lister, wake: wake, proofs: map[types.NamespacedName]proof{}}
	knative := status.NewProber(logger, targetsInContext{}, func(ing *v1alpha1.Ingress) { wake(key(ing)) })
	knative.Start(ctx.Done())
	c.prober = knative
	return c
}

// Check says whether what the Plan exposes is served, and starts to find out if that is
// not known. The callback of the Checker tells when to ask again.
func (c *Checker) Check(ctx context.Context, ing *v1alpha1.Ingress, p plan.Plan) (State, error) {
	ask, assumed := sorted(p)
	state := State{Assumed: assumed}
	if len(p.Exposures) == 0 {
		state.Waiting = []string{"something to be exposed: no host of this Ingress has a way in"}
		return state, nil
	}
	current := proof{of: identity(ask), services: servicesOf(ask)}
	if len(ask) == 0 {
		// A gateway that comes back later has to be asked again.
		c.Forget(key(ing))
		state.Ready = true
		return state, nil
	}
	if c.proven(key(ing), current.of) {
		state.Ready = true
		return state, nil
	}
	targets, missing := c.targets(ask)
	current.at = identity(targets)
	c.renew(key(ing), current)
	if len(missing) > 0 {
		state.Waiting = missing
		return state, nil
	}
	ready, err := c.prober.IsReady(withTargets(ctx, targets), ing)
	if err != nil {
		return state, fmt.Errorf("cannot probe the gateways: %w", err)
	}
	if !ready {
		state.Waiting = awaited(ask)
		return state, nil
	}
	current.done = true
	c.remember(key(ing), current)
	state.Ready = true
	return state, nil
}

// Known is the State of a Plan that has been proven before.
func Known(p plan.Plan) State {
	_, assumed := sorted(p)
	return State{Ready: true, Assumed: assumed}
}

// Forget ends the probing of an Ingress.
func (c *Checker) Forget(ing types.NamespacedName) {
	c.mu.Lock()
	delete(c.proofs, ing)
	c.mu.Unlock()
	c.prober.CancelIngressProbingByKey(ing)
}

// PodsChanged has every Ingress look again that is awaiting pods of a Service. gone are
// addresses of pods that no longer answer.
func (c *Checker) PodsChanged(service types.NamespacedName, gone []string) {
	for _, ip := range gone {
		c.prober.CancelPodProbing(&corev1.Pod{Status: corev1.PodStatus{PodIP: ip}})
	}
	c.mu.Lock()
	var waiting []types.NamespacedName
	for ing, p := range c.proofs {
		if !p.done && slices.Contains(p.services, service) {
			waiting = append(waiting, ing)
		}
	}
	c.mu.Unlock()
	for _, ing := range waiting {
		c.wake(ing)
	}
}

func (c *Checker) proven(ing types.NamespacedName, of string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.proofs[ing]
	return p.done && p.of == of
}

// renew drops what Knative's prober knows when it was asked something else: it tells
// generations of an Ingress apart, but not ways to serve the same one, nor other pods.
func (c *Checker) renew(ing types.NamespacedName, current proof) {
	c.mu.Lock()
	before := c.proofs[ing]
	c.mu.Unlock()
	if before.of != current.of || before.at != current.at || before.done {
		c.prober.CancelIngressProbingByKey(ing)
	}
	c.remember(ing, current)
}

func (c *Checker) remember(ing types.NamespacedName, p proof) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proofs[ing] = p
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
