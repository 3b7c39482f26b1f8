//go:build lab

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

const (
	webhook = "net-istio-webhook"
	// wrong cannot be read, idle can and does nothing.
	wrong = `{"data":{"local-gateways":"none"}}`
	idle  = `{"data":{"local-gatewayz":"[]"}}`
)

// The webhook refuses a config-istio that cannot be read, warns of one that does nothing, and labels
// Deployments of revisions for Istio's telemetry. While it is away, Services become Ready all the same.
func TestWebhook(t *testing.T) {
	m := theMesh(t)
	eventually(t, "the webhook to be asked", func(ctx context.Context) error {
		if _, err := patchConfig(ctx, m, wrong, "--dry-run=server"); err == nil {
			return errors.New("a wrong config-istio is still taken")
		}
		return nil
	})
	t.Run("config-istio", func(t *testing.T) { configIsChecked(t, m) })
	t.Run("labels", func(t *testing.T) { deploymentIsLabelled(t, m) })
	t.Run("outage", func(t *testing.T) { outageBlocksNothing(t, m) })
}

func configIsChecked(t *testing.T, m lab.Mesh) {
	before := kubectl(t, m, "", "-n", "knative-serving", "get", "configmap", "config-istio", "-o", "jsonpath={.data.local-gateways}")
	said, err := patchConfig(t.Context(), m, wrong)
	if want := "config-istio: local-gateways: want a YAML list of {namespace, name, service, labelSelector}"; err == nil || !strings.Contains(said, want) {
		t.Errorf("a wrong value: error %v, said %q; want a refusal that says %q", err, said, want)
	}
	if after := kubectl(t, m, "", "-n", "knative-serving", "get", "configmap", "config-istio", "-o", "jsonpath={.data.local-gateways}"); after != before {
		t.Errorf("local-gateways is %q after the refusal, want %q as before", after, before)
	}
	said, err = patchConfig(t.Context(), m, idle, "--dry-run=server")
	if want := "Warning: key local-gatewayz of config-istio has no effect"; err != nil || !strings.Contains(said, want) {
		t.Errorf("an unknown key: error %v, said %q; want no error, and %q", err, said, want)
	}
}

// patchConfig returns all that kubectl says, warnings and refusals too.
func patchConfig(ctx context.Context, m lab.Mesh, patch string, args ...string) (string, error) {
	out, err := m.Command(ctx, append([]string{"-n", "knative-serving", "patch", "configmap", "config-istio", "--type=merge", "-p", patch}, args...)...).CombinedOutput()
	return string(out), err
}

func deploymentIsLabelled(t *testing.T, m lab.Mesh) {
	deployHello(t, m)
	revision := kubectl(t, m, "", "-n", "apps", "get", "ksvc", "hello", "-o", "jsonpath={.status.latestReadyRevisionName}")
	for _, of := range []string{".metadata", ".spec.template.metadata"} {
		got := kubectl(t, m, "", "-n", "apps", "get", "deployment", revision+"-deployment", "-o",
			fmt.Sprintf(`jsonpath={%[1]s.labels.service\.istio\.io/canonical-name} {%[1]s.labels.service\.istio\.io/canonical-revision}`, of))
		if want := "hello " + revision; got != want {
			t.Errorf("canonical name and revision in %s: %q, want %q", of, got, want)
		}
	}
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
}

func outageBlocksNothing(t *testing.T, m lab.Mesh) {
	t.Cleanup(func() {
		ctx := cleanup()
		if _, err := m.Kubectl(ctx, nil, "-n", "knative-serving", "scale", "deployment", webhook, "--replicas=1"); err != nil {
			t.Error(err)
		}
		if err := m.Rollout(ctx, "knative-serving", webhook); err != nil {
			t.Error(err)
		}
	})
	kubectl(t, m, "", "-n", "knative-serving", "scale", "deployment", webhook, "--replicas=0")
	eventually(t, "the webhook's pods to go", func(ctx context.Context) error {
		left, err := m.Kubectl(ctx, nil, "-n", "knative-serving", "get", "pods", "-l", "app="+webhook, "-o", "name")
		if err == nil && strings.TrimSpace(left) != "" {
			err = fmt.Errorf("left: %s", left)
		}
		return err
	})
	deployHello(t, m)
	answers(t, m, helloURL)
	if said, err := patchConfig(t.Context(), m, idle, "--dry-run=server"); err != nil {
		t.Errorf("config-istio cannot be changed while the webhook is away: %v %s", err, said)
	}
	kubectl(t, m, "", "-n", "apps", "delete", "ksvc", "hello", "--wait")
}
