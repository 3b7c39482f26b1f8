package listers

import (
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// meshIndex lists the VirtualServices that name a host for sidecars.
const meshIndex = "net-mesh.dev/mesh-host"

// MeshIndexers are those that a cache of VirtualServices needs for a Reader, from the start.
func MeshIndexers() cache.Indexers {
	return cache.Indexers{
		meshIndex:     func(o any) ([]string, error) { return snapshot.MeshHostKeys(o.(*istiov1.VirtualService)), nil },
		delegateIndex: func(o any) ([]string, error) { return named(snapshot.Delegations(o.(*istiov1.VirtualService))), nil },
	}
}

// VirtualServices implements snapshot.Reader.
func (r Reader) VirtualServices(hostKey string) []*istiov1.VirtualService {
	return by[*istiov1.VirtualService](r.Mesh, meshIndex, hostKey)
}
