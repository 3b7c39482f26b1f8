package doctor

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ours says whether a Deployment is net-mesh's controller: it has its name from net-istio, but
// an account and settings of its own.
func ours(d *appsv1.Deployment) bool {
	spec := d.Spec.Template.Spec
	return spec.ServiceAccountName == controllerAccount || slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == observersVariable })
	})
}

// netIstios says whether a Deployment is net-istio's controller: by its name and labels, or the
// place that its image is built from.
func netIstios(d *appsv1.Deployment) bool {
	if ours(d) {
		return false
	}
	return d.Name == controllerName || d.Spec.Template.Labels[appLabel] == controllerName || slices.ContainsFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return strings.Contains(c.Image, "knative.dev/net-istio/cmd/controller") || strings.Contains(c.Image, "/net-istio/controller")
	})
}

func checkController(f *facts) []Finding {
	var out []Finding
	found := false
	for _, d := range f.Deployments {
		switch {
		case netIstios(d) && (d.Spec.Replicas == nil || *d.Spec.Replicas > 0):
			out = append(out, finding(NetIstioRuns, ref("Deployment", d.Namespace, d.Name),
				"Deployment %s runs the controller of net-istio, which writes the same objects as net-mesh; their leases do not exclude each other", nameOf(d)).
				mend("apply net-mesh's config/, which replaces Deployment %s/%s in place; delete one of another name", f.SystemNamespace, controllerName))
		case ours(d):
			found = true
			if d.Status.ReadyReplicas == 0 {
				out = append(out, finding(ControllerNotReady, ref("Deployment", d.Namespace, d.Name),
					"Deployment %s has no ready pod, so what is new or changed is not served", nameOf(d)).
					mend("see kubectl -n %s describe deployment %s, and the log of its pods", d.Namespace, d.Name))
			}
		}
	}
	if !found {
		out = append(out, finding(ControllerMissing, ref("Deployment", f.SystemNamespace, controllerName),
			"the controller of net-mesh is not there: no Deployment has its account %s", controllerAccount).mend("install net-mesh: ko apply -f config/"))
	}
	return out
}

// checkWebhooks finds what refuses when nobody answers: net-istio's configurations do, and stay
// behind where only its Deployment is replaced.
func checkWebhooks(f *facts) []Finding {
	var out []Finding
	refuses := func(kind, name string, policy *admissionv1.FailurePolicyType, service *admissionv1.ServiceReference, what string) {
		if !strings.HasSuffix(name, "istio.networking.internal.knative.dev") || (policy != nil && *policy == admissionv1.Ignore) || service == nil {
			return
		}
		out = append(out, finding(WebhookRefuses, ref(kind, "", name),
			"%s %s is as net-istio sets it: while nobody answers for Service %s/%s, %s", kind, name, service.Namespace, service.Name, what).
			mend("apply config/600-webhook-configurations.yaml of net-mesh, or without its webhook: kubectl delete %s %s", strings.ToLower(kind), name))
	}
	for _, c := range f.Mutating {
		for _, w := range c.Webhooks {
			refuses("MutatingWebhookConfiguration", c.Name, w.FailurePolicy, w.ClientConfig.Service, "no revision gets a Deployment")
		}
	}
	for _, c := range f.Validating {
		for _, w := range c.Webhooks {
			refuses("ValidatingWebhookConfiguration", c.Name, w.FailurePolicy, w.ClientConfig.Service, "config-istio cannot be written")
		}
	}
	return out
}

// observing is what the controller is told of observers.
type observing struct {
	services []types.NamespacedName
	// faults are entries that name no Service.
	faults []string
	// set: the Deployment of the controller says something, be it nothing.
	set bool
}

func (f *facts) observers() observing { return f.observed }

// Observers are the Services that the controller asks for what sidecars say.
func Observers(o Objects) []types.NamespacedName { return observersOf(o.Deployments).services }

// Root is Istio's root namespace as the controller is told it.
func Root(o Objects) string {
	for _, d := range o.Deployments {
		if !ours(d) {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				if e.Name == rootVariable && e.Value != "" {
					return e.Value
				}
			}
		}
	}
	return defaultRoot
}

func observersOf(all []*appsv1.Deployment) observing {
	var o observing
	for _, d := range all {
		if !ours(d) {
			continue
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			for _, e := range c.Env {
				if e.Name == observersVariable {
					o.set = true
					o.parse(e.Value)
				}
			}
		}
	}
	return o
}

func (o *observing) parse(value string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		namespace, service, both := strings.Cut(name, "/")
		if !both || namespace == "" || service == "" {
			o.faults = append(o.faults, name)
			continue
		}
		o.services = append(o.services, types.NamespacedName{Namespace: namespace, Name: service})
	}
}
