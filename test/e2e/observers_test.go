//go:build acceptance

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

const (
	watching       = "net-mesh-observers"
	observer       = "net-mesh-observer"
	balancer       = netv1alpha1.IngressConditionLoadBalancerReady
	awaitingProof  = "AwaitingProof"
	assumed        = "Assumed"
	controllerName = "net-istio-controller"
)

// seen is an Ingress for one cluster-local name to a backend that is there, with the Service of the name.
const seen = `{apiVersion: networking.internal.knative.dev/v1alpha1, kind: Ingress, metadata: {name: %[1]s, namespace: apps,
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}},
  spec: {httpOption: Enabled, rules: [{hosts: [%[1]s.apps.svc.cluster.local], visibility: ClusterLocal, http: {paths: [
  {splits: [{serviceName: backend-a, serviceNamespace: apps, servicePort: 80, percent: 100}]}]}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: apps, labels: {serving.knative.dev/route: %[1]s}}, spec: {ports: [{name: http, port: 80}]}}
`

// meshOnly is a mesh without gateways, with backends.
func meshOnly(t *testing.T) lab.Mesh {
	t.Helper()
	if err := theLab(t).SetProfile(t.Context(), "mesh-only", false); err != nil {
		t.Fatal(err)
	}
	m := theMesh(t)
	deployBackends(t, m)
	return m
}

// observers sets their number, and waits for it.
func observers(t *testing.T, m lab.Mesh, replicas int) {
	t.Helper()
	kubectl(t, m, "", "-n", watching, "scale", "deployment/"+observer, fmt.Sprintf("--replicas=%d", replicas))
	if replicas == 0 {
		kubectl(t, m, "", "-n", watching, "wait", "--for=delete", "pod", "-l", "app="+observer, "--timeout=60s")
		return
	}
	if err := m.Rollout(t.Context(), watching, observer); err != nil {
		t.Fatal(err)
	}
}

// A listed observer that has no pod is waited for by name, and what is Ready stays so; when it is back, what
// waited is proven.
func TestObserverWithoutPods(t *testing.T) {
	m := meshOnly(t)
	applyFor(t, m, fmt.Sprintf(seen, "before"))
	comes(t, m, "before", balancer, "True", "")
	t.Cleanup(func() {
		_, _ = m.Kubectl(cleanup(), nil, "-n", watching, "scale", "deployment/"+observer, "--replicas=1")
	})
	observers(t, m, 0)
	applyFor(t, m, fmt.Sprintf(seen, "after"))
	if got := comes(t, m, "after", balancer, "Unknown", awaitingProof); !strings.Contains(got, "a ready pod of observer "+watching+"/"+observer) {
		t.Errorf("the condition says %q", got)
	}
	comes(t, m, "before", balancer, "True", "")
	observers(t, m, 1)
	comes(t, m, "after", balancer, "True", "")
}

// A sidecar of an observer that is there and answers nobody is named, and not taken for none; one that was
// killed comes back, and what waited is proven.
func TestObserverWithADeadSidecar(t *testing.T) {
	m := meshOnly(t)
	comes := func(status, reason string) string { return comes(t, m, "watched", balancer, status, reason) }
	t.Cleanup(func() {
		_, _ = m.Kubectl(cleanup(), nil, "-n", watching, "delete", "pod", "-l", "app="+observer)
		_ = m.Rollout(cleanup(), watching, observer)
	})
	observers(t, m, 1)
	envoys(t, m, "STOP")
	applyFor(t, m, fmt.Sprintf(seen, "watched"))
	eventually(t, "the sidecar that is silent to be named", func(context.Context) error {
		if got := comes("Unknown", awaitingProof); !strings.Contains(got, "the sidecar of observer "+watching+"/"+observer) || !strings.Contains(got, "timed out") {
			return fmt.Errorf("the condition says %q", got)
		}
		return nil
	})
	envoys(t, m, "KILL")
	comes("True", "")
}

// envoys sends a signal to the proxy of the observer.
func envoys(t *testing.T, m lab.Mesh, signal string) {
	t.Helper()
	const each = `n=0; for p in /proc/[0-9]*; do if [ "$(cat $p/comm)" = envoy ]; then kill -%s ${p#/proc/} && n=1; fi; done; [ $n = 1 ]`
	kubectl(t, m, "", "-n", watching, "exec", "deploy/"+observer, "-c", "istio-proxy", "--", "sh", "-c", fmt.Sprintf(each, signal))
}

// Where the controller has no sidecar and no observer is listed, Ready says that it is assumed; it is proven as
// soon as there is somebody to be asked.
func TestNobodyToAsk(t *testing.T) {
	m := meshOnly(t)
	t.Cleanup(func() { _ = theLab(t).Install(cleanup(), lab.Plugin{}) })
	kubectl(t, m, "", "-n", "knative-serving", "patch", "deployment", controllerName, "--type=strategic", "-p",
		`{"spec": {"template": {"metadata": {"labels": {"sidecar.istio.io/inject": "false"}},
		  "spec": {"containers": [{"name": "controller", "env": [{"name": "NET_MESH_OBSERVERS", "value": ""}]}]}}}}`)
	if err := m.Rollout(t.Context(), "knative-serving", controllerName); err != nil {
		t.Fatal(err)
	}
	applyFor(t, m, fmt.Sprintf(seen, "unseen"))
	if got := comes(t, m, "unseen", balancer, "True", assumed); !strings.Contains(got, "Not proven in the mesh: unseen.apps.svc.cluster.local") {
		t.Errorf("the condition says %q", got)
	}
	if err := theLab(t).Install(t.Context(), lab.Plugin{}); err != nil {
		t.Fatal(err)
	}
	comes(t, m, "unseen", balancer, "True", "")
}
