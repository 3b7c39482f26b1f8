package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

// BenchOptions say what to measure.
type BenchOptions struct {
	// Counts are how many Ingresses are made at once, one run after the other.
	Counts []int
	// Mode is the profile.
	Mode string
	// Peer is another plugin to measure beside this checkout's; without manifests there is none.
	Peer Plugin
	// File receives the passes as JSON, when not "".
	File string
}

// Pass is what came of one rush with one plugin.
type Pass struct {
	Plugin string `json:"plugin"`
	Mode   string `json:"mode"`
	// Load is that of the machine before, over one minute.
	Load string `json:"load"`
	tally.Summary
	// Services is what a sidecar held when there were only the Services, Sidecar what it held in the end.
	Services Held `json:"services"`
	Sidecar  Held `json:"sidecar"`
	// Elsewhere is what it held when only the Ingresses' own namespace was told; nil where a plugin cannot.
	Elsewhere *Held           `json:"elsewhere,omitempty"`
	Ingresses []tally.Ingress `json:"ingresses"`
}

// Bench measures how long many Ingresses take, whether Ready is true, and what they cost a sidecar; first with
// this checkout, then with the peer. It leaves this checkout installed, and the profile set.
func (l *Lab) Bench(ctx context.Context, o BenchOptions) error {
	if err := errors.Join(checkProfile(o.Mode), o.Peer.check()); err != nil {
		return err
	}
	if len(o.Counts) == 0 || slices.Min(o.Counts) < 1 {
		return fmt.Errorf("counts %v: want at least one Ingress each", o.Counts)
	}
	m, err := l.Mesh(ctx)
	if err != nil {
		return err
	}
	passes, err := m.benchAll(ctx, o)
	err = errors.Join(err, m.RushGone(ctx))
	if len(passes) > 0 {
		fmt.Print(table(passes))
		err = errors.Join(err, writeJSON(o.File, passes))
	}
	return err
}

func (m Mesh) benchAll(ctx context.Context, o BenchOptions) ([]Pass, error) {
	passes, err := m.benchPlugin(ctx, "net-mesh", Plugin{}, o)
	if err != nil || len(o.Peer.Manifests) == 0 {
		return passes, err
	}
	more, err := m.benchPlugin(ctx, "peer", o.Peer, o)
	return append(passes, more...), errors.Join(err, m.lab.Install(ctx, Plugin{}))
}

func (m Mesh) benchPlugin(ctx context.Context, name string, p Plugin, o BenchOptions) ([]Pass, error) {
	if err := m.lab.Install(ctx, p); err != nil {
		return nil, err
	}
	if err := m.lab.SetProfile(ctx, o.Mode, false); err != nil {
		return nil, err
	}
	// The first of all finds a plugin that is at work.
	if _, err := m.measure(ctx, 1); err != nil {
		return nil, err
	}
	var passes []Pass
	for _, n := range o.Counts {
		var one Pass
		err := m.lab.Progress.Step(ctx, fmt.Sprintf("%s: %d Ingresses at once", name, n), func(ctx context.Context) (err error) {
			one, err = m.measure(ctx, n)
			return err
		})
		if err != nil {
			return passes, err
		}
		one.Plugin, one.Mode = name, o.Mode
		passes = append(passes, one)
	}
	return passes, nil
}

// measure makes one rush, from nothing to nothing.
func (m Mesh) measure(ctx context.Context, n int) (p Pass, err error) {
	if err := m.RushStage(ctx, n); err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, m.RushAway(ctx)) }()
	if p.Services, err = m.RushHeld(ctx); err != nil {
		return p, err
	}
	p.Load = loadOf("/proc/loadavg")
	if p.Ingresses, err = m.Rush(ctx, n); err != nil {
		return p, err
	}
	p.Summary = tally.Sum(p.Ingresses)
	if p.Sidecar, err = m.RushHeld(ctx); err != nil {
		return p, err
	}
	p.Elsewhere, err = m.elsewhere(ctx)
	return p, err
}

// elsewhere tells only the namespace of the Ingresses of them, for a while, and looks at what is left in the
// sidecar of another one.
func (m Mesh) elsewhere(ctx context.Context) (_ *Held, err error) {
	const key = "export-to.apps"
	if !m.exports(ctx) {
		return nil, nil
	}
	if err := setConfig(ctx, m.Cluster, "config-istio", map[string]string{key: "."}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, setConfig(ctx, m.Cluster, "config-istio", nil, key)) }()
	var h Held
	err = m.until(ctx, "the sidecar of another namespace to be left with the Services", func(now Held) bool {
		h = now
		return now.Ruled == 0
	})
	return &h, err
}

// exports says whether the installed plugin is one that can limit who is told: this checkout's.
func (m Mesh) exports(ctx context.Context) bool {
	account, err := m.Kubectl(ctx, nil, "-n", "knative-serving", "get", "deployment", "net-istio-controller", "-o", "jsonpath={.spec.template.spec.serviceAccountName}")
	return err == nil && account == "net-mesh-controller"
}

func loadOf(file string) string {
	text, _ := os.ReadFile(file)
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func writeJSON(file string, v any) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
