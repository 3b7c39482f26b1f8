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
	discovery "k8s.io/client-go/listers/discovery/v1"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// sorted separates the probes that somebody can be asked from the hosts that are taken on
// trust: those of sidecars, if none that gets to know them can be asked, and those at
// gateways that answer nobody, for want of a client certificate.
func (c *Checker) sorted(p plan.Plan) (ask []plan.Probe, assumed Assumed) {
	for _, probe := range p.Probes {
		if probe.Entry != plan.MeshEntry || c.sidecars.see(probe) {
			ask = append(ask, probe)
		}
	}
	for _, e := range p.Exposures {
		switch {
		case !e.Probed:
			// Nothing that is promised hangs on it.
		case slices.ContainsFunc(ask, func(probe plan.Probe) bool { return proves(probe, e) }):
		case slices.Contains(e.Entries, plan.MeshEntry):
			assumed.Mesh = append(assumed.Mesh, e.Hosts...)
		default:
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
		if p.Entry == plan.MeshEntry {
			of, nobody, err := c.inMesh(i, p)
			if err != nil {
				return nil, nil, err
			}
			targets, missing = append(targets, of...), append(missing, nobody...)
			continue
		}
		of, err := c.pods(p.Service, p.PortName)
		if err != nil {
			return nil, nil, err
		}
		if len(of) == 0 {
			missing = append(missing, fmt.Sprintf("a ready pod behind port %d of Service %s, to serve %s at Gateway %s",
				p.ServicePort, p.Service, p.Host, p.Entry))
		}
		for _, pod := range of {
			targets = append(targets, target{probe: i, pod: pod})
		}
	}
	return targets, missing, nil
}

// inMesh are the sidecars that a probe has to pass.
func (c *Checker) inMesh(probe int, p plan.Probe) (targets []target, missing []string, err error) {
	if c.sidecars.ownSees(p) {
		targets = append(targets, target{probe: probe, by: viewer{kind: ownSidecar}})
	}
	for _, service := range c.sidecars.observersOf(p) {
		of, err := c.pods(service, observer.PortName)
		if err != nil {
			return nil, nil, err
		}
		if len(of) == 0 {
			missing = append(missing, fmt.Sprintf("a ready pod of observer %s, to see %s in the mesh", service, p.Host))
		}
		for _, pod := range of {
			targets = append(targets, target{probe: probe, pod: pod, by: viewer{kind: anObserver, service: service, address: pod.address}})
		}
	}
	return targets, missing, nil
}

// services are those whose pods the probes are put to.
func (c *Checker) services(probes []plan.Probe) sets.Set[types.NamespacedName] {
	out := sets.New[types.NamespacedName]()
	for _, p := range probes {
		if p.Entry == plan.MeshEntry {
			out.Insert(c.sidecars.observersOf(p)...)
			continue
		}
		out.Insert(p.Service)
	}
	return out
}

// pods are the ready pods behind a port of a Service, at each of their addresses: where a
// Service has two families, callers come by both. Slices say what the port is called in the
// Service and what number the pod has given it.
func (c *Checker) pods(service types.NamespacedName, port string) ([]pod, error) {
	return podsOf(c.slices, service, port)
}

func podsOf(lister discovery.EndpointSliceLister, service types.NamespacedName, port string) ([]pod, error) {
	all, err := lister.EndpointSlices(service.Namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: service.Name,
	}))
	if err != nil {
		return nil, err
	}
	// A pod may be in two slices for a moment.
	found := sets.New[pod]()
	for _, slice := range all {
		for _, p := range slice.Ports {
			if p.Port == nil || portName(p) != port {
				continue
			}
			for _, e := range slice.Endpoints {
				found.Insert(at(e, *p.Port)...)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b pod) int {
		return cmp.Or(strings.Compare(a.address, b.address), strings.Compare(string(a.uid), string(b.uid)))
	}), nil
}

// at is an endpoint if it is ready. Unknown counts as ready, as the API defines it.
func at(e discoveryv1.Endpoint, port int32) []pod {
	if e.Conditions.Ready != nil && !*e.Conditions.Ready {
		return nil
	}
	var uid types.UID
	if e.TargetRef != nil {
		uid = e.TargetRef.UID
	}
	var out []pod
	for _, ip := range e.Addresses {
		out = append(out, pod{address: net.JoinHostPort(ip, strconv.Itoa(int(port))), uid: uid})
	}
	return out
}

func portName(p discoveryv1.EndpointPort) string {
	if p.Name == nil {
		return ""
	}
	return *p.Name
}
