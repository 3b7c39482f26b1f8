package listers

import (
	"fmt"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// meshIndex lists the VirtualServices that name a host for sidecars.
const meshIndex = "net-mesh.dev/mesh-host"

// MeshIndexers are those that a cache of VirtualServices needs for a Reader, from the start.
func MeshIndexers() cache.Indexers {
	return cache.Indexers{meshIndex: func(o any) ([]string, error) { return snapshot.MeshHostKeys(o.(*istiov1.VirtualService)), nil }}
}

// VirtualServices implements snapshot.Reader.
func (r Reader) VirtualServices(hostKey string) []*istiov1.VirtualService {
	items, err := r.Mesh.ByIndex(meshIndex, hostKey)
	if err != nil {
		panic(fmt.Sprintf("listers: the cache of VirtualServices was not given its index: %v", err))
	}
	out := make([]*istiov1.VirtualService, 0, len(items))
	for _, item := range items {
		out = append(out, item.(*istiov1.VirtualService))
	}
	return out
}
