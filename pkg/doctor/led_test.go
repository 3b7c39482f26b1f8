package doctor

import (
	"testing"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// irisRules are of one that leads iris to the local gateway, with another rule for explanations.
const irisRules = `
metadata: {name: iris, namespace: models}
spec:
  gateways: [knative-serving/knative-local-gateway, mesh]
  hosts: [iris.models.svc.cluster.local, short]
  http:
  - match: [{uri: {regex: '^/v1/models/[\w-]+:explain$'}, authority: {regex: '^iris\.models\.svc\.cluster\.local(?::\d{1,5})?$'}}]
    headers: {request: {set: {Host: iris-explainer.models.svc.cluster.local}}}
    route: [{destination: {host: knative-local-gateway.istio-system.svc.cluster.local, port: {number: 80}}}]
  - match: [{gateways: [knative-serving/knative-ingress-gateway]}, {headers: {a: {exact: b}}, uri: {prefix: /maybe}, gateways: [mesh]}]
    rewrite: {authority: iris-maybe.models.svc.cluster.local}
    route: [{destination: {host: knative-local-gateway.istio-system.svc.cluster.local}}]
  - match: [{uri: {exact: /mine}}]
    route: [{destination: {host: mine}}]
  - headers: {request: {set: {host: Iris-Predictor.models.svc.cluster.local}}}
    route: [{destination: {host: knative-local-gateway.istio-system.svc.cluster.local, port: {number: 80}}}]
`

func TestLedBy(t *testing.T) {
	vs := &istiov1.VirtualService{}
	if err := yaml.Unmarshal([]byte(irisRules), vs); err != nil {
		t.Fatal(err)
	}
	ours := vs.DeepCopy()
	ours.Labels = map[string]string{ingressLabel: "x"}
	atGateway := vs.DeepCopy()
	atGateway.Spec.Gateways = []string{"knative-serving/knative-ingress-gateway"}
	const local = "knative-local-gateway.istio-system.svc.cluster.local"
	for _, row := range []struct {
		what, host, path, want string
		maybe                  bool
		vs                     *istiov1.VirtualService
	}{
		{"the rest", "iris.models.svc.cluster.local", "/", "iris-predictor.models.svc.cluster.local", false, vs},
		{"a path by regular expression", "iris.models.svc.cluster.local", "/v1/models/iris:explain", "iris-explainer.models.svc.cluster.local", false, vs},
		{"more than the expression", "iris.models.svc.cluster.local", "/v1/models/iris:explain/x", "iris-predictor.models.svc.cluster.local", false, vs},
		{"headers are not compared", "iris.models.svc.cluster.local", "/maybe", "iris-maybe.models.svc.cluster.local", true, vs},
		{"elsewhere", "iris.models.svc.cluster.local", "/mine", "", false, vs},
		{"a name without dots", "short.models.svc.cluster.local", "/", "iris-predictor.models.svc.cluster.local", false, vs},
		{"another host", "iris.models", "/", "", false, vs},
		{"one of ours", "iris.models.svc.cluster.local", "/", "", false, ours},
		{"a gateway's", "iris.models.svc.cluster.local", "/", "", false, atGateway},
	} {
		got, ok := LedBy(Objects{VirtualServices: []*istiov1.VirtualService{row.vs}}, local, "cluster.local", row.host, row.path)
		if ok != (row.want != "") || ok && (got.Host != row.want || got.Maybe != row.maybe) {
			t.Errorf("%s: got %+v, %v, want %q, maybe %v", row.what, got, ok, row.want, row.maybe)
		}
	}
}

func TestAliasOf(t *testing.T) {
	s := &corev1.Service{}
	s.Namespace, s.Name, s.Spec.ExternalName = "models", "iris", "knative-local-gateway.istio-system.svc.cluster.local."
	for host, want := range map[string]bool{"iris.models": true, "IRIS.models.svc": true, "iris.models.svc.cluster.local": true, "iris": false, "iris.other": false} {
		if _, got := AliasOf([]*corev1.Service{s}, "knative-local-gateway.istio-system.svc.cluster.local", "cluster.local", host); got != want {
			t.Errorf("%s: got %v", host, got)
		}
	}
}
