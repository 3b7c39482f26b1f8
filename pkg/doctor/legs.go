package doctor

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// role is who stands at one end of a connection.
type role struct {
	words   string
	members []Workload
	// selector tells them from others in their namespaces; nil: all pods there.
	selector *metav1.LabelSelector
}

// leg is a connection that a call, or what it needs, is made of.
type leg struct {
	// name is part of the names of policies that are offered.
	name     string
	from, to role
	// ports that are needed now, and further ones that may come to be.
	ports, later []int32
	reason       Reason
	// so is what comes of it where the leg is shut.
	so string
}

// dotted is a name that no object of another namespace has, and one that a policy may have.
func dotted(n types.NamespacedName) string { return n.Namespace + "." + n.Name }

func byLabel(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// roles of the world, each with one of all that policies cannot tell apart.
func (f *facts) activators() role {
	return role{"the activator", f.distinct(f.systemPods(activatorName)), byLabel(appLabel, activatorName)}
}

func (f *facts) autoscalers() role {
	return role{"the autoscaler", f.distinct(f.systemPods(autoscalerName)), byLabel(appLabel, autoscalerName)}
}

func (f *facts) revisions() role {
	return role{"revisions", f.distinct(f.revisionPods()), &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: revisionLabel, Operator: metav1.LabelSelectorOpExists}}}}
}

func (f *facts) controllers() role {
	return role{"the controller", f.distinct(f.systemPods(controllerName)), byLabel(appLabel, controllerName)}
}

func (f *facts) callers() role {
	return role{"callers", f.distinct(f.choose(func(w Workload) bool {
		// A gateway is injected as well, and Sidecar objects are not for it.
		return w.Sidecar && !f.infrastructure(w.Namespace) && w.Annotations["inject.istio.io/templates"] != "gateway"
	})), nil}
}

func (f *facts) meshed() role {
	return role{"sidecars", f.distinct(f.choose(func(w Workload) bool { return w.Sidecar && w.Labels[appLabel] != istiodApp })), nil}
}

func (f *facts) istiods() role {
	return role{"istiod", f.distinct(f.choose(func(w Workload) bool {
		return w.Namespace == f.mesh.root && w.Labels[appLabel] == istiodApp
	})), byLabel(appLabel, istiodApp)}
}

// ofService are the pods behind a Service.
func (f *facts) ofService(words string, w []Workload, selector map[string]string) role {
	return role{words, f.distinct(w), &metav1.LabelSelector{MatchLabels: selector}}
}

// ports says which of the ports of activator and revisions are in use, and which may be.
func (f *facts) ports() (used, later []int32) {
	for _, r := range f.Revisions {
		port := int32(portHTTP1)
		if r.HTTP2 {
			port = portHTTP2
		}
		used = append(used, port)
	}
	if len(used) == 0 {
		used = []int32{portHTTP1}
	}
	if strings.EqualFold(f.Network["system-internal-tls"], "enabled") {
		used = append(used, portTLS)
	}
	slices.Sort(used)
	used = slices.Compact(used)
	for _, p := range []int32{portHTTP1, portHTTP2} {
		if !slices.Contains(used, p) {
			later = append(later, p)
		}
	}
	return used, later
}

// legs of all calls.
func (f *facts) legs() []leg {
	used, later := f.ports()
	activators, revisions, callers := f.activators(), f.revisions(), f.callers()
	out := []leg{
		{"callers-to-activator", callers, activators, used, later, PolicyShutsActivator, "so calls fail while a Service is at zero or the activator buffers"},
		{"activator-to-revisions", activators, revisions, used, later, PolicyShutsRevisions, "so Services do not wake up, and calls through the activator fail"},
		{"autoscaler-to-revisions", f.autoscalers(), revisions, []int32{portMetrics}, nil, PolicyShutsRevisions, "so Services are scaled without knowing their load"},
		{"callers-to-revisions", callers, revisions, used, later, PolicyShutsCallers,
			"so calls arrive through the activator, and time out when it steps aside. If those callers are to be kept out, the activator lets them in nevertheless: say so in an AuthorizationPolicy"},
		{"sidecars-to-istiod", f.meshed(), f.istiods(), []int32{portXDS}, nil, PolicyShutsIstiod, "so their sidecars learn of no route, and do not start"},
	}
	for _, g := range f.Gateways {
		s := f.service(g.Service)
		pods := f.behind(s)
		if len(pods) == 0 {
			continue
		}
		gateway := f.ofService("the gateway "+g.Name.String(), pods, s.Spec.Selector)
		out = append(out,
			leg{dotted(g.Name) + "-to-activator", gateway, activators, used, later, PolicyShutsActivator, "so calls by the gateway fail while a Service is at zero or the activator buffers"},
			leg{dotted(g.Name) + "-to-revisions", gateway, revisions, used, later, PolicyShutsRevisions, "so calls by the gateway fail when the activator steps aside"})
		if port := targetOf(s, 80, pods); port != 0 {
			out = append(out, leg{"controller-to-" + dotted(g.Name), f.controllers(), gateway, []int32{port}, nil, PolicyShutsGateway, "so nothing that the gateway serves is proven, and Ingresses wait"})
		}
	}
	for _, name := range f.observers().services {
		s := f.service(name)
		pods := f.behind(s)
		if len(pods) == 0 {
			continue
		}
		port := targetOf(s, portObserver, pods)
		if port == 0 {
			port = portObserver
		}
		out = append(out, leg{"controller-to-" + dotted(name), f.controllers(), f.ofService("the observer "+name.String(), pods, s.Spec.Selector),
			[]int32{port}, nil, PolicyShutsObserver, "so Ingresses wait for an answer"})
	}
	return out
}
