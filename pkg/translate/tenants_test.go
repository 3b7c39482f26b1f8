package translate_test

import (
	"fmt"
	"testing"
)

// claiming writes an Ingress of a namespace and a day that claims one host.
func claiming(namespace string, day int, visibility, host string) []byte {
	return fmt.Appendf(nil, `apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata:
  name: i
  namespace: %s
  creationTimestamp: "2026-01-0%dT10:00:00Z"
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}
spec:
  rules:
  - hosts: [%q]
    visibility: %s
    http: {paths: [{splits: [{serviceName: backend, serviceNamespace: %s, servicePort: 80}]}]}
---
`, namespace, day, host, visibility, namespace)
}

// TestANamespaceIsNoDomainOfTheWorld: callers outside the cluster do not look for Services.
// So a namespace that is called like a top level domain gives nobody a claim to names of
// that domain at the external gateways, neither before others nor when nobody else is there.
func TestANamespaceIsNoDomainOfTheWorld(t *testing.T) {
	thief := claiming("com", 9, "ExternalIP", "shop.com.svc.cluster.local")
	for name, documents := range map[string][][]byte{
		"an older Ingress has it": {claiming("shop", 1, "ExternalIP", "shop.com"), thief},
		"nobody has it":           {thief},
	} {
		t.Run(name, func(t *testing.T) {
			owners := map[string]string{}
			for _, mode := range []string{"gateway", "half-mesh"} {
				for _, r := range translated(t, mode, documents...) {
					for _, at := range hostsAt(r) {
						owners[at] = r.Model.Name.Namespace
					}
				}
				if owner := owners["shop.com at knative-serving/knative-ingress-gateway"]; owner == "com" {
					t.Errorf("%s: namespace com has shop.com at the external gateway", mode)
				}
			}
		})
	}
}
