//go:build lab

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

// told is an Ingress for one cluster-local name to a backend that is there.
const told = `{apiVersion: networking.internal.knative.dev/v1alpha1, kind: Ingress, metadata: {name: truth-%[1]d, namespace: apps,
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}},
  spec: {httpOption: Enabled, rules: [{hosts: [truth-%[1]d.apps.svc.cluster.local], visibility: ClusterLocal, http: {paths: [
  {splits: [{serviceName: backend-a, serviceNamespace: apps, servicePort: 80, percent: 100}]}]}}]}}
---
`

// Sixty Ingresses at once without any gateway: each is proven, not assumed, and a sidecar that is neither the
// controller's nor an observer's serves it when it turns Ready.
func TestReadyIsTrue(t *testing.T) {
	const many = 60
	if err := theLab(t).SetProfile(t.Context(), "mesh-only", false); err != nil {
		t.Fatal(err)
	}
	m := theMesh(t)
	deployBackends(t, m)
	var all strings.Builder
	for i := range many {
		fmt.Fprintf(&all, told, i)
	}
	applyFor(t, m, all.String())
	begin, called := time.Now(), map[string]bool{}
	var early early
	eventually(t, fmt.Sprintf("%d Ingresses to be Ready", many), func(ctx context.Context) error {
		list, err := ingresses(ctx, m, "apps")
		var hosts []string
		for i := range list {
			if ing := &list[i]; strings.HasPrefix(ing.Name, "truth-") && ing.IsReady() && !called[ing.Name] {
				called[ing.Name] = true
				proven(t, ing)
				hosts = append(hosts, ing.Name+".apps.svc.cluster.local")
			}
		}
		early.call(t, m, hosts)
		if len(called) < many {
			return errors.Join(err, fmt.Errorf("%d are", len(called)))
		}
		return err
	})
	took := time.Since(begin).Round(100 * time.Millisecond)
	early.calls.Wait()
	t.Logf("%d Ready %s after they were applied; not served then: %v", many, took, early.hosts)
	if len(early.hosts)*100 >= many {
		t.Errorf("%d of %d were Ready too early, want fewer than 1 of 100: %v", len(early.hosts), many, early.hosts)
	}
}

// proven: Ready for no other reason.
func proven(t *testing.T, ing *netv1alpha1.Ingress) {
	t.Helper()
	if c := ing.Status.GetCondition(netv1alpha1.IngressConditionLoadBalancerReady); c.GetReason() != "" {
		t.Errorf("%s is Ready for reason %s: %s", ing.Name, c.GetReason(), c.GetMessage())
	}
}

// early are hosts that were not served when they were called.
type early struct {
	calls sync.WaitGroup
	mu    sync.Mutex
	hosts []string
}

// call calls hosts at once through the sidecar of the caller, which goes by the Host whatever the address is.
func (e *early) call(t *testing.T, m lab.Mesh, hosts []string) {
	if len(hosts) == 0 {
		return
	}
	var all []lab.Request
	for _, h := range hosts {
		all = append(all, lab.Request{URL: "http://activator-service.knative-serving.svc.cluster.local/", Args: []string{"-H", "Host: " + h}})
	}
	e.calls.Go(func() {
		answers, err := m.CallAll(t.Context(), "apps", all)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, a := range answers {
			if a.Code != 200 {
				e.hosts = append(e.hosts, fmt.Sprintf("%s: %d", hosts[i], a.Code))
			}
		}
	})
}
