// Package cluster answers: how does one machine become a Kubernetes cluster of one node, with every
// component the real one? Each step may be repeated: what runs and is well is left alone.
package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// Addresses inside the lab's network namespace. Every lab has the same.
const (
	serviceRange = "10.96.0.0/16"
	podRange     = "10.244.0.0/16"
	apiServiceIP = "10.96.0.1"
	apiPort      = "6443"
	// DNSIP is the address of the cluster's DNS Service.
	DNSIP = "10.96.0.10"
	// Domain is the cluster's domain.
	Domain = "cluster.local"

	nodeName = "lab"
)

const (
	readyLimit = 90 * time.Second
	applyLimit = 60 * time.Second
)

// Cluster is the Kubernetes of one lab.
type Cluster struct {
	Host host.Host
	// Programs is the folder of the Kubernetes programs, etcd among them.
	Programs string
}

// Kubeconfig is the path of the administrator's configuration; its address is reachable from inside the
// lab's network namespace only.
func (c Cluster) Kubeconfig() string { return c.Host.Path("kubeconfig") }

// ControlPlane brings up etcd, the API server, the controller manager and the scheduler, and waits for
// the API server to be ready.
func (c Cluster) ControlPlane(ctx context.Context) error {
	if err := c.keys(); err != nil {
		return err
	}
	for _, d := range []host.Daemon{c.etcd(), c.apiserver()} {
		if _, err := c.Host.Ensure(ctx, d); err != nil {
			return err
		}
	}
	if err := c.wait(ctx, "the API server", []string{"etcd", "apiserver"}, "get", "--raw", "/readyz"); err != nil {
		return err
	}
	for _, d := range []host.Daemon{c.controllerManager(), c.scheduler()} {
		if _, err := c.Host.Ensure(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// wait repeats a kubectl call until it succeeds; one of the daemons it depends on that has ended meanwhile
// is reported with its log.
func (c Cluster) wait(ctx context.Context, what string, daemons []string, args ...string) error {
	var died error
	err := host.WaitFor(ctx, what, readyLimit, func(ctx context.Context) error {
		for _, d := range daemons {
			if !c.Host.Alive(d) {
				died = fmt.Errorf("%s has ended; its log says:\n%s", d, c.Host.LogTail(d, 8))
				return nil
			}
		}
		_, err := c.Kubectl(ctx, nil, args...)
		return err
	})
	return errors.Join(died, err)
}

// Command returns a kubectl command that runs inside the lab.
func (c Cluster) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := c.Host.Command(ctx, filepath.Join(c.Programs, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "KUBECACHEDIR="+c.Host.Path("kubectl-cache"))
	return cmd
}

// Kubectl runs kubectl with input and returns what it prints. The error holds what it complained of.
func (c Cluster) Kubectl(ctx context.Context, input []byte, args ...string) (string, error) {
	cmd := c.Command(ctx, args...)
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// Apply makes the objects of a manifest so, again and again until the API server takes them all: kinds
// may be known, and webhooks ready, only a moment after what they come from.
func (c Cluster) Apply(ctx context.Context, manifest []byte) error {
	return host.WaitFor(ctx, "the API server to take the objects", applyLimit, func(ctx context.Context) error {
		_, err := c.Kubectl(ctx, manifest, "apply", "--server-side", "--force-conflicts", "--field-manager=lab", "-f", "-")
		return err
	})
}

// Rollout waits until the newest pods of the Deployments of a namespace are available.
func (c Cluster) Rollout(ctx context.Context, namespace string, deployments ...string) error {
	for _, d := range deployments {
		if _, err := c.Kubectl(ctx, nil, "-n", namespace, "rollout", "status", "deployment/"+d, "--timeout=180s"); err != nil {
			pods, _ := c.Kubectl(ctx, nil, "-n", namespace, "get", "pods", "-o", "wide")
			return fmt.Errorf("%w\n%s", err, pods)
		}
	}
	return nil
}
