// Package pins answers: which programs does the lab run, of which version, and where are they built?
// The versions are those of third_party; a build is found again by the content of what decides it.
package pins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// KubernetesVersion is what third_party/kubernetes pins. The programs are told it when they are linked:
// without a version Knative's check of the API server fails.
const KubernetesVersion = "v1.35.4"

// Group is one module of third_party, or the product itself, and the programs built from it in one go.
type Group struct {
	// Name is that of its folder in the cache.
	Name string
	// Module is the folder of go.mod, from the root of the checkout.
	Module string
	// Packages to build; a program is named after the last part of its package.
	Packages []string
	// Test makes a test binary of the only package, called Name.test, with these build tags.
	Test bool
	Tags string
	// LDFlags are added to -s -w.
	LDFlags string
	// Sources are folders of the checkout whose content decides the build, besides go.mod and go.sum.
	Sources []string
}

const (
	serving    = "knative.dev/serving/"
	networking = "knative.dev/networking/"
)

// Kubernetes builds the control plane, the node's programs, etcd and CoreDNS.
func Kubernetes() Group {
	return Group{
		Name: "kubernetes", Module: "third_party/kubernetes",
		Packages: append(under("k8s.io/kubernetes/cmd/", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
			"go.etcd.io/etcd/server/v3", "github.com/coredns/coredns"),
		LDFlags: "-X k8s.io/component-base/version.gitVersion=" + KubernetesVersion +
			" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35",
	}
}

// Istio builds istiod, the sidecar's agent and istioctl.
func Istio() Group {
	return Group{
		Name: "istio", Module: "third_party/istio",
		Packages: []string{"istio.io/istio/pilot/cmd/pilot-discovery", "istio.io/istio/pilot/cmd/pilot-agent", "istio.io/istio/istioctl/cmd/istioctl"},
	}
}

// ServingPrograms are Serving's own images; TestPrograms those of the suites.
var (
	ServingPrograms = []string{"activator", "autoscaler", "controller", "queue", "webhook"}
	TestPrograms    = append(append([]string{}, networkingImages...), servingImages...)

	networkingImages = []string{"grpc-ping", "httpproxy", "retry", "runtime", "timeout", "wsserver"}
	servingImages    = []string{"autoscale", "failing", "hellohttp2", "helloworld", "pizzaplanetv1", "pizzaplanetv2", "readiness", "singlethreaded", "slowstart"}
)

// Knative builds Serving and the images of the test suites.
func Knative() Group {
	packages := under(serving+"cmd/", ServingPrograms...)
	packages = append(packages, under(networking+"test/test_images/", networkingImages...)...)
	packages = append(packages, under(serving+"test/test_images/", servingImages...)...)
	return Group{Name: "knative", Module: "third_party/knative", Packages: packages}
}

// Conformance builds Knative's ingress conformance suite.
func Conformance() Group { return suite("conformance", networking+"test/conformance/ingress") }

// MeshClient builds the command that runs a suite inside the mesh.
func MeshClient() Group { return TestProgram("meshclient") }

// Rush builds the program that makes many Ingresses at once, for a pod of the lab.
func Rush() Group { return TestProgram("rush") }

// TestProgram builds a command of this checkout's tests, by the name of its folder.
func TestProgram(name string) Group {
	return Group{Name: name, Module: ".", Packages: []string{"./test/" + name}, Sources: []string{"test/" + name}}
}

// ServingSuites are Serving's own test suites by the name the lab gives them.
var ServingSuites = map[string]Group{
	"api":           suite("serving-api", serving+"test/conformance/api/v1"),
	"api-beta":      suite("serving-api-beta", serving+"test/conformance/api/v1beta1"),
	"runtime":       suite("serving-runtime", serving+"test/conformance/runtime"),
	"e2e":           suite("serving-e2e", serving+"test/e2e"),
	"domainmapping": suite("serving-domainmapping", serving+"test/e2e/domainmapping"),
	"tagheader":     suite("serving-tagheader", serving+"test/e2e/tagheader"),
}

// ServingTestPrograms are Serving's own test images. Some of them have the name of one of networking's, and
// behave otherwise.
var ServingTestPrograms = []string{
	"autoscale", "configmimic", "failing", "grpc-ping", "hellohttp2", "hellovolume", "helloworld", "httpproxy",
	"multicontainer/servingcontainer", "multicontainer/sidecarcontainer", "pizzaplanetv1", "pizzaplanetv2", "readiness", "runtime",
	"singlethreaded", "slowstart", "timeout", "volumes", "wsserver",
}

// ServingTests builds the images of Serving's own test suites.
func ServingTests() Group {
	return Group{Name: "serving-tests", Module: "third_party/knative", Packages: under(serving+"test/test_images/", ServingTestPrograms...)}
}

func suite(name, pkg string) Group {
	return Group{Name: name, Module: "third_party/knative", Packages: []string{pkg}, Test: true, Tags: "e2e"}
}

// Product builds programs of this checkout.
func Product(packages ...string) Group {
	return Group{Name: "product", Module: ".", Packages: packages, Sources: []string{"cmd", "pkg"}}
}

func under(prefix string, names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, prefix+n)
	}
	return all
}

// Builder builds groups of one checkout into a cache that all checkouts share.
type Builder struct {
	// Repo is the root of the checkout.
	Repo string
	// Cache is the folder of finished builds.
	Cache string
}

// Build returns the folder that holds the group's programs, building them unless they are there.
func (b Builder) Build(ctx context.Context, g Group) (string, error) {
	key, err := b.key(ctx, g)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Cache, "bin", g.Name+"-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	// Built aside and moved into place whole, so that a build that was cut short is no build.
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	cmd := b.command(ctx, g, tmp)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w\n%s", g.Name, err, tail(string(out), 30))
	}
	if server := filepath.Join(tmp, "server"); g.Name == "kubernetes" {
		_ = os.Rename(server, filepath.Join(tmp, "etcd")) // etcd's package has a name that says too little
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil && !isDir(dir) {
		return "", err
	}
	return dir, nil
}

func (b Builder) command(ctx context.Context, g Group, out string) *exec.Cmd {
	flags := []string{"-trimpath", "-ldflags", strings.TrimSpace("-s -w " + g.LDFlags)}
	if g.Tags != "" {
		flags = append(flags, "-tags", g.Tags)
	}
	args := append([]string{"build"}, append(flags, "-o", out+"/")...)
	if g.Test {
		args = append([]string{"test", "-c"}, append(flags, "-o", filepath.Join(out, g.Name+".test"))...)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, g.Packages...)...)
	cmd.Dir = filepath.Join(b.Repo, g.Module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	return cmd
}

// key digests everything that decides a build.
func (b Builder) key(ctx context.Context, g Group) (string, error) {
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64").Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w: install Go 1.26 and put it on PATH", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%v\n%v %q %q\n", version, g.Packages, g.Test, g.Tags, g.LDFlags)
	files := []string{filepath.Join(g.Module, "go.mod"), filepath.Join(g.Module, "go.sum")}
	for _, dir := range g.Sources {
		more, err := goFiles(b.Repo, dir)
		if err != nil {
			return "", err
		}
		files = append(files, more...)
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(b.Repo, f))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %x\n", f, sha256.Sum256(content))
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

func goFiles(repo, dir string) ([]string, error) {
	var files []string
	root := filepath.Join(repo, dir)
	if !isDir(root) {
		return nil, nil
	}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			rel, _ := filepath.Rel(repo, path)
			files = append(files, rel)
		}
		return err
	})
	return files, err
}

// ModuleDir returns the folder of a dependency's source, for the manifests it ships; it is fetched when it
// is not there.
func (b Builder) ModuleDir(ctx context.Context, g Group, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(b.Repo, g.Module)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	var found struct{ Dir, Error string }
	if json.Unmarshal(out, &found) != nil || err != nil || found.Dir == "" {
		//nolint:errorlint // go may end well and have found nothing
		return "", fmt.Errorf("source of module %s, pinned in %s: %s (%v)", module, g.Module, found.Error, err)
	}
	return found.Dir, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
