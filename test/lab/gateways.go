package lab

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// atGateways returns an error that names Ingresses which still publish a gateway's address.
func atGateways(ctx context.Context, c cluster.Cluster) error {
	const each = `{range .items[*]}{.metadata.namespace}/{.metadata.name} {.status.publicLoadBalancer.ingress[*].domainInternal}{.status.privateLoadBalancer.ingress[*].domainInternal}{"\n"}{end}`
	out, err := c.Kubectl(ctx, nil, "get", "ingresses.networking.internal.knative.dev", "-A", "-o", "jsonpath="+each)
	if err != nil {
		return err
	}
	var still []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 {
			still = append(still, f[0])
		}
	}
	if len(still) > 0 {
		return fmt.Errorf("still there: %s", strings.Join(still, ", "))
	}
	return nil
}

// gatewayUp brings up the ingress gateway and gives it its load balancer address, which in a cloud a
// controller would.
func (l *Lab) gatewayUp(ctx context.Context, c cluster.Cluster) error {
	manifest, err := os.ReadFile(l.gatewayFile())
	if err != nil {
		return err
	}
	if err := c.Apply(ctx, manifest); err != nil {
		return err
	}
	status := fmt.Sprintf(`{"status":{"loadBalancer":{"ingress":[{"ip":%q}]}}}`, platform.GatewayIP)
	if _, err := c.Kubectl(ctx, nil, "-n", "istio-system", "patch", "service", "istio-ingressgateway", "--subresource=status", "--type=merge", "-p", status); err != nil {
		return err
	}
	return c.Rollout(ctx, "istio-system", "istio-ingressgateway")
}

func (l *Lab) gatewaysBack(ctx context.Context, c cluster.Cluster) error {
	if err := l.gatewayUp(ctx, c); err != nil {
		return err
	}
	objects, err := l.pluginGateways()
	if err != nil || len(objects) == 0 {
		return err
	}
	return c.Apply(ctx, objects)
}

func (l *Lab) gatewaysAway(ctx context.Context, c cluster.Cluster) error {
	objects, err := l.pluginGateways()
	if err != nil {
		return err
	}
	gateway, err := os.ReadFile(l.gatewayFile())
	if err != nil {
		return err
	}
	_, err = c.Kubectl(ctx, append(objects, gateway...), "delete", "--ignore-not-found", "-f", "-")
	return err
}

func (l *Lab) installed() bool {
	_, err := os.Stat(l.pluginFile())
	return err == nil
}

// pluginGateways returns the Gateways of the installed plugin and the Services in front of them.
func (l *Lab) pluginGateways() ([]byte, error) {
	manifest, err := os.ReadFile(l.pluginFile())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	objects, err := platform.Parse(manifest)
	if err != nil {
		return nil, err
	}
	kept := objects[:0]
	for _, o := range objects {
		if o.GetKind() == "Gateway" || (o.GetKind() == "Service" && o.GetNamespace() == "istio-system") {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return platform.Print(kept)
}
