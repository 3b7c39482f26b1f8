// Command webhook checks config-istio before it is stored, and labels the Deployments of
// revisions for Istio's telemetry. Nothing depends on it: see docs/decisions/0010.
package main

import (
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/signals"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates"

	"github.com/net-mesh/net-mesh/pkg/admission"
)

func main() {
	injection.Default.RegisterInformerFactory(admission.WithOwnSecretOnly)
	ctx := webhook.WithOptions(signals.NewContext(), admission.Options())
	// The kubelet asks the port of the webhook itself, which answers once it has a certificate.
	ctx = sharedmain.WithHealthProbesDisabled(ctx)
	sharedmain.MainWithContext(ctx, admission.Component,
		certificates.NewController,
		admission.NewConfigController,
		admission.NewDeploymentController,
	)
}
