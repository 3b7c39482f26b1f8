package doctor

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answer says whether a policy lets something through. Several are joined by the greater.
type answer int

const (
	shut answer = iota
	unclear
	open
)

// side is one end of a connection at which NetworkPolicies do not let it through.
type side struct {
	// egress: at the end that calls.
	egress bool
	// policies select the pod there; none of them admits the connection.
	policies []*networkingv1.NetworkPolicy
	unclear  bool
}

// passes asks both ends whether NetworkPolicies let a TCP connection through, and returns the
// ends that do not (k8s.io/api/networking/v1: a pod that some policy selects gets what one of
// those admits, others get all).
func (f *facts) passes(from, to Workload, port int32) []side {
	var sides []side
	if from.Host || to.Host {
		// What a node sends and takes is up to the network plugin.
		return nil
	}
	if s, ok := f.side(f.selecting(from, networkingv1.PolicyTypeEgress), to, to, port); !ok {
		sides = append(sides, s)
	}
	if s, ok := f.side(f.selecting(to, networkingv1.PolicyTypeIngress), from, to, port); !ok {
		sides = append(sides, s)
	}
	return sides
}

// selection is what of policies holds for one pod in one direction.
type selection struct {
	direction networkingv1.PolicyType
	policies  []*networkingv1.NetworkPolicy
	// surely: it is known that one selects the pod.
	surely bool
}

func (f *facts) selecting(own Workload, direction networkingv1.PolicyType) selection {
	s := selection{direction: direction}
	for _, p := range f.policies[own.Namespace] {
		if !slices.Contains(directions(p), direction) {
			continue
		}
		if selected := f.selects(&p.Spec.PodSelector, own); selected != shut {
			s.policies, s.surely = append(s.policies, p), s.surely || selected == open
		}
	}
	return s
}

// side asks the policies of one pod about the other one.
func (f *facts) side(own selection, other, to Workload, port int32) (side, bool) {
	best := shut
	for _, p := range own.policies {
		best = max(best, f.admits(p, own.direction, other, to, port))
	}
	return side{
		egress: own.direction == networkingv1.PolicyTypeEgress, policies: own.policies,
		// Where it is not known that one selects the pod, none may, and all would pass.
		unclear: best == unclear || !own.surely,
	}, len(own.policies) == 0 || best == open
}

// directions has the defaults of the API server, which documents need not have met.
func directions(p *networkingv1.NetworkPolicy) []networkingv1.PolicyType {
	if len(p.Spec.PolicyTypes) > 0 {
		return p.Spec.PolicyTypes
	}
	if len(p.Spec.Egress) > 0 {
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

func (f *facts) admits(p *networkingv1.NetworkPolicy, direction networkingv1.PolicyType, other, to Workload, port int32) answer {
	best := shut
	if direction == networkingv1.PolicyTypeIngress {
		for _, rule := range p.Spec.Ingress {
			best = max(best, min(f.anyPeer(rule.From, p.Namespace, other), anyPort(rule.Ports, to, port)))
		}
		return best
	}
	for _, rule := range p.Spec.Egress {
		best = max(best, min(f.anyPeer(rule.To, p.Namespace, other), anyPort(rule.Ports, to, port)))
	}
	return best
}

// anyPeer: no peers at all means everybody.
func (f *facts) anyPeer(peers []networkingv1.NetworkPolicyPeer, namespace string, other Workload) answer {
	if len(peers) == 0 {
		return open
	}
	best := shut
	for _, p := range peers {
		best = max(best, f.peer(p, namespace, other))
	}
	return best
}

func (f *facts) peer(p networkingv1.NetworkPolicyPeer, namespace string, other Workload) answer {
	if p.IPBlock != nil {
		return f.inBlock(p.IPBlock, other)
	}
	in := shut
	switch {
	case p.NamespaceSelector != nil:
		in = f.selectsNamespace(p.NamespaceSelector, other.Namespace)
	case p.PodSelector != nil && other.Namespace == namespace:
		in = open
	}
	if p.PodSelector == nil || in == shut {
		return in
	}
	return min(in, f.selects(p.PodSelector, other))
}

func (f *facts) selectsNamespace(s *metav1.LabelSelector, namespace string) answer {
	have, known := f.namespaces[namespace]
	if !known {
		have = map[string]string{namespaceLabel: namespace}
	}
	switch f.matches(s, have) {
	case true:
		return open
	default:
		if !known {
			return unclear
		}
		return shut
	}
}

func (f *facts) selects(s *metav1.LabelSelector, w Workload) answer {
	switch {
	case f.matches(s, w.Labels):
		if w.Vague && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
			return unclear
		}
		return open
	case w.Vague:
		return unclear
	}
	return shut
}

// inBlock compares addresses. Of a pod that is not there none is known: it will be in a block that
// is all addresses, if those that are there are.
func (f *facts) inBlock(b *networkingv1.IPBlock, w Workload) answer {
	if len(w.IPs) == 0 {
		if f.all[b] {
			return open
		}
		return unclear
	}
	if slices.ContainsFunc(w.IPs, func(ip string) bool { return contains(b, ip) }) {
		return open
	}
	return shut
}

func contains(b *networkingv1.IPBlock, ip string) bool {
	within := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return false
		}
		addr, err := netip.ParseAddr(ip)
		return err == nil && prefix.Contains(addr.Unmap())
	}
	return within(b.CIDR) && !slices.ContainsFunc(b.Except, within)
}

// anyPort: no ports at all means every port. A name is that of a port of the pod that is called.
func anyPort(ports []networkingv1.NetworkPolicyPort, to Workload, port int32) answer {
	if len(ports) == 0 {
		return open
	}
	best := shut
	for _, p := range ports {
		if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
			continue
		}
		switch {
		case p.Port == nil:
			return open
		case p.Port.StrVal != "":
			if number, known := to.Ports[p.Port.StrVal]; known && number == port {
				return open
			} else if !known && to.Vague {
				best = unclear
			}
		case p.Port.IntVal == port || (p.EndPort != nil && p.Port.IntVal <= port && port <= *p.EndPort):
			return open
		}
	}
	return best
}
