package platform

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

const (
	// SuiteNamespace and SuiteName are those of the Deployment in which suites run inside the mesh.
	SuiteNamespace, SuiteName = "clients", "suite"
	// AnyIP is an address that no suite means: a sidecar routes plain HTTP by the host, wherever it goes. This
	// one is the API server's Service, which has nothing at port 80.
	AnyIP = "10.96.0.1"
)

// Suite is the pod in which suites run inside the mesh, as a manifest. It sees folders of the machine.
func Suite(folders ...string) ([]byte, error) {
	labels := map[string]string{"app": SuiteName}
	pod := corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64),
		// The machine's files are root's.
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64)},
		Containers:      []corev1.Container{{Name: SuiteName, Image: "dev.local/base:lab"}},
	}
	for i, folder := range folders {
		name := "folder-" + string(rune('a'+i))
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: folder, ReadOnly: true})
	}
	d := appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: SuiteNamespace, Name: SuiteName},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
	return yaml.Marshal(d)
}
