package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// Plugin is an ingress plugin to install.
type Plugin struct {
	// Manifests are files or folders of YAML.
	Manifests []string
	// Images maps what the manifests call an image to a program, from which an image is made, or to an
	// image archive.
	Images map[string]string
}

func (l *Lab) pluginFile() string { return l.Host.Path("plugin.yaml") }

// Install puts an ingress plugin into the lab in place of the one that is there. Without manifests it is
// the product of this checkout.
func (l *Lab) Install(ctx context.Context, p Plugin) error {
	if err := p.check(); err != nil {
		return err
	}
	c, release, err := l.change(ctx)
	if err != nil {
		return err
	}
	defer release()
	if len(p.Manifests) == 0 {
		if p, err = l.product(ctx); err != nil {
			return err
		}
	}
	manifest, err := p.read()
	if err != nil {
		return err
	}
	manifest, err = l.resolve(ctx, c, manifest, p.Images)
	if err != nil {
		return err
	}
	return l.Progress.Step(ctx, "install plugin", func(ctx context.Context) error { return l.replace(ctx, c, manifest) })
}

// ParseImages reads NAME=PROGRAM_OR_ARCHIVE, what Plugin.Images holds.
func ParseImages(pairs []string) (map[string]string, error) {
	images := map[string]string{}
	for _, pair := range pairs {
		name, source, ok := strings.Cut(pair, "=")
		if !ok || name == "" || source == "" {
			return nil, fmt.Errorf("--image %s: want NAME=PROGRAM_OR_ARCHIVE", pair)
		}
		images[name] = source
	}
	return images, nil
}

// check refuses images that no manifest could name: those of this checkout are built.
func (p Plugin) check() error {
	if len(p.Images) > 0 && len(p.Manifests) == 0 {
		return errors.New("--image is for the manifests of -f, and none is given; without -f net-mesh of this checkout is built and installed")
	}
	return nil
}

// product is the plugin of this checkout, with a program for each image that its manifests name.
func (l *Lab) product(ctx context.Context) (Plugin, error) {
	p := Plugin{Manifests: []string{filepath.Join(l.Repo, "config")}, Images: map[string]string{}}
	manifest, err := p.read()
	if err != nil {
		return p, err
	}
	images, packages := productImages(manifest)
	return p, l.Progress.Step(ctx, "build net-mesh", func(ctx context.Context) error {
		dir, err := l.builder().Build(ctx, pins.Product(packages...))
		for i, image := range images {
			p.Images[image] = filepath.Join(dir, path.Base(packages[i]))
		}
		return err
	})
}

func (p Plugin) read() ([]byte, error) {
	var all []byte
	for _, m := range p.Manifests {
		files, err := manifestFiles(m)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			all = append(append(all, "\n---\n"...), text...)
		}
	}
	return all, nil
}

// manifestFiles returns the file itself, or the YAML files directly in a folder in order.
func manifestFiles(name string) ([]string, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", name, err)
	}
	if !st.IsDir() {
		return []string{name}, nil
	}
	files, err := filepath.Glob(filepath.Join(name, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("manifest folder %s holds no .yaml file", name)
	}
	return files, err
}

// replace takes away what the former plugin had and this one has not, then applies this one.
func (l *Lab) replace(ctx context.Context, c cluster.Cluster, manifest []byte) error {
	objects, err := platform.Parse(manifest)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, o := range objects {
		keep[identity(o)] = true
	}
	former, err := os.ReadFile(l.pluginFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	old, err := platform.Parse(former)
	if err != nil {
		return err
	}
	gone := old[:0]
	for _, o := range old {
		if !keep[identity(o)] {
			gone = append(gone, o)
		}
	}
	if len(gone) > 0 {
		text, err := platform.Print(gone)
		if err != nil {
			return err
		}
		if _, err := c.Kubectl(ctx, text, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(l.pluginFile(), manifest, 0o644); err != nil {
		return err
	}
	if err := c.Apply(ctx, manifest); err != nil {
		return err
	}
	if err := rollouts(ctx, c, objects); err != nil {
		return err
	}
	if err := loopbackAway(ctx, c, former, manifest); err != nil {
		return err
	}
	return l.apply(ctx, c, l.profile())
}
