package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

const (
	demoURL   = "http://hello.apps.svc.cluster.local/"
	demoLimit = 2 * time.Minute
)

// demoPlaces are the proxies a demo request may pass.
var demoPlaces = []Place{
	{"clients", "app=caller"}, {"istio-system", "istio=ingressgateway"}, {"knative-serving", "app=activator"}, {"apps", "serving.knative.dev/service=hello"},
}

// Demo shows the product's main job on a lab that is up: a cluster-local Service that has scaled to zero
// is called by a meshed pod of another namespace.
func (l *Lab) Demo(ctx context.Context) error {
	m, err := l.Mesh(ctx)
	if err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"Service hello in namespace apps, a caller in namespace clients", m.DeployDemo},
		{"hello is Ready", func(ctx context.Context) error { return m.ServiceReady(ctx, "apps", "hello") }},
		{"hello has scaled to zero", func(ctx context.Context) error { return m.AtZero(ctx, "apps", "hello") }},
	}
	for _, s := range steps {
		if err := l.Progress.Step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	fmt.Printf("\nprofile %s: a pod of namespace clients calls %s\n\n", l.profile().Name, demoURL)
	if err := m.show(ctx, "first call, from zero"); err != nil {
		return err
	}
	if _, err := m.Kubectl(ctx, nil, "-n", "apps", "wait", "--for=jsonpath={.spec.mode}=Serve", "sks", "--all", "--timeout=30s"); err != nil {
		return err
	}
	if err := m.show(ctx, "second call, past the activator"); err != nil {
		return err
	}
	fmt.Print(l.next())
	return nil
}

// DeployDemo applies the demo's Service and its caller, and waits for the caller.
func (m Mesh) DeployDemo(ctx context.Context) error {
	if err := m.Apply(ctx, platform.Demo); err != nil {
		return err
	}
	return m.Rollout(ctx, "clients", "caller")
}

// ServiceReady waits until a Knative Service is Ready; the error shows how far it got.
func (m Mesh) ServiceReady(ctx context.Context, namespace, name string) error {
	_, err := m.Kubectl(ctx, nil, "-n", namespace, "wait", "--for=condition=Ready", "ksvc/"+name, "--timeout="+demoLimit.String())
	if err == nil {
		return nil
	}
	status, _ := m.Kubectl(ctx, nil, "-n", namespace, "get", "ksvc,king,revision,pods", "-o", "wide")
	return fmt.Errorf("%w\n%s", err, status)
}

// AtZero waits until no pod of a Knative Service is left that could answer: those that are going take no
// new requests.
func (m Mesh) AtZero(ctx context.Context, namespace, name string) error {
	return host.WaitFor(ctx, "the last pod of "+name+" to go", demoLimit, func(ctx context.Context) error {
		pods, err := m.Kubectl(ctx, nil, "-n", namespace, "get", "pods", "-l", "serving.knative.dev/service="+name,
			"-o", `jsonpath={range .items[*]}{.metadata.name}{" "}{.metadata.deletionTimestamp}{"\n"}{end}`)
		if err != nil {
			return err
		}
		for line := range strings.Lines(pods) {
			if f := strings.Fields(line); len(f) == 1 {
				return fmt.Errorf("%s still serves", f[0])
			}
		}
		return nil
	})
}

// show sends one request and prints its answer and the way it took.
func (m Mesh) show(ctx context.Context, which string) error {
	a, err := m.Call(ctx, "clients", demoURL)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d after %d ms: %s\n", which, a.Code, a.Took.Milliseconds(), a.Body)
	if a.Code != 200 {
		return fmt.Errorf("%s was answered %d, not 200", which, a.Code)
	}
	hops, err := m.Hops(ctx, a.Request, demoPlaces...)
	if err != nil {
		return err
	}
	fmt.Println(Draw(hops))
	return nil
}

func (l *Lab) next() string {
	return fmt.Sprintf(`What to try next:
  %[1]s kubectl get virtualservices -A                    what net-mesh wrote
  %[1]s kubectl -n apps get king hello -o yaml            what it was asked, and its conditions
  %[1]s kubectl -n clients exec deploy/caller -c caller -- curl -s http://hello.apps/
  %[1]s exec -- bin/netmesh explain http://hello.apps --from clients/caller    who is seen where, and why (make netmesh builds it)
  %[1]s profile set gateway                               another way to use the mesh: gateway, half-mesh, mesh-only
  %[1]s conformance --mode gateway --test basics          one test of Knative's suite; without --test all 25
  %[1]s down                                              remove it all
`, "bin/lab --name "+l.Host.Name)
}
