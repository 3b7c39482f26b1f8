package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// OwnerNamespaceLabel completes IngressLabel on objects outside the owner's
// namespace, where no owner reference can point to it.
const OwnerNamespaceLabel = "net-mesh.dev/ingress-namespace"

// ownCopy carries labels that name the owner: with them a copy is found without knowing
// the configuration under which it was made.
func ownCopy(owner plan.Owner, c plan.Copy) SecretCopy {
	out := sharedCopy(c)
	out.Labels[IngressLabel] = LabelValue(owner.Name)
	out.Labels[OwnerNamespaceLabel] = owner.Namespace
	return out
}

// sharedCopy carries net-istio's labels of a copy, which name the origin.
func sharedCopy(c plan.Copy) SecretCopy {
	labels, annotations := origin(c.From)
	for _, kv := range c.Labels {
		labels[kv.Key] = kv.Value
	}
	return SecretCopy{From: c.From, To: c.To, Labels: labels, Annotations: annotations}
}

// origin names a Secret in labels, and in an annotation if its name is too long for one.
func origin(secret types.NamespacedName) (labels, annotations map[string]string) {
	labels = map[string]string{
		networking.OriginSecretNameLabelKey:      LabelValue(secret.Name),
		networking.OriginSecretNamespaceLabelKey: secret.Namespace,
	}
	if LabelValue(secret.Name) != secret.Name {
		annotations = map[string]string{networking.OriginSecretNameLabelKey: secret.Name}
	}
	return labels, annotations
}

// originAnnotation says in printed promises where the data is to come from.
const originAnnotation = "net-mesh.dev/data-from"

func (c SecretCopy) promise() *corev1.Secret {
	annotations := maps.Clone(c.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[originAnnotation] = c.From.String()
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.To.Namespace, Name: c.To.Name, Labels: c.Labels, Annotations: annotations,
		},
	}
}
