package ingress

import (
	"maps"
	"slices"
	"sync"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// meshHosts has what changes in VirtualServices for sidecars wake the Ingresses that looked for
// the hosts that these name. Which hosts those are an Ingress does not say by itself: KServe's
// VirtualService may name more. So each says it anew whenever it is looked at.
type meshHosts struct {
	mu   sync.Mutex
	keys map[types.NamespacedName][]string
	by   map[string]map[types.NamespacedName]struct{}
}

func newMeshHosts() *meshHosts {
	return &meshHosts{keys: map[types.NamespacedName][]string{}, by: map[string]map[types.NamespacedName]struct{}{}}
}

// look says by which keys an Ingress looks for VirtualServices from now on; none: no longer. It
// tells whether they are others than before.
func (m *meshHosts) look(ing types.NamespacedName, keys []string) (anew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Equal(m.keys[ing], keys) {
		return false
	}
	for _, key := range m.keys[ing] {
		if delete(m.by[key], ing); len(m.by[key]) == 0 {
			delete(m.by, key)
		}
	}
	delete(m.keys, ing)
	if len(keys) == 0 {
		return true
	}
	m.keys[ing] = keys
	for _, key := range keys {
		if m.by[key] == nil {
			m.by[key] = map[types.NamespacedName]struct{}{}
		}
		m.by[key][ing] = struct{}{}
	}
	return true
}

// looking lists the Ingresses that look for a host that one of some versions of a VirtualService
// names, but for the one whose it is.
func (m *meshHosts) looking(versions ...*istiov1.VirtualService) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := map[types.NamespacedName]struct{}{}
	for _, vs := range versions {
		for _, key := range snapshot.MeshHostKeys(vs) {
			maps.Copy(found, m.by[key])
		}
	}
	if owner := metav1.GetControllerOf(versions[0]); owner != nil && owner.Kind == "Ingress" {
		delete(found, types.NamespacedName{Namespace: versions[0].Namespace, Name: owner.Name})
	}
	return slices.Collect(maps.Keys(found))
}

// handler wakes by events of VirtualServices.
func (m *meshHosts) handler(wake func(types.NamespacedName)) cache.ResourceEventHandler {
	changed := func(versions ...*istiov1.VirtualService) {
		for _, ing := range m.looking(versions...) {
			wake(ing)
		}
	}
	return onChange(routeAlike, changed)
}
