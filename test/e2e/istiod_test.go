//go:build lab

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

// second is one more local gateway, at a port of the gateway's pods where nobody listens yet.
const second = `
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: second-local-gateway, namespace: knative-serving}
spec:
  selector: {istio: ingressgateway}
  servers: [{port: {number: 8083, name: http, protocol: HTTP}, hosts: ["*"]}]
---
apiVersion: v1
kind: Service
metadata: {name: second-local-gateway, namespace: istio-system}
spec:
  selector: {istio: ingressgateway}
  ports: [{name: http2, port: 80, targetPort: 8083}]
`

const secondService = "second-local-gateway.istio-system.svc.cluster.local"

// While istiod is away no proxy learns anything: a local gateway that takes the place of another is not
// claimed to serve, the former goes on, and nothing of it is taken away. When istiod is back the new one is
// proven, published, and alone.
func TestGatewayChangeWithoutIstiod(t *testing.T) {
	m := theMesh(t)
	if err := theLab(t).SetProfile(t.Context(), "gateway", false); err != nil {
		t.Fatal(err)
	}
	deployServices(t, m, 1)
	settled(t, m, "apps", "gateway")
	before := gatewaysOf(t, m)

	istiodAway(t, m)
	kubectl(t, m, second, "apply", "-f", "-")
	t.Cleanup(func() {
		_ = theLab(t).SetProfile(cleanup(), "gateway", false)
		_, _ = m.Kubectl(cleanup(), []byte(second), "delete", "--ignore-not-found", "-f", "-")
	})
	patch, err := json.Marshal(map[string]any{"data": map[string]string{
		"local-gateways": "- {name: second-local-gateway, namespace: knative-serving, service: " + secondService + "}\n"}})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, m, "", "-n", "knative-serving", "patch", "configmap", "config-istio", "--type=merge", "-p", string(patch))

	eventually(t, "the new gateway to be awaited", func(ctx context.Context) error { return published(ctx, m, localService, "AwaitingProof") })
	for range 10 {
		holds(t, m, "outside", []ask{get(fromA, localGateway+"/", "-H", "Host: load-0.apps.svc.cluster.local")})
		holds(t, m, "clients", []ask{get(fromA, "http://load-0.apps.svc.cluster.local/")})
	}
	if err := published(t.Context(), m, localService, "AwaitingProof"); err != nil {
		t.Errorf("nothing has been proven, yet: %v", err)
	}
	if got := gatewaysOf(t, m); !strings.Contains(got, strings.Trim(before, "[]")) || !strings.Contains(got, "second-local-gateway") {
		t.Errorf("gateways of the VirtualService: %s; want %s beside the new one", got, before)
	}

	istiodBack(t, m)
	eventually(t, "the new gateway to be proven", func(ctx context.Context) error { return published(ctx, m, secondService, "") })
	eventually(t, "the former gateway to be left", func(context.Context) error {
		if got := gatewaysOf(t, m); got != `["knative-serving/second-local-gateway"]` {
			return fmt.Errorf("gateways are %s", got)
		}
		return nil
	})
	holds(t, m, "outside", []ask{get(fromA, "http://"+secondService+"/", "-H", "Host: load-0.apps.svc.cluster.local")})
}

// published checks the address of load-0, that it is Ready, and the reason of LoadBalancerReady.
func published(ctx context.Context, m lab.Mesh, service, reason string) error {
	list, err := ingresses(ctx, m, "apps")
	if err != nil {
		return err
	}
	for i := range list {
		ing := &list[i]
		c := ing.Status.GetCondition(netv1alpha1.IngressConditionLoadBalancerReady)
		if ing.Name == "load-0" && ing.IsReady() && c != nil && (c.Reason == reason || reason == "" && c.Reason != "AwaitingProof") &&
			ing.Status.PrivateLoadBalancer.Ingress[0].DomainInternal == service {
			return nil
		}
		if ing.Name == "load-0" {
			return fmt.Errorf("its address is %+v, its conditions %+v", ing.Status.PrivateLoadBalancer, ing.Status.Conditions)
		}
	}
	return fmt.Errorf("no Ingress load-0")
}

func gatewaysOf(t *testing.T, m lab.Mesh) string {
	t.Helper()
	return kubectl(t, m, "", "-n", "apps", "get", "virtualservice", "load-0-local", "-o", "jsonpath={.spec.gateways}")
}

// istiodAway takes istiod away, and its admission webhook out of the way of writers.
func istiodAway(t *testing.T, m lab.Mesh) {
	t.Helper()
	t.Cleanup(func() {
		_, _ = m.Kubectl(cleanup(), nil, "-n", "istio-system", "scale", "deployment/istiod", "--replicas=1")
	})
	kubectl(t, m, "", "-n", "istio-system", "scale", "deployment/istiod", "--replicas=0")
	kubectl(t, m, "", "-n", "istio-system", "wait", "--for=delete", "pod", "-l", "app=istiod", "--timeout=60s")
	for _, name := range strings.Fields(kubectl(t, m, "", "get", "validatingwebhookconfigurations", "-l", "app=istiod", "-o", "name")) {
		out := kubectl(t, m, "", "get", name, "-o", "jsonpath={.webhooks[*].name}")
		var ignore []map[string]any
		for i := range strings.Fields(out) {
			ignore = append(ignore, map[string]any{"op": "replace", "path": fmt.Sprintf("/webhooks/%d/failurePolicy", i), "value": "Ignore"})
		}
		patch, err := json.Marshal(ignore)
		if err != nil {
			t.Fatal(err)
		}
		kubectl(t, m, "", "patch", name, "--type=json", "-p", string(patch))
	}
}

func istiodBack(t *testing.T, m lab.Mesh) {
	t.Helper()
	kubectl(t, m, "", "-n", "istio-system", "scale", "deployment/istiod", "--replicas=1")
	if err := m.Rollout(t.Context(), "istio-system", "istiod"); err != nil {
		t.Fatal(err)
	}
}
