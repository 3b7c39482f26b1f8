package doctor

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	observerApp      = "net-mesh-observer"
	capturedInbound  = "traffic.sidecar.istio.io/includeInboundPorts"
	excludedInbound  = "traffic.sidecar.istio.io/excludeInboundPorts"
	observerManifest = "config/510-observer.yaml"
)

// checkObservers looks at who proves that the mesh has been told.
func checkObservers(f *facts) []Finding {
	var out []Finding
	listed := f.observers()
	for _, name := range listed.faults {
		out = append(out, finding(ObserversUnreadable, ref("Deployment", f.SystemNamespace, controllerName),
			"%s names %q, and the controller does not start with it", observersVariable, name).mend("write namespace/name of a Service"))
	}
	for _, name := range listed.services {
		found := f.checkObserver(name)
		out = append(out, found...)
		if len(found) == 0 {
			out = append(out, good("observer %s has ready pods with sidecars", name))
		}
	}
	if f.idle() {
		return append(out, f.unlisted(listed.services)...) // what the Deployment's pods would be proves nothing; checkController tells
	}
	own := slices.ContainsFunc(f.Deployments, ours) && slices.ContainsFunc(f.systemPods(controllerName), func(w Workload) bool { return w.Sidecar })
	controller := ref("Deployment", f.SystemNamespace, controllerName)
	switch {
	case own:
		out = append(out, good("the controller has a sidecar to be asked"))
	case len(listed.services) > 0:
		out = append(out, finding(ControllerUnmeshed, controller, "the pod of the controller has no sidecar, so observers prove the mesh alone").
			mend("see that Istio injects where the label sidecar.istio.io/inject is \"true\"; with revisions of Istio put istio.io/rev in its place"))
	default:
		out = append(out, finding(NobodyProves, controller, "neither the controller nor an observer has a sidecar, so routes in the mesh are Assumed: Ready may be too early by seconds").
			mend("apply %s of net-mesh, list its Service in %s, and have the controller injected", observerManifest, observersVariable))
	}
	return append(out, f.unlisted(listed.services)...)
}

// idle says whether our controller has no pods because none are wanted.
func (f *facts) idle() bool {
	return slices.ContainsFunc(f.Deployments, func(d *appsv1.Deployment) bool { return ours(d) && d.Spec.Replicas != nil && *d.Spec.Replicas == 0 })
}

func (f *facts) checkObserver(name types.NamespacedName) []Finding {
	s := f.service(name)
	subject := ref("Service", name.Namespace, name.Name)
	if s == nil {
		return []Finding{finding(ObserverMissing, subject, "%s lists Service %s, which does not exist, so Ingresses wait for it", observersVariable, name).
			mend("apply %s, or take it off the list", observerManifest)}
	}
	pods := f.behind(s)
	if !slices.ContainsFunc(pods, func(w Workload) bool { return w.Ready && !w.Predicted }) {
		return []Finding{finding(ObserverNotReady, subject, "no pod of observer %s is ready, so what is new or changed waits for it", name).
			mend("heal it, or take it off the list %s", observersVariable)}
	}
	var out []Finding
	for _, w := range pods {
		switch {
		case !w.Sidecar:
			out = append(out, finding(ObserverUnmeshed, w.Ref, "%s of observer %s has no sidecar, so it knows of no route, and Ingresses wait for it", w.Ref.Kind+" "+w.Ref.Namespace+"/"+w.Ref.Name, name).
				mend("have it injected, or take it off the list %s", observersVariable))
		case f.captured(w):
			out = append(out, finding(ObserverCaptured, w.Ref, "the sidecar of observer %s takes what the controller asks, and wants mTLS, which such questions do not have", name).
				mend("set the annotation %s: \"\" on its pods, as %s does", capturedInbound, observerManifest))
		}
	}
	return out
}

// captured says whether a sidecar refuses the controller's questions, which come past its own.
func (f *facts) captured(w Workload) bool {
	ports, limited := w.Annotations[capturedInbound]
	if (limited && ports == "") || w.Annotations[excludedInbound] != "" || f.notRead(kindPeerAuthentication) {
		return false
	}
	return f.mtls(w, portObserver) == strict
}

// unlisted are observers that run and are not asked.
func (f *facts) unlisted(listed []types.NamespacedName) []Finding {
	var out []Finding
	for _, s := range f.Services {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		if s.Labels["app.kubernetes.io/name"] == observerApp && !slices.Contains(listed, name) {
			out = append(out, finding(ObserverUnlisted, ref("Service", s.Namespace, s.Name), "observer %s is there, and %s does not list it", name, observersVariable).
				mend("list it, or delete it"))
		}
	}
	return out
}
