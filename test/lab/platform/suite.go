package platform

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// ClientNamespace is where pods are that call the mesh from inside.
	ClientNamespace = "clients"
	// SuiteName is the Deployment in which suites run inside the mesh, RushName the one whose sidecar is
	// called by who makes many Ingresses.
	SuiteName, RushName = "suite", "rush"
	// AnyIP is an address that no suite means: a sidecar routes plain HTTP by the host, wherever it goes. This
	// one is the API server's Service, which has nothing at port 80.
	AnyIP = "10.96.0.1"
	// MappedDomain is the domain of DomainMappings that Serving's suites make. The lab's DNS leads its names,
	// and those of the public hosts in the namespaces of these suites, to AnyIP.
	MappedDomain = "mapped.example.com"
)

// Inside is a pod inside the mesh in which a program of the machine runs, as a manifest. It sees folders of
// the machine, and may write into them.
func Inside(name string, folders ...string) ([]byte, error) {
	labels := map[string]string{"app": name}
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64),
		// The machine's files are root's.
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64)},
		Containers:      []corev1.Container{{Name: name, Image: "dev.local/base:lab"}},
	}
	for i, folder := range folders {
		volume := "folder-" + string(rune('a'+i))
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: folder})
	}
	d := appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ClientNamespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
	return yaml.Marshal(d)
}
