package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"istio.io/api/networking/v1alpha3"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/host"
)

// What stands in for a local gateway, by the names that net-mesh gives it.
const (
	loopbackLabel    = "net-mesh.dev/loopback"
	loopbackSwitch   = "net-mesh-loopback-switch"
	loopbackListener = "net-mesh-loopback"
	digestOf         = "net-mesh.dev/digest"
	provenFor        = "net-mesh.dev/proven"
)

// loopbackLimit is more than the product's own patience with each step, after which it withdraws.
const loopbackLimit = 3 * time.Minute

// loopback waits until sidecars stand in for the local gateway, where the profile has none, and until they have
// ceased to where it has one. Only net-mesh does this, and only with somebody to try it first.
func (l *Lab) loopback(ctx context.Context, c cluster.Cluster, p Profile) error {
	manifest, err := os.ReadFile(l.pluginFile())
	if err != nil || !keepsLoopback(manifest) {
		return err
	}
	off, err := c.Kubectl(ctx, nil, "-n", "knative-serving", "get", "configmap", "config-istio", "-o", "jsonpath={.data.loopback}")
	if err != nil {
		return err
	}
	wanted := p.noLocalGateway() && strings.TrimSpace(off) != "false"
	err = host.WaitFor(ctx, "the loopback to be as the profile wants it", loopbackLimit, func(ctx context.Context) error {
		filters, err := loopbackFilters(ctx, c)
		if err != nil {
			return err
		}
		if !wanted {
			return noLoopback(filters)
		}
		return inForce(filters, !p.MeshOnly)
	})
	if err != nil {
		said, _ := c.Kubectl(ctx, nil, "-n", "knative-serving", "get", "events", "--field-selector=involvedObject.name=config-istio",
			"-o", `jsonpath={range .items[*]}{.lastTimestamp} {.reason}: {.message}{"\n"}{end}`)
		return fmt.Errorf("%w\nevents of config-istio:\n%s", err, said)
	}
	return nil
}

// noLocalGateway tells whether cluster-local hosts are served by sidecars only.
func (p Profile) noLocalGateway() bool { return p.Config["local-gateways"] == none }

// keepsLoopback tells from its manifest whether a plugin may write the loopback, and knows an observer that
// tries it: without one it is not begun.
func keepsLoopback(manifest []byte) bool {
	text := string(manifest)
	_, observers, found := strings.Cut(text, "name: NET_MESH_OBSERVERS\n")
	value, _, _ := strings.Cut(strings.TrimSpace(observers), "\n")
	value, isValue := strings.CutPrefix(value, "value:")
	return strings.Contains(text, loopbackSwitch) && found && isValue && strings.Trim(value, ` "'`) != ""
}

func loopbackFilters(ctx context.Context, c cluster.Cluster) ([]*istiov1alpha3.EnvoyFilter, error) {
	out, err := c.Kubectl(ctx, nil, "get", "envoyfilters.networking.istio.io", "-A", "-l", loopbackLabel, "-o", "json")
	if err != nil {
		return nil, err
	}
	var list istiov1alpha3.EnvoyFilterList
	return list.Items, json.Unmarshal([]byte(out), &list)
}

// inForce tells what is missing. The switch says for which generation sidecars have shown it.
func inForce(filters []*istiov1alpha3.EnvoyFilter, atGateways bool) error {
	var there []string
	listener, leads := "", false
	for _, f := range filters {
		there = append(there, f.Namespace+"/"+f.Name)
		switch f.Name {
		case loopbackListener:
			listener = f.Annotations[digestOf]
		case loopbackSwitch:
			digest := f.Annotations[digestOf]
			leads = digest != "" && f.Annotations[provenFor] == digest && alsoAtGateways(f) == atGateways
		}
	}
	if !leads || listener == "" || len(filters) != 2 {
		return fmt.Errorf("not proven so far, or still on trial; there is %v", there)
	}
	return nil
}

func alsoAtGateways(f *istiov1alpha3.EnvoyFilter) bool {
	return slices.ContainsFunc(f.Spec.ConfigPatches, func(p *v1alpha3.EnvoyFilter_EnvoyConfigObjectPatch) bool {
		return p.GetMatch().GetContext() == v1alpha3.EnvoyFilter_GATEWAY
	})
}

func noLoopback(filters []*istiov1alpha3.EnvoyFilter) error {
	for _, f := range filters {
		return fmt.Errorf("%s/%s is still there", f.Namespace, f.Name)
	}
	return nil
}

// loopbackAway takes away what a plugin that is gone has left, if the one in its place keeps none: nobody else does.
func loopbackAway(ctx context.Context, c cluster.Cluster, former, manifest []byte) error {
	if !keepsLoopback(former) || keepsLoopback(manifest) {
		return nil
	}
	_, err := c.Kubectl(ctx, nil, "delete", "envoyfilters.networking.istio.io,gateways.networking.istio.io,services", "-A", "-l", loopbackLabel)
	return err
}
