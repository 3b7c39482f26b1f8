package doctor

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	fault "github.com/net-mesh/net-mesh/pkg/finding"
)

// Workload is a pod, or what one of a Deployment without pods would be.
type Workload struct {
	Ref         fault.Ref
	Namespace   string
	Labels      map[string]string
	Annotations map[string]string
	Account     string
	// Sidecar: it has one, or would get one by its labels.
	Sidecar bool
	// Predicted: there is no pod, only a Deployment.
	Predicted bool
	// Vague: its labels are not known.
	Vague bool
	Ready bool
	// Host: it uses the network of its node, of which NetworkPolicies and sidecars know nothing.
	Host bool
	IPs  []string
	// Ports by name.
	Ports map[string]int32
}

// gather lists the pods that run or are to, and for Deployments without any what theirs
// would be: most revisions have none most of the time.
func (f *facts) gather() []Workload {
	var out []Workload
	for _, p := range f.Pods {
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		w := workload(ref("Pod", p.Namespace, p.Name), p.ObjectMeta, p.Spec)
		w.Sidecar = hasSidecar(p)
		for _, c := range p.Status.Conditions {
			w.Ready = w.Ready || (c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue)
		}
		for _, ip := range p.Status.PodIPs {
			w.IPs = append(w.IPs, ip.IP)
		}
		if len(w.IPs) == 0 && p.Status.PodIP != "" {
			w.IPs = []string{p.Status.PodIP}
		}
		out = append(out, w)
	}
	pods := slices.Clone(out)
	for _, d := range f.Deployments {
		selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
		if err != nil || slices.ContainsFunc(pods, func(w Workload) bool {
			return w.Namespace == d.Namespace && selector.Matches(labels.Set(w.Labels))
		}) {
			continue
		}
		w := workload(ref("Deployment", d.Namespace, d.Name), d.Spec.Template.ObjectMeta, d.Spec.Template.Spec)
		w.Namespace, w.Predicted, w.Sidecar = d.Namespace, true, f.wouldInject(d)
		out = append(out, w)
	}
	return out
}

func workload(r fault.Ref, meta metav1.ObjectMeta, spec corev1.PodSpec) Workload {
	w := Workload{
		Ref: r, Namespace: meta.Namespace, Labels: meta.Labels, Annotations: meta.Annotations,
		Account: spec.ServiceAccountName, Host: spec.HostNetwork, Ports: map[string]int32{},
	}
	if w.Account == "" {
		w.Account = "default"
	}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, p := range c.Ports {
			if p.Name != "" {
				w.Ports[p.Name] = p.ContainerPort
			}
		}
	}
	return w
}

// hasSidecar looks for what Istio's injector leaves on a pod. A native sidecar is an init
// container.
func hasSidecar(p *corev1.Pod) bool {
	_, noted := p.Annotations["sidecar.istio.io/status"]
	return noted || slices.ContainsFunc(slices.Concat(p.Spec.InitContainers, p.Spec.Containers), func(c corev1.Container) bool { return c.Name == "istio-proxy" })
}

// wouldInject reads labels as Istio's webhooks do.
func (f *facts) wouldInject(d *appsv1.Deployment) bool {
	meta := d.Spec.Template.ObjectMeta
	asked := meta.Labels["sidecar.istio.io/inject"]
	if asked == "" {
		asked = meta.Annotations["sidecar.istio.io/inject"]
	}
	switch asked {
	case "true":
		return f.namespaces[d.Namespace]["istio-injection"] != "disabled"
	case "false":
		return false
	}
	return !d.Spec.Template.Spec.HostNetwork && (f.injects(d.Namespace) || meta.Labels["istio.io/rev"] != "")
}

// distinct keeps one of all workloads that nothing can tell apart which selects by labels, except
// by address. The labels of which a selector speaks are few, and pods are many.
func (f *facts) distinct(all []Workload) []Workload { return distinct(all, f.telling) }

func distinct(all []Workload, telling map[string]bool) []Workload {
	var out []Workload
	seen := map[string]bool{}
	for _, w := range all {
		own := maps.Clone(w.Labels)
		maps.DeleteFunc(own, func(key, _ string) bool { return !telling[key] })
		key := fmt.Sprint(w.Namespace, w.Host, w.Sidecar, w.Vague, len(w.IPs) > 0, own, w.Ports)
		if !seen[key] {
			seen[key] = true
			out = append(out, w)
		}
	}
	return out
}

// tellingLabels are the keys of all selectors by which one pod may fare otherwise than another.
func (f *facts) tellingLabels() map[string]bool {
	keys := map[string]bool{}
	for _, s := range f.podSelectors() {
		keysOf(s, keys)
	}
	note := func(labels map[string]string) {
		for key := range labels {
			keys[key] = true
		}
	}
	for _, s := range f.Sidecars {
		note(s.Spec.GetWorkloadSelector().GetLabels())
	}
	for _, p := range f.PeerAuthentications {
		note(p.Spec.GetSelector().GetMatchLabels())
	}
	for _, p := range f.AuthorizationPolicies {
		note(p.Spec.GetSelector().GetMatchLabels())
	}
	return keys
}

// keysOf adds the labels of which a selector speaks; nil speaks of none.
func keysOf(s *metav1.LabelSelector, keys map[string]bool) {
	if s == nil {
		return
	}
	for key := range s.MatchLabels {
		keys[key] = true
	}
	for _, e := range s.MatchExpressions {
		keys[e.Key] = true
	}
}

// in lists the namespaces of workloads, sorted.
func in(all []Workload) []string {
	names := map[string]bool{}
	for _, w := range all {
		names[w.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func names(all []Workload) []string {
	var out []string
	for _, w := range all {
		out = append(out, w.Ref.Namespace+"/"+w.Ref.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
