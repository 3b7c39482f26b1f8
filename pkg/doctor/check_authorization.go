package doctor

import (
	"slices"
	"strings"

	"istio.io/api/security/v1beta1"
	securityv1 "istio.io/client-go/pkg/apis/security/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// checkAuthorization is a first look: of a rule only who may call is compared, and conditions
// on what and when count as met. So it misses some refusals, and claims none that is not there.
func checkAuthorization(f *facts) []Finding {
	var out []Finding
	for _, r := range f.Revisions {
		for _, w := range f.distinct(f.podsOf(r)) {
			if !w.Sidecar {
				continue
			}
			if by, refused := f.refusedBy(w); refused {
				out = append(out, notAllowed(f, r, by))
				break
			}
		}
	}
	return out
}

func notAllowed(f *facts, r Revision, by *securityv1.AuthorizationPolicy) Finding {
	reason, so := ActivatorNotAllowedYet, "which stands before it when it is at zero or has to buffer; calls are then refused with 403"
	if r.Proxied {
		reason, so = ActivatorNotAllowed, "which stands before it now, so calls are refused with 403"
	}
	return finding(reason, ref("AuthorizationPolicy", by.Namespace, by.Name), "AuthorizationPolicy %s of revision %s does not allow the activator (%s), %s", nameOf(by), r.Name, f.activatorIdentities()[0], so).
		mend("allow that principal too. The revision then sees the activator in place of the caller, so whom the activator may call for has to be said in a policy of the activator")
}

func (f *facts) activatorIdentities() []string {
	account := activatorName
	for _, w := range f.systemPods(activatorName) {
		account = w.Account
	}
	var out []string
	for _, d := range f.mesh.domains {
		out = append(out, d+"/ns/"+f.SystemNamespace+"/sa/"+account)
	}
	return out
}

// refusedBy finds the policy by which a workload refuses the activator: one that denies it, or
// the first of those that allow others only.
func (f *facts) refusedBy(w Workload) (*securityv1.AuthorizationPolicy, bool) {
	var allowing []*securityv1.AuthorizationPolicy
	for _, p := range f.AuthorizationPolicies {
		if !f.governs(p, w) {
			continue
		}
		switch p.Spec.GetAction() {
		case v1beta1.AuthorizationPolicy_DENY:
			if slices.ContainsFunc(p.Spec.GetRules(), func(r *v1beta1.Rule) bool {
				return len(r.GetTo()) == 0 && len(r.GetWhen()) == 0 && f.from(r, true)
			}) {
				return p, true
			}
		case v1beta1.AuthorizationPolicy_ALLOW:
			allowing = append(allowing, p)
		}
	}
	for _, p := range allowing {
		if slices.ContainsFunc(p.Spec.GetRules(), func(r *v1beta1.Rule) bool { return f.from(r, false) }) {
			return nil, false
		}
	}
	if len(allowing) == 0 {
		return nil, false
	}
	return allowing[0], true
}

// governs: policies with a target are for waypoints and gateways.
func (f *facts) governs(p *securityv1.AuthorizationPolicy, w Workload) bool {
	if (p.Namespace != w.Namespace && p.Namespace != f.mesh.root) || p.Spec.GetTargetRef() != nil || len(p.Spec.GetTargetRefs()) > 0 {
		return false
	}
	return labels.SelectorFromSet(p.Spec.GetSelector().GetMatchLabels()).Matches(labels.Set(w.Labels))
}

// from says whether a rule's sources hold the activator. Sources that are told by something
// else than who calls count as such only if surely is false.
func (f *facts) from(r *v1beta1.Rule, surely bool) bool {
	if len(r.GetFrom()) == 0 {
		return true
	}
	return slices.ContainsFunc(r.GetFrom(), func(from *v1beta1.Rule_From) bool {
		s := from.GetSource()
		if s == nil {
			return !surely
		}
		other := len(s.GetRequestPrincipals()) + len(s.GetNotRequestPrincipals()) + len(s.GetIpBlocks()) + len(s.GetNotIpBlocks()) +
			len(s.GetRemoteIpBlocks()) + len(s.GetNotRemoteIpBlocks())
		if surely && other > 0 {
			return false
		}
		return f.source(s)
	})
}

func (f *facts) source(s *v1beta1.Source) bool {
	identities := f.activatorIdentities()
	is := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			return slices.ContainsFunc(identities, func(id string) bool { return fits(p, id) })
		})
	}
	within := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, f.SystemNamespace) })
	}
	account := f.SystemNamespace + "/" + identities[0][strings.LastIndex(identities[0], "/")+1:]
	holds := func(accounts []string) bool { return slices.Contains(accounts, account) }
	switch {
	case len(s.GetPrincipals()) > 0 && !is(s.GetPrincipals()), is(s.GetNotPrincipals()):
		return false
	case len(s.GetNamespaces()) > 0 && !within(s.GetNamespaces()), within(s.GetNotNamespaces()):
		return false
	case len(s.GetServiceAccounts()) > 0 && !holds(s.GetServiceAccounts()), holds(s.GetNotServiceAccounts()):
		return false
	}
	return true
}

// fits compares as Istio does: exactly, or with * at one end.
func fits(pattern, value string) bool {
	switch {
	case pattern == "*":
		return value != ""
	case strings.HasPrefix(pattern, "*"):
		return strings.HasSuffix(value, pattern[1:])
	case strings.HasSuffix(pattern, "*"):
		return strings.HasPrefix(value, pattern[:len(pattern)-1])
	}
	return pattern == value
}
