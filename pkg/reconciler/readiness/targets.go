package readiness

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// sorted separates the probes that gateways can be asked from the hosts that are taken on
// trust: those of sidecars, and those at gateways that answer nobody, for want of a client
// certificate.
func sorted(p plan.Plan) (ask []plan.Probe, assumed Assumed) {
	for _, probe := range p.Probes {
		if probe.Entry != plan.MeshEntry {
			ask = append(ask, probe)
		}
	}
	for _, e := range p.Exposures {
		switch {
		case slices.Contains(e.Entries, plan.MeshEntry):
			assumed.Mesh = append(assumed.Mesh, e.Hosts...)
		case !slices.ContainsFunc(ask, func(probe plan.Probe) bool { return proves(probe, e) }):
			assumed.Gateways = append(assumed.Gateways, e.Hosts...)
		}
	}
	return ask, Assumed{Mesh: inFull(assumed.Mesh), Gateways: inFull(assumed.Gateways)}
}

// inFull leaves out abbreviations of other hosts, and sorts.
func inFull(hosts []string) []string {
	out := slices.DeleteFunc(slices.Clone(hosts), func(short string) bool {
		full := strings.TrimSuffix(short, ".svc") + ".svc."
		return slices.ContainsFunc(hosts, func(host string) bool { return strings.HasPrefix(host, full) && host != short })
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// proves says whether a probe is evidence for an exposure. A redirect carries no digest.
func proves(p plan.Probe, e plan.Exposure) bool {
	return p.Digest == e.Digest && p.Digest != "" || p.Expect == plan.ExpectRedirect && slices.Contains(e.Entries, p.Entry)
}

// targets turns probes into questions to single pods. A probe without a pod is not passed
// but missing.
func (c *Checker) targets(probes []plan.Probe) (targets []target, missing []string, err error) {
	for i, p := range probes {
		of, err := c.pods(i, p)
		if err != nil {
			return nil, nil, err
		}
		if len(of) == 0 {
			missing = append(missing, fmt.Sprintf("a ready pod behind port %d of Service %s, to serve %s at Gateway %s",
				p.ServicePort, p.Service, p.Host, p.Entry))
		}
		targets = append(targets, of...)
	}
	return targets, missing, nil
}

// pods are the ready pods behind the port of a probe, at each of their addresses: where a
// Service has two families, callers come by both. Slices say what the port is called in
// the Service and what number the pod has given it.
func (c *Checker) pods(probe int, p plan.Probe) ([]target, error) {
	all, err := c.slices.EndpointSlices(p.Service.Namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: p.Service.Name,
	}))
	if err != nil {
		return nil, err
	}
	// A pod may be in two slices for a moment.
	found := sets.New[target]()
	for _, slice := range all {
		for _, port := range slice.Ports {
			if port.Port == nil || portName(port) != p.PortName {
				continue
			}
			for _, e := range slice.Endpoints {
				found.Insert(at(probe, e, *port.Port)...)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b target) int {
		return cmp.Or(strings.Compare(a.address, b.address), strings.Compare(string(a.pod), string(b.pod)))
	}), nil
}

// at is an endpoint if it is ready. Unknown counts as ready, as the API defines it.
func at(probe int, e discoveryv1.Endpoint, port int32) []target {
	if e.Conditions.Ready != nil && !*e.Conditions.Ready {
		return nil
	}
	var pod types.UID
	if e.TargetRef != nil {
		pod = e.TargetRef.UID
	}
	var out []target
	for _, ip := range e.Addresses {
		out = append(out, target{probe: probe, address: net.JoinHostPort(ip, strconv.Itoa(int(port))), pod: pod})
	}
	return out
}

func portName(p discoveryv1.EndpointPort) string {
	if p.Name == nil {
		return ""
	}
	return *p.Name
}
