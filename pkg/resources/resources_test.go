package resources_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
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

func TestLabelValuesFit(t *testing.T) {
	long := "www.a-service-with-a-very-long-name.and-a-domain-that-is-long-as-well.example.com"
	if got := resources.LabelValue(long); len(got) > 63 || got == resources.LabelValue(long+"x") {
		t.Error("LabelValue =", got)
	}
	if got := resources.LabelValue("short"); got != "short" {
		t.Error("LabelValue =", got)
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
