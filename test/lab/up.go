package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// Up brings the lab up, or heals it: every step leaves alone what is already as it should be. With a
// profile, the mesh is made for that one; with "" it stays as it was, gateway at first.
func (l *Lab) Up(ctx context.Context, profile string) error {
	if err := checkProfile(profile); profile != "" && err != nil {
		return err
	}
	release, err := l.lock(ctx, l.Host)
	if err != nil {
		return err
	}
	defer release()
	p, err := l.build(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(l.Host.Register(), l.samePins(p)); err != nil {
		return err
	}
	changed := profile != "" && profile != l.profile().Name
	if changed {
		if err := l.remember(profile, false); err != nil {
			return err
		}
	}
	c := cluster.Cluster{Host: l.Host, Programs: p.Kubernetes}
	if err := l.bringUp(ctx, c, p); err != nil {
		return err
	}
	if changed {
		if err := l.apply(ctx, c, l.profile()); err != nil {
			return err
		}
	}
	l.Progress.Say("lab %s is up after %s: KUBECONFIG=%s inside network namespace %s", l.Host.Name, l.Progress.Elapsed(), c.Kubeconfig(), l.Host.NetNS())
	return nil
}

// samePins refuses to heal a lab with programs of other versions: the mixture would be none that anybody
// can name.
func (l *Lab) samePins(p parts) error {
	now := strings.Join([]string{filepath.Base(p.Kubernetes), filepath.Base(p.Istio), filepath.Base(p.Knative)}, " ")
	made, err := os.ReadFile(l.Host.Path("pins"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.WriteFile(l.Host.Path("pins"), []byte(now), 0o644)
	}
	if err == nil && string(made) != now {
		err = fmt.Errorf("lab %s was made from other pins (%s, now %s): 'lab down' it first", l.Host.Name, made, now)
	}
	return err
}

func (l *Lab) bringUp(ctx context.Context, c cluster.Cluster, p parts) error {
	if err := l.Host.EnsureLimits(); err != nil {
		l.Progress.Say("%v", err) // a lab that is alone does with less
	}
	if err := l.Progress.Step(ctx, "network", l.Host.EnsureNetwork); err != nil {
		return err
	}
	// Images go in while the control plane starts; what depends on what is told by channels, not by order.
	g, ctx := errgroup.WithContext(ctx)
	u := &upward{Lab: l, parts: p, cluster: c, loaded: make(chan struct{}), api: make(chan struct{}), mesh: make(chan struct{})}
	g.Go(func() error { return u.images(ctx) })
	g.Go(func() error { return u.kubernetes(ctx) })
	g.Go(func() error { return u.istio(ctx) })
	g.Go(func() error { return u.serving(ctx) })
	return g.Wait()
}

// upward is one run of Up. Its channels close when: all images needed so far are loaded; the API server
// answers; istiod injects.
type upward struct {
	*Lab
	parts   parts
	cluster cluster.Cluster
	loaded  chan struct{}
	api     chan struct{}
	mesh    chan struct{}
}

func (u *upward) images(ctx context.Context) error {
	if err := u.Progress.Step(ctx, "containerd", u.cluster.Runtime); err != nil {
		return err
	}
	first := append(append([]images.Image{u.parts.PauseImage()}, u.parts.Cluster()...), append(u.parts.Mesh(), u.parts.Serving()...)...)
	if err := u.Progress.Step(ctx, "load images", func(ctx context.Context) error { return u.load(ctx, u.cluster, first) }); err != nil {
		return err
	}
	close(u.loaded)
	return u.Progress.Step(ctx, "load test images", func(ctx context.Context) error { return u.load(ctx, u.cluster, u.parts.Tests()) })
}

func (l *Lab) load(ctx context.Context, c cluster.Cluster, all []images.Image) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for _, i := range all {
		g.Go(func() error {
			file, err := i.Archive(l.Host.Cache)
			if err != nil {
				return err
			}
			return c.Load(ctx, file)
		})
	}
	return g.Wait()
}

func (u *upward) kubernetes(ctx context.Context) error {
	if err := u.Progress.Step(ctx, "control plane", u.cluster.ControlPlane); err != nil {
		return err
	}
	close(u.api)
	if err := await(ctx, u.loaded); err != nil {
		return err
	}
	if err := u.Progress.Step(ctx, "node", u.cluster.Node); err != nil {
		return err
	}
	return u.Progress.Step(ctx, "DNS", func(ctx context.Context) error {
		if err := u.cluster.Apply(ctx, platform.CoreDNS); err != nil {
			return err
		}
		return u.cluster.Rollout(ctx, "kube-system", "coredns")
	})
}

func (u *upward) istio(ctx context.Context) error {
	istiod, gateway, err := platform.Istio(ctx, u.parts.Istio, u.Host.Dir)
	if err != nil {
		return err
	}
	if err := await(ctx, u.api); err != nil {
		return err
	}
	err = u.Progress.Step(ctx, "Istio", func(ctx context.Context) error {
		if err := u.cluster.Apply(ctx, namespace("istio-system")); err != nil {
			return err
		}
		if err := u.cluster.Apply(ctx, istiod); err != nil {
			return err
		}
		if err := u.cluster.Apply(ctx, platform.Mesh); err != nil {
			return err
		}
		return u.cluster.Rollout(ctx, "istio-system", "istiod")
	})
	if err != nil {
		return err
	}
	close(u.mesh)
	if err := os.WriteFile(u.gatewayFile(), gateway, 0o644); err != nil {
		return err
	}
	if u.profile().MeshOnly {
		return nil
	}
	return u.Progress.Step(ctx, "ingress gateway", func(ctx context.Context) error { return u.gatewayUp(ctx, u.cluster) })
}

func (u *upward) serving(ctx context.Context) error {
	definitions, core, err := servingObjects(ctx, u.parts.Builder)
	if err != nil {
		return err
	}
	if err := await(ctx, u.api); err != nil {
		return err
	}
	return u.Progress.Step(ctx, "Knative Serving", func(ctx context.Context) error {
		if err := u.cluster.Apply(ctx, definitions); err != nil {
			return err
		}
		if _, err := u.cluster.Kubectl(ctx, definitions, "wait", "--for=condition=Established", "--timeout=60s", "-f", "-"); err != nil {
			return err
		}
		// Pods of Serving are born when istiod can inject them.
		if err := await(ctx, u.mesh); err != nil {
			return err
		}
		if err := u.cluster.Apply(ctx, core); err != nil {
			return err
		}
		return u.cluster.Rollout(ctx, "knative-serving", "webhook", "controller", "activator", "autoscaler")
	})
}

func servingObjects(ctx context.Context, b pins.Builder) (definitions, core []byte, err error) {
	var s platform.Sources
	for module, dir := range map[string]*string{"knative.dev/serving": &s.Serving, "knative.dev/networking": &s.Networking, "knative.dev/caching": &s.Caching} {
		if *dir, err = b.ModuleDir(ctx, pins.Knative(), module); err != nil {
			return nil, nil, err
		}
	}
	return s.Objects()
}

func namespace(name string) []byte {
	return fmt.Appendf(nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name)
}

func await(ctx context.Context, event <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-event:
		return nil
	}
}

func (l *Lab) gatewayFile() string { return filepath.Join(l.Host.Dir, "gateway.yaml") }
