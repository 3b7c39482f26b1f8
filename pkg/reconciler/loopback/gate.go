package loopback

import "sync"

// Gate tells the loop of Ingresses when what they have from before may go. While the way from
// a local gateway to the loopback, or back, is not finished, both ways are needed.
type Gate struct {
	mu sync.Mutex
	// settled says for which of the two, loopback or none, the way is finished.
	settled map[bool]bool
	// held: somebody was told to wait.
	held bool
	open func()
}

// NewGate is shut until the loop of the loopback has looked for the first time.
func NewGate() *Gate { return &Gate{settled: map[bool]bool{}} }

// OpenGate is for where no loop keeps a loopback: there is nothing to wait for.
func OpenGate() *Gate { return &Gate{settled: map[bool]bool{true: true, false: true}} }

// OnOpen has f called when somebody who was told to wait need not any more. f must not call
// the Gate.
func (g *Gate) OnOpen(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = f
}

// Settled says whether the way to the loopback, or to none, is finished.
func (g *Gate) Settled(loopback bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.settled[loopback] {
		g.held = true
	}
	return g.settled[loopback]
}

// set takes down how far the way is.
func (g *Gate) set(loopback, settled bool) {
	g.mu.Lock()
	open := g.open
	wake := settled && g.held && !g.settled[loopback]
	g.settled = map[bool]bool{loopback: settled}
	if wake {
		g.held = false
	}
	g.mu.Unlock()
	if wake && open != nil {
		open()
	}
}
