package resources

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	"istio.io/api/networking/v1alpha3"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// place is where a listener is, and by what it is known.
type place struct {
	name string
	// host leads to it, and nowhere else.
	host string
}

var (
	serving = place{name: "net-mesh-loopback", host: plan.ListenerHost}
	trying  = place{name: "net-mesh-loopback-trial", host: plan.TrialHost}
)

const (
	sidecars = v1alpha3.EnvoyFilter_SIDECAR_OUTBOUND
	gateways = v1alpha3.EnvoyFilter_GATEWAY
)

type patch = v1alpha3.EnvoyFilter_EnvoyConfigObjectPatch

// listenerPatches add a listener to sidecars, a cluster that leads to it, and a host that
// leads to the cluster.
func listenerPatches(at place, digest string) []*patch {
	return []*patch{
		added(v1alpha3.EnvoyFilter_LISTENER, inContext(sidecars, nil), loopbackListener(at, digest)),
		added(v1alpha3.EnvoyFilter_CLUSTER, clusterOf(sidecars, ""), loopbackCluster(at.name, at.address())),
		added(v1alpha3.EnvoyFilter_VIRTUAL_HOST, routeTable(), virtualHost(at.name, at.host, at.name)),
	}
}

// switchPatches have the cluster of the local gateway's Service lead to the listener, in
// sidecars and, where they have a door, in gateways. What endpoints the Service has, if any,
// plays no part then, and comes back with them when this goes.
func switchPatches(l plan.Loopback, digest string) []*patch {
	name := fmt.Sprintf("outbound|80||%s", l.Host)
	out := led(sidecars, name, serving.address())
	if len(l.Doors) > 0 {
		out = append(out, led(gateways, name, doorAddress())...)
	}
	return append(out, added(v1alpha3.EnvoyFilter_VIRTUAL_HOST, routeTable(), virtualHost("net-mesh-loopback-switch", plan.SwitchHost, name)))
}

// led has a cluster lead to an address, whatever its endpoints are.
func led(context v1alpha3.EnvoyFilter_PatchContext, cluster string, address node) []*patch {
	return []*patch{
		{
			ApplyTo: v1alpha3.EnvoyFilter_CLUSTER, Match: clusterOf(context, cluster),
			Patch: &v1alpha3.EnvoyFilter_Patch{Operation: v1alpha3.EnvoyFilter_Patch_REMOVE},
		},
		added(v1alpha3.EnvoyFilter_CLUSTER, clusterOf(context, ""), loopbackCluster(cluster, address)),
	}
}

func added(to v1alpha3.EnvoyFilter_ApplyTo, where *v1alpha3.EnvoyFilter_EnvoyConfigObjectMatch, value node) *patch {
	s, err := structpb.NewStruct(value)
	if err != nil {
		panic(fmt.Sprintf("resources: the loopback: %v", err)) // it is maps, lists, strings, numbers and booleans
	}
	return &patch{ApplyTo: to, Match: where, Patch: &v1alpha3.EnvoyFilter_Patch{Operation: v1alpha3.EnvoyFilter_Patch_ADD, Value: s}}
}
