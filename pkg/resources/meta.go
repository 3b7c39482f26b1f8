package resources

import (
	"crypto/sha256"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// IngressLabel is the label by which the objects of an Ingress are found; its name
// is net-istio's, so that objects net-istio wrote are found as well.
const IngressLabel = networking.IngressLabelKey

// LabelValue makes a name fit for a label. A DomainMapping may be longer than a
// label's value may be; such a name is cut and hashed. No name has an underscore, so no
// name is what another is cut to, and a label tells exactly whose an object is.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := "_" + hex.EncodeToString(sum[:16])
	return name[:validation.LabelValueMaxLength-len(hash)] + hash
}

// meta is common to all objects in the owner's namespace.
func meta(p plan.Plan, name string) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Name:        name,
		Namespace:   p.Owner.Namespace,
		Labels:      toMap(append([]model.KV{{Key: IngressLabel, Value: LabelValue(p.Owner.Name)}}, p.Labels...)),
		Annotations: toMap(p.Annotations),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: p.Owner.APIVersion, Kind: p.Owner.Kind, Name: p.Owner.Name, UID: p.Owner.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}

// toMap is nil for an empty slice.
func toMap(kvs []model.KV) map[string]string {
	if len(kvs) == 0 {
		return nil
	}
	m := make(map[string]string, len(kvs))
	for _, kv := range kvs {
		m[kv.Key] = kv.Value
	}
	return m
}
