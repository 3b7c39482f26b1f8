package client

import "k8s.io/apimachinery/pkg/api/meta"

// dropManagedFields keeps the field managers' bookkeeping, often half of an object, out of the
// caches: with thousands of VirtualServices that is memory nobody reads.
func dropManagedFields(obj any) (any, error) {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	return obj, nil
}
