package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/host"
)

// Profile says in which way the mesh is used.
type Profile struct {
	Name string
	// Config are the keys of ConfigMap config-istio; all other gateway keys are removed.
	Config map[string]string
	// MeshOnly tells that no gateway exists at all.
	MeshOnly bool
	// Addressing switches pod addressing on.
	Addressing bool
}

const (
	configLimit = 30 * time.Second
	leaveLimit  = time.Minute
)

// none is how config-istio says that a kind of gateway does not exist.
const none = "[]\n"

const privateAddress = "private-address"

// Profiles are the ones to choose from, by name.
var Profiles = map[string]Profile{
	"gateway":   {Name: "gateway"},
	"half-mesh": {Name: "half-mesh", Config: map[string]string{"local-gateways": none}},
	"mesh-only": {Name: "mesh-only", Config: map[string]string{"external-gateways": none, "local-gateways": none}, MeshOnly: true},
	// The same with the loopback's name as the address of cluster-local hosts.
	"half-mesh-alias": {Name: "half-mesh-alias", Config: map[string]string{"local-gateways": none, privateAddress: "loopback"}},
	"mesh-only-alias": {Name: "mesh-only-alias", Config: map[string]string{"external-gateways": none, "local-gateways": none, privateAddress: "loopback"}, MeshOnly: true},
}

// ProfileNames lists the profiles in order.
func ProfileNames() []string {
	var names []string
	for n := range Profiles {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// SetProfile changes the mesh of a lab that is up. Objects of gateways come and go with it.
func (l *Lab) SetProfile(ctx context.Context, name string, addressing bool) error {
	if err := checkProfile(name); err != nil {
		return err
	}
	c, release, err := l.change(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := l.remember(name, addressing); err != nil {
		return err
	}
	return l.Progress.Step(ctx, "profile "+name, func(ctx context.Context) error { return l.apply(ctx, c, l.profile()) })
}

func checkProfile(name string) error {
	if _, known := Profiles[name]; !known {
		return fmt.Errorf("profile %q is none of %s", name, strings.Join(ProfileNames(), ", "))
	}
	return nil
}

func (l *Lab) remember(profile string, addressing bool) error {
	return os.WriteFile(l.Host.Path("profile"), fmt.Appendf(nil, "%s %t", profile, addressing), 0o644)
}

// profile is the one set last; gateway at first.
func (l *Lab) profile() Profile {
	var name string
	var addressing bool
	text, _ := os.ReadFile(l.Host.Path("profile"))
	_, _ = fmt.Sscan(string(text), &name, &addressing)
	p, known := Profiles[name]
	if !known {
		p = Profiles["gateway"]
	}
	p.Addressing = addressing
	return p
}

func (l *Lab) apply(ctx context.Context, c cluster.Cluster, p Profile) error {
	if !p.MeshOnly {
		if err := l.gatewaysBack(ctx, c); err != nil {
			return err
		}
	}
	// The plugin brings the ConfigMap; Install applies the profile again.
	if l.installed() {
		if err := setConfig(ctx, c, "config-istio", p.Config, "external-gateways", "local-gateways", privateAddress); err != nil {
			return err
		}
	}
	if l.installed() {
		if err := l.loopback(ctx, c, p); err != nil {
			return err
		}
	}
	// Gateways go last, when nobody is sent to them any more, by Ingresses or by the name of the local one.
	if p.MeshOnly {
		if err := host.WaitFor(ctx, "Ingresses to leave the gateways", leaveLimit, func(ctx context.Context) error { return atGateways(ctx, c) }); err != nil {
			return err
		}
		if err := l.gatewaysAway(ctx, c); err != nil {
			return err
		}
	}
	return l.addressing(ctx, c, p.Addressing)
}

// addressing switches the flag; activator and autoscaler read it only when they start.
func (l *Lab) addressing(ctx context.Context, c cluster.Cluster, on bool) error {
	const key = "enable-mesh-pod-addressability"
	now, err := c.Kubectl(ctx, nil, "-n", "knative-serving", "get", "configmap", "config-network", "-o", "jsonpath={.data."+key+"}")
	if err != nil || (now == "true") == on {
		return err
	}
	config := map[string]string{}
	if on {
		config[key] = "true"
	}
	if err := setConfig(ctx, c, "config-network", config, key); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, nil, "-n", "knative-serving", "rollout", "restart", "deployment/activator", "deployment/autoscaler"); err != nil {
		return err
	}
	return c.Rollout(ctx, "knative-serving", "activator", "autoscaler")
}

// setConfig sets keys of a ConfigMap of Serving and removes those of the given others that are not set.
func setConfig(ctx context.Context, c cluster.Cluster, name string, set map[string]string, others ...string) error {
	data := map[string]any{}
	for _, k := range others {
		data[k] = nil
	}
	for k, v := range set {
		data[k] = v
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	// A plugin's webhook may be asked about it, and may be a moment late.
	return host.WaitFor(ctx, "ConfigMap "+name+" to be taken", configLimit, func(ctx context.Context) error {
		_, err := c.Kubectl(ctx, nil, "-n", "knative-serving", "patch", "configmap", name, "--type=merge", "-p", string(patch))
		return err
	})
}
