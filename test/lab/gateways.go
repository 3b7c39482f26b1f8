package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// atGateways returns an error that names Ingresses which still publish a gateway's address.
func atGateways(ctx context.Context, c cluster.Cluster) error {
	out, err := c.Kubectl(ctx, nil, "get", "ingresses.networking.internal.knative.dev", "-A", "-o", "json")
	if err != nil {
		return err
	}
	still, err := stillAtGateways([]byte(out))
	if err == nil && len(still) > 0 {
		err = fmt.Errorf("still there: %s", strings.Join(still, ", "))
	}
	return err
}

// stillAtGateways names the Ingresses of a list that others than sidecars serve. An address for which the mesh
// is said to be all there is may have a name, that of the loopback.
func stillAtGateways(list []byte) ([]string, error) {
	var ingresses netv1alpha1.IngressList
	if err := json.Unmarshal(list, &ingresses); err != nil {
		return nil, err
	}
	var still []string
	for _, ing := range ingresses.Items {
		for _, b := range []*netv1alpha1.LoadBalancerStatus{ing.Status.PublicLoadBalancer, ing.Status.PrivateLoadBalancer} {
			if b != nil && slices.ContainsFunc(b.Ingress, atGateway) {
				still = append(still, ing.Namespace+"/"+ing.Name)
				break
			}
		}
	}
	return still, nil
}

func atGateway(i netv1alpha1.LoadBalancerIngressStatus) bool {
	return i.DomainInternal != "" && !i.MeshOnly
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
	objects, err := l.pluginGateways(func(unstructured.Unstructured) bool { return true })
	if err != nil || len(objects) == 0 {
		return err
	}
	return c.Apply(ctx, objects)
}

// gatewaysAway takes all gateways away. Where sidecars stand in for the local one its Service stays, without pods, as
// people are told to leave it: while a Service is made anew its name does not resolve, and istiod takes the cluster of
// that name from sidecars.
func (l *Lab) gatewaysAway(ctx context.Context, c cluster.Cluster) error {
	manifest, err := os.ReadFile(l.pluginFile())
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	stays := keepsLoopback(manifest)
	objects, err := l.pluginGateways(func(o unstructured.Unstructured) bool { return !stays || o.GetKind() == "Gateway" })
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

// pluginGateways returns the Gateways of the installed plugin and the Services in front of them, of these those that
// are wanted.
func (l *Lab) pluginGateways(wanted func(unstructured.Unstructured) bool) ([]byte, error) {
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
		if (o.GetKind() == "Gateway" || (o.GetKind() == "Service" && o.GetNamespace() == "istio-system")) && wanted(o) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return platform.Print(kept)
}
