package readiness

import (
	"math/rand/v2"
	"time"

	"github.com/net-mesh/net-mesh/pkg/observer"
)

const (
	// perSidecar bounds the requests under way to one sidecar, each about many hosts.
	perSidecar = 2
	// linger is how long a request waits for company.
	linger = 10 * time.Millisecond
	// hurry is how long an answer is waited for at first: a sidecar that knows a host
	// answers at once, and one that does not may pass the request on to nowhere. Later more
	// patience is had, for a sidecar that is slow.
	hurry = 250 * time.Millisecond
	// hurriedTries are made in a hurry.
	hurriedTries = 6
)

// round is the questions to one sidecar that wait. The next request takes all of them, so
// that many Ingresses at once cost few requests.
type round struct {
	waiting []*question
	// flights counts the requests under way.
	flights int
}

// join has a question wait for the next request to its sidecar. It does not block, so
// sidecars that are dead keep no worker.
func (c *Checker) join(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rounds[q.by]
	if r == nil {
		r = &round{}
		c.rounds[q.by] = r
	}
	r.waiting = append(r.waiting, q)
	if r.flights < perSidecar {
		r.flights++
		c.working.Go(func() { c.fly(q.by, r) })
	}
}

// fly asks until nothing waits.
func (c *Checker) fly(by viewer, r *round) {
	for {
		select {
		case <-time.After(linger):
		case <-c.ctx.Done():
		}
		batch, about := c.board(by, r)
		if len(batch) == 0 {
			return
		}
		sights, err := c.look(c.ctx, by, about)
		for i, q := range batch {
			p := q.proof.probes[q.probe]
			f := &fault{did: "could not be asked", wanted: thisGeneration}
			if err != nil {
				f.did += " (" + observer.Reason(err) + ")"
			} else {
				f = direct(p, sights[i])
			}
			switch c.note(q, f) {
			case onward:
				q.tries = 0
				c.queue.Add(q)
			case again:
				// A question that is in the queue is no longer this round's.
				tries := q.tries
				q.tries++
				c.queue.AddAfter(q, sidecarPause(tries))
			}
		}
	}
}

// board takes the questions that wait, as many as a request may have and of one patience:
// what is new does not wait for what is slow. If there are none it ends the flight.
func (c *Checker) board(by viewer, r *round) (batch []*question, about observer.Question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rest []*question
	for _, q := range r.waiting {
		switch {
		case q.ctx.Err() != nil:
		case len(batch) == observer.MostHosts, len(batch) > 0 && patience(q) != about.Patience:
			rest = append(rest, q)
		default:
			batch, about.Patience = append(batch, q), patience(q)
			about.Hosts = append(about.Hosts, hosts(q.proof.probes[q.probe])[q.next])
		}
	}
	r.waiting = rest
	if len(batch) == 0 {
		if r.flights--; r.flights == 0 {
			delete(c.rounds, by)
		}
	}
	return batch, about
}

func patience(q *question) time.Duration {
	if q.tries < hurriedTries {
		return hurry
	}
	return observer.MostPatience
}

// sidecarPause grows by the same each time, up to the longest: most sidecars get their
// routes within seconds, and to notice it late would cost more than to ask some times more.
func sidecarPause(tries int) time.Duration {
	d := min(longestPause, firstPause*time.Duration(tries+1))
	return d - rand.N(d/4)
}
