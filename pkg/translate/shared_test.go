package translate_test

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
)

// TestSharedObjectsAreTheSameForAll: whoever writes them writes the same, and nothing that
// tells one Ingress from another.
func TestSharedObjectsAreTheSameForAll(t *testing.T) {
	for _, mode := range []string{"gateway", "half-mesh"} {
		a, b := result(t, "serving-wildcard-tls", mode, "wild-a"), result(t, "serving-wildcard-tls", mode, "wild-b")
		if len(a.Objects.SharedSecrets) != 1 || !reflect.DeepEqual(a.Objects.SharedSecrets, b.Objects.SharedSecrets) {
			t.Errorf("%s: copies are %+v and %+v", mode, a.Objects.SharedSecrets, b.Objects.SharedSecrets)
		}
		if len(a.Objects.SharedGateways) != 1 || len(b.Objects.SharedGateways) != 1 {
			t.Fatalf("%s: %d and %d Gateways, want one", mode, len(a.Objects.SharedGateways), len(b.Objects.SharedGateways))
		}
		one, other := a.Objects.SharedGateways[0], b.Objects.SharedGateways[0]
		if !reflect.DeepEqual(one.ObjectMeta, other.ObjectMeta) || !proto.Equal(&one.Spec, &other.Spec) || len(one.OwnerReferences) > 0 {
			t.Errorf("%s: Gateways are %v and %v", mode, one, other)
		}
	}
}
