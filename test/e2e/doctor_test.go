//go:build lab

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

// narrow are Sidecar objects that hide routes: one of the callers' namespace, and one of the root namespace
// as Kubeflow has it, which is for activator, autoscaler and observers too.
var narrow = []struct{ name, manifest, reason string }{
	{"of the callers", `
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: clients}
spec: {egress: [{hosts: ["./*", "istio-system/*"]}]}
`, "SidecarHidesRoutes"},
	{"of everybody", `
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: default, namespace: istio-system}
spec: {egress: [{hosts: ["./*", "istio-system/*", "knative-serving/*"]}]}
`, "SidecarHidesRevisions"},
}

// What is in the way of a call the doctor names, explain says it of the very call, and what the doctor
// offers mends it. The Service is at zero, so that the activator has to reach the revision too.
func TestDoctor(t *testing.T) {
	m := theMesh(t)
	asMode(t, "mesh-only")
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	deployHello(t, m)
	answers(t, m, helloURL)
	netmesh := buildNetmesh(t)
	explain := []string{"explain", helloURL, "--from", "clients/caller"}
	says(t, m, netmesh, 0, "", "doctor")
	says(t, m, netmesh, 0, "", explain...)
	for _, row := range narrow {
		t.Run(row.name, func(t *testing.T) {
			if err := m.AtZero(t.Context(), "apps", "hello"); err != nil {
				t.Fatal(err)
			}
			applyFor(t, m, row.manifest)
			eventually(t, "the call to fail", func(ctx context.Context) error {
				got, err := m.CallAll(ctx, "clients", []lab.Request{{URL: helloURL}})
				if err == nil && got[0].Code == 200 {
					err = errors.New("it is answered")
				}
				return err
			})
			says(t, m, netmesh, 1, row.reason, "doctor")
			says(t, m, netmesh, 1, "Sidecar", explain...)
			fixes := says(t, m, netmesh, 1, "kind: Sidecar", "doctor", "-o", "fixes")
			kubectl(t, m, fixes, "apply", "-f", "-")
			answers(t, m, helloURL)
			says(t, m, netmesh, 0, "", "doctor")
			says(t, m, netmesh, 0, "", explain...)
		})
	}
}

func buildNetmesh(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "netmesh")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/netmesh").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// says runs netmesh on the lab's cluster, until it ends with an exit code and prints a word: what the doctor
// reads settles a moment after what it is about.
func says(t *testing.T, m lab.Mesh, netmesh string, code int, word string, args ...string) (printed string) {
	t.Helper()
	eventually(t, fmt.Sprintf("netmesh %s to end with %d", strings.Join(args, " "), code), func(ctx context.Context) error {
		cmd := theLab(t).Host.Command(ctx, netmesh, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+m.Kubeconfig())
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return err
		}
		if printed = string(out); cmd.ProcessState.ExitCode() != code || !strings.Contains(printed, word) {
			return fmt.Errorf("it ends with %d: %s", cmd.ProcessState.ExitCode(), printed)
		}
		return nil
	})
	return printed
}
