package doctor

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
)

// checkDestinationRules finds rules that have sidecars send something else than mTLS to
// revisions. Istio looks for one in the caller's namespace, the Service's, and the root.
func checkDestinationRules(f *facts) []Finding {
	var out []Finding
	for _, d := range f.DestinationRules {
		mode, set := plainMode(d)
		if !set {
			continue
		}
		var met, refused []string
		for _, r := range f.Revisions {
			if !f.applies(d, r) {
				continue
			}
			met = append(met, r.Name.String())
			if f.refuses(r) {
				refused = append(refused, r.Name.String())
			}
		}
		if len(met) == 0 {
			continue
		}
		who := "all callers"
		if d.Namespace != f.mesh.root && !slices.ContainsFunc(met, func(name string) bool { return strings.HasPrefix(name, d.Namespace+"/") }) {
			who = "callers of namespace " + d.Namespace
			if d.Namespace == f.SystemNamespace {
				who = "activator and autoscaler"
			}
		}
		reason, so, names := DestinationRulePlain, "so nobody knows the caller there", met
		if len(refused) > 0 {
			reason, so, names = DestinationRuleRefused, "and mTLS is demanded there, so calls are refused", refused
		}
		out = append(out, finding(reason, ref("DestinationRule", d.Namespace, d.Name), "DestinationRule %s (host %s) has %s call %s with tls mode %s, %s",
			nameOf(d), d.Spec.GetHost(), who, some(names), mode, so).mend("set tls mode ISTIO_MUTUAL, or leave it out, or narrow its host"))
	}
	return out
}

// plainMode is a mode of TLS that is not the mesh's own.
func plainMode(d *istiov1.DestinationRule) (string, bool) {
	policy := d.Spec.GetTrafficPolicy()
	all := []*v1alpha3.ClientTLSSettings{policy.GetTls()}
	for _, p := range policy.GetPortLevelSettings() {
		all = append(all, p.GetTls())
	}
	for _, tls := range all {
		if tls != nil && tls.GetMode() != v1alpha3.ClientTLSSettings_ISTIO_MUTUAL {
			return tls.GetMode().String(), true
		}
	}
	return "", false
}

// applies: its host covers a Service of the revision, and no rule for that very name is nearer.
func (f *facts) applies(d *istiov1.DestinationRule, r Revision) bool {
	host := f.full(d.Spec.GetHost(), d.Namespace)
	suffix, wild := strings.CutPrefix(host, "*")
	for _, name := range []string{r.Name.Name, r.Name.Name + "-private"} {
		service := name + "." + r.Name.Namespace + ".svc." + f.ClusterDomain
		if service == host {
			return true
		}
		if !wild || !strings.HasSuffix(service, suffix) {
			continue
		}
		if !slices.ContainsFunc(f.DestinationRules, func(other *istiov1.DestinationRule) bool {
			return other.Namespace == d.Namespace && f.full(other.Spec.GetHost(), other.Namespace) == service
		}) {
			return true
		}
	}
	return false
}

// refuses says whether the pods of a revision take mTLS only.
func (f *facts) refuses(r Revision) bool {
	return !f.notRead(kindPeerAuthentication) && slices.ContainsFunc(f.podsOf(r), func(w Workload) bool { return w.Sidecar && f.mtls(w, portHTTP1) == strict })
}

func (f *facts) podsOf(r Revision) []Workload {
	return f.choose(func(w Workload) bool {
		return w.Namespace == r.Name.Namespace && w.Labels[revisionLabel] == r.Name.Name
	})
}
