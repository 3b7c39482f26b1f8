package doctor

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	if s, ok := f.side(from, to, to, port, networkingv1.PolicyTypeEgress); !ok {
		sides = append(sides, s)
	}
	if s, ok := f.side(to, from, to, port, networkingv1.PolicyTypeIngress); !ok {
		sides = append(sides, s)
	}
	return sides
}

// side asks the policies of one pod about the other one.
func (f *facts) side(own, other, to Workload, port int32, direction networkingv1.PolicyType) (side, bool) {
	s := side{egress: direction == networkingv1.PolicyTypeEgress}
	best, surely := shut, false
	for _, p := range f.policies[own.Namespace] {
		if !slices.Contains(directions(p), direction) {
			continue
		}
		selected := selects(&p.Spec.PodSelector, own)
		if selected == shut {
			continue
		}
		surely = surely || selected == open
		s.policies = append(s.policies, p)
		best = max(best, f.admits(p, direction, other, to, port))
	}
	// Where it is not known that one selects the pod, none may, and all would pass.
	s.unclear = best == unclear || !surely
	return s, len(s.policies) == 0 || best == open
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
		return inBlock(p.IPBlock, other)
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
	return min(in, selects(p.PodSelector, other))
}

func (f *facts) selectsNamespace(s *metav1.LabelSelector, namespace string) answer {
	have, known := f.namespaces[namespace]
	if !known {
		have = map[string]string{namespaceLabel: namespace}
	}
	switch matches(s, have) {
	case true:
		return open
	default:
		if !known {
			return unclear
		}
		return shut
	}
}

func selects(s *metav1.LabelSelector, w Workload) answer {
	switch {
	case matches(s, w.Labels):
		if w.Vague && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
			return unclear
		}
		return open
	case w.Vague:
		return unclear
	}
	return shut
}

// matches takes a selector that cannot be read for one that matches nothing; the API server
// refuses it.
func matches(s *metav1.LabelSelector, have map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(have))
}

// inBlock compares addresses; of a pod that is not there none is known.
func inBlock(b *networkingv1.IPBlock, w Workload) answer {
	if len(w.IPs) == 0 {
		return unclear
	}
	within := func(cidr, ip string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return false
		}
		addr, err := netip.ParseAddr(ip)
		return err == nil && prefix.Contains(addr.Unmap())
	}
	for _, ip := range w.IPs {
		if within(b.CIDR, ip) && !slices.ContainsFunc(b.Except, func(cidr string) bool { return within(cidr, ip) }) {
			return open
		}
	}
	return shut
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
