//go:build lab || acceptance

// Package e2e asks of a real mesh: does net-mesh do what it promises? It needs a lab that is up with
// net-mesh installed; its name is in the environment variable LAB_NAME.
package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/net-mesh/net-mesh/test/lab"
	"github.com/net-mesh/net-mesh/test/lab/host"
)

// places are the proxies that a request to a Service of namespace apps may pass.
var places = []lab.Place{
	{Namespace: "clients", Selector: "app=caller"}, {Namespace: "istio-system", Selector: "istio=ingressgateway"},
	{Namespace: "knative-serving", Selector: "app=activator"}, {Namespace: "apps", Selector: "serving.knative.dev/service=hello"},
}

//go:embed testdata/outside.yaml
var outside string // a caller that is no part of the mesh

const patience = 2 * time.Minute

func theLab(t *testing.T) *lab.Lab {
	t.Helper()
	name := os.Getenv("LAB_NAME")
	if name == "" {
		name = "lab"
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.New(name, repo)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func theMesh(t *testing.T) lab.Mesh {
	t.Helper()
	m, err := theLab(t).Mesh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// kubectl fails the test when the call fails.
func kubectl(t *testing.T, m lab.Mesh, input string, args ...string) string {
	t.Helper()
	var in []byte
	if input != "" {
		in = []byte(input)
	}
	out, err := m.Kubectl(t.Context(), in, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// eventually fails the test when a condition does not come to hold.
func eventually(t *testing.T, what string, holds func(context.Context) error) {
	t.Helper()
	if err := host.WaitFor(t.Context(), what, patience, holds); err != nil {
		t.Fatal(err)
	}
}

// answers waits until a call from namespace clients is answered with 200.
func answers(t *testing.T, m lab.Mesh, url string) lab.Answer {
	t.Helper()
	var a lab.Answer
	eventually(t, url+" to answer 200", func(ctx context.Context) (err error) {
		if a, err = m.Call(ctx, "clients", url); err == nil && a.Code != 200 {
			err = fmt.Errorf("it answers %d %s", a.Code, a.Body)
		}
		return err
	})
	return a
}

// cleanup is the context of what is done after a test, when its own has ended.
func cleanup() context.Context { return context.Background() }

// deployHello deploys the demo's Service and its caller, and waits until it is Ready.
func deployHello(t *testing.T, m lab.Mesh) {
	t.Helper()
	if err := m.DeployDemo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.ServiceReady(t.Context(), "apps", "hello"); err != nil {
		t.Fatal(err)
	}
}
