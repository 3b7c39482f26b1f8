package apply

import (
	"sync"
	"time"
)

// refusalHolds is how long a refused deletion speaks for its namespace.
const refusalHolds = 10 * time.Minute

// refusals remembers the namespaces in which copies of Secrets may not be deleted. Real copies are
// only where the controller may write, but anybody may label a Secret as one: what has been refused
// once is not tried with every reconciliation of every Ingress. Rights may come later, so it is
// tried again after a while.
type refusals struct {
	now func() time.Time

	mu    sync.Mutex
	until map[string]time.Time
}

func (r *refusals) note(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	for other, until := range r.until {
		if !until.After(r.now()) {
			delete(r.until, other)
		}
	}
	r.until[namespace] = r.now().Add(refusalHolds)
}

// hold says whether a deletion in a namespace was refused of late.
func (r *refusals) hold(namespace string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until[namespace].After(r.now())
}
