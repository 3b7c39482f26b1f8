package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// suite runs a test binary of Knative with arguments, somewhere in the lab. What it prints is in a file of
// the lab's folder when it returns, and is shown meanwhile.
type suite func(ctx context.Context, file string, show io.Writer, args ...string) error

// imagesOf tells a suite where its images are, by their tag.
func imagesOf(tag string) []string {
	return []string{"-dockerrepo", strings.TrimSuffix(images.Prefix, "/"), "-tag", tag}
}

// outside runs the binary in the lab's network, outside the mesh.
func (l *Lab) outside(c cluster.Cluster, binary string) suite {
	return func(ctx context.Context, file string, show io.Writer, args ...string) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		cmd := l.Host.Command(ctx, binary, append(args, "-kubeconfig", c.Kubeconfig())...)
		cmd.Env = append(os.Environ(), "SYSTEM_NAMESPACE=knative-serving", "KUBECONFIG="+c.Kubeconfig(), "KO_DOCKER_REPO=dev.local",
			"GATEWAY_OVERRIDE=istio-ingressgateway", "GATEWAY_NAMESPACE_OVERRIDE=istio-system")
		cmd.Dir = l.Host.Dir
		cmd.Stdout = io.MultiWriter(f, show)
		cmd.Stderr = cmd.Stdout
		return errors.Join(cmd.Run(), f.Close())
	}
}

// inside runs the binary in a pod with a sidecar, for which it waits. The pod sees the folders it needs
// where the machine has them. The stream of kubectl exec may end before what it carries, so the program in
// the pod writes into the file, and how it has ended into another.
func (l *Lab) inside(ctx context.Context, c cluster.Cluster, binary string) (suite, error) {
	client, err := l.builder().Build(ctx, pins.MeshClient())
	if err != nil {
		return nil, err
	}
	if err := insideUp(ctx, c, platform.SuiteName, client, filepath.Dir(binary), l.Host.Dir); err != nil {
		return nil, err
	}
	return func(ctx context.Context, file string, show io.Writer, args ...string) error {
		ended := file + ".exit"
		for _, old := range []string{file, ended} {
			if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		all := []string{"-n", platform.ClientNamespace, "exec", "deploy/" + platform.SuiteName, "-c", platform.SuiteName, "--",
			"env", "SYSTEM_NAMESPACE=knative-serving", filepath.Join(client, "meshclient"), "-kubeconfig", c.Kubeconfig(), "-address", platform.AnyIP,
			"-output", file, "-exit", ended, "--", binary}
		cmd := c.Command(ctx, append(all, args...)...)
		cmd.Stdout, cmd.Stderr = show, show
		lost := cmd.Run()
		if _, err := os.Stat(file); err != nil {
			return errors.Join(lost, fmt.Errorf("it has not begun: %w", err))
		}
		return howEnded(ctx, ended, lost)
	}, nil
}

// endedLimit is for a program to end whose stream has ended; suites have limits of their own.
const endedLimit = 10 * time.Minute

// howEnded waits for the file in which a program says its exit code, and tells what is not 0. The error of
// the stream matters only where there is no such file.
func howEnded(ctx context.Context, file string, lost error) error {
	var code string
	err := host.WaitFor(ctx, "the program in the pod to end", endedLimit, func(context.Context) error {
		text, err := os.ReadFile(file)
		code = string(text)
		return err
	})
	switch {
	case err != nil:
		return errors.Join(lost, err)
	case code != "0":
		return fmt.Errorf("exit code %s", code)
	}
	return nil
}

// insideUp waits for a pod with a sidecar that sees folders of the machine.
func insideUp(ctx context.Context, c cluster.Cluster, name string, folders ...string) error {
	pod, err := platform.Inside(name, folders...)
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, pod); err != nil {
		return err
	}
	return c.Rollout(ctx, platform.ClientNamespace, name)
}

// suiteFor runs the binary where the profile's entries can be reached.
func (l *Lab) suiteFor(ctx context.Context, c cluster.Cluster, p Profile, binary string) (suite, error) {
	if p.MeshOnly {
		return l.inside(ctx, c, binary)
	}
	return l.outside(c, binary), nil
}
