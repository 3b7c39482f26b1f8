package status

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/controller"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// tell makes an event of each finding that the status does not tell already. Findings
// that change no condition leave no trace there: they are told once per generation.
func tell(ctx context.Context, ing *v1alpha1.Ingress, findings []finding.Finding) {
	recorder := controller.GetEventRecorder(ctx)
	if recorder == nil {
		return
	}
	told := map[string]bool{}
	for _, f := range findings {
		kind := corev1.EventTypeWarning
		if f.Severity() != finding.Invalid {
			kind = corev1.EventTypeNormal
		}
		if text := string(f.Reason) + f.Message; news(ing, f) && !told[text] {
			// Several fields may lead to one fault.
			told[text] = true
			recorder.Event(ing, kind, string(f.Reason), f.Message)
		}
	}
}

func news(ing *v1alpha1.Ingress, f finding.Finding) bool {
	if f.Condition() == finding.None || f.Severity() == finding.Info {
		return ing.Status.ObservedGeneration != ing.Generation
	}
	c := ing.Status.GetCondition(apis.ConditionType(f.Condition()))
	return c == nil || !strings.Contains(c.Message, f.Message)
}
