package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/images"
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
	if err := l.mustBeUp(); err != nil {
		return err
	}
	release, err := l.lock(ctx, l.Host)
	if err != nil {
		return err
	}
	defer release()
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
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

// product is the plugin of this checkout.
func (l *Lab) product(ctx context.Context) (Plugin, error) {
	p := Plugin{Manifests: []string{filepath.Join(l.Repo, "config")}, Images: map[string]string{}}
	programs, err := filepath.Glob(filepath.Join(l.Repo, "cmd", "*"))
	if err != nil {
		return p, err
	}
	var packages []string
	for _, dir := range programs {
		packages = append(packages, "./cmd/"+filepath.Base(dir))
	}
	return p, l.Progress.Step(ctx, "build net-mesh", func(ctx context.Context) error {
		dir, err := l.builder().Build(ctx, pins.Product(packages...))
		for _, program := range packages {
			p.Images["ko://github.com/net-mesh/net-mesh/"+strings.TrimPrefix(program, "./")] = filepath.Join(dir, path.Base(program))
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

// resolve loads the images and writes their names into the manifest.
func (l *Lab) resolve(ctx context.Context, c cluster.Cluster, manifest []byte, sources map[string]string) ([]byte, error) {
	text := string(manifest)
	names := make([]string, 0, len(sources))
	for n := range sources {
		names = append(names, n)
	}
	sort.Sort(sort.Reverse(sort.StringSlice(names))) // the longer of two names with one beginning first
	for _, n := range names {
		if !strings.Contains(text, n) {
			continue
		}
		ref, err := l.loadPluginImage(ctx, c, n, sources[n])
		if err != nil {
			return nil, err
		}
		text = strings.ReplaceAll(text, n, ref)
	}
	if i := strings.Index(text, "ko://"); i >= 0 {
		rest, _, _ := strings.Cut(text[i:], "\n")
		return nil, fmt.Errorf("the manifest names image %s, which nothing provides: add --image %s=PROGRAM", rest, rest)
	}
	return []byte(text), nil
}

func (l *Lab) loadPluginImage(ctx context.Context, c cluster.Cluster, name, source string) (string, error) {
	if _, err := tarball.LoadManifest(func() (fsFile, error) { return os.Open(source) }); err == nil {
		return l.LoadImage(ctx, c, source)
	}
	base, _, _ := strings.Cut(path.Base(strings.TrimPrefix(name, "ko://")), "@")
	base, _, _ = strings.Cut(base, ":")
	image := images.Program("plugin-"+base, source)
	image.Tag = "content"
	file, err := image.Archive(l.Host.Cache)
	if err != nil {
		return "", err
	}
	if err := c.Load(ctx, file); err != nil {
		return "", err
	}
	return image.Ref()
}

// LoadImage imports an image archive and returns the image's name in it.
func (l *Lab) LoadImage(ctx context.Context, c cluster.Cluster, file string) (string, error) {
	manifest, err := tarball.LoadManifest(func() (fsFile, error) { return os.Open(file) })
	if err != nil {
		return "", fmt.Errorf("image archive %s: %w", file, err)
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) == 0 {
		return "", fmt.Errorf("image archive %s: want one image with a name, as 'docker save NAME' writes it", file)
	}
	return manifest[0].RepoTags[0], c.Import(ctx, file)
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
	return l.apply(ctx, c, l.profile())
}

// LoadImages imports image archives and says what they are called.
func (l *Lab) LoadImages(ctx context.Context, files []string) error {
	if err := l.mustBeUp(); err != nil {
		return err
	}
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		ref, err := l.LoadImage(ctx, c, f)
		if err != nil {
			return err
		}
		l.Progress.Say("%s", ref)
	}
	return nil
}
