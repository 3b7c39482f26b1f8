package admission

import (
	admissionregistration "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
)

// What net-istio v1.22 ships and, of the live ones, what its process and the API server add.

func labels(m map[string]string) kubelabels.Labels { return kubelabels.Set(m) }

func netIstioService() admissionregistration.WebhookClientConfig {
	return admissionregistration.WebhookClientConfig{Service: &admissionregistration.ServiceReference{Name: Component, Namespace: namespace}}
}

func netIstioMutating() *admissionregistration.MutatingWebhookConfiguration {
	return &admissionregistration.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: DeploymentWebhook},
		Webhooks: []admissionregistration.MutatingWebhook{{
			Name:                    DeploymentWebhook,
			AdmissionReviewVersions: []string{"v1", "v1beta1"},
			ClientConfig:            netIstioService(),
			FailurePolicy:           new(admissionregistration.Fail),
			SideEffects:             new(admissionregistration.SideEffectClassNone),
			ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: configurationLabel, Operator: metav1.LabelSelectorOpExists},
			}},
		}},
	}
}

func netIstioValidating() *admissionregistration.ValidatingWebhookConfiguration {
	return &admissionregistration.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: ConfigWebhook},
		Webhooks: []admissionregistration.ValidatingWebhook{{
			Name:                    ConfigWebhook,
			AdmissionReviewVersions: []string{"v1", "v1beta1"},
			ClientConfig:            netIstioService(),
			FailurePolicy:           new(admissionregistration.Fail),
			SideEffects:             new(admissionregistration.SideEffectClassNone),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"app.kubernetes.io/name": "knative-serving", "app.kubernetes.io/component": "net-istio",
			}},
		}},
	}
}

func liveMutating() *admissionregistration.MutatingWebhookConfiguration {
	live := netIstioMutating()
	w := &live.Webhooks[0]
	w.ClientConfig.CABundle, w.ClientConfig.Service.Path, w.ClientConfig.Service.Port = []byte("theirs"), new("/defaulting"), new(int32(443))
	w.TimeoutSeconds, w.MatchPolicy = new(int32(10)), new(admissionregistration.Equivalent)
	w.ReinvocationPolicy = new(admissionregistration.IfNeededReinvocationPolicy)
	w.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "webhooks.knative.dev/exclude", Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
	w.Rules = []admissionregistration.RuleWithOperations{{
		Operations: []admissionregistration.OperationType{admissionregistration.Create, admissionregistration.Update},
		Rule:       admissionregistration.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "deployments/status"}},
	}}
	return live
}

func liveValidating() *admissionregistration.ValidatingWebhookConfiguration {
	live := netIstioValidating()
	w := &live.Webhooks[0]
	w.ClientConfig.CABundle, w.ClientConfig.Service.Path, w.ClientConfig.Service.Port = []byte("theirs"), new("/config-validation"), new(int32(443))
	w.TimeoutSeconds, w.MatchPolicy = new(int32(10)), new(admissionregistration.Equivalent)
	w.NamespaceSelector = &metav1.LabelSelector{}
	return live
}
