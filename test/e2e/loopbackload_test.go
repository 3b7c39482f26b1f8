//go:build acceptance

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

// What is called under load. The name of the last is that of a placeholder Service, which Serving replaces.
const (
	kserves = "KServe's name"
	byHands = "a host by hand"
	direct  = "the predictor itself"
)

// The local gateway is taken away and brought back while KServe's name and one written by hand are called: no
// request is lost. In half mesh its pods stay, in mesh-only they go; the Service stays.
func TestLoopbackUnderLoad(t *testing.T) {
	m := theMesh(t)
	asMode(t, "gateway")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployCaller(t, m)
	predictor := iris.component("predictor")
	deployed(t, m, iris.serves("predictor", "runtime", ""), "apps", "iris-predictor")
	applyFor(t, m, iris.objects()+fmt.Sprintf(byHand, "by-hand", predictor, localService))
	targets := []target{
		{Name: kserves, URL: "http://" + iris.full() + "/", Want: predictor},
		{Name: byHands, URL: "http://" + iris.full() + "/", Host: "by-hand.example.org", Want: predictor},
		{Name: direct, URL: "http://" + predictor + "/", Want: predictor},
	}
	for _, c := range targets {
		args := []string{}
		if c.Host != "" {
			args = append(args, "-H", "Host: "+c.Host)
		}
		hears(t, m, "clients", predictor, lab.Request{URL: c.URL, Args: args})
	}
	for _, row := range []struct {
		modes []string
		// mayFail are the targets whose names may not resolve for a moment.
		mayFail []string
	}{
		{[]string{"half-mesh", "gateway", "half-mesh", "gateway"}, []string{direct}},
		{[]string{"half-mesh", "mesh-only", "half-mesh", "gateway", "mesh-only", "gateway"}, []string{direct}},
		// The alias that Serving makes stays when the local gateway comes and goes.
		{[]string{"half-mesh-alias", "gateway", "half-mesh-alias", "gateway"}, nil},
	} {
		t.Run(strings.Join(row.modes, ","), func(t *testing.T) {
			stop := traffic(t, m, "clients", 60, targets)
			for _, mode := range row.modes {
				asMode(t, mode)
				settled(t, m, "apps", mode)
				hears(t, m, "clients", predictor, lab.Request{URL: targets[0].URL})
			}
			for _, r := range stop() {
				var allowed []string
				if slices.Contains(row.mayFail, r.Name) {
					allowed = append(allowed, "dns")
				}
				lost(t, r.Name, []report{r}, allowed...)
			}
		})
	}
}

// taken has another listener have the port of the trial, in the observer only. The proxy refuses what is to be
// tried there, as it refuses any listener that is wrong.
const taken = `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: taken, namespace: net-mesh-observers}
spec:
  workloadSelector: {labels: {app: net-mesh-observer}}
  configPatches:
  - applyTo: LISTENER
    match: {context: SIDECAR_OUTBOUND}
    patch:
      operation: ADD
      value:
        name: taken
        address: {pipe: {path: "@net-mesh-loopback-trial"}}
        filter_chains:
        - filters:
          - name: envoy.filters.network.tcp_proxy
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy, stat_prefix: taken, cluster: BlackHoleCluster}
`

// A listener that observers do not show is withdrawn by itself, people are told, and no other sidecar has had it.
// What is served goes on meanwhile. When the observers are well again it comes.
func TestLoopbackWithdrawn(t *testing.T) {
	m := theMesh(t)
	asMode(t, "gateway")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployHello(t, m)
	answers(t, m, helloURL)
	// What was said earlier is no proof.
	kubectl(t, m, "", "-n", "knative-serving", "delete", "events", "--field-selector=involvedObject.name=config-istio")
	applyFor(t, m, taken)
	listens(t, m, watching, "deploy/"+observer, "istio-proxy", "@net-mesh-loopback-trial")
	kubectl(t, m, "", "-n", "knative-serving", "patch", "configmap", "config-istio", "--type=merge", "-p", `{"data": {"local-gateways": "[]\n"}}`)
	stop := traffic(t, m, "clients", 20, []target{{Name: "hello", URL: helloURL, Want: "Hello World!"}})
	eventually(t, "the loopback to be withdrawn", func(ctx context.Context) error {
		if given, err := m.Kubectl(ctx, nil, "-n", "istio-system", "get", "envoyfilters.networking.istio.io", "-l", "net-mesh.dev/loopback", "-o", "name"); err != nil || strings.TrimSpace(given) != "" {
			t.Fatalf("all sidecars were given %s (%v)", given, err)
		}
		said, err := m.Kubectl(ctx, nil, "-n", "knative-serving", "get", "events", "--field-selector=involvedObject.name=config-istio,reason=LoopbackWithdrawn", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(said, observer) {
			err = fmt.Errorf("events name no observer: %q", said)
		}
		return err
	})
	eventually(t, "the trial to go", func(ctx context.Context) error {
		left, err := m.Kubectl(ctx, nil, "get", "envoyfilters.networking.istio.io", "-A", "-l", "net-mesh.dev/loopback", "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = errors.New(left)
		}
		return err
	})
	if got := listeners(t, m, "clients", "deploy/caller", "istio-proxy"); strings.Contains(got, "net-mesh-loopback") {
		t.Errorf("a sidecar that is no observer's listens at\n%s", got)
	}
	lost(t, "a Service that needs no loopback", stop(), "dns")
	kubectl(t, m, taken, "delete", "-f", "-")
	// What was withdrawn is tried again after ten minutes; a controller that starts knows nothing of it.
	kubectl(t, m, "", "-n", "knative-serving", "rollout", "restart", "deployment/"+controllerName)
	if err := m.Rollout(t.Context(), "knative-serving", controllerName); err != nil {
		t.Fatal(err)
	}
	asMode(t, "half-mesh")
	listens(t, m, "clients", "deploy/caller", "istio-proxy", "@net-mesh-loopback")
}
