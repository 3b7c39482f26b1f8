package doctor

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	network "knative.dev/networking/pkg/config"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// tested is the version of Serving that the lab runs.
const tested = "1.23"

func (f *facts) deployment(namespace, name string) *appsv1.Deployment {
	for _, d := range f.Deployments {
		if d.Namespace == namespace && d.Name == name {
			return d
		}
	}
	return nil
}

func checkServing(f *facts) []Finding {
	var out []Finding
	version := ""
	for _, name := range []string{activatorName, autoscalerName, "controller"} {
		d := f.deployment(f.SystemNamespace, name)
		subject := ref("Deployment", f.SystemNamespace, name)
		switch {
		case d == nil:
			out = append(out, finding(ServingMissing, subject, "Deployment %s/%s is not there, so no Service is served", subject.Namespace, name).
				mend("install Knative Serving, or if it is in another namespace see that config-istio is there too"))
			continue
		case d.Status.ReadyReplicas == 0:
			out = append(out, finding(ServingNotReady, subject, "Deployment %s has no ready pod", nameOf(d)).
				mend("see kubectl -n %s describe deployment %s", d.Namespace, d.Name))
		}
		version = cmp.Or(version, d.Labels["app.kubernetes.io/version"], d.Labels["serving.knative.dev/release"])
	}
	if len(out) == 0 {
		out = append(out, f.serving(version))
	}
	return append(out, f.checkClass()...)
}

func (f *facts) serving(version string) Finding {
	subject := ref("Deployment", f.SystemNamespace, activatorName)
	number := strings.TrimPrefix(strings.TrimPrefix(version, "knative-"), "v")
	switch {
	case version == "":
		return finding(ServingVersionUnknown, subject, "Knative Serving is in namespace %s, and its Deployments do not say which version (label app.kubernetes.io/version)", f.SystemNamespace).
			mend("nothing; net-mesh is tested with %s", tested)
	case number != tested && !strings.HasPrefix(number, tested+"."):
		return finding(ServingVersionUntested, subject, "Knative Serving %s is in namespace %s; net-mesh is tested with %s", number, f.SystemNamespace, tested).
			mend("nothing, if your Services work")
	}
	return good("Knative Serving %s is in namespace %s", number, f.SystemNamespace)
}

func (f *facts) checkClass() []Finding {
	class := cmp.Or(f.Network["ingress-class"], f.Network["ingress.class"], network.IstioIngressClassName)
	if class == network.IstioIngressClassName {
		return nil
	}
	return []Finding{finding(OtherIngressClass, ref("ConfigMap", f.SystemNamespace, config.NetworkConfigMap),
		"%s has ingress-class %q, so new Services are not served by net-mesh, except those that ask for it by annotation; it serves %s now",
		config.NetworkConfigMap, class, count(f.Ingresses, "Ingress", "Ingresses")).
		mend("set ingress-class to %s", network.IstioIngressClassName)}
}

func checkConfig(f *facts) []Finding {
	istio := ref("ConfigMap", f.SystemNamespace, config.IstioConfigMap)
	if f.Config == nil {
		return []Finding{finding(ConfigUnreadable, istio, "%s", f.ConfigFault).mend("correct it; until then what was read last holds")}
	}
	out := []Finding{good("%s: %s", f.mode(), f.modeMeans())}
	if !f.ConfigWritten {
		out[0].Message += ". There is no config-istio, so these are the defaults"
	}
	for _, about := range f.About {
		out = append(out, finding(ConfigWithoutEffect, istio, "%s", about.Message).mend("correct the spelling, or delete it"))
	}
	return append(out, f.checkNetwork()...)
}

// mode is the name of the combination of gateways that is configured.
func (f *facts) mode() string {
	switch external, local := len(f.Config.Istio.External) > 0, len(f.Config.Istio.Local) > 0; {
	case external && local:
		return "mode gateway"
	case external:
		return "mode half-mesh"
	case local:
		return "mode local-only"
	}
	return "mode mesh-only"
}

func (f *facts) modeMeans() string {
	public := "public hosts are served by callers' sidecars only"
	if len(f.Config.Istio.External) > 0 {
		public = "public hosts are served at gateways"
		if f.Config.Istio.ExternalInMesh {
			public += " and by callers' sidecars"
		}
	}
	if len(f.Config.Istio.Local) > 0 {
		return public + ", cluster-local hosts by callers' sidecars, and at local gateways for callers without one"
	}
	return public + ", cluster-local hosts by callers' sidecars only"
}

// checkNetwork looks at what net-mesh does not read but Serving does.
func (f *facts) checkNetwork() []Finding {
	subject := ref("ConfigMap", f.SystemNamespace, config.NetworkConfigMap)
	if !f.Config.Network.MeshPodAddressability {
		return nil
	}
	if mode := f.Network["mesh-compatibility-mode"]; slices.Contains([]string{"enabled"}, strings.ToLower(mode)) {
		return []Finding{finding(ActivatorHangs, subject,
			"%s has enable-mesh-pod-addressability and mesh-compatibility-mode: %s; together they keep the activator from learning of any pod, so every request through it waits until it times out", config.NetworkConfigMap, mode).
			mend("remove enable-mesh-pod-addressability, and restart activator and autoscaler, which read it when they start")}
	}
	return []Finding{finding(PodAddressability, subject,
		"%s has enable-mesh-pod-addressability, for which net-mesh makes no objects yet: what Serving sends to one pod reaches any", config.NetworkConfigMap).
		mend("remove it, and restart activator and autoscaler, which read it when they start")}
}
