// Package admission answers: may this be stored, and what is added to it first? It serves the
// two webhooks that net-istio has, under net-istio's names, so that they replace its own in place.
//
// Nothing waits for it. Where nobody answers, the API server goes on without: the shipped webhook
// configurations say so, and no answer here refuses a Deployment.
package admission

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection/clients/namespacedkube/informers/factory"
	"knative.dev/pkg/reconciler"
	"knative.dev/pkg/system"
	"knative.dev/pkg/webhook"
)

// Names that are net-istio's.
const (
	// Component is the name of the Deployment and of the Service, and how leases begin.
	Component = "net-istio-webhook"
	// SecretName is the Secret with the certificate that the webhook serves with.
	SecretName = "net-istio-webhook-certs"
	// ConfigWebhook is the ValidatingWebhookConfiguration, and the one webhook in it.
	ConfigWebhook = "config.webhook.istio.networking.internal.knative.dev"
	// DeploymentWebhook is the MutatingWebhookConfiguration, and the one webhook in it.
	DeploymentWebhook = "webhook.istio.networking.internal.knative.dev"

	configPath     = "/config-validation"
	deploymentPath = "/defaulting"
	// port is that of the container.
	port = 8443
	// gracePeriod is how long a pod that is to end still answers: the API server may learn only
	// then that it goes. It is shorter than the 30 s after which the kubelet kills.
	gracePeriod = 10 * time.Second
)

// Options are those of the server and of the reconcilers of its certificate and configurations.
func Options() webhook.Options {
	return webhook.Options{ServiceName: Component, SecretName: SecretName, Port: port, GracePeriod: gracePeriod}
}

// WithOwnSecretOnly is an injection.InformerFactoryInjector for the informers of the system
// namespace, of which knative.dev/pkg/webhook uses that of Secrets. Registered after Knative's, it
// takes its place and sees one Secret, so that the rights to see the others are not needed.
func WithOwnSecretOnly(ctx context.Context) context.Context {
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, SecretName).String()
	return context.WithValue(ctx, factory.Key{}, informers.NewSharedInformerFactoryWithOptions(
		kubeclient.Get(ctx), controller.GetResyncPeriod(ctx),
		informers.WithNamespace(system.Namespace()),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.FieldSelector = own }),
	))
}

// keeper is what knative.dev/pkg has for a kind of webhook: it keeps the webhook configuration in
// order, and it answers.
type keeper interface {
	controller.Reconciler
	reconciler.LeaderAware
	webhook.AdmissionController
}

// answering is a keeper whose answers are ours.
type answering struct {
	// No answer looks at a cache.
	webhook.StatelessAdmissionImpl
	keeper
	admit func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse
}

// Admit implements webhook.AdmissionController.
func (a answering) Admit(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return a.admit(ctx, r)
}
