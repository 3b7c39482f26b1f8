package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrs "k8s.io/apimachinery/pkg/api/errors"
	"knative.dev/pkg/controller"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Reasons of the events about written objects.
const (
	eventCreated  = "Created"
	eventUpdated  = "Updated"
	eventDeleted  = "Deleted"
	eventRejected = "Rejected"
)

func tell(ctx context.Context, owner Owner, done string, ref finding.Ref) {
	if recorder := controller.GetEventRecorder(ctx); recorder != nil {
		recorder.Eventf(owner, corev1.EventTypeNormal, done, "%s %s %s/%s", done, ref.Kind, ref.Namespace, ref.Name)
	}
}

func warn(ctx context.Context, owner Owner, reason, message string) {
	if recorder := controller.GetEventRecorder(ctx); recorder != nil {
		recorder.Event(owner, corev1.EventTypeWarning, reason, message)
	}
}

// rejected tells a refusal, which a person has to act on, from a passing fault.
func rejected(err error) bool {
	return apierrs.IsInvalid(err) || apierrs.IsForbidden(err) || apierrs.IsBadRequest(err)
}
