// Package doctor answers: is this mesh fit to carry calls of Knative's routes, and if not, what
// is to be done? It looks at what people set up around the routes: sidecars, Sidecar objects,
// NetworkPolicies, policies of Istio, gateways, and the objects of net-mesh itself.
//
// It is pure: facts in, findings out. It is no part of the line from Ingress to VirtualService,
// and writes nothing; objects that it offers are for people to apply.
package doctor

import (
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Report is what Examine found, check by check.
type Report struct {
	Checks []Check `json:"checks"`
}

// Check is one question that was asked, and what was found.
type Check struct {
	Name string `json:"name"`
	// About is the question.
	About    string    `json:"about"`
	Findings []Finding `json:"findings"`
}

// check is a question and how it is answered.
type check struct {
	name, about string
	// needs are the kinds without which nothing is known; see World.Unread.
	needs []string
	run   func(*facts) []Finding
	// fit is said where run finds nothing to be said.
	fit string
}

// checks in the order in which a call meets what they look at.
func checks() []check {
	return []check{
		{"serving", "is Knative Serving there, and does it leave its routes to net-mesh?", []string{kindDeployment}, checkServing, "Serving is there"},
		{"config", "can config-istio and config-network be read, and what do they mean?", nil, checkConfig, ""},
		{"controller", "does net-mesh run, and alone?", []string{kindDeployment, kindPod}, checkController, "the controller of net-mesh runs, and no other"},
		{"webhooks", "does anything of net-istio's webhook stand in the way?", []string{kindMutating, kindValidating}, checkWebhooks, "no webhook of net-istio's is left that can refuse"},
		{"observers", "is there somebody who proves what the mesh has been told?", []string{kindDeployment, kindPod, kindService}, checkObservers, ""},
		{"system sidecars", "have activator and autoscaler sidecars?", []string{kindPod, kindPeerAuthentication}, checkSystemSidecars, "activator and autoscaler have sidecars"},
		{"mtls", "where is mTLS demanded?", []string{kindPeerAuthentication, kindNamespace}, checkMTLS, ""},
		{"sidecars", "have the pods of Services, and callers, sidecars?", []string{kindPod, kindNamespace, kindRoute}, checkInjection, "the pods of Services, and all other pods of injected namespaces, have sidecars"},
		{"callers without a sidecar", "who cannot call cluster-local hosts?", []string{kindPod, kindNamespace, kindRoute}, checkOutsiders, ""},
		{"gateways", "do the gateways of config-istio exist, with pods?", []string{kindPod, kindService, kindGateway, kindRoute}, checkGateways, "each gateway has its Gateway, Service and a ready pod"},
		{"loopback", "where there is no local gateway, do sidecars stand in for it?", []string{kindEnvoyFilter, kindSidecar, kindPod, kindRoute}, checkLoopback, ""},
		{"sidecar objects", "do Sidecar objects hide routes from those who need them?", []string{kindSidecar, kindPod, kindNamespace, kindDeployment, kindRoute}, checkScopes, "no Sidecar object hides a route"},
		{"network policies", "do NetworkPolicies let through what a call needs?", []string{kindNetworkPolicy, kindPod, kindNamespace, kindDeployment, kindRoute}, checkPolicies, "no NetworkPolicy stands in the way of a call"},
		{"outbound traffic", "what do sidecars do with hosts that they do not know?", []string{kindSidecar}, checkOutbound, ""},
		{"exports", "are sidecars told the routes?", []string{kindRoute}, checkExports, "nothing keeps routes from sidecars"},
		{"virtual services", "does a VirtualService of others claim a host of a route?", []string{kindVirtualService, kindRoute}, checkRivals, "no VirtualService of others claims a host of a route"},
		{"unrouted hosts", "does a VirtualService of others keep a host in the mesh without a route, or a Service lead a name round?", []string{kindVirtualService, kindRoute}, checkUnrouted, "what VirtualServices of others name for sidecars has a route there"},
		{"destination rules", "does a DestinationRule take mTLS away?", []string{kindDestinationRule}, checkDestinationRules, "no DestinationRule takes mTLS away"},
		{"authorization", "may the activator call the revisions that it stands before?", []string{kindAuthorizationPolicy, kindPod, kindDeployment}, checkAuthorization, "no AuthorizationPolicy keeps the activator from a revision"},
	}
}

// Examine asks all questions. What could not be read is told as not known, and never taken
// for fit.
func Examine(w World) Report {
	f := newFacts(w)
	var r Report
	for _, c := range checks() {
		found := f.unread(c.needs)
		if len(found) == 0 {
			found = c.run(f)
		}
		if len(found) == 0 {
			found = []Finding{{Reason: Fit, Message: c.fit}}
		}
		slices.SortStableFunc(found, compareFindings)
		r.Checks = append(r.Checks, Check{c.name, c.about, found})
	}
	return r
}

// unread has a finding for each kind that a check needs and that could not be read.
func (f *facts) unread(needs []string) []Finding {
	var out []Finding
	if f.Config == nil && slices.Contains(needs, kindRoute) {
		out = append(out, finding(NotKnown, ref("ConfigMap", f.SystemNamespace, config.IstioConfigMap), "the configuration cannot be read, so which routes and gateways there are is not known").
			mend("correct it; see the check of config"))
	}
	for _, u := range f.Unread {
		if slices.Contains(needs, u.Kind) {
			kind, _, _ := strings.Cut(u.Kind, ".")
			out = append(out, finding(NotKnown, ref(kind, "", ""), "%s", u.Why).mend("%s", u.Remedy))
		}
	}
	return out
}

// Unfit says whether something is wrong, or could not be read.
func (r Report) Unfit() bool {
	for _, f := range r.Findings() {
		if v := f.Verdict(); v == Wrong || v == Unknown {
			return true
		}
	}
	return false
}

// Findings are those of all checks, gravest first.
func (r Report) Findings() []Finding {
	var out []Finding
	for _, c := range r.Checks {
		out = append(out, c.Findings...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return rank(a.Verdict()) - rank(b.Verdict()) })
	return out
}

// Fixes are the objects of findings of a verdict, each once, and without those of graver ones.
// Those of what is Wrong are to be applied; those of what is Notable open what somebody may have
// closed on purpose.
func (r Report) Fixes(of Verdict) []Fix {
	var out []Fix
	seen := map[string]bool{}
	for _, f := range r.Findings() {
		for _, fix := range f.Fixes {
			if f.Verdict() == of && !seen[fix.key()] {
				out = append(out, fix)
			}
			seen[fix.key()] = true
		}
	}
	return out
}
