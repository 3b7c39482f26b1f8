//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

// finder is a caller whose sidecar answers DNS.
const finder = `
apiVersion: v1
kind: Namespace
metadata: {name: finders, labels: {istio-injection: enabled}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: caller, namespace: finders}
spec:
  selector: {matchLabels: {app: caller}}
  template:
    metadata:
      labels: {app: caller}
      annotations: {proxy.istio.io/config: '{"proxyMetadata":{"ISTIO_META_DNS_CAPTURE":"true"}}'}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: caller
        image: dev.local/base:lab
        resources: {requests: {cpu: 50m}}
`

const (
	publicURL      = "http://load-0.apps.example.com/"
	serviceEntries = "serviceentries.networking.istio.io"
)

// A public name that resolves nowhere is found with mesh-dns, by callers whose sidecars answer DNS and by no
// others. Without it the name is gone again.
func TestMeshDNS(t *testing.T) {
	m := theMesh(t)
	asMode(t, "mesh-only")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployServices(t, m, 1)
	settled(t, m, "apps", "mesh-only")
	applyFor(t, m, finder)
	if err := m.Rollout(t.Context(), "finders", "caller"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the name to resolve nowhere", func(ctx context.Context) error { return nameless(ctx, m, "finders") })

	meshDNS := func(value string) error {
		_, err := m.Kubectl(cleanup(), nil, "-n", "knative-serving", "patch", "configmap", "config-istio", "--type=merge", "-p", `{"data":{"mesh-dns":`+value+`}}`)
		return err
	}
	t.Cleanup(func() { _ = meshDNS("null") })
	if err := meshDNS(`"true"`); err != nil {
		t.Fatal(err)
	}
	eventually(t, publicURL+" to be found", func(ctx context.Context) error {
		a, err := m.Call(ctx, "finders", publicURL)
		if err == nil && (a.Code != 200 || !strings.Contains(a.Body, "Hello World!")) {
			err = fmt.Errorf("it answers %d %s", a.Code, a.Body)
		}
		return err
	})
	if err := nameless(t.Context(), m, "clients"); err != nil {
		t.Errorf("a caller whose sidecar does not answer DNS: %v", err)
	}
	if got, want := kubectl(t, m, "", "-n", "apps", "get", serviceEntries, "-o", "name"), "load-0-dns"; !strings.HasSuffix(got, "/"+want) {
		t.Errorf("ServiceEntries are %q, want %s", got, want)
	}
	eventually(t, "it to be Ready", func(ctx context.Context) error { return ready(ctx, m, "load-0", "True") })

	if err := meshDNS("null"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ServiceEntry to go", func(ctx context.Context) error {
		left, err := m.Kubectl(ctx, nil, "-n", "apps", "get", serviceEntries, "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = fmt.Errorf("left: %s", left)
		}
		return err
	})
	eventually(t, "the name to resolve nowhere again", func(ctx context.Context) error { return nameless(ctx, m, "finders") })
	answers(t, m, "http://load-0.apps.svc.cluster.local/")
}

// nameless checks that callers of a namespace do not find the public name.
func nameless(ctx context.Context, m lab.Mesh, namespace string) error {
	got, err := m.CallAll(ctx, namespace, []lab.Request{{URL: publicURL}})
	if err == nil && (got[0].Code != 0 || !strings.Contains(got[0].Body, "resolve host")) {
		err = fmt.Errorf("%s is answered with %d %s", publicURL, got[0].Code, got[0].Body)
	}
	return err
}
