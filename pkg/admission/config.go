package admission

import (
	"context"
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	kubenetwork "knative.dev/pkg/network"
	"knative.dev/pkg/system"
	"knative.dev/pkg/webhook/configmaps"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// NewConfigController checks config-istio with the controller's own parser. What that cannot read
// is refused; what it would read without effect is allowed with a warning. An example in the
// ConfigMap that does not fit its checksum is refused by knative.dev/pkg.
func NewConfigController(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	impl := configmaps.NewAdmissionController(ctx, ConfigWebhook, configPath, configmap.Constructors{
		config.IstioConfigMap: func(m *corev1.ConfigMap) (*config.Istio, error) {
			istio, _, err := parse(m)
			return &istio, err
		},
	})
	inner := impl.Reconciler.(keeper)
	impl.Reconciler = answering{keeper: inner, admit: func(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		response := inner.Admit(ctx, r)
		if response.Allowed {
			response.Warnings = append(response.Warnings, warnings(r)...)
		}
		return response
	}}
	return impl
}

func parse(m *corev1.ConfigMap) (config.Istio, []finding.Finding, error) {
	return config.ParseIstio(m.Data, kubenetwork.GetClusterDomainName(), system.Namespace())
}

// warnings are the Findings about a config-istio that is allowed. kubectl prints them.
func warnings(r *admissionv1.AdmissionRequest) []string {
	var m corev1.ConfigMap
	if err := json.Unmarshal(r.Object.Raw, &m); err != nil || m.Name != config.IstioConfigMap {
		return nil // of a request to delete there is no object
	}
	_, findings, _ := parse(&m)
	var told []string
	for _, f := range findings {
		told = append(told, f.Message)
	}
	return told
}
