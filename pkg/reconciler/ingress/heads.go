package ingress

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// heads has what changes in an Ingress wake those that lead to its hosts, and those that lead
// to theirs: routes behind a host are composed into the routes before it. An Ingress looks for
// targets by some of the keys it is indexed by, so one that does not exist yet is waited for.
func heads(leading func(hostKey string) []*v1alpha1.Ingress, wake func(*v1alpha1.Ingress)) cache.ResourceEventHandler {
	changed := func(versions ...*v1alpha1.Ingress) {
		woken := map[types.NamespacedName]bool{name(versions[0]): true}
		for range snapshot.MaxHops + 1 {
			var claims []snapshot.Claim
			for _, ing := range versions {
				claims = append(claims, snapshot.Claims(ing)...)
			}
			versions = nil
			for _, key := range snapshot.HostKeys(claims) {
				for _, head := range leading(key) {
					if !woken[name(head)] {
						woken[name(head)] = true
						versions = append(versions, head)
						wake(head)
					}
				}
			}
		}
	}
	return onChange(func(a, b *v1alpha1.Ingress) bool {
		return claimAlike(a, b) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
	}, changed)
}
