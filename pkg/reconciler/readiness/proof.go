package readiness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	done   bool

	// missing has a line for each probe that no pod could be asked.
	missing []string
	// questions are in the order of probes and addresses.
	questions []*question

	// told is what was last said to be awaited, and toldAt when.
	told   string
	toldAt time.Time
	// reminder is set while somebody is to be told that the text has changed.
	reminder *time.Timer

	ctx    context.Context
	cancel context.CancelFunc
}

// question is one request to one pod, repeated until it is answered rightly.
type question struct {
	target
	proof *proof
	// ctx ends when the answer is no longer of interest.
	ctx    context.Context
	cancel context.CancelFunc
	// tries belongs to the worker that has the question.
	tries int

	// passed and fault are guarded by the Checker's mutex.
	passed bool
	fault  fault
}

// target is a probe, by its number, at one address of one pod. Addresses are used again,
// so the pod has a part in it.
type target struct {
	probe   int
	address string
	pod     types.UID
}

func newProof(ctx context.Context, ing types.NamespacedName, of string, probes []plan.Probe) *proof {
	p := &proof{ing: ing, of: of, probes: probes, toldAt: time.Now()}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

func (p *proof) question(t target) *question {
	q := &question{target: t, proof: p, fault: fault{did: "has not answered yet", wanted: wanted(p.probes[t.probe])}}
	q.ctx, q.cancel = context.WithCancel(p.ctx)
	return q
}

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
	return slices.ContainsFunc(p.probes, func(probe plan.Probe) bool { return probe.Service == service })
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
			lines = append(lines, q.fault.line(p.probes[q.probe], q.address))
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
