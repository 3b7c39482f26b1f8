//go:build acceptance

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	netv1alpha1 "knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

const (
	hops    = 5
	mapped  = "chain.example.org"
	lastOne = "last"
	// enough requests that a share of 95 % is within 1 % of itself but for one run of 10 000: four and a half times
	// the standard deviation of 0.22 %.
	enough = 9500
	within = 0.01
)

// leads is an Ingress of which one request of 100 stays and the others go on.
const leads = `{apiVersion: networking.internal.knative.dev/v1alpha1, kind: Ingress, metadata: {name: %[1]s, namespace: apps,
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}},
  spec: {httpOption: Enabled, rules: [{hosts: [%[2]s], visibility: %[3]s, http: {paths: [{rewriteHost: step%[5]d.apps.svc.cluster.local, splits: [
  {serviceName: own%[4]d, serviceNamespace: apps, servicePort: 80, percent: 1},
  {serviceName: step%[5]d, serviceNamespace: apps, servicePort: 80, percent: 99}]}]}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: own%[4]d, namespace: apps}, spec: {selector: {app: backend-b}, ports: [{name: http, port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: step%[5]d, namespace: apps, labels: {serving.knative.dev/route: step%[5]d}}, spec: {ports: [{name: http, port: 80}]}}
---
`

// ends is the last Ingress of the chain, with a path to be chosen.
const ends = `{apiVersion: networking.internal.knative.dev/v1alpha1, kind: Ingress, metadata: {name: step5, namespace: apps,
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}},
  spec: {httpOption: Enabled, rules: [{hosts: [step5.apps.svc.cluster.local], visibility: ClusterLocal, http: {paths: [%s]}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: last, namespace: apps}, spec: {selector: {app: backend-a}, ports: [{name: http, port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: next, namespace: apps}, spec: {selector: {app: backend-tag}, ports: [{name: http, port: 80, targetPort: 8080}]}}
`

const (
	toLast = "{splits: [{serviceName: last, serviceNamespace: apps, servicePort: 80, percent: 100}]}"
	toNext = "{splits: [{serviceName: next, serviceNamespace: apps, servicePort: 80, percent: 100}]}"
	back   = "{rewriteHost: step1.apps.svc.cluster.local, splits: [{serviceName: step1, serviceNamespace: apps, servicePort: 80, percent: 100}]}"
)

// A DomainMapping leads five times on, each time with one share of 1 % that stays: the head has every share, as
// weights that Istio takes and as requests. A change at the end is proven again at the head, which is served as
// before meanwhile. A circle is a Finding, and heals.
func TestChain(t *testing.T) {
	m := meshOnly(t)
	all := fmt.Sprintf(leads, "chain", mapped, "ExternalIP", 0, 1)
	for i := 1; i < hops; i++ {
		all += fmt.Sprintf(leads, fmt.Sprintf("step%d", i), fmt.Sprintf("step%d.apps.svc.cluster.local", i), "ClusterLocal", i, i+1)
	}
	applyFor(t, m, all+fmt.Sprintf(ends, toLast))
	comes(t, m, "chain", netv1alpha1.IngressConditionReady, "True", "")
	comes(t, m, "chain", balancer, "True", "")
	wanted := map[string]float64{lastOne: math.Pow(0.99, hops)}
	for i := range hops {
		wanted[fmt.Sprintf("own%d", i)] = 0.01 * math.Pow(0.99, float64(i))
	}
	t.Run("weights", func(t *testing.T) { shared(t, wanted, weights(t, m), 0.0001) })
	t.Run("requests", func(t *testing.T) { requests(t, m, wanted) })
	t.Run("a change at the end", func(t *testing.T) { changedAtTheEnd(t, m) })
	t.Run("a circle", func(t *testing.T) {
		kubectl(t, m, fmt.Sprintf(ends, back), "apply", "-f", "-")
		if got := comes(t, m, "chain", netv1alpha1.IngressConditionNetworkConfigured, "False", "RouteCycle"); !strings.Contains(got, "leads back") {
			t.Errorf("the condition says %q", got)
		}
		kubectl(t, m, fmt.Sprintf(ends, toNext), "apply", "-f", "-")
		comes(t, m, "chain", netv1alpha1.IngressConditionReady, "True", "")
		reaches(t, m, fromTag)
	})
}

// reaches calls the head until the end answers, which 95 of 100 answers are of.
func reaches(t *testing.T, m lab.Mesh, want string) {
	t.Helper()
	eventually(t, "the head to lead to the end", func(ctx context.Context) error {
		a, err := m.Call(ctx, "apps", "http://last.apps.svc.cluster.local/", "-H", "Host: "+mapped)
		if err == nil && !strings.Contains(a.Body, want) {
			err = errors.New(a.Body)
		}
		return err
	})
}

func head(ctx context.Context, m lab.Mesh) (*istiov1.VirtualService, error) {
	out, err := m.Kubectl(ctx, nil, "-n", "apps", "get", "virtualservice.networking.istio.io", "chain-mesh", "-o", "json")
	if err != nil {
		return nil, err
	}
	v := &istiov1.VirtualService{}
	return v, json.Unmarshal([]byte(out), v)
}

// weights are the shares that the VirtualService of the head gives to Services.
func weights(t *testing.T, m lab.Mesh) map[string]float64 {
	t.Helper()
	v, err := head(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	sum, shares := 0.0, map[string]float64{}
	for _, route := range v.Spec.Http {
		for _, r := range route.Route {
			name, _, _ := strings.Cut(r.Destination.Host, ".")
			if r.Weight < 1 {
				t.Errorf("%s has weight %d", name, r.Weight)
			}
			shares[name] += float64(r.Weight)
			sum += float64(r.Weight)
		}
	}
	return portions(shares, sum)
}

func portions(of map[string]float64, sum float64) map[string]float64 {
	for name := range of {
		of[name] /= sum
	}
	return of
}

func shared(t *testing.T, want, got map[string]float64, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("shares %v, want %v", got, want)
	}
	for name, share := range want {
		if off := math.Abs(got[name] - share); off > most || got[name] == 0 {
			t.Errorf("%s has %.4f, want %.4f", name, got[name], share)
		}
	}
}

// requests counts by the sidecar of the caller where requests have gone.
func requests(t *testing.T, m lab.Mesh, wanted map[string]float64) {
	stop := traffic(t, m, "apps", 250, []target{{Name: "head", URL: "http://last.apps.svc.cluster.local/", Host: mapped}})
	var got map[string]float64
	eventually(t, fmt.Sprintf("%d requests", enough), func(ctx context.Context) error {
		counts, sum, err := counts(ctx, m, wanted)
		if err == nil && sum < enough {
			err = fmt.Errorf("%.0f so far", sum)
		}
		got = portions(counts, sum)
		return err
	})
	lost(t, "the chain", stop())
	t.Logf("of %d requests: %v", enough, got)
	shared(t, wanted, got, within)
}

// counts are the requests that the sidecar of the caller has sent to Services.
func counts(ctx context.Context, m lab.Mesh, services map[string]float64) (map[string]float64, float64, error) {
	out, err := m.Kubectl(ctx, nil, "-n", "apps", "exec", "deploy/caller", "-c", "istio-proxy", "--", "pilot-agent", "request", "GET", "clusters")
	sum, of := 0.0, map[string]float64{}
	for line := range strings.Lines(out) {
		// outbound|80||own0.apps.svc.cluster.local::10.244.0.9:8080::rq_total::12
		cluster, number, found := strings.Cut(strings.TrimSpace(line), "::rq_total::")
		host, inApps := strings.CutPrefix(cluster, "outbound|80||")
		name, _, _ := strings.Cut(host, ".")
		if n, bad := strconv.ParseFloat(number, 64); found && inApps && bad == nil && services[name] > 0 {
			of[name] += n
			sum += n
		}
	}
	return of, sum, err
}

// changedAtTheEnd leaves no doubt by whom the head is proven again: the observer is away when the end changes.
func changedAtTheEnd(t *testing.T, m lab.Mesh) {
	before, err := head(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = m.Kubectl(cleanup(), nil, "-n", watching, "scale", "deployment/"+observer, "--replicas=1")
	})
	observers(t, m, 0)
	kubectl(t, m, fmt.Sprintf(ends, toNext), "apply", "-f", "-")
	comes(t, m, "chain", balancer, "True", awaitingProof)
	comes(t, m, "chain", netv1alpha1.IngressConditionReady, "True", "")
	after, err := head(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if digestOf(before) == digestOf(after) {
		t.Errorf("the digest of the head is %q before and after", digestOf(after))
	}
	observers(t, m, 1)
	comes(t, m, "chain", balancer, "True", "")
	reaches(t, m, fromTag)
}

func digestOf(v *istiov1.VirtualService) string {
	return v.Spec.Http[0].GetHeaders().GetResponse().GetSet()["Net-Mesh-Digest"]
}
