package readiness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// mostLines bounds what a condition tells: a gateway may have a hundred pods.
const mostLines = 5

// proof is the evidence for one set of probes, of one Ingress, as it comes in. It is
// guarded by the Checker's mutex.
type proof struct {
	ing types.NamespacedName
	// of identifies the probes.
	of     string
	probes []plan.Probe
	// services are those whose pods are asked.
	services sets.Set[types.NamespacedName]
	done     bool

	// missing has a line for each probe that no pod could be asked.
	missing []string
	// questions are in the order of probes and addresses.
	questions []*question

	// told is what was last said to be awaited, and toldAt when; at first nothing, since the
	// Ingress is known.
	told   string
	toldAt time.Time
	since  time.Time
	// reminder is set while somebody is to be told that the text has changed.
	reminder *time.Timer

	ctx    context.Context
	cancel context.CancelFunc
}

// question is one request to one pod or sidecar, repeated until it is answered rightly, and
// then for the next host if there is one.
type question struct {
	target
	proof *proof
	// ctx ends when the answer is no longer of interest.
	ctx    context.Context
	cancel context.CancelFunc
	// tries belongs to the worker or the round that has the question.
	tries int

	// What follows is guarded by the Checker's mutex. next is the host that is asked for,
	// by its number among those of the probe.
	next   int
	passed bool
	fault  fault
	// hastened: it goes with the next request to the sidecar, however many wait.
	hastened bool
}

// target is a probe, by its number, at one pod, or through a sidecar.
type target struct {
	probe int
	pod
	by viewer
}

// pod is one address of one pod. Addresses are used again, so the pod has a part in it.
type pod struct {
	address string
	uid     types.UID
}

func newProof(ctx context.Context, ing types.NamespacedName, of string, probes []plan.Probe, services sets.Set[types.NamespacedName], since time.Time) *proof {
	p := &proof{ing: ing, of: of, probes: probes, services: services, toldAt: since, since: since}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

func (p *proof) question(t target) *question {
	q := &question{target: t, proof: p, fault: unanswered(p.probes[t.probe])}
	q.ctx, q.cancel = context.WithCancel(p.ctx)
	return q
}

// line tells of a question as of something that is waited for.
func (q *question) line() string {
	p := q.proof.probes[q.probe]
	p.Host = hosts(p)[q.next]
	if q.by.kind != noSidecar {
		return q.fault.lineOf(q.by, p)
	}
	return q.fault.line(p, q.address)
}

// hosts are all that a probe is about.
func hosts(p plan.Probe) []string { return append([]string{p.Host}, p.Also...) }

// conclude keeps that the probes have been passed, and nothing else.
func (p *proof) conclude() {
	p.done = true
	p.end()
}

// end stops all that is under way.
func (p *proof) end() {
	p.cancel()
	if p.reminder != nil {
		p.reminder.Stop()
	}
	p.questions, p.missing, p.reminder = nil, nil, nil
}

func (p *proof) concerns(service types.NamespacedName) bool {
	return p.services.Has(service)
}

// waiting has a line for each thing that is awaited; none is left when all is proven. It is
// called for each answer, so what is not told is only counted.
func (p *proof) waiting() []string {
	lines, more := slices.Clone(p.missing), 0
	if len(lines) > mostLines {
		lines, more = lines[:mostLines], len(lines)-mostLines
	}
	for _, q := range p.questions {
		switch {
		case q.passed:
		case len(lines) < mostLines:
			lines = append(lines, q.line())
		default:
			more++
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d more", more))
	}
	return lines
}

// refresh asks the pods that have come, and drops the questions to those that have gone.
func (c *Checker) refresh(p *proof) error {
	targets, missing, err := c.targets(p.probes)
	if err != nil {
		return err
	}
	before := make(map[target]*question, len(p.questions))
	for _, q := range p.questions {
		before[q.target] = q
	}
	p.missing, p.questions = missing, make([]*question, 0, len(targets))
	for _, t := range targets {
		q := before[t]
		if q == nil {
			q = p.question(t)
			c.queue.Add(q)
		}
		delete(before, t)
		p.questions = append(p.questions, q)
	}
	for _, gone := range before {
		gone.cancel()
	}
	return nil
}
