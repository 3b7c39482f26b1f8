package lab

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
)

const productModule = "ko://github.com/net-mesh/net-mesh/"

var productImage = regexp.MustCompile(regexp.QuoteMeta(productModule) + `[a-z0-9/_-]+`)

// productImages returns what a manifest calls the images of this checkout, and the package of each.
func productImages(manifest []byte) (images, packages []string) {
	images = productImage.FindAllString(string(manifest), -1)
	slices.Sort(images)
	images = slices.Compact(images)
	for _, image := range images {
		packages = append(packages, "./"+strings.TrimPrefix(image, productModule))
	}
	return images, packages
}

// resolve loads the images and writes their names into the manifest.
func (l *Lab) resolve(ctx context.Context, c cluster.Cluster, manifest []byte, sources map[string]string) ([]byte, error) {
	loaded := map[string]string{}
	for name, source := range sources {
		if !bytes.Contains(manifest, []byte(name)) {
			continue
		}
		ref, err := l.loadPluginImage(ctx, c, name, source)
		if err != nil {
			return nil, err
		}
		loaded[name] = ref
	}
	return rename(string(manifest), loaded)
}

// rename replaces what a manifest calls its images by the names that they were loaded by. No image may
// be left that nothing provides.
func rename(manifest string, loaded map[string]string) ([]byte, error) {
	names := slices.Sorted(maps.Keys(loaded))
	slices.Reverse(names) // the longer of two names with one beginning first
	for _, name := range names {
		manifest = strings.ReplaceAll(manifest, name, loaded[name])
	}
	if i := strings.Index(manifest, "ko://"); i >= 0 {
		rest, _, _ := strings.Cut(manifest[i:], "\n")
		return nil, fmt.Errorf("the manifest names image %s, which nothing provides: add --image %s=PROGRAM", rest, rest)
	}
	return []byte(manifest), nil
}

func (l *Lab) loadPluginImage(ctx context.Context, c cluster.Cluster, name, source string) (string, error) {
	if _, err := tarball.LoadManifest(func() (fsFile, error) { return os.Open(source) }); err == nil {
		return l.LoadImage(ctx, c, source)
	}
	base, _, _ := strings.Cut(path.Base(strings.TrimPrefix(name, "ko://")), "@")
	base, _, _ = strings.Cut(base, ":")
	return l.loadProgram(ctx, c, "plugin-"+base, source)
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

// LoadImages imports image archives and says what they are called.
func (l *Lab) LoadImages(ctx context.Context, files []string) error {
	c, err := l.running(ctx)
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
