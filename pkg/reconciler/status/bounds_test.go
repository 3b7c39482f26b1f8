package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/controller"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// enough is far below what an object may weigh, about 1.5 MB, with a few conditions of it.
const enough = 64 << 10

// crowd is thousands of findings of one reason, each with long names.
func crowd(reason finding.Reason) []finding.Finding {
	var out []finding.Finding
	for i := range 3000 {
		out = append(out, finding.Finding{Reason: reason, Path: fmt.Sprint(i), Message: fmt.Sprintf("fault %04d of %s; correct %s", i, strings.Repeat("x", 2000), reason)})
	}
	return out
}

// TestNothingGrowsWithoutBound: whatever there is to tell, each condition stays short, says how much
// more there is, and equal faults give equal words and no event twice.
func TestNothingGrowsWithoutBound(t *testing.T) {
	names := make([]string, 3000)
	for i := range names {
		names[i] = fmt.Sprintf("%04d.%s.example.com", i, strings.Repeat("x", 200))
	}
	all := slices.Concat(crowd(finding.PathInvalid), crowd(finding.SecretMissing), crowd(finding.RouteShadowed))
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	var said []string
	for _, findings := range [][]finding.Finding{all, backwards} {
		recorder := record.NewFakeRecorder(20000)
		ctx := controller.WithEventRecorder(t.Context(), recorder)
		ing := fresh()
		for range 2 {
			Write(ctx, ing, translate.Result{Plan: gateway, Findings: findings}, apply.Changes{},
				readiness.State{Waiting: names, Assumed: readiness.Assumed{Mesh: names, Gateways: names}})
			ing.Status.ObservedGeneration = ing.Generation
		}
		close(recorder.Events)
		var events []string
		for e := range recorder.Events {
			if len(e) > 1024 {
				t.Errorf("an event has %d bytes", len(e))
			}
			events = append(events, e)
		}
		if len(events) != 2*finding.MostTold+1 {
			t.Errorf("%d events", len(events))
		}
		message := ing.Status.GetCondition(v1alpha1.IngressConditionNetworkConfigured).Message
		if !strings.HasPrefix(message, "fault 0000 of x") || !strings.HasSuffix(message, "; and 5995 more, which netmesh lint lists") {
			t.Errorf("NetworkConfigured says %.20q … %q", message, message[len(message)-80:])
		}
		said = append(said, message+strings.Join(events, "\n"))
	}
	if said[0] != said[1] {
		t.Error("the same faults in another order read otherwise")
	}
}

// TestWordsOfOthersAreBounded: of the API, of who answers probes, and of long lists of hosts.
func TestWordsOfOthersAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100000)
	for name, write := range map[string]func(*v1alpha1.Ingress){
		"a failure":       func(ing *v1alpha1.Ingress) { Failed(ing, errors.New(long)) },
		"a configuration": func(ing *v1alpha1.Ingress) { Unconfigured(ing, errors.New(long)) },
		"what is awaited": func(ing *v1alpha1.Ingress) {
			Write(t.Context(), ing, translate.Result{Plan: gateway}, apply.Changes{}, readiness.State{Waiting: []string{long, long}})
		},
		"what is assumed": func(ing *v1alpha1.Ingress) {
			Write(t.Context(), ing, translate.Result{Plan: gateway}, apply.Changes{}, readiness.State{Ready: true, Assumed: readiness.Assumed{Mesh: strings.Split(strings.Repeat("h ", 9999), " ")}})
		},
	} {
		ing := fresh()
		write(ing)
		for _, c := range ing.Status.Conditions {
			if len(c.Message) > enough {
				t.Errorf("%s: %s has %d bytes", name, c.Type, len(c.Message))
			}
		}
	}
}
