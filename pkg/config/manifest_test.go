package config

import (
	"os"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"knative.dev/pkg/configmap"
	"sigs.k8s.io/yaml"
)

// The ConfigMap we ship replaces net-istio's. A checksum that does not fit the example would have
// Knative's ConfigMap webhook refuse it, and net-istio's own may still be on the object.
func TestShippedConfigMap(t *testing.T) {
	shipped := manifest[corev1.ConfigMap](t, "400-config-istio.yaml")
	if shipped.Name != IstioConfigMap || shipped.Namespace != "knative-serving" {
		t.Errorf("it is called %s/%s, want knative-serving/%s", shipped.Namespace, shipped.Name, IstioConfigMap)
	}
	example := shipped.Data[configmap.ExampleKey]
	if example == "" || len(shipped.Data) != 1 {
		t.Fatalf("want an example and no key that is in force, got %d keys", len(shipped.Data))
	}
	if got, want := shipped.Annotations[configmap.ExampleChecksumAnnotation], configmap.Checksum(example); got != want {
		t.Errorf("annotation %s: got %q, want %q", configmap.ExampleChecksumAnnotation, got, want)
	}
	if _, findings, err := ParseIstio(shipped.Data, "cluster.local", "knative-serving"); err != nil || len(findings) > 0 {
		t.Errorf("the shipped ConfigMap: findings %v, error %v; want neither", findings, err)
	}
}

// No two controllers may write the same objects, and no lease keeps net-istio's from it: the
// old pod has to be told to end before a new one is made. Recreate would be refused by
// server-side apply over net-istio's Deployment, whose strategy has the fields of the default.
func TestShippedDeploymentEndsTheOldPodFirst(t *testing.T) {
	strategy := manifest[appsv1.Deployment](t, "500-controller.yaml").Spec.Strategy
	if strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || strategy.RollingUpdate == nil {
		t.Fatalf("strategy %+v, want RollingUpdate", strategy)
	}
	if surge, off := strategy.RollingUpdate.MaxSurge.String(), strategy.RollingUpdate.MaxUnavailable.String(); surge != "0" || off != "100%" {
		t.Errorf("maxSurge %s, maxUnavailable %s; want none beside the old ones, and all of these off", surge, off)
	}
}

// What Knative reads as numbers ends the controller if it is none, and client-go's own limits
// are for a handful of Ingresses.
func TestShippedDeploymentIsNotHeldBack(t *testing.T) {
	env := manifest[appsv1.Deployment](t, "500-controller.yaml").Spec.Template.Spec.Containers[0].Env
	for name, least := range map[string]int{"KUBE_API_QPS": int(rest.DefaultQPS), "KUBE_API_BURST": rest.DefaultBurst, "K_THREADS_PER_CONTROLLER": 2} {
		i := slices.IndexFunc(env, func(v corev1.EnvVar) bool { return v.Name == name })
		if i < 0 {
			t.Errorf("%s is not set", name)
			continue
		}
		if n, err := strconv.Atoi(env[i].Value); err != nil || n <= least {
			t.Errorf("%s is %q, want a number over %v", name, env[i].Value, least)
		}
	}
}

// manifest decodes the one object of a file in config/.
func manifest[T any](t *testing.T, file string) T {
	t.Helper()
	var object T
	text, err := os.ReadFile("../../config/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
