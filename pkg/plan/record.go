package plan

import (
	"fmt"
	"slices"
	"strings"

	"knative.dev/pkg/kmeta"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// recordHosts is how many hosts Istio's schema of a ServiceEntry lets one have at most.
const recordHosts = 256

// records lists the public hosts of the mesh for which sidecars are to answer DNS, where
// config-istio asks for it, and wildcards, be they public or not; and names of InferenceServices
// that nothing else names. A Record says only that a name
// exists; where requests go is said by the Exposure that has it, so none is made for a host
// without one: a sidecar that knew the name only would answer 503 itself.
func (d *decider) records() {
	istio := d.world.Config.Istio
	if !istio.MeshDNS {
		return
	}
	public := len(d.world.External) == 0 || istio.ExternalInMesh
	served, own := d.servedInMesh(), "."+d.world.Config.ClusterDomain
	var hosts []string
	for _, vh := range d.model.VirtualHosts {
		for _, h := range d.remaining(Mesh, vh.Hosts) {
			// Names of the cluster's own domain resolve without, and so do cluster-local ones if at all.
			told := public && (vh.Scope == config.External || strings.HasPrefix(h.Name, "*")) && !strings.HasSuffix(h.Name, own)
			if (told || d.unnamed(h)) && served[h.Name] && d.recorded(h.Name) {
				hosts = append(hosts, h.Name)
			}
		}
	}
	slices.Sort(hosts)
	for some := range slices.Chunk(slices.Compact(hosts), recordHosts) {
		d.plan.Records = append(d.plan.Records, Record{
			Name: recordName(d.model.Name.Name, len(d.plan.Records)), Hosts: some, ExportTo: d.model.ExportTo,
		})
	}
}

// unnamed says whether a host is the name of an InferenceService that no Service carries: KServe
// was told to make none, and Serving makes none of that name.
func (d *decider) unnamed(h model.Host) bool {
	of := d.world.Alias
	return h.Backing == model.NoService && !h.Elsewhere && h.Name == of.Name+"."+of.Namespace+".svc."+d.world.Config.ClusterDomain
}

// servedInMesh are the names that sidecars serve.
func (d *decider) servedInMesh() map[string]bool {
	served := map[string]bool{}
	for _, e := range d.plan.Exposures {
		if e.Kind == Mesh {
			for _, h := range e.Hosts {
				served[h] = true
			}
		}
	}
	return served
}

// recorded says whether a host belongs into a Record. A wildcard gets no address. But where
// Istio knows a name below it, and not the wildcard itself, it leaves the wildcard's routes out
// of sidecars (separateVSHostsAndServices of pilot/pkg/networking/core/route in istio/istio). A name
// of one label would hide the Service of that name in the namespace of each caller: the DNS proxy
// makes an alias of it below the first search domain, and looks at aliases before Services
// (buildDNSAnswers and lookupHost of pkg/dns/client in istio/istio).
func (d *decider) recorded(host string) bool {
	switch {
	case strings.HasPrefix(host, "*"):
		d.because(host, "sidecars are told of it, without an address", "Istio gives none to a wildcard, and forgets its routes where it knows a name below it only")
	case !strings.Contains(host, "."):
		d.because(host, "sidecars do not answer DNS for it", "a name of one label would hide the Service of that name in each namespace")
		return false
	case d.overTLS(host):
		d.because(host, "sidecars do not answer DNS for it", "an external gateway serves it over TLS, and sidecars do not, so callers have to find that gateway")
		return false
	default:
		d.because(host, "sidecars answer DNS for it", "mesh-dns asks for it")
	}
	return true
}

// overTLS says whether an external gateway serves a host over TLS, or will once the certificate
// is there.
func (d *decider) overTLS(host string) bool {
	return len(d.world.External) > 0 && slices.Contains(d.model.Asked.TLS, host) ||
		slices.ContainsFunc(d.world.External, func(g snapshot.Gateway) bool {
			return slices.ContainsFunc(g.Servers, func(s snapshot.Server) bool {
				return !plainProtocol(s.Protocol) && covered(s.Hosts, host)
			})
		})
}

// recordName is <ingress>-dns, and <ingress>-dns-2 and so on where one does not hold all hosts.
func recordName(ingress string, earlier int) string {
	if earlier == 0 {
		return kmeta.ChildName(ingress, "-dns")
	}
	return kmeta.ChildName(ingress, fmt.Sprintf("-dns-%d", earlier+1))
}
