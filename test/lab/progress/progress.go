// Package progress answers: what is the lab doing now, and how long did it take?
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Printer reports steps: a live line on a terminal, one plain line per finished step elsewhere.
type Printer struct {
	out     io.Writer
	live    bool
	start   time.Time
	mu      sync.Mutex
	running map[string]time.Time
}

// New returns a Printer on f, live when f is a terminal.
func New(f *os.File) *Printer {
	return &Printer{out: f, live: term.IsTerminal(int(f.Fd())), start: time.Now(), running: map[string]time.Time{}}
}

// Step runs do under a name and reports how it ended. The error is returned with the name in front.
func (p *Printer) Step(ctx context.Context, name string, do func(context.Context) error) error {
	begin := time.Now()
	p.change(func() { p.running[name] = begin })
	stop := p.tick()
	err := do(ctx)
	stop()
	took := time.Since(begin).Round(100 * time.Millisecond)
	p.change(func() {
		delete(p.running, name)
		if err != nil {
			p.line("failed", name, took)
			return
		}
		p.line("done", name, took)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Say prints one line.
func (p *Printer) Say(format string, args ...any) {
	p.change(func() { fmt.Fprintf(p.out, format+"\n", args...) })
}

// Elapsed is the time since the Printer was made.
func (p *Printer) Elapsed() time.Duration { return time.Since(p.start).Round(100 * time.Millisecond) }

func (p *Printer) line(how, name string, took time.Duration) {
	fmt.Fprintf(p.out, "%7.1fs  %-6s  %s (%s)\n", time.Since(p.start).Seconds(), how, name, took)
}

// tick refreshes the live line each second; without a terminal it does nothing.
func (p *Printer) tick() (stop func()) {
	if !p.live {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				p.change(func() {})
			}
		}
	}()
	return func() { close(done) }
}

// change clears the live line, lets do print or change state, and draws the line again.
func (p *Printer) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	do()
	if !p.live || len(p.running) == 0 {
		return
	}
	names := make([]string, 0, len(p.running))
	for n, at := range p.running {
		names = append(names, fmt.Sprintf("%s %.0fs", n, time.Since(at).Seconds()))
	}
	sort.Strings(names)
	text := "… " + strings.Join(names, ", ")
	if w, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && len([]rune(text)) >= w && w > 2 {
		text = string([]rune(text)[:w-2]) + "…"
	}
	fmt.Fprint(p.out, text)
}
