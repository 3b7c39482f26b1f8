//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

// delegating are VirtualServices that somebody wrote: one delegates by path, by header and by default, others by
// host. Their gateways are to be filled in.
const delegating = `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: models, namespace: clients}, spec: {hosts: [models.example.org], gateways: [%[1]s], http: [
  {name: by-path, match: [{uri: {prefix: /duo}}], delegate: {name: duo-delegate, namespace: apps}},
  {name: by-header, match: [{headers: {x-model: {exact: duo}}}], delegate: {name: duo-delegate, namespace: apps}},
  {name: by-default, delegate: {name: solo-delegate, namespace: apps}}]}}
---
{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: duo, namespace: clients}, spec: {hosts: [duo.example.org], gateways: [%[1]s], http: [
  {delegate: {name: duo-delegate, namespace: apps}}]}}
---
{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: hello, namespace: clients}, spec: {hosts: [hello.example.org], gateways: [%[1]s], http: [
  {delegate: {name: hello-delegate, namespace: apps}}]}}
`

// halves gives each of two revisions of duo half of the requests.
const halves = `{"spec": {"template": {"metadata": {"name": "duo-two"}, "spec": {"containers": [{"image": "dev.local/pizzaplanetv1:lab", "resources": {"requests": {"cpu": "25m"}}}]}},
  "traffic": [{"revisionName": "duo-one", "percent": 50}, {"revisionName": "duo-two", "percent": 50}]}}`

// Whoever delegates to Services gets their routes under a host of his own, in the mesh and at a gateway: splits,
// waking from zero, and the caller's identity are as when the Services are called themselves. Who delegates to what
// nobody has asked for is told of.
func TestDelegates(t *testing.T) {
	m := theMesh(t)
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	asMode(t, "half-mesh")
	// No backends beside: the node would have no processor left for who wakes from zero.
	deployOutside(t, m)
	deployCaller(t, m)
	const label = "delegates: theirs"
	duo := strings.Replace(knativeService("duo", "apps", "helloworld", "", label), "{template: {\n  metadata: {", "{template: {\n  metadata: {name: duo-one, ", 1)
	deployed(t, m, knativeService("solo", "apps", "runtime", "", label)+duo, "apps", "solo", "duo")
	kubectl(t, m, "", "-n", "apps", "patch", "ksvc", "duo", "--type=merge", "-p", halves)
	roots := fmt.Sprintf(delegating, "mesh, knative-serving/knative-ingress-gateway")
	applyFor(t, m, roots)
	comes(t, m, "solo", v1alpha1.IngressConditionNetworkConfigured, "True", "DelegateMissing")
	kubectl(t, m, "", "-n", "apps", "annotate", "ksvc", "solo", "duo", "hello", "net-mesh.dev/delegate=true")
	comes(t, m, "solo", v1alpha1.IngressConditionNetworkConfigured, "True", "")
	if err := m.ServiceReady(t.Context(), "apps", "duo"); err != nil {
		t.Fatal(err)
	}
	t.Run("at a gateway", func(t *testing.T) { delegated(t, m, "outside", publicGateway) })
	t.Run("in the mesh beside it", func(t *testing.T) { delegated(t, m, "clients", inTheMesh) })
	asMode(t, "mesh-only")
	kubectl(t, m, fmt.Sprintf(delegating, "mesh"), "apply", "-f", "-")
	t.Run("in the mesh alone", func(t *testing.T) {
		delegated(t, m, "clients", inTheMesh)
		identified(t, m)
		delegatedAtZero(t, m)
	})
}

// inTheMesh is a name that resolves there; the Host is another one.
const inTheMesh = "http://solo.apps.svc.cluster.local"

func asHost(host string, more ...string) []string {
	return append([]string{"-H", "Host: " + host}, more...)
}

// delegated: each way to delegate leads to the right Service, which sees the host that was asked for.
func delegated(t *testing.T, m lab.Mesh, from, base string) {
	t.Helper()
	hears(t, m, from, "models.example.org", lab.Request{URL: base + "/", Args: asHost("models.example.org")})
	for _, request := range []lab.Request{
		{URL: base + "/duo/infer", Args: asHost("models.example.org")},
		{URL: base + "/", Args: asHost("models.example.org", "-H", "x-model: duo")},
		{URL: base + "/", Args: asHost("duo.example.org")},
	} {
		bothRevisions(t, m, from, request)
	}
}

// identified: the application's sidecar sees the caller, with nobody between.
func identified(t *testing.T, m lab.Mesh) {
	t.Helper()
	for service, url := range map[string]string{"solo": inTheMesh + "/", "duo": inTheMesh + "/duo"} {
		if meets(t, m, url, map[string]string{service: callerID}, asHost("models.example.org")...) {
			t.Errorf("%s: there is no gateway, and one is on the way", service)
		}
	}
}

// delegatedAtZero: the activator, which is asked for a host that it has never heard of, knows by the headers of the
// delegate which revision to wake.
func delegatedAtZero(t *testing.T, m lab.Mesh) {
	t.Helper()
	if err := m.AtZero(t.Context(), "apps", "hello"); err != nil {
		t.Fatal(err)
	}
	a, err := m.Call(t.Context(), "clients", inTheMesh+"/", asHost("hello.example.org")...)
	if err != nil || a.Code != 200 || !strings.Contains(a.Body, "Hello World!") {
		t.Fatalf("from zero: got %d %q (%v), want 200 Hello World!", a.Code, a.Body, err)
	}
	hops, err := m.Hops(t.Context(), a.Request, places...)
	if err != nil {
		t.Fatal(err)
	}
	checkWay(t, hops)
	t.Logf("from zero %s\n%s", a.Took, lab.Draw(hops))
}
