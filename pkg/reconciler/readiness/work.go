package readiness

import (
	"math/rand/v2"
	"strings"
	"time"
)

const (
	// workers bounds the requests under way.
	workers = 32
	// perPod bounds those to one pod, so that one that is dead and not yet known to be
	// does not keep all workers waiting.
	perPod = 8
	// firstPause and longestPause are between two requests of one question.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	// textPause is the least time between two reports of what is awaited. Most Ingresses
	// are proven sooner, and cost no report.
	textPause = time.Second
)

func (c *Checker) work() {
	for {
		q, over := c.queue.Get()
		if over {
			return
		}
		c.try(q)
		c.queue.Done(q)
	}
}

// try asks once, and again later if that is no pass.
func (c *Checker) try(q *question) {
	if q.ctx.Err() != nil {
		return
	}
	if q.by.kind != noSidecar {
		c.join(q)
		return
	}
	if c.enter(q.address) {
		f := c.ask(q.ctx, q.proof.probes[q.probe], q.address)
		c.leave(q.address)
		if c.note(q, f) != again {
			return
		}
	}
	c.queue.AddAfter(q, pause(q.tries))
	q.tries++
}

// enter says whether one more request to a pod is allowed.
func (c *Checker) enter(address string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[address] >= perPod {
		return false
	}
	c.busy[address]++
	return true
}

// leave ends what enter has begun.
func (c *Checker) leave(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[address]--; c.busy[address] == 0 {
		delete(c.busy, address)
	}
}

// what is to be done about a question after an answer.
type next int

const (
	// nothing: it is answered rightly, or nobody is interested any more.
	nothing next = iota
	// again: later.
	again
	// onward: at once, for the next host.
	onward
)

// note takes an answer down, and says how to go on.
func (c *Checker) note(q *question, f *fault) next {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.ctx.Err() != nil {
		return nothing // forgotten meanwhile, or the pod has gone
	}
	p := q.proof.probes[q.probe]
	if f == nil && q.next < len(p.Also) {
		q.next++
		q.fault = unanswered(p)
		return onward
	}
	if f == nil {
		q.passed = true
		q.cancel()
		c.news(q.proof)
		return nothing
	}
	if *f != q.fault {
		q.fault = *f
		c.logger.Debugw("An Ingress is not served yet", "ingress", q.proof.ing, "awaited", q.line())
	}
	c.news(q.proof)
	return again
}

// news wakes the Ingress when all is proven, and has it woken by and by when what is
// awaited is no longer what was told.
func (c *Checker) news(p *proof) {
	if p.ctx.Err() != nil {
		return // the Checker is at its end
	}
	waiting := p.waiting()
	if len(waiting) == 0 {
		p.conclude()
		c.wake(p.ing)
		return
	}
	if strings.Join(waiting, "\n") != p.told {
		c.remind(p)
	}
}

// remind has tell called a while after what was told last, or after the beginning.
func (c *Checker) remind(p *proof) {
	if p.reminder == nil {
		p.reminder = time.AfterFunc(time.Until(p.toldAt.Add(textPause)), func() { c.tell(p) })
	}
}

// tell wakes the Ingress if the text is still another one.
func (c *Checker) tell(p *proof) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.ctx.Err() != nil {
		return // proven or forgotten, or the Checker is at its end
	}
	p.reminder = nil
	if text := strings.Join(p.waiting(), "\n"); text != p.told {
		p.told, p.toldAt = text, time.Now()
		c.wake(p.ing)
	}
}

// pause doubles up to the longest, and is shortened by chance, so that questions which
// began together do not stay together.
func pause(tries int) time.Duration {
	d := longestPause
	if tries < 16 {
		d = min(d, firstPause<<tries)
	}
	return d - rand.N(d/4)
}
