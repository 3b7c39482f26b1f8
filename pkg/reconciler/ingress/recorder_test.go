package ingress

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/controller"
)

// TestEventsAreBounded, by whichever way they are told.
func TestEventsAreBounded(t *testing.T) {
	fake := record.NewFakeRecorder(10)
	ctx, events := recording(controller.WithEventRecorder(t.Context(), fake))
	long, ing := strings.Repeat("x", 5000), &v1alpha1.Ingress{}
	controller.GetEventRecorder(ctx).Event(ing, "Warning", "R", long)
	events.Eventf(ing, "Warning", "R", "%s", long)
	events.AnnotatedEventf(ing, nil, "Warning", "R", "%s", long)
	events.Event(ing, "Warning", "R", "100% short")
	close(fake.Events)
	n := 0
	for e := range fake.Events {
		n++
		if len(strings.TrimPrefix(e, "Warning R ")) > mostEvent {
			t.Errorf("an event has %d bytes", len(e))
		}
		if n == 4 && e != "Warning R 100% short" {
			t.Errorf("an event says %q", e)
		}
	}
	if n != 4 {
		t.Errorf("%d events", n)
	}
}
