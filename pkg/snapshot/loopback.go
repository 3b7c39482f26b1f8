package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Loopback is what the one loopback of the mesh is decided by.
type Loopback struct {
	Config config.Config
	// RootNamespace is Istio's: an EnvoyFilter there concerns every proxy.
	RootNamespace string
	// Service is that of the local gateway, by whose name the loopback goes.
	Service Service
	// External are all gateways for public hosts, with the Services before their pods.
	External []Gateway
	// Observers are the Services of observers. Their selectors find the sidecars that try
	// the loopback before others have it.
	Observers []Service
}

// LoopbackOf gathers what the loopback may look at, in any mode: what is no longer wanted has
// to be found too.
func LoopbackOf(r Reader, cfg config.Config, rootNamespace string, observers []types.NamespacedName) Loopback {
	out := Loopback{Config: cfg, RootNamespace: rootNamespace, Service: service(r, config.LocalGateway)}
	for _, g := range cfg.Istio.External {
		out.External = append(out.External, Gateway{Gateway: g, Pods: service(r, g.Service)})
	}
	for _, name := range observers {
		out.Observers = append(out.Observers, service(r, name))
	}
	return out
}
