package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// SuiteNames lists Serving's suites in order.
func SuiteNames() []string {
	var names []string
	for n := range pins.ServingSuites {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// ServingSuite runs one of Knative Serving's own suites against the installed plugin, whole or the tests
// that match run.
func (l *Lab) ServingSuite(ctx context.Context, suite, run string) error {
	group, known := pins.ServingSuites[suite]
	if !known {
		return fmt.Errorf("suite %q is none of %s", suite, strings.Join(SuiteNames(), ", "))
	}
	if err := l.mustBeUp(); err != nil {
		return err
	}
	var dir string
	err := l.Progress.Step(ctx, "build suite "+suite, func(ctx context.Context) (err error) {
		dir, err = l.builder().Build(ctx, group)
		return err
	})
	if err != nil {
		return err
	}
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	if err := l.suiteSetup(ctx, c); err != nil {
		return err
	}
	p := l.profile()
	args := suiteArgs(p, run)
	in, err := l.suiteFor(ctx, c, p, filepath.Join(dir, group.Name+".test"))
	if err != nil {
		return err
	}
	file := l.Host.Path("suites", suite+".log")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := in(ctx, file, os.Stdout, args...); err != nil {
		return fmt.Errorf("suite %s: %w; its output is in %s", suite, err, file)
	}
	return nil
}

// suiteArgs are the flags of a suite of Serving. Without a gateway public hosts are called as those of a mesh
// are: by DNS, and by a sidecar, which routes by the host.
func suiteArgs(p Profile, run string) []string {
	args := append(imagesOf(images.ServingTag),
		"-test.v", "-test.timeout", "60m", "-test.parallel", "2", "-disable-logstream", "-enable-alpha", "-enable-beta")
	if run != "" {
		args = append(args, "-test.run", run)
	}
	if p.MeshOnly {
		args = append(args, "-resolvabledomain", "-customdomain", platform.MappedDomain)
	}
	return args
}

// suiteSettings are what Serving's own continuous integration sets for its suites, by ConfigMap.
var suiteSettings = []struct{ configMap, key, value string }{
	{"config-deployment", "progress-deadline", "120s"},
	{"config-network", "autocreate-cluster-domain-claims", "true"},
	{"config-features", "tag-header-based-routing", "Enabled"},
}

// suiteSetup loads the images of Serving's suites, and makes the objects and settings that they expect to
// find. They stay.
func (l *Lab) suiteSetup(ctx context.Context, c cluster.Cluster) error {
	err := l.Progress.Step(ctx, "images of Serving's suites", func(ctx context.Context) error {
		programs, err := l.builder().Build(ctx, pins.ServingTests())
		if err != nil {
			return err
		}
		return l.load(ctx, c, images.ServingTests(programs))
	})
	if err != nil {
		return err
	}
	for _, s := range suiteSettings {
		patch := fmt.Sprintf(`{"data":{%q:%q}}`, s.key, s.value)
		if _, err := c.Kubectl(ctx, nil, "-n", "knative-serving", "patch", "configmap", s.configMap, "--type=merge", "-p", patch); err != nil {
			return err
		}
	}
	resources, err := l.suiteResources(ctx)
	if err != nil {
		return err
	}
	return c.Apply(ctx, resources)
}

// suiteResources are the objects that Serving's suites expect to find.
func (l *Lab) suiteResources(ctx context.Context) ([]byte, error) {
	module, err := l.builder().ModuleDir(ctx, pins.Knative(), "knative.dev/serving")
	if err != nil {
		return nil, err
	}
	return Plugin{Manifests: []string{filepath.Join(module, "test", "config", "test-resources.yaml")}}.read()
}
