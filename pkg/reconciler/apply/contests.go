package apply

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

const (
	// ContestPause is between two attempts to put right an object that somebody changes each time.
	ContestPause = time.Minute
	// contestBurst is how often an object is put right at once: a person who edits it is not somebody
	// who changes it each time.
	contestBurst = 5
)

// contests remembers objects that were put right of late. A mutating webhook, or another controller,
// that changes ours as often as it is written would otherwise have it written without end.
type contests struct {
	now func() time.Time

	mu    sync.Mutex
	of    map[contested]*contest
	swept time.Time
}

// contested is one object: a successor of the same name is another. With a holder it is about nothing
// but that this one is written down there.
type contested struct {
	finding.Ref
	uid, holder types.UID
}

// contest is about one content of one object: who wants another content begins anew.
type contest struct {
	all     *contests
	wanted  object
	limiter *rate.Limiter
	// open: the object was left as it is, and has not been seen as it is wanted since.
	open bool
}

// about returns the contest about an object; unchanged tells whether what was wanted before is what is
// wanted now.
func (c *contests) about(which contested, want object, unchanged func(before object) bool) *contest {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(c.now())
	one := c.of[which]
	if one == nil || !unchanged(one.wanted) {
		one = &contest{all: c, wanted: want, limiter: rate.NewLimiter(rate.Every(ContestPause), contestBurst)}
		c.of[which] = one
	}
	return one
}

// over tells that an object is as it is wanted.
func (c *contests) over(which contested) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweep(c.now())
	if one := c.of[which]; one != nil {
		one.open = false
	}
}

// lost says whether the object is to be left as it is for now, and whether people are to be told: they
// are until it is seen right, lest each attempt tell them that all is well.
func (c *contest) lost() (lost, told bool) {
	if c == nil {
		return false, false
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	lost = c.limiter.TokensAt(c.all.now()) < 1
	c.open = c.open || lost
	return lost, c.open
}

// written counts a write. One that was refused, since the cache was a moment behind, is none.
func (c *contest) written() {
	if c != nil {
		c.limiter.AllowN(c.all.now(), 1)
	}
}

// sweep forgets whose object nobody has changed for long. It looks no more often than that may be so.
func (c *contests) sweep(now time.Time) {
	if now.Sub(c.swept) < ContestPause {
		return
	}
	c.swept = now
	for which, one := range c.of {
		if one.limiter.TokensAt(now) >= contestBurst {
			delete(c.of, which)
		}
	}
}
