package status

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/controller"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

var (
	gateway = plan.Plan{Public: []plan.Address{{DomainInternal: "gw"}}, Private: []plan.Address{{DomainInternal: "local"}}}
	meshed  = plan.Plan{Public: []plan.Address{{DomainInternal: "gw"}}, Private: []plan.Address{{MeshOnly: true}}}
	// delegating has a delegate too.
	delegating = plan.Plan{Public: gateway.Public, Private: gateway.Private, Delegates: []plan.Delegate{{Name: "hello-delegate"}}}
	proven     = readiness.State{Ready: true}
	awaited    = readiness.State{Waiting: []string{"a pod"}}
	invalid    = finding.Finding{Reason: finding.PortNotFound, Message: "port x of Service a/b does not exist"}
	pending    = finding.Finding{Reason: finding.SecretMissing, Message: "Secret a/c does not exist"}
	lost       = finding.Finding{Reason: finding.GatewayMissing, Message: "Gateway a/gw of config-istio does not exist"}
	info       = finding.Finding{Reason: finding.NoExternalEntry, Message: "nobody outside"}
)

// fresh is an Ingress whose generation has not been seen.
func fresh() *v1alpha1.Ingress {
	ing := &v1alpha1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "hello", Generation: 1}}
	ing.Status.InitializeConditions()
	return ing
}

// served is an Ingress that is Ready with a Plan.
func served(p plan.Plan) *v1alpha1.Ingress {
	ing := fresh()
	ing.Status.ObservedGeneration = 1
	ing.Status.MarkNetworkConfigured()
	ing.Status.MarkLoadBalancerReady(addresses(p.Public), addresses(p.Private))
	return ing
}

// changed is an Ingress of which somebody has written another generation.
func changed(ing *v1alpha1.Ingress) *v1alpha1.Ingress {
	ing.Generation++
	return ing
}

// TestWrite states what is read where. A condition is written as "status reason".
func TestWrite(t *testing.T) {
	for _, row := range []struct {
		name                     string
		ing                      *v1alpha1.Ingress
		plan                     plan.Plan
		findings                 []finding.Finding
		changes                  apply.Changes
		state                    readiness.State
		network, balancer, ready string
		private                  string
		published                bool
	}{
		{name: "awaited", ing: fresh(), plan: gateway, state: awaited,
			network: "True ", balancer: "Unknown AwaitingProof", ready: "Unknown AwaitingProof"},
		{name: "proven", ing: fresh(), plan: gateway, state: proven,
			network: "True ", balancer: "True ", ready: "True ", private: "local"},
		{name: "proven and published", ing: served(gateway), plan: gateway, state: proven,
			network: "True ", balancer: "True ", ready: "True ", private: "local", published: true},
		{name: "assumed", ing: fresh(), plan: gateway, state: readiness.State{Ready: true, Assumed: readiness.Assumed{Mesh: []string{"h"}}},
			network: "True ", balancer: "True Assumed", ready: "True ", private: "local"},
		{name: "another way is awaited while one serves", ing: served(gateway), plan: meshed, state: awaited,
			network: "True ", balancer: "True AwaitingProof", ready: "True ", private: "local"},
		{name: "another way is proven: flip", ing: served(gateway), plan: meshed, state: proven,
			network: "True ", balancer: "True ", ready: "True ", private: "mesh"},
		{name: "invalid", ing: fresh(), plan: gateway, findings: []finding.Finding{pending, invalid}, state: proven,
			network: "False PortNotFound", balancer: "Unknown AwaitingProof", ready: "False PortNotFound"},
		{name: "invalid, the rest is proven", ing: fresh(), plan: gateway, findings: []finding.Finding{invalid}, state: proven,
			network: "False PortNotFound", balancer: "True ", ready: "False PortNotFound", private: "local"},
		{name: "pending", ing: fresh(), plan: gateway, findings: []finding.Finding{pending, info}, state: proven,
			network: "Unknown SecretMissing", balancer: "Unknown AwaitingProof", ready: "Unknown SecretMissing"},
		{name: "info", ing: fresh(), plan: gateway, findings: []finding.Finding{info}, state: proven,
			network: "True ", balancer: "True ", ready: "True ", private: "local"},
		{name: "refused", ing: served(gateway), plan: gateway, changes: apply.Changes{Refused: []finding.Ref{{Kind: "Gateway", Name: "g"}}}, state: proven,
			network: "False NotOwned", balancer: "True ", ready: "False NotOwned", private: "local", published: true},
		{name: "a delegate is refused", ing: served(gateway), plan: delegating, changes: apply.Changes{Refused: []finding.Ref{{Kind: "VirtualService", Name: "hello-delegate"}}}, state: proven,
			network: "True DelegateMissing", balancer: "True ", ready: "True ", private: "local", published: true},
		{name: "nothing goes while something is missing", ing: served(gateway), plan: gateway, findings: []finding.Finding{pending}, state: proven,
			network: "Unknown SecretMissing", balancer: "True AwaitingProof", ready: "Unknown SecretMissing", private: "local"},
		{name: "a gateway with another address is misspelt: what serves goes on", ing: served(meshed), plan: gateway, findings: []finding.Finding{lost}, state: awaited,
			network: "True GatewayMissing", balancer: "True AwaitingProof", ready: "True ", private: "mesh"},
		{name: "a gateway with the same address is misspelt: what serves goes on", ing: served(gateway), plan: gateway, findings: []finding.Finding{lost, info},
			changes: apply.Changes{Kept: []string{"a/old"}}, state: awaited,
			network: "True GatewayMissing", balancer: "True AwaitingProof", ready: "True ", private: "local"},
		{name: "a gateway is misspelt, and the one before is gone", ing: served(gateway), plan: gateway, findings: []finding.Finding{lost},
			changes: apply.Changes{Lost: []string{"a/old"}}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing", private: "local"},
		{name: "another way is awaited, and a gateway of the one before is gone", ing: served(gateway), plan: meshed,
			changes: apply.Changes{Kept: []string{"a/beside"}, Lost: []string{"a/old"}}, state: awaited,
			network: "True ", balancer: "Unknown AwaitingProof", ready: "Unknown AwaitingProof", private: "local"},
		{name: "the gateway that served has another Service, and is gone", ing: served(gateway), plan: plan.Plan{Public: gateway.Public, Private: []plan.Address{{DomainInternal: "other"}}},
			findings: []finding.Finding{lost}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing", private: "local"},
		{name: "the gateway that served is gone", ing: served(gateway), plan: gateway, findings: []finding.Finding{lost}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing", private: "local"},
		{name: "a gateway is misspelt and a Secret missing", ing: served(meshed), plan: gateway, findings: []finding.Finding{lost, pending}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing", private: "mesh"},
		{name: "a new Ingress waits for a misspelt gateway", ing: fresh(), plan: gateway, findings: []finding.Finding{lost}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing"},
		{name: "a new generation waits for a misspelt gateway", ing: changed(served(meshed)), plan: gateway, findings: []finding.Finding{lost}, state: awaited,
			network: "Unknown GatewayMissing", balancer: "Unknown AwaitingProof", ready: "Unknown GatewayMissing", private: "mesh"},
	} {
		t.Run(row.name, func(t *testing.T) {
			published := Write(t.Context(), row.ing, translate.Result{Plan: row.plan, Findings: row.findings}, row.changes, row.state)
			if published != row.published {
				t.Errorf("published is %v, want %v", published, row.published)
			}
			expect(t, row.ing, v1alpha1.IngressConditionNetworkConfigured, row.network)
			expect(t, row.ing, v1alpha1.IngressConditionLoadBalancerReady, row.balancer)
			expect(t, row.ing, v1alpha1.IngressConditionReady, row.ready)
			if got := private(row.ing); got != row.private {
				t.Errorf("private address %q, want %q", got, row.private)
			}
		})
	}
}

// TestWhatIsLostIsNotServedAsBefore: while the rest is awaited, nobody is told so.
func TestWhatIsLostIsNotServedAsBefore(t *testing.T) {
	ing, lost := served(gateway), gateway
	lost.Yields = []plan.Yield{{Hosts: []string{"h"}, Kind: plan.Ingress, Entries: []plan.Entry{"a/b"}}}
	conflict := finding.Finding{Reason: finding.HostConflict, Message: "host h"}
	Write(t.Context(), ing, translate.Result{Plan: lost, Findings: []finding.Finding{conflict}}, apply.Changes{}, awaited)
	expect(t, ing, v1alpha1.IngressConditionLoadBalancerReady, "Unknown AwaitingProof")
	expect(t, ing, v1alpha1.IngressConditionReady, "False HostConflict")
}

// TestOneFaultIsSaidOnce, though several fields lead to it.
func TestOneFaultIsSaidOnce(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	ctx := controller.WithEventRecorder(t.Context(), recorder)
	ing, again := fresh(), pending
	again.Path = "spec.rules[1]"
	Write(ctx, ing, translate.Result{Plan: gateway, Findings: []finding.Finding{pending, again}}, apply.Changes{}, proven)
	for _, c := range ing.Status.Conditions {
		if strings.Count(c.Message, pending.Message) != 1 {
			t.Errorf("%s says %q", c.Type, c.Message)
		}
	}
	if len(recorder.Events) != 1 {
		t.Errorf("%d events", len(recorder.Events))
	}
}

// TestAssumptionsSayWhatTheyMean: which hosts, why, and what to do.
func TestAssumptionsSayWhatTheyMean(t *testing.T) {
	ing := fresh()
	Write(t.Context(), ing, translate.Result{Plan: gateway}, apply.Changes{}, readiness.State{
		Ready: true, Assumed: readiness.Assumed{Mesh: []string{"a.ns.svc", "b.ns.svc"}, Gateways: []string{"mutual.example.com"}},
	})
	message := ing.Status.GetCondition(v1alpha1.IngressConditionLoadBalancerReady).Message
	for _, want := range []string{"a.ns.svc, b.ns.svc", "sidecars", "404", "istioctl proxy-config routes", "mutual.example.com", "client's certificate"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q lacks %q", message, want)
		}
	}
}

// TestWhatIsMissingIsAwaitedInOneLine, with its name and the remedy, once it is told for what.
func TestWhatIsMissingIsAwaitedInOneLine(t *testing.T) {
	ing, service := served(meshed), lost
	service.Reason, service.Message = finding.GatewayServiceMissing, "Service a/gw does not exist"
	for range 2 {
		Write(t.Context(), ing, translate.Result{Plan: gateway, Findings: []finding.Finding{lost, service}}, apply.Changes{}, awaited)
	}
	for condition, want := range map[apis.ConditionType]string{
		v1alpha1.IngressConditionLoadBalancerReady: "Served as before. Waiting for a pod; what is missing: " + lost.Message + "; " + service.Message,
		v1alpha1.IngressConditionNetworkConfigured: "Served as before. " + lost.Message + "; " + service.Message,
	} {
		if got := ing.Status.GetCondition(condition).Message; got != want {
			t.Errorf("%s says %q, want %q", condition, got, want)
		}
	}
}

func TestMessagesNameEverything(t *testing.T) {
	ing := fresh()
	Write(t.Context(), ing, translate.Result{Plan: gateway, Findings: []finding.Finding{invalid, pending}}, apply.Changes{}, awaited)
	message := ing.Status.GetCondition(v1alpha1.IngressConditionReady).Message
	for _, want := range []string{invalid.Message, pending.Message} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q lacks %q", message, want)
		}
	}
}

func TestFailuresKeepTheirWords(t *testing.T) {
	ing := fresh()
	Failed(ing, errors.New("100% refused"))
	expect(t, ing, v1alpha1.IngressConditionReady, "Unknown APIFailed")
	if got := ing.Status.GetCondition(v1alpha1.IngressConditionNetworkConfigured).Message; got != "100% refused" {
		t.Errorf("message %q", got)
	}
	ing = served(gateway)
	Failed(ing, errors.New("refused"))
	expect(t, ing, v1alpha1.IngressConditionNetworkConfigured, "True APIFailed")
	expect(t, ing, v1alpha1.IngressConditionReady, "True ")
	Unconfigured(ing, errors.New("config-istio: wrong"))
	expect(t, ing, v1alpha1.IngressConditionNetworkConfigured, "True ConfigInvalid")
}

// TestProofIsSpared states when a status tells of a proof.
func TestProofIsSpared(t *testing.T) {
	if !Proven(served(gateway), gateway, proven) {
		t.Error("a Ready Ingress is not taken for proven")
	}
	if Proven(served(gateway), meshed, proven) {
		t.Error("other addresses are taken for proven")
	}
	if Proven(fresh(), gateway, proven) {
		t.Error("a new Ingress is taken for proven")
	}
	moving := served(gateway)
	Write(t.Context(), moving, translate.Result{Plan: gateway}, apply.Changes{}, awaited)
	if Proven(moving, gateway, proven) {
		t.Error("what is awaited is taken for proven")
	}
	next := served(gateway)
	next.Generation = 2
	if Proven(next, gateway, proven) {
		t.Error("another generation is taken for proven")
	}
	assumed, assuming := served(gateway), readiness.State{Ready: true, Assumed: readiness.Assumed{Mesh: []string{"h"}}}
	Write(t.Context(), assumed, translate.Result{Plan: gateway}, apply.Changes{}, assuming)
	if !Proven(assumed, gateway, assuming) {
		t.Error("what is still assumed is to be proven")
	}
	if Proven(assumed, gateway, proven) {
		t.Error("what was assumed is taken for proven as soon as there is a sidecar to be asked")
	}
}

// TestUntold states of what a first status may wait: of nothing but a proof.
func TestUntold(t *testing.T) {
	refused := apply.Changes{Refused: []finding.Ref{{Kind: "Gateway", Name: "g"}}}
	for _, row := range []struct {
		name     string
		ing      *v1alpha1.Ingress
		findings []finding.Finding
		changes  apply.Changes
		want     bool
	}{
		{name: "a new Ingress", ing: fresh(), findings: []finding.Finding{info}, want: true},
		{name: "one that was told of", ing: served(gateway)},
		{name: "another generation of it", ing: changed(served(gateway))},
		{name: "something is missing", ing: fresh(), findings: []finding.Finding{pending}},
		{name: "something is wrong", ing: fresh(), findings: []finding.Finding{invalid}},
		{name: "something is refused", ing: fresh(), changes: refused},
	} {
		if got := Untold(row.ing, translate.Result{Findings: row.findings}, row.changes); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

// TestAWarningLeavesReady: what somebody else does not get is told, as an event once, and the Ingress is
// as it was; beside what is wrong it is told there.
func TestAWarningLeavesReady(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	ctx := controller.WithEventRecorder(t.Context(), recorder)
	warning := finding.Finding{Reason: finding.DelegateConflict, Message: "somebody delegates"}
	ing := served(gateway)
	for range 2 {
		Write(ctx, ing, translate.Result{Plan: gateway, Findings: []finding.Finding{warning}}, apply.Changes{}, proven)
		expect(t, ing, v1alpha1.IngressConditionNetworkConfigured, "True DelegateConflict")
		expect(t, ing, v1alpha1.IngressConditionReady, "True ")
	}
	if len(recorder.Events) != 1 {
		t.Errorf("%d events", len(recorder.Events))
	}
	if got, want := <-recorder.Events, "Warning DelegateConflict somebody delegates"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	Write(ctx, ing, translate.Result{Plan: gateway, Findings: []finding.Finding{pending, warning}}, apply.Changes{}, proven)
	expect(t, ing, v1alpha1.IngressConditionNetworkConfigured, "Unknown SecretMissing")
	if got := ing.Status.GetCondition(v1alpha1.IngressConditionNetworkConfigured).Message; !strings.Contains(got, warning.Message) {
		t.Errorf("message %q lacks %q", got, warning.Message)
	}
	moving := served(meshed)
	Write(ctx, moving, translate.Result{Plan: gateway, Findings: []finding.Finding{lost, warning}}, apply.Changes{}, awaited)
	expect(t, moving, v1alpha1.IngressConditionNetworkConfigured, "True GatewayMissing")
	Write(ctx, ing, translate.Result{Plan: gateway}, apply.Changes{}, proven)
	expect(t, ing, v1alpha1.IngressConditionNetworkConfigured, "True ")
}

func TestFindingsAreToldOnce(t *testing.T) {
	recorder := record.NewFakeRecorder(10)
	ctx := controller.WithEventRecorder(t.Context(), recorder)
	ing := fresh()
	result := translate.Result{Plan: gateway, Findings: []finding.Finding{invalid, info}}
	for range 2 {
		Write(ctx, ing, result, apply.Changes{}, proven)
		ing.Status.ObservedGeneration = ing.Generation
	}
	close(recorder.Events)
	var got []string
	for e := range recorder.Events {
		got = append(got, e)
	}
	want := corev1.EventTypeWarning + " PortNotFound " + invalid.Message + "\n" + corev1.EventTypeNormal + " NoExternalEntry " + info.Message
	if strings.Join(got, "\n") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func expect(t *testing.T, ing *v1alpha1.Ingress, condition apis.ConditionType, want string) {
	t.Helper()
	c := ing.Status.GetCondition(condition)
	if got := string(c.Status) + " " + c.Reason; got != want {
		t.Errorf("%s is %q (%s), want %q", condition, got, c.Message, want)
	}
}

func private(ing *v1alpha1.Ingress) string {
	if ing.Status.PrivateLoadBalancer == nil {
		return ""
	}
	if a := ing.Status.PrivateLoadBalancer.Ingress[0]; !a.MeshOnly {
		return a.DomainInternal
	}
	return "mesh"
}
