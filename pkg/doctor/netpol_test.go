package doctor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestPolicies says, for single policies, what Kubernetes' API says of them. The connection is
// from pod app=a of namespace from to pod app=b of namespace to, at port 8012 called queue-port.
func TestPolicies(t *testing.T) {
	for _, tt := range []struct {
		name, namespace, spec string
		want                  answer
	}{
		{"no policy of theirs", "other", `{podSelector: {}}`, open},
		{"selects others", "to", `{podSelector: {matchLabels: {app: c}}}`, open},
		{"empty is for all, and without types for what comes in", "to", `{podSelector: {}}`, shut},
		{"without types nothing that goes out", "from", `{podSelector: {}}`, open},
		{"without types, and with egress, what goes out too", "from", `{podSelector: {}, egress: [{ports: [{port: 53}]}]}`, shut},
		{"an empty rule admits all", "to", `{podSelector: {}, ingress: [{}]}`, open},
		{"the namespace", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: from}}}]}]}`, open},
		{"all namespaces", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}`, open},
		{"its own namespace only", "to", `{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`, shut},
		{"pods of the namespace", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: a}}}]}]}`, open},
		{"other pods of the namespace", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: b}}}]}]}`, shut},
		{"an expression", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [b]}]}}]}]}`, open},
		{"an expression that is none", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchExpressions: [{key: app, operator: Like}]}}]}]}`, shut},
		{"a namespace that is not seen", "to", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: x}}}]}]}`, unclear},
		{"a peer that says nothing", "to", `{podSelector: {}, ingress: [{from: [{}]}]}`, shut},
		{"the address", "to", `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`, open},
		{"all but the address", "to", `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/24]}}]}]}`, shut},
		{"no address", "to", `{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: all}}]}]}`, shut},
		{"the port", "to", `{podSelector: {}, ingress: [{ports: [{port: 8012}]}]}`, open},
		{"another port", "to", `{podSelector: {}, ingress: [{ports: [{port: 8013}]}]}`, shut},
		{"its name", "to", `{podSelector: {}, ingress: [{ports: [{port: queue-port}]}]}`, open},
		{"another name", "to", `{podSelector: {}, ingress: [{ports: [{port: http}]}]}`, shut},
		{"a range", "to", `{podSelector: {}, ingress: [{ports: [{port: 8000, endPort: 8012}]}]}`, open},
		{"any port", "to", `{podSelector: {}, ingress: [{ports: [{protocol: TCP}]}]}`, open},
		{"UDP", "to", `{podSelector: {}, ingress: [{ports: [{protocol: UDP, port: 8012}]}]}`, shut},
		{"to a pod without address", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}`, unclear},
		{"to a pod without address, and everywhere", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0}}]}]}`, open},
		{"to a pod without address, and everywhere where pods are", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [169.254.169.254/32]}}]}]}`, open},
		{"to a pod without address, and everywhere but where pods are", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}]}]}`, unclear},
		{"to a pod without address, and everywhere but where some pods are", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.9.0/24]}}]}]}`, unclear},
		{"to a pod without address, in another family", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: "::/0"}}]}]}`, unclear},
		{"to the pods", "from", `{podSelector: {}, policyTypes: [Egress], egress: [{to: [{namespaceSelector: {}, podSelector: {matchLabels: {app: b}}}], ports: [{port: queue-port}]}]}`, open},
	} {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: tt.namespace, Name: "p"}}
		if err := yaml.Unmarshal([]byte(tt.spec), &p.Spec); err != nil {
			t.Fatal(tt.name, err)
		}
		to := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "to"}}
		f := newFacts(World{Objects: Objects{NetworkPolicies: []*networkingv1.NetworkPolicy{p}, Namespaces: []*corev1.Namespace{to},
			Pods: []*corev1.Pod{{Status: corev1.PodStatus{PodIP: "10.0.0.7"}}, {Status: corev1.PodStatus{PodIP: "10.0.9.7"}}}}})
		sides := f.passes(
			Workload{Namespace: "from", Labels: map[string]string{"app": "a"}, IPs: []string{"10.0.0.7"}},
			Workload{Namespace: "to", Labels: map[string]string{"app": "b"}, Ports: map[string]int32{"queue-port": 8012}}, 8012)
		got := open
		for _, s := range sides {
			got = shut
			if s.unclear {
				got = unclear
			}
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTheNodeIsNotAskedFor: policies do not hold for its network.
func TestTheNodeIsNotAskedFor(t *testing.T) {
	deny := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "to"}}
	f := newFacts(World{Objects: Objects{NetworkPolicies: []*networkingv1.NetworkPolicy{deny}}})
	if sides := f.passes(Workload{Namespace: "from", Host: true}, Workload{Namespace: "to"}, 80); len(sides) > 0 {
		t.Error(sides)
	}
}

// TestFixNames: a name that is too long is cut, and stays another.
func TestFixNames(t *testing.T) {
	long := string(make([]byte, 250))
	a, b := fixName("leg", false, long+"abc"), fixName("leg", false, long+"abd")
	if len(a) > longest || a == b || fixName("leg", true, "p") == fixName("leg", false, "p") {
		t.Errorf("%q %q", a, b)
	}
}
