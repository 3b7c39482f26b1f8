// Package lab answers: what can a developer do with a mesh on one machine? Each exported method of Lab is
// one command of the lab program.
package lab

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/progress"
)

// Lab is one lab of one checkout.
type Lab struct {
	Host     host.Host
	Repo     string
	Progress *progress.Printer
}

// New returns the lab called name for the checkout at repo.
func New(name, repo string) (*Lab, error) {
	h, err := host.New(name)
	if err != nil {
		return nil, err
	}
	return &Lab{Host: h, Repo: repo, Progress: progress.New(os.Stderr)}, nil
}

func (l *Lab) builder() pins.Builder { return pins.Builder{Repo: l.Repo, Cache: l.Host.Cache} }

// lock keeps other programs from changing a lab, and says so when it has to wait for one.
func (l *Lab) lock(ctx context.Context, h host.Host) (release func(), err error) {
	return h.Lock(ctx, func() { l.Progress.Say("lab %s is being changed by another program: waiting for it", h.Name) })
}

// parts are the built programs of a lab.
type parts struct {
	images.Sources
	Builder pins.Builder
}

// build makes every program and the base file system the lab runs. The module builds run one after the
// other, because each of them uses all processors; downloads run beside them.
func (l *Lab) build(ctx context.Context) (parts, error) {
	b := l.builder()
	p := parts{Builder: b}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for _, part := range []struct {
			group pins.Group
			dir   *string
		}{{pins.Kubernetes(), &p.Kubernetes}, {pins.Knative(), &p.Knative}, {pins.Istio(), &p.Istio}, {pauseProgram(), &p.Pause}} {
			err := l.Progress.Step(ctx, "build "+part.group.Name, func(ctx context.Context) (err error) {
				*part.dir, err = b.Build(ctx, part.group)
				return err
			})
			if err != nil {
				return err
			}
		}
		p.Pause = filepath.Join(p.Pause, "pause")
		var err error
		p.IstioModule, err = b.ModuleDir(ctx, pins.Istio(), "istio.io/istio")
		return err
	})
	g.Go(func() error {
		return l.Progress.Step(ctx, "fetch Envoy", func(ctx context.Context) (err error) {
			p.Envoy, err = b.Envoy(ctx)
			return err
		})
	})
	g.Go(func() error {
		return l.Progress.Step(ctx, "base file system", func(ctx context.Context) (err error) {
			p.Base, err = images.Base(ctx, l.Host.Cache)
			return err
		})
	})
	return p, g.Wait()
}

func pauseProgram() pins.Group {
	g := pins.Product("./hack/lab/pause")
	g.Name, g.Sources = "pause", []string{"hack/lab/pause"}
	return g
}

// cluster returns the lab's Kubernetes for commands on a lab that is up.
func (l *Lab) cluster(ctx context.Context) (cluster.Cluster, error) {
	dir, err := l.builder().Build(ctx, pins.Kubernetes())
	return cluster.Cluster{Host: l.Host, Programs: dir}, err
}

// running is cluster, and an error for a lab that is not up.
func (l *Lab) running(ctx context.Context) (cluster.Cluster, error) {
	if err := l.mustBeUp(); err != nil {
		return cluster.Cluster{}, err
	}
	return l.cluster(ctx)
}

// change is running, for a command that nobody else may disturb until it calls release.
func (l *Lab) change(ctx context.Context) (c cluster.Cluster, release func(), err error) {
	if release, err = l.lock(ctx, l.Host); err != nil {
		return c, nil, err
	}
	if c, err = l.running(ctx); err != nil {
		release()
		return c, nil, err
	}
	return c, release, nil
}

// Build makes everything that the lab runs and the suites it can run, so that later commands need not.
func (l *Lab) Build(ctx context.Context) error {
	p, err := l.build(ctx)
	if err != nil {
		return err
	}
	return l.Progress.Step(ctx, "build conformance suite", func(ctx context.Context) error {
		_, err := p.Builder.Build(ctx, pins.Conformance())
		return err
	})
}
