package admission

import (
	"context"
	"encoding/json"

	"go.uber.org/zap"
	istiolabels "istio.io/api/label"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis/duck"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/webhook/resourcesemantics"
	"knative.dev/pkg/webhook/resourcesemantics/defaulting"
)

// Labels that Serving sets on the Deployment of a revision (knative.dev/serving, pkg/apis/serving).
const (
	serviceLabel       = "serving.knative.dev/service"
	configurationLabel = "serving.knative.dev/configuration"
	revisionLabel      = "serving.knative.dev/revision"
)

// NewDeploymentController sets Istio's canonical name and revision on the Deployments of revisions
// and on their pods, so that telemetry speaks of Services and revisions. Without the labels Istio
// would take the label app, which is the revision's name.
//
// The answers are not those of knative.dev/pkg: they would refuse a Deployment that cannot be
// decoded, and patch in whatever its Go type reads otherwise.
func NewDeploymentController(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	// Only the kinds count, for the rules of the webhook configuration.
	kinds := map[schema.GroupVersionKind]resourcesemantics.GenericCRD{appsv1.SchemeGroupVersion.WithKind("Deployment"): nil}
	impl := defaulting.NewAdmissionController(ctx, DeploymentWebhook, deploymentPath, kinds, nil, false)
	impl.Reconciler = answering{keeper: impl.Reconciler.(keeper), admit: admitDeployment}
	return impl
}

// admitDeployment allows everything. What it cannot read stays as it is.
func admitDeployment(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	response := &admissionv1.AdmissionResponse{Allowed: true}
	if r.SubResource != "" || (r.Operation != admissionv1.Create && r.Operation != admissionv1.Update) {
		return response
	}
	patch, err := canonical(r.Object.Raw)
	if err != nil {
		logging.FromContext(ctx).Errorw("Deployment is let through without canonical labels", zap.Error(err))
		return response
	}
	if len(patch) > 0 {
		kind := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = patch, &kind
	}
	return response
}

// canonical returns the JSON patch that gives the Deployment of a revision its canonical labels;
// nothing when it has them, or is of no revision. As with net-istio, the revision and Service that
// Serving tells win over what was set by hand.
func canonical(deployment []byte) ([]byte, error) {
	var before map[string]any
	if err := json.Unmarshal(deployment, &before); err != nil {
		return nil, err
	}
	labels, _, err := unstructured.NestedStringMap(before, "metadata", "labels")
	if err != nil {
		return nil, err
	}
	after := runtime.DeepCopyJSON(before)
	for label, value := range canonicalLabels(labels) {
		for _, at := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
			if err := unstructured.SetNestedField(after, value, append(at, "labels", label)...); err != nil {
				return nil, err
			}
		}
	}
	patch, err := duck.CreatePatch(before, after)
	if err != nil || len(patch) == 0 {
		return nil, err
	}
	return json.Marshal(patch)
}

// canonicalLabels says which canonical labels belong to the labels of a Deployment. The name is the
// Service's, or else the Configuration's, where somebody made that without a Service.
func canonicalLabels(labels map[string]string) map[string]string {
	revision := labels[revisionLabel]
	if revision == "" {
		return nil
	}
	name, ofService := labels[serviceLabel]
	if !ofService {
		name = labels[configurationLabel]
	}
	canonical := map[string]string{istiolabels.ServiceCanonicalRevision.Name: revision}
	if name != "" {
		canonical[istiolabels.ServiceCanonicalName.Name] = name
	}
	return canonical
}
