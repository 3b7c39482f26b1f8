package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
)

// collectedKinds are the objects that tell what went wrong.
const collectedKinds = "pods,deployments,services,endpointslices,configmaps,events," +
	"ingresses.networking.internal.knative.dev,serverlessservices.networking.internal.knative.dev,services.serving.knative.dev,routes.serving.knative.dev,revisions.serving.knative.dev," +
	"virtualservices.networking.istio.io,gateways.networking.istio.io,destinationrules.networking.istio.io,serviceentries.networking.istio.io,peerauthentications.security.istio.io,authorizationpolicies.security.istio.io"

// Collect gathers in dir what is needed to understand a failed run: the components' and pods' logs, the
// objects (no Secrets), and every proxy's configuration. What cannot be had is noted and left out.
func (l *Lab) Collect(ctx context.Context, dir string) error {
	if _, err := os.Stat(l.Host.Path("logs")); err != nil {
		return fmt.Errorf("nothing to collect of lab %s: %w", l.Host.Name, err)
	}
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty: name a new one", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(dir, "components"), os.DirFS(l.Host.Path("logs"))); err != nil {
		return fmt.Errorf("logs of lab %s into %s: %w", l.Host.Name, dir, err)
	}
	if st, err := os.Stat(l.Host.Path("conformance")); err == nil && st.IsDir() {
		if err := os.CopyFS(filepath.Join(dir, "conformance"), os.DirFS(l.Host.Path("conformance"))); err != nil {
			return err
		}
	}
	if err := l.mustBeUp(); err != nil {
		l.Progress.Say("only files collected: %v", err)
		return nil
	}
	k := collector{cluster: c, dir: dir}
	k.save(ctx, "objects.yaml", "get", collectedKinds, "-A", "-o", "yaml")
	k.save(ctx, "pods.txt", "get", "pods", "-A", "-o", "wide")
	k.pods(ctx)
	l.Progress.Say("collected in %s", dir)
	return nil
}

type collector struct {
	cluster cluster.Cluster
	dir     string
}

// save writes what kubectl prints, or else why it could not, into a file.
func (k collector) save(ctx context.Context, name string, args ...string) {
	out, err := k.cluster.Kubectl(ctx, nil, args...)
	if err != nil {
		out += "\n" + err.Error() + "\n"
	}
	file := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		_ = os.WriteFile(file, []byte(out), 0o644)
	}
}

func (k collector) pods(ctx context.Context) {
	out, err := k.cluster.Kubectl(ctx, nil, "get", "pods", "-A", "-o", `jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name} {.spec.containers[*].name} {.spec.initContainers[*].name}{"\n"}{end}`)
	if err != nil {
		return
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		for _, container := range f[2:] {
			base := filepath.Join("pods", f[0], f[1], container)
			k.save(ctx, base+".log", "-n", f[0], "logs", f[1], "-c", container, "--tail=5000")
			if container == "istio-proxy" {
				k.save(ctx, base+".config.json", "-n", f[0], "exec", f[1], "-c", container, "--", "pilot-agent", "request", "GET", "config_dump")
			}
		}
	}
}
