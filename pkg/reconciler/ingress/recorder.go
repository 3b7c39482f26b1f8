package ingress

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// mostEvent is the length of a message that Kubernetes takes for an event, in bytes.
const mostEvent = 1024

// bounded shortens the messages of events, those that Knative's reconciler makes of errors
// included: one that is too long would be refused, and nobody told.
type bounded struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (b bounded) Event(object runtime.Object, kind, reason, message string) {
	b.EventRecorder.Event(object, kind, reason, finding.Bound(message, mostEvent))
}

// Eventf implements record.EventRecorder.
func (b bounded) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	b.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (b bounded) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, format string, args ...any) {
	b.EventRecorder.AnnotatedEventf(object, annotations, kind, reason, "%s", finding.Bound(fmt.Sprintf(format, args...), mostEvent))
}
