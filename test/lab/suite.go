package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// suite makes the command that runs a test binary of Knative with arguments, somewhere in the lab.
type suite func(ctx context.Context, args ...string) *exec.Cmd

// suiteFlags say where the lab's images are.
var suiteFlags = []string{"-dockerrepo", "dev.local", "-tag", "lab"}

// outside runs the binary in the lab's network, outside the mesh.
func (l *Lab) outside(c cluster.Cluster, binary string) suite {
	return func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := l.Host.Command(ctx, binary, append(append(args, suiteFlags...), "-kubeconfig", c.Kubeconfig())...)
		cmd.Env = append(os.Environ(), "SYSTEM_NAMESPACE=knative-serving", "KUBECONFIG="+c.Kubeconfig(), "KO_DOCKER_REPO=dev.local",
			"GATEWAY_OVERRIDE=istio-ingressgateway", "GATEWAY_NAMESPACE_OVERRIDE=istio-system")
		cmd.Dir = l.Host.Dir
		return cmd
	}
}

// inside runs the binary in a pod with a sidecar, for which it waits. The pod sees the folders it needs
// where the machine has them.
func (l *Lab) inside(ctx context.Context, c cluster.Cluster, binary string) (suite, error) {
	client, err := l.builder().Build(ctx, pins.MeshClient())
	if err != nil {
		return nil, err
	}
	if err := insideUp(ctx, c, platform.SuiteName, client, filepath.Dir(binary), l.Host.Dir); err != nil {
		return nil, err
	}
	return func(ctx context.Context, args ...string) *exec.Cmd {
		all := []string{"-n", platform.ClientNamespace, "exec", "deploy/" + platform.SuiteName, "-c", platform.SuiteName, "--",
			"env", "SYSTEM_NAMESPACE=knative-serving", filepath.Join(client, "meshclient"), "-kubeconfig", c.Kubeconfig(), "-address", platform.AnyIP, "--", binary}
		return c.Command(ctx, append(append(all, args...), suiteFlags...)...)
	}, nil
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
