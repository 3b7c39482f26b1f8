package doctor

import (
	"slices"
	"strings"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// scope finds the Sidecar object that holds for a workload, as istiod does
// (pilot/pkg/model/push_context.go): one of its namespace that selects it, else one of its
// namespace for all, else one of the root namespace for all; the oldest of several. Nil: its
// sidecar knows everything. Unsure: its labels are not known, and there are some that select.
func (f *facts) scope(w Workload) (found *istiov1.Sidecar, unsure bool) {
	var selecting, whole, root []*istiov1.Sidecar
	for _, s := range f.Sidecars {
		selector := s.Spec.GetWorkloadSelector()
		switch {
		case s.Namespace == w.Namespace && selector != nil:
			if w.Vague {
				unsure = true
			} else if labels.SelectorFromSet(selector.GetLabels()).Matches(labels.Set(w.Labels)) {
				selecting = append(selecting, s)
			}
		case s.Namespace == w.Namespace:
			whole = append(whole, s)
		case s.Namespace == f.mesh.root && selector == nil:
			root = append(root, s)
		}
	}
	for _, all := range [][]*istiov1.Sidecar{selecting, whole, root} {
		if len(all) > 0 {
			return slices.MinFunc(all, func(a, b *istiov1.Sidecar) int { return older(a, b) }), unsure
		}
	}
	return nil, unsure
}

// listener finds what of a Sidecar concerns a port: the listener of that port, else the one
// without a port. Nil: none does; no egress at all means everything.
func listener(s *istiov1.Sidecar, port uint32) *v1alpha3.IstioEgressListener {
	if len(s.Spec.GetEgress()) == 0 {
		return &v1alpha3.IstioEgressListener{Hosts: []string{"*/*"}}
	}
	for _, e := range s.Spec.GetEgress() {
		if e.GetPort() == nil || e.GetPort().GetNumber() == port {
			return e
		}
	}
	return nil
}

// imports says whether a Sidecar lets the sidecars of a namespace know a host that an object of
// another namespace has: an entry lists it, and none that begins with ~ takes it away again
// (pilot/pkg/model/sidecar.go).
func imports(s *istiov1.Sidecar, own string, port uint32, namespace, host string) bool {
	if s == nil {
		return true
	}
	known := false
	for _, entry := range listener(s, port).GetHosts() {
		in, name, ok := strings.Cut(entry, "/")
		in, excludes := strings.CutPrefix(in, "~")
		switch {
		case in == ".":
			in = own
		case excludes && in == "":
			in = "*"
		}
		if !ok || (in != "*" && in != namespace) || !covers(name, host) {
			continue
		}
		if excludes {
			return false
		}
		known = true
	}
	return known
}

// covers compares a name, maybe with a wildcard, with one that may be one too.
func covers(name, host string) bool {
	suffix, wild := strings.CutPrefix(name, "*")
	own, too := strings.CutPrefix(host, "*")
	return name == host || (wild && strings.HasSuffix(host, suffix)) || (too && strings.HasSuffix(name, own))
}

// widened is a Sidecar that lets more namespaces be known. What the API server keeps about the
// old one is left out, so that it can be applied.
func widened(s *istiov1.Sidecar, namespaces []string) Fix {
	next := &istiov1.Sidecar{TypeMeta: s.TypeMeta}
	next.APIVersion, next.Kind = "networking.istio.io/v1", "Sidecar"
	next.Namespace, next.Name, next.Labels = s.Namespace, s.Name, s.Labels
	s.Spec.DeepCopyInto(&next.Spec)
	found := false
	for _, e := range next.Spec.Egress {
		// Ports that no call of a route goes to stay as they are.
		if e == nil || (e.GetPort() != nil && !slices.Contains([]uint32{80, portHTTP1, portHTTP2}, e.GetPort().GetNumber())) {
			continue
		}
		found = true
		e.Hosts = slices.DeleteFunc(e.Hosts, func(h string) bool { return excluding(h, s.Namespace, namespaces) })
		for _, entry := range hostsOf(namespaces) {
			if !slices.Contains(e.Hosts, entry) {
				e.Hosts = append(e.Hosts, entry)
			}
		}
	}
	if !found {
		next.Spec.Egress = append(next.Spec.Egress, &v1alpha3.IstioEgressListener{Hosts: hostsOf(namespaces)})
	}
	return Fix{Object: next, ref: ref("Sidecar", s.Namespace, s.Name)}
}

// excluding says whether an entry takes hosts of some of the namespaces away from what others
// add.
func excluding(entry, own string, namespaces []string) bool {
	in, name, _ := strings.Cut(entry, "/")
	in, excludes := strings.CutPrefix(in, "~")
	return excludes && slices.ContainsFunc(namespaces, func(n string) bool {
		return (in == "" || in == "*" || in == n || (in == "." && own == n)) && (strings.HasPrefix(name, "*") || strings.Contains(name, "."+n+"."))
	})
}

func hostsOf(namespaces []string) []string {
	var out []string
	for _, n := range namespaces {
		out = append(out, n+"/*")
	}
	return out
}

// registryOnly says whether a workload's sidecar refuses hosts that it does not know.
func (f *facts) registryOnly(s *istiov1.Sidecar) bool {
	if s != nil && s.Spec.GetOutboundTrafficPolicy() != nil {
		return s.Spec.GetOutboundTrafficPolicy().GetMode() == v1alpha3.OutboundTrafficPolicy_REGISTRY_ONLY
	}
	return f.mesh.registryOnly
}
