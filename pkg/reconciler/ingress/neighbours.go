package ingress

import (
	"maps"
	"slices"

	"k8s.io/client-go/tools/cache"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// neighbours has what changes in the claims of one Ingress wake those that claim the same
// hosts: who lost one takes over when its owner goes, who has one gives it up when an older
// Ingress comes to claim it. An Ingress looks for neighbours by the keys it is indexed by, so
// the index tells whom a change concerns, and nobody else is woken.
func neighbours(claimants func(hostKey string) []*v1alpha1.Ingress, wake func(*v1alpha1.Ingress)) cache.ResourceEventHandler {
	changed := func(versions ...*v1alpha1.Ingress) {
		var claims []snapshot.Claim
		for _, ing := range versions {
			claims = append(claims, snapshot.Claims(ing)...)
		}
		for _, key := range snapshot.HostKeys(claims) {
			for _, other := range claimants(key) {
				if name(other) != name(versions[0]) {
					wake(other)
				}
			}
		}
	}
	return onChange(claimAlike, changed)
}

// claimAlike compares what neighbours look at. Labels choose the gateways. Two versions may
// be of two objects, one deleted and one created, which differ in age.
func claimAlike(a, b *v1alpha1.Ingress) bool {
	return a.CreationTimestamp.Equal(&b.CreationTimestamp) && maps.Equal(a.Labels, b.Labels) &&
		slices.Equal(snapshot.Claims(a), snapshot.Claims(b))
}
