package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/pins"
	"github.com/net-mesh/net-mesh/test/lab/platform"
	"github.com/net-mesh/net-mesh/test/rush/tally"
)

const (
	// rushLimit is for all Ingresses to be Ready and served; the slowest plugin known needs half of it.
	rushLimit = 10 * time.Minute
	// heldLimit is for a sidecar to hear of what has been written.
	heldLimit = 2 * time.Minute
	rushLabel = "net-mesh.dev/rush"
	rushPod   = "deploy/" + platform.RushName
)

// rushHost matches the names of a rush, however they are abbreviated.
var rushHost = regexp.MustCompile(`^rush-[0-9]+(\.|:|$)`).MatchString

// RushStage makes what a rush of n Ingresses needs: backends, a pod that calls, and the placeholder Services,
// of which the pod's sidecar knows when it returns. What is left of a rush before goes first.
func (m Mesh) RushStage(ctx context.Context, n int) error {
	program, err := m.lab.builder().Build(ctx, pins.Rush())
	if err != nil {
		return err
	}
	if err := m.Apply(ctx, platform.Rush); err != nil {
		return err
	}
	if err := insideUp(ctx, m.Cluster, platform.RushName, program, m.lab.Host.Dir); err != nil {
		return err
	}
	if err := m.Rollout(ctx, "apps", platform.RushBackends...); err != nil {
		return err
	}
	if err := m.RushAway(ctx); err != nil {
		return err
	}
	p := m.lab.profile()
	alias := !p.noLocalGateway() || p.Config[privateAddress] != ""
	if _, err := m.Kubectl(ctx, placeholders(n, alias), "create", "-f", "-"); err != nil {
		return err
	}
	return m.until(ctx, fmt.Sprintf("a sidecar to know %d Services", n), func(h Held) bool {
		// Other names of one Service are domains of its virtual host.
		return h.VHosts == n && h.Ruled == 0 || alias && h.Ruled == 0
	})
}

// until waits for what the sidecar of the calling pod holds of the rush.
func (m Mesh) until(ctx context.Context, what string, is func(Held) bool) error {
	return host.WaitFor(ctx, what, heldLimit, func(ctx context.Context) error {
		h, err := m.RushHeld(ctx)
		if err == nil && !is(h) {
			err = fmt.Errorf("it holds %+v", h)
		}
		return err
	})
}

// RushHeld is what the sidecar of the calling pod holds of the rush.
func (m Mesh) RushHeld(ctx context.Context) (Held, error) {
	return m.Held(ctx, platform.ClientNamespace, rushPod, rushHost)
}

// placeholders are the Services that Serving makes for the names of Routes: with a local gateway other names
// of it, else Services without pods.
func placeholders(n int, alias bool) []byte {
	spec := "ports: [{name: http, port: 80, targetPort: 80}]"
	if alias {
		spec = "type: ExternalName, externalName: knative-local-gateway.istio-system.svc.cluster.local, " + spec
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: Service, metadata: {name: rush-%[1]d, namespace: apps, labels: {%[2]s: '', serving.knative.dev/route: rush-%[1]d}}, spec: {%[3]s}}\n---\n", i, rushLabel, spec)
	}
	return []byte(b.String())
}

// Rush makes n Ingresses at once and calls each from a pod with a sidecar, which is nobody's observer, at the
// moment it turns Ready. RushStage has to be called before; the Ingresses stay until RushAway.
func (m Mesh) Rush(ctx context.Context, n int) ([]tally.Ingress, error) {
	program, err := m.lab.builder().Build(ctx, pins.Rush())
	if err != nil {
		return nil, err
	}
	out, err := m.Kubectl(ctx, nil, "-n", platform.ClientNamespace, "exec", rushPod, "-c", platform.RushName, "--",
		filepath.Join(program, "rush"), "-kubeconfig", m.Kubeconfig(), "-address", platform.AnyIP+":80", "-limit", rushLimit.String(),
		"-namespace", "apps", "-count", strconv.Itoa(n), "-backends", strings.Join(platform.RushBackends, ","))
	if err != nil {
		return nil, err
	}
	var all []tally.Ingress
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		return nil, fmt.Errorf("report of the rush: %w: %.200s", err, out)
	}
	return all, nil
}

// RushAway deletes the Ingresses and Services of a rush, and waits until the sidecar of the calling pod has
// forgotten them.
func (m Mesh) RushAway(ctx context.Context) error {
	_, err := m.Kubectl(ctx, nil, "-n", "apps", "delete", "ingresses.networking.internal.knative.dev", "-l", rushLabel, "--ignore-not-found", "--timeout="+rushLimit.String())
	_, errToo := m.Kubectl(ctx, nil, "-n", "apps", "delete", "services", "-l", rushLabel, "--ignore-not-found")
	if err := errors.Join(err, errToo); err != nil {
		return err
	}
	return m.until(ctx, "a sidecar to forget the rush", func(h Held) bool { return h.VHosts == 0 })
}

// RushGone takes away what RushStage made, too: backends and a caller want a part of the processors, which
// others may need.
func (m Mesh) RushGone(ctx context.Context) error {
	away := m.RushAway(ctx)
	_, backends := m.Kubectl(ctx, platform.Rush, "delete", "--ignore-not-found", "-f", "-")
	_, caller := m.Kubectl(ctx, nil, "-n", platform.ClientNamespace, "delete", "deployment", platform.RushName, "--ignore-not-found")
	return errors.Join(away, backends, caller)
}
