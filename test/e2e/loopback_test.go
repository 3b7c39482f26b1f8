//go:build lab

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab"
)

// byHand is a VirtualService that somebody wrote: it leads one host to the local gateway, as another one.
const byHand = `{apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: by-hand-%[1]s, namespace: apps},
  spec: {hosts: [%[1]s.example.org], http: [{rewrite: {authority: %[2]s}, retries: {}, route: [{destination: {host: %[3]s, port: {number: 80}}}]}]}}
---
`

// quick is far below curl's patience, and far above what one refusal takes on a busy machine.
const quick = 10 * time.Second

var iris = isvc{name: "iris", namespace: "apps", first: "predictor"}

// Where there is no local gateway, what others lead to it is served all the same, and the application sees who
// called. What leads nowhere or in a circle ends at once. A local gateway takes over and gives back.
func TestLoopback(t *testing.T) {
	m := theMesh(t)
	asMode(t, "mesh-only")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployCaller(t, m)
	deployed(t, m, iris.serves("predictor", "runtime", ""), "apps", "iris-predictor")
	applyFor(t, m, iris.objects())
	predictor, url := iris.component("predictor"), "http://"+iris.full()+"/"
	t.Run("served", func(t *testing.T) {
		_, h := hears(t, m, "clients", predictor, lab.Request{URL: url})
		asISVC(t, h, iris)
		byCaller(t, m, url)
	})
	applyFor(t, m, fmt.Sprintf(byHand, "by-hand", predictor, localService)+
		fmt.Sprintf(byHand, "nobody", "nobody.apps.svc.cluster.local", localService)+
		fmt.Sprintf(byHand, "loop", "loop.example.org", localService))
	through := func(host string, more ...string) lab.Request {
		return lab.Request{URL: "http://" + predictor + "/", Args: append([]string{"-H", "Host: " + host + ".example.org"}, more...)}
	}
	t.Run("by hand", func(t *testing.T) { hears(t, m, "clients", predictor, through("by-hand")) })
	t.Run("a host that nobody serves", func(t *testing.T) { refused(t, m, through("nobody"), 502, 503) })
	t.Run("a loop", func(t *testing.T) {
		if a := refused(t, m, through("loop"), 508); !strings.Contains(a.Body, "second time") {
			t.Errorf("the answer is %q, want one that says why", a.Body)
		}
	})
	t.Run("a forged marker", func(t *testing.T) { forged(t, m, through) })
	t.Run("addresses in the pod that somebody takes", func(t *testing.T) { inPod(t, m, url, through) })
	t.Run("a local gateway takes over, and gives back", func(t *testing.T) {
		asMode(t, "gateway")
		if !meets(t, m, url, map[string]string{"iris-predictor": gatewayID}) {
			t.Error("there is a local gateway, and it is not on the way")
		}
		refused(t, m, through("loop"), 404)
		asMode(t, "mesh-only")
		byCaller(t, m, url)
	})
}

// claims are ServiceEntries of a tenant: one has every sidecar listen at an address of the pod, where a door is in
// gateways, one leads a host to the socket of the loopback.
const claims = `{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: listens, namespace: apps}, spec: {hosts: [listens.example.org],
  addresses: [127.0.0.1], ports: [{number: 15007, name: tcp, protocol: TCP}], resolution: STATIC, endpoints: [{address: 192.0.2.10}]}}
---
{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: leads, namespace: apps}, spec: {hosts: [leads.example.org],
  ports: [{number: 80, name: http, protocol: HTTP}], resolution: STATIC, endpoints: [{address: "unix://@net-mesh-loopback"}]}}
---
`

// inPod: such ServiceEntries keep no sidecar from coming up, nor from being served, and who calls their hosts is
// refused at once.
func inPod(t *testing.T, m lab.Mesh, url string, through func(string, ...string) lab.Request) {
	applyFor(t, m, claims)
	listens(t, m, "clients", "deploy/caller", "istio-proxy", "127.0.0.1:15007")
	kubectl(t, m, "", "-n", "clients", "rollout", "restart", "deployment/caller")
	if err := m.Rollout(t.Context(), "clients", "caller"); err != nil {
		t.Fatal(err)
	}
	byCaller(t, m, url)
	refused(t, m, through("leads"), 502, 503, 508)
}

// byCaller wants the application to be asked by the caller itself.
func byCaller(t *testing.T, m lab.Mesh, url string) {
	t.Helper()
	if meets(t, m, url, map[string]string{"iris-predictor": callerID}) {
		t.Error("there is no gateway, and one is on the way")
	}
}

func deployCaller(t *testing.T, m lab.Mesh) {
	t.Helper()
	if err := m.DeployDemo(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// refused waits for one of some codes, and wants it at once.
func refused(t *testing.T, m lab.Mesh, request lab.Request, codes ...int) lab.Answer {
	t.Helper()
	var a lab.Answer
	eventually(t, fmt.Sprintf("%q to be answered with one of %v", request.Args, codes), func(ctx context.Context) error {
		got, err := m.CallAll(ctx, "clients", []lab.Request{request})
		if err != nil {
			return err
		}
		a = got[0]
		for _, code := range codes {
			if a.Code == code {
				return nil
			}
		}
		return fmt.Errorf("got %d %.200s", a.Code, a.Body)
	})
	if a.Took > quick {
		t.Errorf("%q was answered after %s", request.Args, a.Took)
	}
	return a
}

// forged: who sends the marker himself is taken for one who comes a second time, at the loopback only, and nobody
// else notices. It does not reach the application.
func forged(t *testing.T, m lab.Mesh, through func(string, ...string) lab.Request) {
	predictor := iris.component("predictor")
	mine := []string{"-H", marker + ": 1"}
	hears(t, m, "clients", predictor, lab.Request{URL: "http://" + predictor + "/", Args: mine})
	got, err := m.CallAll(t.Context(), "clients", []lab.Request{
		through("by-hand", mine...), through("by-hand"), through("by-hand", mine...), through("by-hand"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got {
		_, err := hear(a)
		if i%2 == 0 && a.Code != 508 {
			err = errors.Join(err, fmt.Errorf("want 508"))
		} else if i%2 == 0 {
			err = nil
		}
		if err != nil {
			t.Errorf("request %d of four, of which the first and the third have a forged marker: %v", i+1, err)
		}
	}
}

func listeners(t *testing.T, m lab.Mesh, namespace, pod, container string) string {
	t.Helper()
	return kubectl(t, m, "", "-n", namespace, "exec", pod, "-c", container, "--", "pilot-agent", "request", "GET", "listeners")
}

// listens waits until a proxy listens at an address.
func listens(t *testing.T, m lab.Mesh, namespace, pod, container, address string) {
	t.Helper()
	eventually(t, pod+" to listen at "+address, func(context.Context) error {
		if got := listeners(t, m, namespace, pod, container); !strings.Contains(got, address) {
			return errors.New(got)
		}
		return nil
	})
}
