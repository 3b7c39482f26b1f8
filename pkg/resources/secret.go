package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// OwnerNamespaceLabel completes IngressLabel on objects outside the owner's
// namespace, where no owner reference can point to it.
const OwnerNamespaceLabel = "net-mesh.dev/ingress-namespace"

// secretCopy carries net-istio's labels of a copy, which name the origin, and
// labels that name the owner: with them a copy is found without knowing the
// configuration under which it was made.
func secretCopy(owner plan.Owner, c plan.Copy) SecretCopy {
	out := SecretCopy{
		From: c.From,
		To:   c.To,
		Labels: map[string]string{
			networking.OriginSecretNameLabelKey:      LabelValue(c.From.Name),
			networking.OriginSecretNamespaceLabelKey: c.From.Namespace,
			IngressLabel:                             LabelValue(owner.Name),
			OwnerNamespaceLabel:                      owner.Namespace,
		},
	}
	for _, kv := range c.Labels {
		out.Labels[kv.Key] = kv.Value
	}
	if LabelValue(c.From.Name) != c.From.Name {
		out.Annotations = map[string]string{networking.OriginSecretNameLabelKey: c.From.Name}
	}
	return out
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
