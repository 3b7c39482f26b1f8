package readiness

import (
	"math/rand/v2"
	"slices"
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
	// flights counts the requests under way. slow: one of them has the greater patience.
	flights int
	slow    bool
	// sampled is when questions were last put once more, by their patience.
	sampled map[time.Duration]time.Time
}

// join has a question wait for the next request to its sidecar. It does not block, so
// sidecars that are dead keep no worker.
func (c *Checker) join(q *question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.rounds[q.by]
	if r == nil {
		r = &round{sampled: map[time.Duration]time.Time{}}
		c.rounds[q.by] = r
	}
	r.waiting = append(r.waiting, q)
	if r.flights < perSidecar {
		c.start(q.by, r)
	}
}

// start has another flight take from what waits.
func (c *Checker) start(by viewer, r *round) {
	r.flights++
	c.working.Go(func() { c.fly(by, r) })
}

// fly asks until nothing waits, or nothing that another flight does not see to.
func (c *Checker) fly(by viewer, r *round) {
	var before time.Duration
	for {
		select {
		case <-time.After(linger):
		case <-c.ctx.Done():
		}
		batch, about, over := c.board(by, r, before)
		before = about.Patience
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
// over; its request before had a patience.
func (c *Checker) board(by viewer, r *round, before time.Duration) (batch []*question, about observer.Question, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.slow = r.slow && before != observer.MostPatience
	r.waiting = slices.DeleteFunc(r.waiting, func(q *question) bool { return q.ctx.Err() != nil })
	turn := r.turn()
	again := r.samples(turn)
	var rest []*question
	for _, q := range r.waiting {
		repeated := q.tries > 0 && !q.hastened
		if len(batch) == observer.MostHosts || patience(q) != turn || repeated && again == 0 {
			rest = append(rest, q)
			continue
		}
		if repeated {
			again, r.sampled[turn] = again-1, time.Now()
		}
		q.hastened = false
		batch, about.Patience = append(batch, q), turn
		about.Hosts = append(about.Hosts, hosts(q.proof.probes[q.probe])[q.next])
	}
	r.waiting = rest
	if about.Patience == observer.MostPatience {
		r.slow = true
		if r.flights < perSidecar && len(rest) > 0 {
			c.start(by, r)
		}
	}
	if len(batch) > 0 || slices.ContainsFunc(rest, func(q *question) bool { return !r.slow || patience(q) == hurry }) {
		return batch, about, false
	}
	if r.flights--; r.flights == 0 {
		delete(c.rounds, by)
	}
	return nil, about, true
}

// turn is the patience of those that may be asked now. One flight at a time has the greater, and
// of two one has it if it can: so nobody waits long behind those who wait for nothing. A flight
// that is alone sees to what is quick first; whoever comes later starts another.
func (r *round) turn() time.Duration {
	var quick, slow bool
	moreQuick, moreSlow := r.samples(hurry) > 0, r.samples(observer.MostPatience) > 0
	for _, q := range r.waiting {
		once := q.tries == 0 || q.hastened
		if patience(q) == hurry {
			quick = quick || once || moreQuick
		} else {
			slow = slow || once || moreSlow
		}
	}
	if slow && !r.slow && (!quick || r.flights == perSidecar) {
		return observer.MostPatience
	}
	return hurry
}

// samples is how many questions of a patience may be put once more: what two flights would have put
// where one was long under way.
func (r *round) samples(patience time.Duration) int {
	return sample * int(min(perSidecar, time.Since(r.sampled[patience])/samplePause))
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
