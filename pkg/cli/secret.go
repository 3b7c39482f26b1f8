package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// secrets are Secrets of which only the sums of their bytes are left, enough to tell
// whether two hold the same.
type secrets map[types.NamespacedName]*corev1.Secret

// summed gives a Secret whose values are the sums of those it was given.
func summed(s *corev1.Secret) *corev1.Secret {
	out := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name, UID: s.UID, Labels: s.Labels, Annotations: s.Annotations,
		},
		Type: s.Type,
	}
	for key, value := range s.Data {
		if out.Data == nil {
			out.Data = map[string][]byte{}
		}
		sum := sha256.Sum256(value)
		out.Data[key] = sum[:]
	}
	// kubectl keeps a copy of all it applied in here, keys included.
	delete(out.Annotations, corev1.LastAppliedConfigAnnotation)
	return out
}

// reduce keeps of a Secret what a translation looks at, which is public: names, labels
// and the certificate. The sums of the rest are kept aside.
func (s secrets) reduce(o unstructured.Unstructured) (unstructured.Unstructured, error) {
	whole, err := typed[corev1.Secret](o)
	if err != nil {
		return unstructured.Unstructured{}, err
	}
	s[types.NamespacedName{Namespace: whole.Namespace, Name: whole.Name}] = summed(whole)
	public := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": string(whole.Type),
		"metadata": map[string]any{"namespace": whole.Namespace, "name": whole.Name, "uid": string(whole.UID), "labels": whole.Labels},
	}
	if certificate, ok := whole.Data[corev1.TLSCertKey]; ok {
		public["data"] = map[string][]byte{corev1.TLSCertKey: certificate}
	}
	return unstructured.Unstructured{Object: public}, nil
}

// typed reads an object that was read without its type.
func typed[T any](o unstructured.Unstructured) (*T, error) {
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil, err
	}
	out := new(T)
	return out, json.Unmarshal(raw, out)
}

// shownSecret is how a summed Secret is printed.
type shownSecret struct {
	metav1.ObjectMeta `json:"metadata"`
	Type              corev1.SecretType `json:"type"`
	Data              map[string]string `json:"data"`
}

func shownSums(s *corev1.Secret) shownSecret {
	out := shownSecret{s.ObjectMeta, s.Type, map[string]string{}}
	for key, sum := range s.Data {
		out.Data[key] = "sha256:" + hex.EncodeToString(sum)[:16]
	}
	return out
}
