package translate_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// fails stands for all ways of not being served: no route, 404, or a name without backend.
const fails = "fails"

// TestOnePassDoesWhatManyWouldDo leads random requests through random Ingresses that lead to
// each other, twice: one Ingress after the other, as through proxies, each by the meaning of
// its own Model; and in one pass by the composed routes of the first. They have to end at the
// same backends, as often, with the same host and the same headers.
func TestOnePassDoesWhatManyWouldDo(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	served, led := 0, 0
	for round := range 150 {
		all := map[string]model.Model{}
		text := randomChain(random)
		for _, r := range translated(t, "mesh-only", text) {
			all[r.Model.Name.Name] = r.Model
		}
		for range 40 {
			q := randomTraveller(random)
			want, got := map[string]float64{}, map[string]float64{}
			travel(all, q, "", 1, want)
			once(all["h0"], q, got)
			if diff := differ(want, got); diff != "" {
				t.Fatalf("round %d: %+v: %s\n%s", round, q, diff, text)
			}
			if want[fails] < 1 {
				served++
			}
		}
		if all["h0"].VirtualHosts[0].Resolution != nil {
			led++
		}
	}
	if served < 1000 || led < 75 {
		t.Errorf("%d requests are served, %d worlds lead on: these worlds show little", served, led)
	}
}

// travel follows a request through one Ingress after the other.
func travel(all map[string]model.Model, q model.Request, rewritten string, share float64, out map[string]float64) {
	name, _, _ := strings.Cut(q.Host, ".")
	route, ok := all[name].Match(config.Local, q)
	if !ok {
		out[fails] += share
		return
	}
	if route.RewriteHost != "" {
		rewritten = route.RewriteHost
	}
	for _, s := range route.Splits {
		next := q
		next.Headers = set(set(q.Headers, route.SetHeaders), s.SetHeaders)
		part := share * float64(s.Percent) / 100
		if strings.HasPrefix(s.Backend.Service.Name, "h") {
			next.Host = s.Backend.Host
			travel(all, next, rewritten, part, out)
			continue
		}
		out[outcome(s, rewritten, next.Headers)] += part
	}
}

// once takes the composed routes of one Ingress.
func once(m model.Model, q model.Request, out map[string]float64) {
	route, ok := m.MatchResolved(config.Local, q)
	if !ok || route.NotFound {
		out[fails]++
		return
	}
	var whole float64
	for _, s := range route.Splits {
		whole += float64(s.Percent)
	}
	for _, s := range route.Splits {
		if strings.HasPrefix(s.Backend.Service.Name, "h") {
			out[fails] += float64(s.Percent) / whole
			continue
		}
		out[outcome(s, route.RewriteHost+s.RewriteHost, set(set(q.Headers, route.SetHeaders), s.SetHeaders))] += float64(s.Percent) / whole
	}
}

func outcome(s model.Split, host string, headers []model.KV) string {
	return fmt.Sprint(s.Backend.Service, s.Backend.Port, host, headers)
}

func set(have, more []model.KV) []model.KV {
	out := slices.Clone(have)
	for _, h := range more {
		out = slices.DeleteFunc(out, func(old model.KV) bool { return old.Key == h.Key })
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b model.KV) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func differ(want, got map[string]float64) string {
	for _, k := range slices.Concat(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))) {
		if (want[k] > 0) != (got[k] > 0) || math.Abs(want[k]-got[k]) > 0.01 {
			return fmt.Sprintf("%s: %.4f through one after the other, %.4f at once", k, want[k], got[k])
		}
	}
	return ""
}

// randomChain writes six Ingresses; each may lead to those behind it.
func randomChain(random *rand.Rand) []byte {
	var out bytes.Buffer
	pick := func(of ...string) string { return of[random.Intn(len(of))] }
	for i := range 6 {
		fmt.Fprintf(&out, `apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata: {name: h%d, namespace: rec, annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}}
spec:
  rules:
  - hosts: [h%d.rec.svc.cluster.local]
    visibility: ClusterLocal
    http:
      paths:
`, i, i)
		for range 1 + random.Intn(3) {
			fmt.Fprintf(&out, "      - path: %q\n        headers: {%s}\n        appendHeaders: {%s}\n        splits:\n",
				pick("", "", "/a", "/a/b", "/c"), pick("", "", "A: {exact: x}", "A: {exact: y}", "B: {exact: x}", "a: {exact: x}, B: {exact: y}"),
				pick("", "A: x", "B: y", "C: z", "A: y, C: q"))
			shares, first := [][]int{{100}, {1, 99}, {30, 70}, {20, 0, 80}}[random.Intn(4)], ""
			for k, percent := range shares {
				service := pick("pod1", "pod2", "pod3")
				if i < 5 && random.Intn(3) > 0 {
					if service = fmt.Sprintf("h%d", i+1+random.Intn(5-i)); first != "" {
						service = first // a path has one host to rewrite to
					}
					first = service
				}
				fmt.Fprintf(&out, "        - {serviceName: %s, serviceNamespace: rec, servicePort: %d, percent: %d, appendHeaders: {%s}}\n",
					service, 80+k, percent, pick("", "", "D: d1", "D: d2", "B: x"))
			}
			if first != "" {
				fmt.Fprintf(&out, "        rewriteHost: %s.%s\n", first, pick("rec", "rec.svc", "rec.svc.cluster.local"))
			}
		}
		fmt.Fprintf(&out, "---\napiVersion: v1\nkind: Service\nmetadata: {name: h%d, namespace: rec, labels: {serving.knative.dev/route: h}}\nspec: {ports: [{port: 80}]}\n---\n", i)
	}
	for i := range 3 {
		fmt.Fprintf(&out, "apiVersion: v1\nkind: Service\nmetadata: {name: pod%d, namespace: rec}\nspec: {selector: {app: x}, ports: [{port: 80}]}\n---\n", i+1)
	}
	return out.Bytes()
}

func randomTraveller(random *rand.Rand) model.Request {
	q := model.Request{Host: "h0.rec.svc.cluster.local", Path: []string{"/", "/a", "/a/b/c", "/c"}[random.Intn(4)]}
	for _, key := range []string{"A", "B"} {
		if v := []string{"", "x", "y"}[random.Intn(3)]; v != "" {
			q.Headers = append(q.Headers, model.KV{Key: key, Value: v})
		}
	}
	return q
}

// TestSharesOfALongChain: five times one percent stays and the rest goes on.
func TestSharesOfALongChain(t *testing.T) {
	route, ok := result(t, "resolved-shares", "mesh-only", "step0").Model.MatchResolved(config.Local, model.Request{Host: "step0.rec.svc.cluster.local", Path: "/"})
	if !ok || len(route.Splits) != 6 {
		t.Fatalf("%+v", route)
	}
	rest, total := 1.0, int32(0)
	for i, s := range route.Splits {
		want := rest
		if i < 5 {
			want, rest = rest*0.01, rest*0.99
		}
		if got := float64(s.Percent) / model.FineWhole; s.Percent < 1 || math.Abs(got-want) > 0.01 {
			t.Errorf("%s has %.4f, want %.4f", s.Backend.Host, got, want)
		}
		total += s.Percent
	}
	if total != model.FineWhole {
		t.Errorf("the shares add up to %d", total)
	}
}

// TestATargetsChangeIsAnotherProof: what is at the end of a chain changes, and the head has
// the same hash and another digest.
func TestATargetsChangeIsAnotherProof(t *testing.T) {
	for _, mode := range []string{"half-mesh", "mesh-only"} {
		in := read(t, "testdata/cases/resolved-chain/in.yaml")
		before, after := head(t, mode, in), head(t, mode, bytes.ReplaceAll(in, []byte("serviceName: end-v1"), []byte("serviceName: end-v2")))
		if before.Model.Hash != after.Model.Hash {
			t.Errorf("%s: the hash of an Ingress that did not change is %s and %s", mode, before.Model.Hash, after.Model.Hash)
		}
		a, b := before.Plan.Probes[0], after.Plan.Probes[0]
		if a.Digest == b.Digest || a.Hash != before.Model.Hash || b.Hash != a.Hash {
			t.Errorf("%s: the proofs are %+v and %+v", mode, a, b)
		}
	}
}

func head(t *testing.T, mode string, in []byte) translate.Result {
	t.Helper()
	for _, r := range translated(t, mode, in) {
		if r.Model.Name.Name == "head" {
			return r
		}
	}
	t.Fatal("no head")
	return translate.Result{}
}
