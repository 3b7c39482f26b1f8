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
	if c.enter(q.address) {
		f := c.ask(q.ctx, q.proof.probes[q.probe], q.address)
		if !c.leave(q, f) {
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

// leave takes an answer down, and says whether to ask again.
func (c *Checker) leave(q *question, f *fault) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy[q.address]--; c.busy[q.address] == 0 {
		delete(c.busy, q.address)
	}
	if q.ctx.Err() != nil {
		return false // forgotten meanwhile, or the pod has gone
	}
	if f == nil {
		q.passed = true
		q.cancel()
	} else if *f != q.fault {
		q.fault = *f
		c.logger.Debugw("A gateway does not serve an Ingress yet", "ingress", q.proof.ing, "awaited", f.line(q.proof.probes[q.probe], q.address))
	}
	c.news(q.proof)
	return f != nil
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
	if p.reminder == nil && strings.Join(waiting, "\n") != p.told {
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
