package resources_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/kmeta"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
)

func split(service string, percent int32) model.Split {
	return model.Split{
		Backend: model.Backend{Host: service, Port: 81}, Percent: percent,
		SetHeaders: []model.KV{{Key: "Who", Value: service}},
	}
}

func TestRenderVirtualService(t *testing.T) {
	set := resources.Render(plan.Plan{
		Owner:  plan.Owner{APIVersion: "v", Kind: "Ingress", Namespace: "ns", Name: "i", UID: "u"},
		Labels: []model.KV{{Key: "l", Value: "m"}},
		Exposures: []plan.Exposure{{
			Name: "i-ingress", Entries: []plan.Entry{"a/b"}, Hosts: []string{"h"},
			Probed: true, Hash: "hash", Digest: "digest",
			Routes: []model.Route{{
				Match:      model.Match{PathPrefix: "/p", Headers: []model.KV{{Key: "T", Value: "t"}}},
				SetHeaders: []model.KV{{Key: "Set", Value: "it"}}, RewriteHost: "r",
				Splits: []model.Split{split("x", 90), split("y", 10)}, Source: model.Source{Rule: 1, Path: 2},
			}},
		}},
	})
	want := `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  labels:
    l: m
    networking.internal.knative.dev/ingress: i
  name: i-ingress
  namespace: ns
  ownerReferences:
  - apiVersion: v
    blockOwnerDeletion: true
    controller: true
    kind: Ingress
    name: i
    uid: u
spec:
  gateways:
  - a/b
  hosts:
  - h
  http:
  - headers:
      request:
        set:
          K-Network-Hash: hash
          Set: it
      response:
        set:
          Net-Mesh-Digest: digest
    match:
    - headers:
        K-Network-Hash:
          exact: override
        T:
          exact: t
      uri:
        prefix: /p
    name: i.1.2.probe
    retries: {}
` + destinations + `  - headers:
      request:
        set:
          Set: it
    match:
    - headers:
        T:
          exact: t
      uri:
        prefix: /p
    name: i.1.2
    retries: {}
` + destinations + `status: {}
`
	got, err := yaml.Marshal(set.VirtualServices[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// TestRenderDirectAnswer: one route before all others, however many there are.
func TestRenderDirectAnswer(t *testing.T) {
	set := resources.Render(plan.Plan{
		Owner: plan.Owner{Namespace: "ns", Name: "i"},
		Exposures: []plan.Exposure{{
			Name: "i-mesh", Kind: plan.Mesh, Entries: []plan.Entry{plan.MeshEntry}, Hosts: []string{"h"},
			Probed: true, Direct: true, Hash: "hash", Digest: "digest",
			Routes: []model.Route{
				{Match: model.Match{PathPrefix: "/p"}, Splits: []model.Split{split("x", 100)}, Source: model.Source{Path: 1}},
				{Splits: []model.Split{split("y", 100)}},
			},
		}},
	})
	want := `directResponse:
  status: 200
headers:
  response:
    set:
      K-Network-Hash: hash
      Net-Mesh-Digest: digest
match:
- headers:
    K-Network-Hash:
      exact: override
    K-Network-Probe:
      exact: probe
name: i.probe
`
	routes := set.VirtualServices[0].Spec.Http
	got, err := yaml.Marshal(routes[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error("(-want +got)", diff)
	}
	if len(routes) != 3 || routes[1].Name != "i.0.1" || routes[2].Name != "i.0.0" {
		t.Errorf("%d routes, want the answer and two others in their order", len(routes))
	}
}

func TestSecretCopiesCarryOwnerAndOrigin(t *testing.T) {
	set := resources.Render(plan.Plan{
		Owner:  plan.Owner{Namespace: "ns", Name: "i"},
		Copies: []plan.Copy{{From: types.NamespacedName{Namespace: "ns", Name: "cert"}, To: types.NamespacedName{Namespace: "istio-system", Name: "i-u"}, Labels: []model.KV{{Key: "networking.internal.knative.dev/certificate-uid", Value: "c"}}}},
	})
	want := map[string]string{
		"networking.internal.knative.dev/originSecretName":      "cert",
		"networking.internal.knative.dev/originSecretNamespace": "ns",
		"networking.internal.knative.dev/certificate-uid":       "c",
		"networking.internal.knative.dev/ingress":               "i",
		"net-mesh.dev/ingress-namespace":                        "ns",
	}
	if diff := cmp.Diff(want, set.Secrets[0].Labels); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// TestLabelValuesAreExact: whatever is called so or so, no two names have one value, not even a name
// that is chosen to be what another is cut to.
func TestLabelValuesAreExact(t *testing.T) {
	long := "www.a-service-with-a-very-long-name.and-a-domain-that-is-long-as-well.example.com"
	owner := map[string]string{}
	for _, name := range []string{"short", long[:60], long[:61], long[:66], long, long + "x", kmeta.ChildName(long, ""), strings.Repeat("a.", 120) + "a"} {
		if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
			t.Fatal(name, faults)
		}
		value := resources.LabelValue(name)
		if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
			t.Errorf("LabelValue(%s) = %s: %v", name, value, faults)
		}
		if len(name) <= 63 && value != name {
			t.Errorf("LabelValue(%s) = %s", name, value)
		}
		if len(name) > 63 && len(validation.IsDNS1123Subdomain(value)) == 0 {
			t.Errorf("LabelValue(%s) = %s, which an Ingress may be called", name, value)
		}
		if other, taken := owner[value]; taken {
			t.Errorf("%s and %s have one value, %s", name, other, value)
		}
		owner[value] = name
	}
}

// destinations are those of a route and of its probe.
const destinations = `    rewrite:
      authority: r
    route:
    - destination:
        host: x
        port:
          number: 81
      headers:
        request:
          set:
            Who: x
      weight: 90
    - destination:
        host: "y"
        port:
          number: 81
      headers:
        request:
          set:
            Who: "y"
      weight: 10
`

// TestRenderRecord: a name, and nobody behind it.
func TestRenderRecord(t *testing.T) {
	set := resources.Render(plan.Plan{
		Owner:   plan.Owner{APIVersion: "v", Kind: "Ingress", Namespace: "ns", Name: "i", UID: "u"},
		Labels:  []model.KV{{Key: "l", Value: "m"}},
		Records: []plan.Record{{Name: "i-dns", Hosts: []string{"a.com", "b.com"}, ExportTo: []string{"ns", "shop"}}},
	})
	want := `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata:
  labels:
    l: m
    networking.internal.knative.dev/ingress: i
  name: i-dns
  namespace: ns
  ownerReferences:
  - apiVersion: v
    blockOwnerDeletion: true
    controller: true
    kind: Ingress
    name: i
    uid: u
spec:
  exportTo:
  - ns
  - shop
  hosts:
  - a.com
  - b.com
  location: MESH_INTERNAL
  ports:
  - name: http
    number: 80
    protocol: HTTP
  resolution: STATIC
status: {}
`
	all := set.All()
	got, err := yaml.Marshal(all[len(all)-1])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error("(-want +got)", diff)
	}
}

// TestSharedObjectsNameNoOwner: who needs them is written down by whoever writes them.
func TestSharedObjectsNameNoOwner(t *testing.T) {
	secret := types.NamespacedName{Namespace: "ns", Name: strings.Repeat("long", 20)}
	set := resources.Render(plan.Plan{
		Owner:       plan.Owner{APIVersion: "v", Kind: "Ingress", Namespace: "ns", Name: "i", UID: "u"},
		Labels:      []model.KV{{Key: "l", Value: "m"}},
		Annotations: []model.KV{{Key: "a", Value: "b"}},
		Copies: []plan.Copy{{
			From: secret, To: types.NamespacedName{Namespace: "gw", Name: "copy"}, Sharing: plan.ByCertificate, Labels: []model.KV{{Key: "carried", Value: "on"}},
		}},
		Listeners: []plan.Listener{{Name: "wildcard", Namespace: "ns", Sharing: plan.ByCertificate, Certificate: secret, Servers: []plan.Server{{Port: 443, Hosts: []string{"*.h"}, Credential: "copy"}}}},
	})
	if len(set.Secrets)+len(set.Gateways) > 0 || len(set.SharedSecrets) != 1 || len(set.SharedGateways) != 1 {
		t.Fatalf("set = %+v, want everything shared", set)
	}
	labels := map[string]string{
		"networking.internal.knative.dev/originSecretName":      resources.LabelValue(secret.Name),
		"networking.internal.knative.dev/originSecretNamespace": "ns",
	}
	annotations := map[string]string{"networking.internal.knative.dev/originSecretName": secret.Name}
	g := set.SharedGateways[0]
	if len(g.OwnerReferences) > 0 || !maps.Equal(g.Labels, labels) || !maps.Equal(g.Annotations, annotations) {
		t.Errorf("Gateway is %+v, want no owner, and the Secret by its name", g.ObjectMeta)
	}
	labels["carried"] = "on"
	if c := set.SharedSecrets[0]; !maps.Equal(c.Labels, labels) || !maps.Equal(c.Annotations, annotations) {
		t.Errorf("copy is %+v, want no owner, and the Secret by its name", c)
	}
	if got := resources.Objects(set, set); len(got) != 2 {
		t.Errorf("%d objects of two Sets that share two", len(got))
	}
}
