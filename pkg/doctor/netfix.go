package doctor

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// longest is how long a name may be.
const longest = 253

// fix is a NetworkPolicy that admits what a barrier does not, and nothing else. A pod that no
// policy selects takes everything, and one that is selected takes what is admitted. So the fix
// selects only pods that the barrier selects, lest it shut others.
func (b barrier) fix() Fix {
	own, other := b.leg.to, b.leg.from
	direction := networkingv1.PolicyTypeIngress
	if b.egress {
		own, other, direction = b.leg.from, b.leg.to, networkingv1.PolicyTypeEgress
	}
	p := &networkingv1.NetworkPolicy{}
	p.APIVersion, p.Kind = "networking.k8s.io/v1", "NetworkPolicy"
	p.Namespace, p.Name = b.first.Namespace, fixName(b.leg.name, b.egress, b.first.Name)
	p.Spec.PodSelector = *both(&b.first.Spec.PodSelector, own.selector)
	p.Spec.PolicyTypes = []networkingv1.PolicyType{direction}
	peers := []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: namespaceLabel, Operator: metav1.LabelSelectorOpIn, Values: slices.Clone(b.peers)}}},
		PodSelector: other.selector.DeepCopy(),
	}}
	var ports []networkingv1.NetworkPolicyPort
	tcp := corev1.ProtocolTCP
	for _, number := range b.ports {
		port := intstr.FromInt32(number)
		ports = append(ports, networkingv1.NetworkPolicyPort{Protocol: &tcp, Port: &port})
	}
	if b.egress {
		p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: peers, Ports: ports}}
	} else {
		p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: peers, Ports: ports}}
	}
	return Fix{Object: p, ref: ref("NetworkPolicy", p.Namespace, p.Name)}
}

// fixName tells the fixes of one policy apart.
func fixName(leg string, egress bool, policy string) string {
	name := "net-mesh-" + leg + "-" + policy
	if egress {
		name = "net-mesh-" + leg + "-out-" + policy
	}
	if len(name) > longest {
		sum := fnv.New32a()
		sum.Write([]byte(name))
		name = fmt.Sprintf("%.*s-%08x", longest-9, name, sum.Sum32())
	}
	return name
}

// both selects what two selectors select; the second may be nil.
func both(a, b *metav1.LabelSelector) *metav1.LabelSelector {
	out := a.DeepCopy()
	if b == nil {
		return out
	}
	for key, value := range b.MatchLabels {
		if _, there := out.MatchLabels[key]; !there {
			if out.MatchLabels == nil {
				out.MatchLabels = map[string]string{}
			}
			out.MatchLabels[key] = value
		}
	}
	for _, e := range b.MatchExpressions {
		if !slices.ContainsFunc(out.MatchExpressions, func(have metav1.LabelSelectorRequirement) bool {
			return have.Key == e.Key && have.Operator == e.Operator
		}) {
			out.MatchExpressions = append(out.MatchExpressions, e)
		}
	}
	return out
}
