//go:build lab || acceptance

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

// service is one Knative Service that always has a pod.
const service = `{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: %s, namespace: apps}, spec: {template: {
  metadata: {annotations: {autoscaling.knative.dev/min-scale: "1", sidecar.istio.io/proxyCPU: 50m, queue.sidecar.serving.knative.dev/cpu-resource-request: 25m}},
  spec: {containers: [{image: "dev.local/helloworld:lab", resources: {requests: {cpu: 25m}}}]}}}}
---
`

// changeModes goes through modes while Services are called through each entry. No request is lost through
// an entry that is configured before and after: callers in the mesh always, callers of the public gateway
// while there is one. Where the address changes between a name and none, Serving replaces a placeholder Service
// by one of another type; the gap in name resolution is reported, not judged.
func changeModes(t *testing.T, services, rate int, modes ...string) {
	l, m := theLab(t), theMesh(t)
	if err := l.SetProfile(t.Context(), modes[0], false); err != nil {
		t.Fatal(err)
	}
	deployServices(t, m, services)
	settled(t, m, "apps", modes[0])
	mesh := traffic(t, m, "clients", rate, targetsOf(services, "", "http://%s.apps.svc.cluster.local/"))
	gateway := toGateway(t, m, services, rate)
	for i, mode := range modes[1:] {
		if strings.HasPrefix(mode, "mesh-only") {
			lost(t, "public gateway up to "+mode, gateway())
			gateway = nil
		}
		if err := l.SetProfile(t.Context(), mode, false); err != nil {
			t.Fatal(err)
		}
		settled(t, m, "apps", mode)
		answers(t, m, "http://load-0.apps.svc.cluster.local/")
		if last := i+2 == len(modes); strings.HasPrefix(modes[i], "mesh-only") && !last {
			gateway = toGateway(t, m, services, rate)
		}
	}
	if gateway != nil {
		lost(t, "public gateway", gateway())
	}
	var allowed []string
	if slices.ContainsFunc(modes, func(mode string) bool { return addresses[mode].private+addresses[mode].name == "" }) {
		allowed = append(allowed, "dns")
	}
	lost(t, "mesh", mesh(), allowed...)
}

func toGateway(t *testing.T, m lab.Mesh, services, rate int) (stop func() []report) {
	t.Helper()
	return traffic(t, m, "outside", rate, targetsOf(services, "%s.apps.example.com", "http://"+platform.GatewayIP+"/"))
}

func targetsOf(services int, host, url string) []target {
	var all []target
	for i := range services {
		name := fmt.Sprintf("load-%d", i)
		t := target{Name: name, URL: url, Want: "Hello World!"}
		if strings.Contains(url, "%s") {
			t.URL = fmt.Sprintf(url, name)
		}
		if host != "" {
			t.Host = fmt.Sprintf(host, name)
		}
		all = append(all, t)
	}
	return all
}

// deployServices makes the Services and their callers, and waits for them.
func deployServices(t *testing.T, m lab.Mesh, services int) {
	t.Helper()
	var manifest, names []string
	for i := range services {
		names = append(names, fmt.Sprintf("load-%d", i))
		manifest = append(manifest, fmt.Sprintf(service, names[i]))
	}
	all := strings.Join(manifest, "")
	kubectl(t, m, all, "apply", "-f", "-")
	t.Cleanup(func() { _, _ = m.Kubectl(cleanup(), []byte(all), "delete", "--ignore-not-found", "-f", "-") })
	kubectl(t, m, outside, "apply", "-f", "-")
	if err := m.Apply(t.Context(), platform.Demo); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"clients", "outside"} {
		if err := m.Rollout(t.Context(), namespace, "caller"); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range names {
		if err := m.ServiceReady(t.Context(), "apps", n); err != nil {
			t.Fatal(err)
		}
	}
}
