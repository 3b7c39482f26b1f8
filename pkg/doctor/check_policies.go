package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// barrier is one policy, at one end of a leg, that lets it not through.
type barrier struct {
	leg    leg
	egress bool
	first  *networkingv1.NetworkPolicy
	// all are the policies that select the pods, by name.
	all []string
	// peers are the namespaces of the other end.
	peers []string
	ports []int32
	// unclear: whether they do is not known.
	unclear bool
}

// checkPolicies tries every leg between all who can be told apart.
func checkPolicies(f *facts) []Finding {
	var out []Finding
	if len(f.istiods().members) == 0 {
		out = append(out, finding(NotKnown, ref("Pod", "", ""), "no pod of istiod (label app: istiod) is seen, so whether sidecars reach it is not known").mend("nothing, if istiod runs elsewhere"))
	}
	for _, l := range f.legs() {
		for _, b := range f.barriers(l) {
			out = append(out, b.finding())
		}
	}
	return out
}

// barriers of a leg, one for each first policy.
func (f *facts) barriers(l leg) []barrier {
	out := f.oneWay(nil, l, networkingv1.PolicyTypeEgress)
	out = f.oneWay(out, l, networkingv1.PolicyTypeIngress)
	for i := range out {
		slices.Sort(out[i].peers)
		slices.Sort(out[i].ports)
	}
	slices.SortStableFunc(out, func(a, b barrier) int {
		return cmp.Or(cmp.Compare(a.first.Namespace, b.first.Namespace), cmp.Compare(a.first.Name, b.first.Name))
	})
	return out
}

// oneWay asks the policies at one end of a leg. They are few for each pod and say little of the
// other end, so of all pods there those are compared that these policies can tell apart: thousands
// at both ends would be millions of pairs.
func (f *facts) oneWay(out []barrier, l leg, direction networkingv1.PolicyType) []barrier {
	here, there := l.to.members, l.from.members
	if direction == networkingv1.PolicyTypeEgress {
		here, there = there, here
	}
	apart := map[string][]Workload{}
	for _, own := range here {
		s := f.selecting(own, direction)
		if own.Host || len(s.policies) == 0 {
			continue
		}
		keys := map[string]bool{}
		for _, p := range s.policies {
			for _, peer := range peersOf(p) {
				keysOf(peer.PodSelector, keys)
			}
		}
		words := strings.Join(slices.Sorted(maps.Keys(keys)), ",")
		if _, done := apart[words]; !done {
			apart[words] = distinct(there, keys)
		}
		for _, other := range apart[words] {
			from, to := other, own
			if direction == networkingv1.PolicyTypeEgress {
				from, to = own, other
			}
			for _, port := range slices.Concat(l.ports, l.later) {
				if bars, passes := f.side(s, other, to, port); !passes && !other.Host {
					out = note(out, l, bars, from, to, port)
				}
			}
		}
	}
	return out
}

func note(all []barrier, l leg, s side, from, to Workload, port int32) []barrier {
	peer := from.Namespace
	if s.egress {
		peer = to.Namespace
	}
	i := slices.IndexFunc(all, func(b barrier) bool {
		return b.first == s.policies[0] && b.egress == s.egress && b.unclear == s.unclear
	})
	if i < 0 {
		b := barrier{leg: l, egress: s.egress, first: s.policies[0], unclear: s.unclear}
		for _, p := range s.policies {
			b.all = append(b.all, nameOf(p))
		}
		all, i = append(all, b), len(all)
	}
	if !slices.Contains(all[i].peers, peer) {
		all[i].peers = append(all[i].peers, peer)
	}
	if !slices.Contains(all[i].ports, port) {
		all[i].ports = append(all[i].ports, port)
	}
	return all
}

func (b barrier) finding() Finding {
	subject := ref("NetworkPolicy", b.first.Namespace, b.first.Name)
	if b.unclear {
		return finding(PolicyByAddress, subject, "%s", b.doubt()).mend("call a Service from there, or admit by labels of namespaces and pods")
	}
	reason, so := b.leg.reason, b.leg.so
	if !slices.ContainsFunc(b.leg.ports, func(p int32) bool { return slices.Contains(b.ports, p) }) {
		reason, so = PolicyShutsUnusedPort, "which no revision uses yet; one that takes HTTP/2 (gRPC) would"
		if slices.Contains(b.ports, portHTTP1) {
			so = "which no revision uses yet"
		}
	}
	fix := b.fix()
	out := finding(reason, subject, "%s, %s", b.does(), so)
	out = out.mend("apply NetworkPolicy %s/%s below, which admits them", fix.ref.Namespace, fix.ref.Name)
	out.Fixes = []Fix{fix}
	return out
}

func (b barrier) does() string {
	return fmt.Sprintf("%s %s no packets through from %s", b.policies(), b.verb("lets", "let"), b.way())
}

func (b barrier) doubt() string {
	return fmt.Sprintf("whether %s %s packets from %s is not known: %s by addresses, or labels, of pods that are not there",
		b.policies(), b.verb("admits", "admit"), b.way(), b.verb("it goes", "they go"))
}

func (b barrier) verb(one, many string) string {
	if len(b.all) == 1 {
		return one
	}
	return many
}

func (b barrier) policies() string {
	if len(b.all) == 1 {
		return "NetworkPolicy " + b.all[0]
	}
	return "NetworkPolicies " + strings.Join(b.all, ", ") + " together"
}

// way says who would connect to whom.
func (b barrier) way() string {
	from, to := b.leg.from.words, b.leg.to.words
	peers := " of " + namespaces(b.peers)
	own := " of namespace " + b.first.Namespace
	if b.egress {
		from, to = from+own, to+peers
	} else {
		from, to = from+peers, to+own
	}
	var ports []string
	for _, p := range b.ports {
		ports = append(ports, fmt.Sprint(p))
	}
	return fmt.Sprintf("%s to %s, port %s", from, to, strings.Join(ports, ", "))
}

func namespaces(all []string) string {
	if len(all) == 1 {
		return "namespace " + all[0]
	}
	return "namespaces " + some(all)
}

// targetOf finds the port of pods to which a port of their Service leads; 0 if it has none.
func targetOf(s *corev1.Service, port int32, pods []Workload) int32 {
	for _, p := range s.Spec.Ports {
		switch {
		case p.Port != port:
		case p.TargetPort.StrVal != "":
			return pods[0].Ports[p.TargetPort.StrVal]
		case p.TargetPort.IntVal != 0:
			return p.TargetPort.IntVal
		default:
			return p.Port
		}
	}
	return 0
}
