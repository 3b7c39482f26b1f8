package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/host"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

const (
	demoHost  = "hello.apps.svc.cluster.local"
	demoLimit = 2 * time.Minute
)

// Demo shows the product's main job on a lab that is up: a cluster-local Service that has scaled to zero
// is called by a meshed pod of another namespace.
func (l *Lab) Demo(ctx context.Context) error {
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	d := demo{Lab: l, cluster: c}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"Service hello in namespace apps, caller in namespace clients", d.deploy},
		{"hello is Ready", d.ready},
		{"hello has scaled to zero", d.atZero},
	}
	for _, s := range steps {
		if err := l.Progress.Step(ctx, s.name, s.do); err != nil {
			return err
		}
	}
	fmt.Printf("\nprofile %s: curl http://%s/ from a pod of namespace clients\n\n", l.profile().Name, demoHost)
	for _, which := range []string{"first call, from zero", "second call"} {
		if err := d.call(ctx, which); err != nil {
			return err
		}
	}
	fmt.Print(d.next())
	return nil
}

type demo struct {
	*Lab
	cluster cluster.Cluster
}

func (d demo) deploy(ctx context.Context) error {
	if err := d.cluster.Apply(ctx, platform.Demo); err != nil {
		return err
	}
	return d.cluster.Rollout(ctx, "clients", "caller")
}

func (d demo) ready(ctx context.Context) error {
	_, err := d.cluster.Kubectl(ctx, nil, "-n", "apps", "wait", "--for=condition=Ready", "ksvc/hello", "--timeout="+demoLimit.String())
	if err == nil {
		return nil
	}
	status, _ := d.cluster.Kubectl(ctx, nil, "-n", "apps", "get", "ksvc,king,revision,pods", "-o", "wide")
	return fmt.Errorf("%w\n%s", err, status)
}

func (d demo) atZero(ctx context.Context) error {
	return host.WaitFor(ctx, "the last pod of hello to go", demoLimit, func(ctx context.Context) error {
		pods, err := d.cluster.Kubectl(ctx, nil, "-n", "apps", "get", "pods", "-l", "serving.knative.dev/service=hello", "-o", "name")
		if err == nil && strings.TrimSpace(pods) != "" {
			err = fmt.Errorf("there is still %s", strings.TrimSpace(pods))
		}
		return err
	})
}

// call sends one request and prints its answer and the way it took.
func (d demo) call(ctx context.Context, which string) error {
	id := uuid.NewString()
	out, err := d.cluster.Kubectl(ctx, nil, "-n", "clients", "exec", "deploy/caller", "-c", "caller", "--",
		"curl", "-sS", "-m", "30", "-H", "x-request-id: "+id, "-w", `\n%{http_code} %{time_total}`, "http://"+demoHost+"/")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var code int
	var seconds float64
	if _, err := fmt.Sscan(lines[len(lines)-1], &code, &seconds); err != nil {
		return fmt.Errorf("answer of curl %q: %w", out, err)
	}
	fmt.Printf("%s: %d after %.0f ms: %s\n", which, code, seconds*1000, strings.TrimSpace(strings.Join(lines[:len(lines)-1], " ")))
	if code != 200 {
		return fmt.Errorf("%s was answered %d, not 200", which, code)
	}
	hops, err := d.hops(ctx, id)
	if err != nil {
		return err
	}
	fmt.Println(draw(hops))
	return nil
}

func (d demo) next() string {
	k := "bin/lab --name " + d.Host.Name
	return fmt.Sprintf(`What to try next:
  %[1]s kubectl get virtualservices -A                    what net-mesh wrote
  %[1]s kubectl -n apps get king hello -o yaml            what it was asked, and its conditions
  %[1]s kubectl -n clients exec deploy/caller -c caller -- curl -s http://hello.apps/
  %[1]s profile set gateway                               and back: mesh-only, half-mesh
  %[1]s conformance                                       Knative's own suite against net-mesh
  %[1]s down                                              remove it all
`, k)
}
