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
	// sample bounds the questions that are put once more in one request, and samplePause is
	// between two such requests. A sidecar gets to know in one message whatever Istio has
	// learned by then, so a few tell when it is time for all.
	sample      = 8
	samplePause = 50 * time.Millisecond
)

// round is the questions to one sidecar that wait. The next request takes all of them, so
// that many Ingresses at once cost few requests.
type round struct {
	waiting []*question
	// flights counts the requests under way.
	flights int
	// sampled is when questions were last put once more.
	sampled time.Time
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
		batch, about, over := c.board(by, r)
		switch {
		case over:
			return
		case len(batch) > 0:
			sights, err := c.look(c.ctx, by, about)
			c.land(r, batch, sights, err)
		}
	}
}

// land takes the answers to a request down.
func (c *Checker) land(r *round, batch []*question, sights []observer.Sight, err error) {
	news := false
	for i, q := range batch {
		f := &fault{did: "could not be asked", wanted: thisGeneration}
		if err != nil {
			f.did += " (" + observer.Reason(err) + ")"
		} else {
			f = direct(q.proof.probes[q.probe], sights[i])
		}
		news = news || f == nil
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
	if news {
		c.hasten(r)
	}
}

// hasten has all that waits asked in the next request: the sidecar has got to know something.
func (c *Checker) hasten(r *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range r.waiting {
		q.hastened = true
	}
}

// board takes the questions that wait, as many as a request may have and of one patience:
// what is new does not wait for what is slow. Of those that have been put before it takes a
// sample now and then, unless the sidecar is known to have news. If none wait, the flight is
// over.
func (c *Checker) board(by viewer, r *round) (batch []*question, about observer.Question, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again := 0
	if now := time.Now(); now.Sub(r.sampled) >= samplePause {
		again = sample
	}
	var rest []*question
	for _, q := range r.waiting {
		repeated := q.tries > 0 && !q.hastened
		switch {
		case q.ctx.Err() != nil:
		case len(batch) == observer.MostHosts, len(batch) > 0 && patience(q) != about.Patience, repeated && again == 0:
			rest = append(rest, q)
		default:
			if repeated {
				again, r.sampled = again-1, time.Now()
			}
			q.hastened = false
			batch, about.Patience = append(batch, q), patience(q)
			about.Hosts = append(about.Hosts, hosts(q.proof.probes[q.probe])[q.next])
		}
	}
	r.waiting = rest
	if len(batch)+len(rest) > 0 {
		return batch, about, false
	}
	if r.flights--; r.flights == 0 {
		delete(c.rounds, by)
	}
	return nil, about, true
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
