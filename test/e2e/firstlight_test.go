//go:build lab

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

const helloURL = "http://hello.apps.svc.cluster.local/"

// ours lists every object that net-mesh can have made for the demo's Service.
const ours = "virtualservices.networking.istio.io,gateways.networking.istio.io,destinationrules.networking.istio.io,serviceentries.networking.istio.io"

// A cluster-local Service at zero is called from another namespace, in every profile: it wakes, the way
// leads from the caller's sidecar straight to the activator, with mTLS and the caller's identity on each
// hop, and no gateway is on it. Deleting the Service removes all that was made for it.
func TestFirstLight(t *testing.T) {
	for _, profile := range []string{"gateway", "half-mesh", "mesh-only"} {
		t.Run(profile, func(t *testing.T) { firstLight(t, profile) })
	}
	if err := theLab(t).SetProfile(t.Context(), "gateway", false); err != nil {
		t.Fatal(err)
	}
}

func firstLight(t *testing.T, profile string) {
	if err := theLab(t).SetProfile(t.Context(), profile, false); err != nil {
		t.Fatal(err)
	}
	m := theMesh(t)
	deployHello(t, m)
	answers(t, m, helloURL)
	if err := m.AtZero(t.Context(), "apps", "hello"); err != nil {
		t.Fatal(err)
	}
	first, err := m.Call(t.Context(), "clients", helloURL)
	if err != nil || first.Code != 200 || !strings.Contains(first.Body, "Hello World!") {
		t.Fatalf("first call from zero: got %d %q (%v), want 200 Hello World!", first.Code, first.Body, err)
	}
	hops, err := m.Hops(t.Context(), first.Request, places...)
	if err != nil {
		t.Fatal(err)
	}
	checkWay(t, hops)
	second, way := warm(t, m)
	t.Logf("from zero %s\n%sthen %s\n%s", first.Took, lab.Draw(hops), second.Took, lab.Draw(way))
	deleted(t, m)
}

// warm calls again until the activator has left the way: then the application's sidecar sees the caller.
func warm(t *testing.T, m lab.Mesh) (second lab.Answer, way []lab.Hop) {
	t.Helper()
	eventually(t, "a call past the activator", func(ctx context.Context) (err error) {
		if second, err = m.Call(ctx, "clients", helloURL); err != nil || second.Code != 200 {
			return fmt.Errorf("got %d (%w), want 200", second.Code, err)
		}
		if way, err = m.Hops(ctx, second.Request, places...); err != nil {
			return err
		}
		if last := way[len(way)-1]; len(way) != 2 || last.Caller != callerID {
			return fmt.Errorf("the application's sidecar should see caller %s with nobody between; the way was\n%s", callerID, lab.Draw(way))
		}
		return nil
	})
	return second, way
}

// callerID is the identity of the pods that call.
const callerID = "spiffe://cluster.local/ns/clients/sa/caller"

func checkWay(t *testing.T, hops []lab.Hop) {
	t.Helper()
	const activator = "spiffe://cluster.local/ns/knative-serving/sa/activator"
	if len(hops) == 0 || !strings.HasPrefix(hops[0].Pod, "clients/") || hops[0].Callee != activator {
		t.Errorf("the caller's sidecar should send the call straight to the activator; the way was\n%s", lab.Draw(hops))
	}
	seen := map[string]string{}
	for _, h := range hops {
		if strings.HasPrefix(h.Pod, "istio-system/") {
			t.Errorf("a gateway is on the way:\n%s", lab.Draw(hops))
		}
		if h.Inbound() {
			namespace, _, _ := strings.Cut(h.Pod, "/")
			seen[namespace] = h.Caller
		}
	}
	if seen["knative-serving"] != callerID {
		t.Errorf("the activator's sidecar saw caller %q, want %q", seen["knative-serving"], callerID)
	}
	if seen["apps"] != activator {
		t.Errorf("the application's sidecar saw caller %q, want %q", seen["apps"], activator)
	}
}

func deleted(t *testing.T, m lab.Mesh) {
	t.Helper()
	if made := kubectl(t, m, "", "-n", "apps", "get", ours, "-o", "name"); made == "" {
		t.Error("nothing was made for the Service, so its removal proves nothing")
	}
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
	eventually(t, "what was made for hello to go", func(ctx context.Context) error {
		left, err := m.Kubectl(ctx, nil, "-n", "apps", "get", ours, "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = fmt.Errorf("left: %s", left)
		}
		return err
	})
	if left := kubectl(t, m, "", "get", "secrets", "-A", "-l", "networking.internal.knative.dev/originSecretNamespace=apps", "-o", "name"); left != "" {
		t.Errorf("copies of Secrets are left: %s", left)
	}
}

// Objects of ours that someone deletes or edits by hand are put right at once.
func TestDrift(t *testing.T) {
	m := theMesh(t)
	if err := m.Apply(t.Context(), platform.Demo); err != nil {
		t.Fatal(err)
	}
	if err := m.ServiceReady(t.Context(), "apps", "hello"); err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(kubectl(t, m, "", "-n", "apps", "get", "virtualservices.networking.istio.io", "-o", "name"))
	if len(names) == 0 {
		t.Fatal("no VirtualService to tamper with")
	}
	for _, name := range names {
		want := kubectl(t, m, "", "-n", "apps", "get", name, "-o", "jsonpath={.spec}")
		same := func(ctx context.Context) error {
			got, err := m.Kubectl(ctx, nil, "-n", "apps", "get", name, "-o", "jsonpath={.spec}")
			if err == nil && strings.TrimSpace(got) != want {
				err = fmt.Errorf("spec is still %s", got)
			}
			return err
		}
		kubectl(t, m, "", "-n", "apps", "patch", name, "--type=merge", "-p", `{"spec":{"hosts":["tampered.example.com"]}}`)
		eventually(t, name+" to be repaired after an edit", same)
		kubectl(t, m, "", "-n", "apps", "delete", name)
		eventually(t, name+" to come back", same)
	}
	answers(t, m, helloURL)
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
}
