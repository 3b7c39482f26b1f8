// Package status answers: what does the user get to read? It turns findings, changes and
// the state of the data plane into conditions, addresses and events of an Ingress.
package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	"knative.dev/pkg/apis"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/reconciler/apply"
	"github.com/net-mesh/net-mesh/pkg/reconciler/readiness"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// Reasons of conditions that are not about a Finding.
const (
	// NotOwned: an object of a name we need belongs to somebody else.
	NotOwned finding.Reason = "NotOwned"
	// Contested: somebody else changes an object of ours as often as it is written.
	Contested finding.Reason = "Contested"
	// ConfigInvalid: there is no usable configuration to decide by.
	ConfigInvalid = "ConfigInvalid"
	// APIFailed: the Kubernetes API refused or failed; it is tried again.
	APIFailed = "APIFailed"
	// AwaitingProof: the data plane has not shown yet that it serves this.
	AwaitingProof = "AwaitingProof"
	// Assumed: nobody could be asked.
	Assumed = "Assumed"
)

// Write reports one reconciliation. It returns whether everything is proven and was
// published before, so that what is no longer wanted may go. While something is missing
// nothing goes that is asked for: a certificate that is being renewed must not end TLS.
func Write(ctx context.Context, ing *v1alpha1.Ingress, r translate.Result, c apply.Changes, s readiness.State) bool {
	findings := Findings(r, c)
	tell(ctx, ing, findings)
	before := servedBefore(ing, findings, r.Plan, c)
	// What another Ingress has is no longer served as before, nor what a gateway had that is gone.
	stays := before || Serving(ing) && len(r.Plan.Yields)+len(c.Lost) == 0 && !slices.ContainsFunc(findings, ofGateway)
	published := balancer(ing, findings, r.Plan, s, stays)
	// Last, so that Ready tells of findings rather than of what is awaited because of them.
	conditions := ing.GetConditionSet().Manage(&ing.Status)
	if !mark(conditions, findings, finding.NetworkConfigured, before) {
		conditions.MarkTrue(v1alpha1.IngressConditionNetworkConfigured)
	}
	return published
}

// Findings are all that is to be told, gravest first.
func Findings(r translate.Result, c apply.Changes) []finding.Finding {
	needed, delegates := apart(c.Refused, r.Plan)
	return finding.Sort(slices.Concat(about(needed, NotOwned, ofSomebodyElse), about(delegates, finding.DelegateMissing, delegateOfSomebodyElse), about(c.Contested, Contested, changedBySomebodyElse), r.Findings))
}

// Untold says whether a first status would tell nothing but that a proof is awaited.
func Untold(ing *v1alpha1.Ingress, r translate.Result, c apply.Changes) bool {
	return ing.Status.ObservedGeneration == 0 && len(c.Refused)+len(c.Contested) == 0 && !slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
		return f.Severity() != finding.Info
	})
}

// servedBefore says whether all that is missing belongs to a new way at gateways, while the
// old way of this generation serves: a name misspelt in config-istio must not turn thousands of
// Routes Unknown. There is an old way if another address is published, or if other gateways
// are kept; who lost a gateway that served has neither.
func servedBefore(ing *v1alpha1.Ingress, findings []finding.Finding, p plan.Plan, c apply.Changes) bool {
	return Serving(ing) && len(p.Yields) == 0 && oldWay(ing, findings, p, c) && !slices.ContainsFunc(findings, func(f finding.Finding) bool {
		return (f.Severity() == finding.Invalid || f.Severity() == finding.Pending) && !ofGateway(f)
	})
}

// oldWay says whether there is another way than is wanted, and what it needs exists.
func oldWay(ing *v1alpha1.Ingress, findings []finding.Finding, p plan.Plan, c apply.Changes) bool {
	if len(c.Lost) > 0 {
		return false
	}
	missing := slices.ContainsFunc(findings, func(f finding.Finding) bool { return f.Reason == finding.GatewayMissing })
	other := false
	for _, scope := range []struct {
		published *v1alpha1.LoadBalancerStatus
		wanted    []plan.Address
	}{{ing.Status.PublicLoadBalancer, p.Public}, {ing.Status.PrivateLoadBalancer, p.Private}} {
		if same(scope.published, scope.wanted) {
			continue
		}
		// The mesh is always there. A gateway that is missing, while none is kept, may be the old one
		// by another Service.
		if missing && len(c.Kept) == 0 && !same(scope.published, []plan.Address{{MeshOnly: true}}) {
			return false
		}
		other = true
	}
	return other || len(c.Kept) > 0
}

// ofGateway says whether a gateway of config-istio does not serve, or not yet.
func ofGateway(f finding.Finding) bool {
	return f.Reason == finding.GatewayMissing || f.Reason == finding.GatewayServiceMissing || f.Reason == finding.HostNotServed
}

// balancer reports how the data plane serves the Ingress, and publishes the addresses of
// what is proven. It returns whether they were published before. stays says whether the Ingress is
// served as before meanwhile.
func balancer(ing *v1alpha1.Ingress, findings []finding.Finding, p plan.Plan, s readiness.State, stays bool) bool {
	conditions := ing.GetConditionSet().Manage(&ing.Status)
	if mark(conditions, findings, finding.LoadBalancerReady, false) {
		return false
	}
	// What cannot be asked for while something is missing has not been proven either.
	waiting := slices.Concat(s.Waiting, missing(findings))
	if !s.Ready || len(waiting) > 0 {
		await(conditions, stays, waiting)
		return false
	}
	published := same(ing.Status.PublicLoadBalancer, p.Public) && same(ing.Status.PrivateLoadBalancer, p.Private)
	ing.Status.MarkLoadBalancerReady(addresses(p.Public), addresses(p.Private))
	if message := assumptions(s.Assumed); message != "" {
		conditions.MarkTrueWithReason(v1alpha1.IngressConditionLoadBalancerReady, Assumed, "%s", message)
	}
	return published
}

// mostLine bounds what a condition says of one thing, in bytes: findings are bounded by
// themselves, the words of the API and of what answers probes are not.
const mostLine = 5000

const notInMesh = "Not proven in the mesh: "

// assumptions says which hosts are not proven, what that means, and what to do; empty if
// all are.
func assumptions(a readiness.Assumed) string {
	var messages []string
	if len(a.Mesh) > 0 {
		messages = append(messages, fmt.Sprintf(notInMesh+"%s. Callers' sidecars serve this, and none can be asked whether it knows the routes yet: neither has the controller a sidecar, nor is an observer configured where they are known. "+
			"A call in the first seconds may get 404: call again. If it goes on, look for the host in \"istioctl proxy-config routes\" of the caller's pod",
			finding.List(a.Mesh)))
	}
	if len(a.Gateways) > 0 {
		messages = append(messages, fmt.Sprintf("Not proven at the gateways: %s. They let in only who has a client's certificate, so they cannot be asked whether they know the routes yet. "+
			"Call once with a certificate to be sure",
			finding.List(a.Gateways)))
	}
	return strings.Join(messages, "; ")
}

// Failed reports that the API could not be read or written. What serves is not called
// into question by that.
func Failed(ing *v1alpha1.Ingress, err error) {
	report(ing, APIFailed, err.Error())
}

// Unconfigured reports that nothing can be decided; existing objects stay as they are.
func Unconfigured(ing *v1alpha1.Ingress, err error) {
	report(ing, ConfigInvalid, fmt.Sprintf("%v; correct the ConfigMap, everything stays as it is until then", err))
}

func report(ing *v1alpha1.Ingress, reason, message string) {
	message = finding.Bound(message, mostLine)
	conditions := ing.GetConditionSet().Manage(&ing.Status)
	if Serving(ing) {
		conditions.MarkTrueWithReason(v1alpha1.IngressConditionNetworkConfigured, reason, "%s", message)
		return
	}
	conditions.MarkUnknown(v1alpha1.IngressConditionNetworkConfigured, reason, "%s", message)
}

// Serving says whether this generation has been shown to be served.
func Serving(ing *v1alpha1.Ingress) bool { return ing.IsReady() }

// Proven says whether this generation is served as its Plan wants it, as far as the
// status tells: only then can a proof be spared. What the status calls assumed in the mesh has
// to be so in the known State as well, or somebody can be asked now.
func Proven(ing *v1alpha1.Ingress, p plan.Plan, known readiness.State) bool {
	c := ing.Status.GetCondition(v1alpha1.IngressConditionLoadBalancerReady)
	return Serving(ing) && c.IsTrue() && c.GetReason() != AwaitingProof &&
		(c.GetReason() != Assumed || stillAssumed(c.GetMessage(), known.Assumed.Mesh)) &&
		same(ing.Status.PublicLoadBalancer, p.Public) && same(ing.Status.PrivateLoadBalancer, p.Private)
}

// stillAssumed says whether a message tells of the same hosts in the mesh.
func stillAssumed(message string, mesh []string) bool {
	if len(mesh) == 0 {
		return !strings.HasPrefix(message, notInMesh)
	}
	return strings.HasPrefix(message, assumptions(readiness.Assumed{Mesh: mesh}))
}

// await keeps Ready as it is while another way of the same generation serves.
func await(conditions apis.ConditionManager, serving bool, waiting []string) {
	lines := make([]string, 0, len(waiting))
	for _, line := range waiting {
		lines = append(lines, finding.Bound(line, mostLine))
	}
	message := "Waiting for " + strings.Join(lines, "; ")
	if serving {
		conditions.MarkTrueWithReason(v1alpha1.IngressConditionLoadBalancerReady, AwaitingProof,
			"Served as before. %s", message)
		return
	}
	conditions.MarkUnknown(v1alpha1.IngressConditionLoadBalancerReady, AwaitingProof, "%s", message)
}

// mark shows the gravest findings of a condition; it returns false when none affect it. One that
// others cause, and that takes nothing from the Ingress, leaves it True.
// before: what they say is missing was not needed until now, and is not for what serves.
func mark(conditions apis.ConditionManager, all []finding.Finding, on finding.Condition, before bool) bool {
	relevant := slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool {
		return f.Condition() != on
	})
	if len(relevant) == 0 {
		return false
	}
	message, gravest := finding.Join(messages(relevant)), relevant[0]
	if gravest.Severity() == finding.Invalid {
		conditions.MarkFalse(apis.ConditionType(on), string(gravest.Reason), "%s", message)
		return true
	}
	switch {
	case gravest.Severity() == finding.Warning:
		conditions.MarkTrueWithReason(apis.ConditionType(on), string(gravest.Reason), "%s", message)
		return true
	case before:
		conditions.MarkTrueWithReason(apis.ConditionType(on), string(gravest.Reason), "Served as before. %s", message)
		return true
	}
	conditions.MarkUnknown(apis.ConditionType(on), string(gravest.Reason), "%s", message)
	return true
}

// missing says what the findings await, in one line.
func missing(all []finding.Finding) []string {
	pending := slices.DeleteFunc(slices.Clone(all), func(f finding.Finding) bool { return f.Severity() != finding.Pending })
	if len(pending) == 0 {
		return nil
	}
	return []string{"what is missing: " + finding.Join(messages(pending))}
}

func messages(all []finding.Finding) []string {
	out := make([]string, 0, len(all))
	for _, f := range all {
		out = append(out, f.Message)
	}
	return out
}

func addresses(all []plan.Address) []v1alpha1.LoadBalancerIngressStatus {
	out := make([]v1alpha1.LoadBalancerIngressStatus, 0, len(all))
	for _, a := range all {
		out = append(out, v1alpha1.LoadBalancerIngressStatus{DomainInternal: a.DomainInternal, MeshOnly: a.MeshOnly})
	}
	return out
}

func same(published *v1alpha1.LoadBalancerStatus, wanted []plan.Address) bool {
	return published != nil && slices.Equal(published.Ingress, addresses(wanted))
}
