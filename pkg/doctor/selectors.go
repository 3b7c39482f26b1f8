package doctor

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// matches takes a selector that cannot be read for one that matches nothing; the API server
// refuses it.
func (f *facts) matches(s *metav1.LabelSelector, have map[string]string) bool {
	selector := f.selectors[s]
	return selector != nil && selector.Matches(labels.Set(have))
}

// readSelectors reads what policies select by: many pods are compared with each.
func (f *facts) readSelectors() map[*metav1.LabelSelector]labels.Selector {
	out := map[*metav1.LabelSelector]labels.Selector{}
	read := func(s *metav1.LabelSelector) {
		if selector, err := metav1.LabelSelectorAsSelector(s); err == nil {
			out[s] = selector
		}
	}
	for _, s := range f.podSelectors() {
		read(s)
	}
	for _, p := range f.NetworkPolicies {
		for _, peer := range peersOf(p) {
			if peer.NamespaceSelector != nil {
				read(peer.NamespaceSelector)
			}
		}
	}
	return out
}

// podSelectors are all by which policies select pods.
func (f *facts) podSelectors() []*metav1.LabelSelector {
	var out []*metav1.LabelSelector
	for _, p := range f.NetworkPolicies {
		out = append(out, &p.Spec.PodSelector)
		for _, peer := range peersOf(p) {
			if peer.PodSelector != nil {
				out = append(out, peer.PodSelector)
			}
		}
	}
	return out
}

func peersOf(p *networkingv1.NetworkPolicy) []networkingv1.NetworkPolicyPeer {
	var out []networkingv1.NetworkPolicyPeer
	for _, rule := range p.Spec.Ingress {
		out = append(out, rule.From...)
	}
	for _, rule := range p.Spec.Egress {
		out = append(out, rule.To...)
	}
	return out
}

// blocksOfAll are the blocks that begin with all addresses and in which each pod is whose address is
// known, if there is any.
func (f *facts) blocksOfAll() map[*networkingv1.IPBlock]bool {
	out := map[*networkingv1.IPBlock]bool{}
	for _, p := range f.NetworkPolicies {
		for _, peer := range peersOf(p) {
			if peer.IPBlock == nil {
				continue
			}
			prefix, err := netip.ParsePrefix(peer.IPBlock.CIDR)
			out[peer.IPBlock] = err == nil && prefix.Bits() == 0 && f.allIn(peer.IPBlock)
		}
	}
	return out
}

func (f *facts) allIn(b *networkingv1.IPBlock) bool {
	known := slices.DeleteFunc(slices.Clone(f.workloads), func(w Workload) bool { return w.Host || len(w.IPs) == 0 })
	return len(known) > 0 && !slices.ContainsFunc(known, func(w Workload) bool { return f.inBlock(b, w) != open })
}
