package translate_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// predicting is the Ingress of a predictor of an InferenceService.
func predicting(namespace, isvc string) []byte {
	return fmt.Appendf(nil, `apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata:
  name: %[2]s-predictor
  namespace: %[1]s
  labels: {serving.kserve.io/inferenceservice: %[2]s, component: predictor}
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}
spec:
  rules:
  - hosts: [%[2]s-predictor.%[1]s.svc.cluster.local]
    visibility: ClusterLocal
    http: {paths: [{splits: [{serviceName: backend, serviceNamespace: %[1]s, servicePort: 80}]}]}
---
`, namespace, isvc)
}

// aliased is KServe's Service of an InferenceService's name.
const aliased = `apiVersion: v1
kind: Service
metadata: {name: iris, namespace: models}
spec: {type: ExternalName, externalName: knative-local-gateway.istio-system.svc.cluster.local}
---
`

// TestNobodyTakesTheNameOfAnInferenceServiceAway by claiming in another namespace what is not his. Where no
// Service has the name, iris.models may be a domain of the world, and then it is whose Ingress claims it.
func TestNobodyTakesTheNameOfAnInferenceServiceAway(t *testing.T) {
	for _, host := range []string{"iris.models", "iris.models.svc", "iris.models.svc.cluster.local", "iris.models.svc.example.com"} {
		for _, visibility := range []string{"ClusterLocal", "ExternalIP"} {
			for _, service := range []string{"", aliased} {
				var served bool
				for _, r := range translated(t, "mesh-only", predicting("models", "iris"), claiming("thief", 1, visibility, host), []byte(service)) {
					served = served || r.Model.Name.Namespace == "models" && slices.Contains(hostsAt(r), "iris.models at mesh")
				}
				if world := service == "" && host == "iris.models" && visibility == "ExternalIP"; served == world {
					t.Errorf("with a %s claim of another namespace to %s the name is served: %v", visibility, host, served)
				}
			}
		}
	}
}

// TestTheNameOfAnInferenceServiceIsALabel: labels may have dots, and then an abbreviation would be a
// name of the world or of another namespace.
func TestTheNameOfAnInferenceServiceIsALabel(t *testing.T) {
	for _, tt := range []struct{ namespace, isvc, stolen string }{
		{"com", "www.bank", "www.bank.com at mesh"},
		{"svc", "pay.shop", "pay.shop.svc at mesh"},
	} {
		for _, r := range translated(t, "mesh-only", predicting(tt.namespace, tt.isvc)) {
			if at := hostsAt(r); slices.Contains(at, tt.stolen) {
				t.Errorf("namespace %s serves %s: %v", tt.namespace, tt.stolen, at)
			}
		}
	}
}

// TestALabelHidesNobody: anybody can label a VirtualService as if it were of an Ingress of his.
func TestALabelHidesNobody(t *testing.T) {
	theirs := []byte(`apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: thief, namespace: thief, labels: {networking.internal.knative.dev/ingress: i}}
spec: {hosts: [shop.models.svc.cluster.local], http: [{route: [{destination: {host: other}}]}]}
---
`)
	for _, r := range translated(t, "mesh-only", claiming("models", 1, "ClusterLocal", "shop.models.svc.cluster.local"), theirs) {
		if !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Reason == finding.HostNamedElsewhere }) {
			t.Error("nobody is told who names the host too")
		}
	}
}
