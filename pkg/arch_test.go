package pkg_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/net-mesh/net-mesh/pkg/"

// line lists the stations in order; each may import those before it. The last two
// are not pure: they read and write.
var line = []string{"finding", "config", "snapshot", "model", "plan", "resources", "translate", "reconciler"}

const pure = 7 // how many of them are

// forbidden lists what pure packages may not import, by prefix: they get all they
// need as values.
var forbidden = []string{
	"context", "log", "os", "math/rand", "net/http", "time",
	"k8s.io/client-go", "istio.io/client-go/pkg/clientset", "istio.io/client-go/pkg/informers", "istio.io/client-go/pkg/listers",
	"knative.dev/networking/pkg/client", "knative.dev/pkg/client", "knative.dev/pkg/controller", "knative.dev/pkg/configmap",
	"knative.dev/pkg/injection", "knative.dev/pkg/logging", "knative.dev/pkg/network", "knative.dev/pkg/reconciler", "knative.dev/pkg/system",
	"go.uber.org/zap",
}

// limits lists who alone may import some types: the Ingress is not seen after
// model, Istio's output types not before resources (snapshot reads Gateways that
// others wrote), config not after plan.
var limits = map[string][]string{
	"knative.dev/networking/pkg/apis/networking/v1alpha1": {"snapshot", "model"},
	"istio.io/":       {"snapshot", "resources"},
	module + "config": {"snapshot", "model", "plan"},
}

// TestImportsFollowTheLine holds the laws of the architecture that concern imports.
func TestImportsFollowTheLine(t *testing.T) {
	for i, station := range line[:pure] {
		for file, imports := range importsOf(t, station) {
			for _, path := range imports {
				checkOrder(t, file, path, line[:i])
				checkPure(t, file, path)
				checkLimits(t, file, station, path)
			}
		}
	}
}

// preview is what the command line may use of the reconciler: whether an object differs is
// not to be decided twice.
const preview = module + "reconciler/apply"

// beside is a pure package that is not on the line: it looks at what stands around the routes,
// and nothing that is written follows from it.
const beside = "doctor"

// TestDoctorStandsBesideTheLine: it types documents of others, and is as pure as the line.
func TestDoctorStandsBesideTheLine(t *testing.T) {
	for file, imports := range importsOf(t, beside) {
		for _, path := range imports {
			checkOrder(t, file, path, line[:3])
			checkPure(t, file, path)
			if strings.HasPrefix(path, "knative.dev/networking/pkg/apis/") {
				t.Errorf("%s imports %s, but routes and revisions come in its own words", file, path)
			}
		}
	}
}

// TestCommandLineUsesThePurePartOnly: the command line shows what the controller would
// do, so it goes through the same door and through no other. It asks the writer of
// package apply for a Preview, and never has it write.
func TestCommandLineUsesThePurePartOnly(t *testing.T) {
	for file, imports := range importsOf(t, "cli") {
		for _, path := range imports {
			if path != preview {
				checkOrder(t, file, path, append(slices.Clone(line[:pure]), beside))
			}
		}
		for _, station := range []string{"model.FromIngress(", "plan.Decide(", "resources.Render(", ".Sync(", ".Prune(", ".Finalize("} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), station) {
				t.Errorf("%s calls %s...), but translate.Ingress and Preview are the only doors", file, station)
			}
		}
	}
}

func checkOrder(t *testing.T, file, path string, earlier []string) {
	own, ok := strings.CutPrefix(path, module)
	if ok && !slices.Contains(earlier, own) {
		t.Errorf("%s imports %s, which does not come before it on the line", file, path)
	}
}

func checkPure(t *testing.T, file, path string) {
	for _, prefix := range forbidden {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			t.Errorf("%s imports %s, but pure packages get all they need as values", file, path)
		}
	}
}

func checkLimits(t *testing.T, file, station, path string) {
	for prefix, allowed := range limits {
		if strings.HasPrefix(path, prefix) && !slices.Contains(allowed, station) {
			t.Errorf("%s imports %s, which only %v may see", file, path, allowed)
		}
	}
}

// importsOf parses the imports of a package's files, tests left out.
func importsOf(t *testing.T, station string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(station, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			out[file] = append(out[file], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("package %s has no files", station)
	}
	return out
}
