package status

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/controller"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// tell makes an event of each finding that the status does not tell already: of those that
// the conditions are going to tell, and of as many that change no condition. The latter leave
// no trace there: they are told once per generation.
func tell(ctx context.Context, ing *v1alpha1.Ingress, findings []finding.Finding) {
	recorder := controller.GetEventRecorder(ctx)
	if recorder == nil {
		return
	}
	for _, on := range []finding.Condition{finding.NetworkConfigured, finding.LoadBalancerReady, finding.None} {
		relevant := slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool { return f.Condition() != on })
		told, more := finding.Told(messages(relevant))
		for _, message := range told {
			i := slices.IndexFunc(relevant, func(f finding.Finding) bool { return finding.Bound(f.Message, finding.MostBytes) == message })
			if f := relevant[i]; news(ing, on, message) {
				recorder.Event(ing, kind(f), string(f.Reason), message)
			}
		}
		if on == finding.None && more > 0 && news(ing, on, "") {
			recorder.Event(ing, corev1.EventTypeNormal, moreFindings, finding.More(more))
		}
	}
}

// moreFindings is the reason of the event that counts what is not told.
const moreFindings = "MoreFindings"

func kind(f finding.Finding) string {
	if f.Severity() == finding.Invalid || f.Severity() == finding.Warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// news says whether a condition, as it was before, does not tell a message.
func news(ing *v1alpha1.Ingress, on finding.Condition, message string) bool {
	if on == finding.None {
		return ing.Status.ObservedGeneration != ing.Generation
	}
	c := ing.Status.GetCondition(apis.ConditionType(on))
	return c == nil || !strings.Contains(c.Message, message)
}
