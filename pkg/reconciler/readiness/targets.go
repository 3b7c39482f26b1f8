package readiness

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	nethttp "knative.dev/networking/pkg/http"
	"knative.dev/networking/pkg/status"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// sorted separates the probes that gateways can be asked from the hosts that are taken on
// trust: those of sidecars, those whose every route wants a header, which Knative's prober
// cannot send, and those at gateways that answer nobody, for want of a client certificate.
func sorted(p plan.Plan) (ask []plan.Probe, assumed []string) {
	for _, probe := range p.Probes {
		if probe.Entry == plan.MeshEntry || len(probe.Headers) > 0 {
			assumed = append(assumed, probe.Host)
			continue
		}
		ask = append(ask, probe)
	}
	for _, e := range p.Exposures {
		if !slices.ContainsFunc(p.Probes, func(probe plan.Probe) bool { return proves(probe, e) }) {
			assumed = append(assumed, e.Hosts...)
		}
	}
	slices.Sort(assumed)
	return ask, slices.Compact(assumed)
}

// proves says whether a probe is evidence for an exposure. A redirect carries no digest.
func proves(p plan.Probe, e plan.Exposure) bool {
	return p.Digest == e.Digest && p.Digest != "" || p.Expect == plan.ExpectRedirect && slices.Contains(e.Entries, p.Entry)
}

// targets turns probes into requests to single pods. A probe without a pod is not passed
// but missing.
func (c *Checker) targets(probes []plan.Probe) (targets []status.ProbeTarget, missing []string) {
	for _, p := range probes {
		pods := c.pods(p)
		if len(pods) == 0 {
			missing = append(missing, fmt.Sprintf("a ready pod behind port %d of Service %s, to serve %s at Gateway %s",
				p.ServicePort, p.Service, p.Host, p.Entry))
			continue
		}
		for _, port := range sortedKeys(pods) {
			targets = append(targets, status.ProbeTarget{
				PodIPs:  pods[port],
				PodPort: strconv.Itoa(int(port)),
				Port:    strconv.Itoa(int(p.ServicePort)),
				URLs:    []*url.URL{requested(p)},
			})
		}
	}
	return targets, missing
}

// pods are the addresses of the ready pods behind the port of a probe, by the pods' own
// port. Slices say what the port is called in the Service and what number the pod has
// given it.
func (c *Checker) pods(p plan.Probe) map[int32]sets.Set[string] {
	all, err := c.slices.EndpointSlices(p.Service.Namespace).List(labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: p.Service.Name,
	}))
	if err != nil {
		return nil
	}
	pods := map[int32]sets.Set[string]{}
	for _, slice := range oneFamily(all) {
		for _, port := range slice.Ports {
			if port.Port == nil || portName(port) != p.PortName {
				continue
			}
			if ips := ready(slice); len(ips) > 0 {
				if pods[*port.Port] == nil {
					pods[*port.Port] = sets.New[string]()
				}
				pods[*port.Port].Insert(ips...)
			}
		}
	}
	return pods
}

// oneFamily keeps a dual-stack pod from being asked twice: by IPv4 where there is any.
func oneFamily(all []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
		of := slices.DeleteFunc(slices.Clone(all), func(s *discoveryv1.EndpointSlice) bool { return s.AddressType != family })
		if len(of) > 0 {
			return of
		}
	}
	return nil
}

func ready(s *discoveryv1.EndpointSlice) []string {
	var ips []string
	for _, e := range s.Endpoints {
		// Unknown counts as ready, as the API defines it.
		if e.Conditions.Ready == nil || *e.Conditions.Ready {
			ips = append(ips, e.Addresses...)
		}
	}
	return ips
}

func portName(p discoveryv1.EndpointPort) string {
	if p.Name == nil {
		return ""
	}
	return *p.Name
}

// requested is the URL of a probe without the path that Knative's prober appends.
func requested(p plan.Probe) *url.URL {
	return &url.URL{
		Scheme: string(p.Scheme),
		Host:   p.Host,
		Path:   strings.TrimSuffix(p.Path, nethttp.HealthCheckPath),
	}
}

// awaited says in a line for each gateway what it has not shown yet.
func awaited(probes []plan.Probe) []string {
	var lines []string
	for _, p := range probes {
		lines = append(lines, fmt.Sprintf("every pod of Service %s to serve %s://%s at Gateway %s", p.Service, p.Scheme, p.Host, p.Entry))
	}
	return slices.Compact(lines)
}

func servicesOf(probes []plan.Probe) []types.NamespacedName {
	var out []types.NamespacedName
	for _, p := range probes {
		if !slices.Contains(out, p.Service) {
			out = append(out, p.Service)
		}
	}
	return out
}

func sortedKeys(m map[int32]sets.Set[string]) []int32 {
	return sets.List(sets.KeySet(m))
}

type targetsKey struct{}

// withTargets hands Knative's prober its targets, so that it need not compute any.
func withTargets(ctx context.Context, targets []status.ProbeTarget) context.Context {
	return context.WithValue(ctx, targetsKey{}, targets)
}

// targetsInContext is a ProbeTargetLister that gives back what withTargets took.
type targetsInContext struct{}

func (targetsInContext) ListProbeTargets(ctx context.Context, _ *v1alpha1.Ingress) ([]status.ProbeTarget, error) {
	targets, ok := ctx.Value(targetsKey{}).([]status.ProbeTarget)
	if !ok || len(targets) == 0 {
		// To Knative's prober no target at all is success.
		return nil, errors.New("no probe targets in the context")
	}
	return targets, nil
}
