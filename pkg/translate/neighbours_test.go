package translate_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// TestOneOwnerForEachHost makes small random worlds whose Ingresses claim the same few hosts
// in all ways. Together they serve what each would serve alone, at the same entries, and
// none of it twice; who loses something says so; and the order of the documents plays no part.
func TestOneOwnerForEachHost(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	losers := 0
	for _, mode := range modes(t) {
		for round := range 60 {
			var all [][]byte
			for i := range 5 {
				all = append(all, randomIngress(random, i))
			}
			services := randomServices(random)
			world := func() [][]byte { return append([][]byte{services}, all...) }
			together, alone := map[string]string{}, map[string]string{}
			for _, one := range all {
				for _, r := range translated(t, mode, services, one) {
					for _, at := range hostsAt(r) {
						alone[at] = r.Model.Name.String()
					}
				}
			}
			for _, r := range translated(t, mode, world()...) {
				for _, at := range hostsAt(r) {
					if other, twice := together[at]; twice {
						t.Errorf("%s, round %d: %s is of %s and of %s", mode, round, at, other, r.Model.Name)
					}
					together[at] = r.Model.Name.String()
				}
				told := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Reason == finding.HostConflict })
				if told != (len(r.Plan.Yields) > 0) {
					t.Errorf("%s, round %d: %s yields %v, and is told so: %v", mode, round, r.Model.Name, r.Plan.Yields, told)
				}
				if told {
					losers++
				}
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(alone)), slices.Sorted(maps.Keys(together))); diff != "" {
				t.Errorf("%s, round %d: (-served by each alone +by all together)\n%s\n%s", mode, round, diff, bytes.Join(all, nil))
			}
			slices.Reverse(all)
			for _, r := range translated(t, mode, world()...) {
				for _, at := range hostsAt(r) {
					if together[at] != r.Model.Name.String() {
						t.Errorf("%s, round %d: %s is of %s, but %s has it when the documents are in reverse order", mode, round, at, together[at], r.Model.Name)
					}
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	if losers < 100 {
		t.Errorf("only %d conflicts: these worlds show nothing", losers)
	}
}

// TestLawsOfNeighbours: no two Ingresses of a case are given one host at one entry, and each
// looks for neighbours by the keys it is found by, so that changes wake those they concern.
func TestLawsOfNeighbours(t *testing.T) {
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			claims := map[string]string{}
			for _, ing := range b.Ingresses {
				s := snapshot.Ingress(b, cfg, ing)
				r := translate.Ingress(s)
				for _, at := range hostsAt(r) {
					if other, twice := claims[at]; twice {
						t.Errorf("%s in mode %s: both %s and %s have %s", dir, mode, other, r.Model.Name, at)
					}
					claims[at] = r.Model.Name.String()
				}
				if want := snapshot.HostKeys(snapshot.Claims(ing)); !slices.Equal(s.World.HostKeys, want) {
					t.Errorf("%s: %s looks for neighbours by %v and is found by %v", dir, r.Model.Name, s.World.HostKeys, want)
				}
				// What it serves in the mesh it looks for in VirtualServices of others.
				for _, e := range r.Plan.Exposures {
					for _, h := range e.Hosts {
						if key := snapshot.HostKey(h); e.Kind == plan.Mesh && !slices.Contains(s.World.MeshKeys, key) {
							t.Errorf("%s: %s serves %s, and is not woken by VirtualServices for %s", dir, r.Model.Name, h, key)
						}
					}
				}
				// What targets are looked for by, those on the way lead to.
				keys := snapshot.TargetKeys(ing)
				for _, target := range s.Targets {
					keys = append(keys, snapshot.TargetKeys(target)...)
				}
				for _, key := range s.World.TargetKeys {
					if !slices.Contains(keys, key) {
						t.Errorf("%s: %s looks for targets by %s, and is not found by it", dir, r.Model.Name, key)
					}
				}
			}
		}
	}
}

// hostsAt lists each host at each entry.
func hostsAt(r translate.Result) []string {
	var out []string
	for _, vs := range r.Objects.VirtualServices {
		for _, entry := range vs.Spec.Gateways {
			for _, host := range vs.Spec.Hosts {
				out = append(out, host+" at "+entry)
			}
		}
	}
	return out
}

// translated gives the results of a world in the order of their names.
func translated(t *testing.T, mode string, documents ...[]byte) []translate.Result {
	t.Helper()
	text := append([][]byte{read(t, "testdata/modes/"+mode+".yaml")}, documents...)
	b, err := snapshot.ReadBundleStrictly(bytes.Join(text, []byte("\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := b.Config(clusterDomain, systemNamespace)
	if err != nil {
		t.Fatal(err)
	}
	var out []translate.Result
	for _, ing := range b.Ingresses {
		out = append(out, translate.Ingress(snapshot.Ingress(b, cfg, ing)))
	}
	return out
}

// randomIngress writes an Ingress that claims some hosts. The Ingresses of a world are
// named in one order and are created in another; some are equally old.
func randomIngress(random *rand.Rand, i int) []byte {
	hosts := []string{
		"a.example.com", "b.example.com", "*.example.com", "hello.apps", "hello.apps.svc", "hello.apps.svc.cluster.local",
		"hello.shop", "hello.shop.svc.cluster.local", "*.apps.svc.cluster.local",
	}
	namespace := []string{"apps", "shop", "com"}[random.Intn(3)]
	text := fmt.Sprintf(`apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata:
  name: i%d
  namespace: %s
  creationTimestamp: "2026-01-0%dT10:00:00Z"
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}
spec:
  rules:
`, i, namespace, 1+random.Intn(3))
	for range 1 + random.Intn(3) {
		text += fmt.Sprintf(`  - hosts: [%q, %q]
    visibility: %s
    http: {paths: [{splits: [{serviceName: backend%d, serviceNamespace: %s, servicePort: 80}]}]}
`, hosts[random.Intn(len(hosts))], hosts[random.Intn(len(hosts))], []string{"ExternalIP", "ClusterLocal"}[random.Intn(2)], i, namespace)
	}
	return []byte(text + "---\n")
}

// randomServices decide what DNS takes some of the hosts for. They are aliases, since of
// other Services Istio adds the abbreviations by itself, and they cannot be compared.
func randomServices(random *rand.Rand) []byte {
	var text string
	for _, namespace := range []string{"apps", "shop"} {
		if random.Intn(2) == 0 {
			text += fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: hello, namespace: %s}\nspec: {type: ExternalName, externalName: alias.example.com}\n---\n", namespace)
		}
	}
	return []byte(text)
}
