// Package plan answers: where is each host exposed, how is each backend
// addressed, and why? It is the only place that knows about modes.
package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/model"
)

// Plan is everything that is to be made so, and how to see that it is.
type Plan struct {
	Owner       Owner      `json:"owner"`
	Labels      []model.KV `json:"labels,omitempty"`
	Annotations []model.KV `json:"annotations,omitempty"`
	Exposures   []Exposure `json:"exposures,omitempty"`
	Listeners   []Listener `json:"listeners,omitempty"`
	Copies      []Copy     `json:"copies,omitempty"`
	Records     []Record   `json:"records,omitempty"`
	Delegates   []Delegate `json:"delegates,omitempty"`
	// Public and Private are what the Ingress publishes as its addresses.
	Public    []Address  `json:"public"`
	Private   []Address  `json:"private"`
	Probes    []Probe    `json:"probes,omitempty"`
	Decisions []Decision `json:"decisions,omitempty"`
	Yields    []Yield    `json:"yields,omitempty"`
	// LoopsBack: sidecars stand in for the local gateway. What is older of the Ingress at a
	// local gateway may still be needed while they do not all do so.
	LoopsBack bool `json:"loopsBack,omitempty"`
	// Asked is the Model's, without what other Ingresses have.
	Asked model.Asked `json:"-"`
}

// Yield is a host that another Ingress has where this one claims it too. It is not served
// at Entries, nor may anything older go on serving it there.
type Yield struct {
	// Hosts are all names of the host, the full one first.
	Hosts   []string             `json:"hosts"`
	Kind    Kind                 `json:"kind"`
	Entries []Entry              `json:"entries"`
	To      types.NamespacedName `json:"to"`
}

// Owner is the object on whose behalf the rest exists.
type Owner struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid,omitempty"`
}

// Kind says which kind of entry an Exposure serves.
type Kind string

const (
	// Ingress serves external gateways.
	Ingress Kind = "ingress"
	// Local serves local gateways.
	Local Kind = "local"
	// Mesh serves sidecars.
	Mesh Kind = "mesh"
)

// Entry is a way into the mesh: MeshEntry, or namespace/name of a Gateway. The
// zero value is no entry.
type Entry string

// MeshEntry is every sidecar.
const MeshEntry Entry = "mesh"

// Exposure is one set of hosts with one set of routes at the entries of one
// kind. It becomes one VirtualService.
type Exposure struct {
	// Name is that of the VirtualService.
	Name    string   `json:"name"`
	Kind    Kind     `json:"kind"`
	Entries []Entry  `json:"entries"`
	Hosts   []string `json:"hosts"`
	// ExportTo is the Model's, at MeshEntry.
	ExportTo []string `json:"exportTo,omitempty"`
	// Routes are in the order they are tried.
	Routes []model.Route `json:"routes"`
	// Drops are request headers that go no further.
	Drops []string `json:"drops,omitempty"`
	// Probed asks for a copy of each route that answers probes.
	Probed bool `json:"probed"`
	// Direct: not the backends but the proxies themselves answer probes, by one route
	// before all others. So no backend is asked or woken, and no policy of one is in the way.
	Direct bool `json:"direct,omitempty"`
	// Hash is what a probe is answered with: Knative's hash of the Ingress.
	Hash string `json:"hash"`
	// Digest identifies this very exposure; it changes with anything above.
	Digest string `json:"digest"`
}

// Delegate is one host's set of routes without the host, for VirtualServices of others to
// delegate to: those say for which hosts and at which entries. It becomes one VirtualService. Nobody
// can ask for it by itself, so there is no proof of it.
type Delegate struct {
	// Name is that of the VirtualService.
	Name string `json:"name"`
	// Host is the full name of the one that is served alike.
	Host string `json:"host"`
	// ExportTo is that of the Exposures at MeshEntry.
	ExportTo []string `json:"exportTo,omitempty"`
	// Routes are in the order they are tried.
	Routes []model.Route `json:"routes"`
	// Drops are request headers that go no further.
	Drops []string `json:"drops,omitempty"`
}

// Record is a set of names for which sidecars are to answer DNS, with addresses that lead to
// nobody but themselves. It becomes one ServiceEntry.
type Record struct {
	// Name is that of the ServiceEntry.
	Name string `json:"name"`
	// Hosts are full names and wildcards, sorted; an Exposure at MeshEntry has each.
	Hosts []string `json:"hosts"`
	// ExportTo is the Exposures'.
	ExportTo []string `json:"exportTo,omitempty"`
}

// Listener is a Gateway of our own, for what those of config-istio cannot do.
type Listener struct {
	// Name and Namespace of the Gateway object.
	Name      string      `json:"name"`
	Namespace string      `json:"namespace"`
	Scope     model.Scope `json:"scope"`
	// Sharing says whose it is.
	Sharing Sharing `json:"sharing"`
	// Service is that of the gateway, and Selector finds its pods.
	Service  types.NamespacedName `json:"service"`
	Selector []model.KV           `json:"selector"`
	Servers  []Server             `json:"servers"`
	// Certificate is the Secret that a Listener of ByCertificate exists for.
	Certificate types.NamespacedName `json:"certificate,omitzero"`
}

// Sharing says who needs an object.
type Sharing string

const (
	// Alone: the Ingress. It goes when that no longer wants it.
	Alone Sharing = "Alone"
	// ByCertificate: all Ingresses that use one certificate. It goes after the last.
	ByCertificate Sharing = "ByCertificate"
)

// Server is one port of a Listener.
type Server struct {
	Name  string   `json:"name"`
	Port  uint32   `json:"port"`
	Hosts []string `json:"hosts"`
	// Credential names the Secret of the certificate, beside the gateway's pods.
	// Empty: no TLS.
	Credential string `json:"credential,omitempty"`
	// Redirect answers with a redirect to HTTPS.
	Redirect bool `json:"redirect,omitempty"`
}

// Copy is a Secret that must be carried to where a gateway can read it. The
// bytes never pass through here.
type Copy struct {
	From    types.NamespacedName `json:"from"`
	To      types.NamespacedName `json:"to"`
	Sharing Sharing              `json:"sharing"`
	// Labels are carried on from the origin.
	Labels []model.KV `json:"labels,omitempty"`
}

// Address is what an Ingress publishes for a scope: either the host of a
// gateway's Service, or that only the mesh serves it. Both: callers in the mesh are to use
// that name, which leads to nobody else.
type Address struct {
	DomainInternal string `json:"domainInternal,omitempty"`
	MeshOnly       bool   `json:"meshOnly,omitempty"`
}

// Probe is a request that proves an Exposure at one Entry. Every pod of the
// entry has to pass it.
type Probe struct {
	Entry Entry `json:"entry"`
	// Service and ServicePort lead to the gateway's pods; zero for the mesh, where
	// whoever has a sidecar can ask it.
	Service     types.NamespacedName `json:"service"`
	ServicePort int32                `json:"servicePort,omitempty"`
	// PortName is the name of ServicePort, by which endpoints are found.
	PortName string `json:"portName,omitempty"`
	Scheme   Scheme `json:"scheme"`
	// Host is sent as Host and, with HTTPS, as server name.
	Host string `json:"host"`
	// Also are further hosts that have to pass, each by the same request.
	Also []string `json:"also,omitempty"`
	Path string   `json:"path"`
	// Headers are to be sent besides those of every probe, because the route asks
	// for them.
	Headers []model.KV `json:"headers,omitempty"`
	// ExportTo are the namespaces whose sidecars get to know the Exposure, Everywhere
	// among them if all do; for gateways it has no meaning.
	ExportTo []string `json:"exportTo,omitempty"`
	// Expect says what counts as a pass.
	Expect Expect `json:"expect"`
	// Hash and Digest are what an answer carries in the headers K-Network-Hash and
	// DigestHeader, the one from the backend if there is one, the other from the proxy;
	// both are empty where a redirect is expected.
	Hash   string `json:"hash,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Everywhere is Istio's word for all namespaces.
const Everywhere = "*"

// Scheme is the protocol of a Probe.
type Scheme string

// The two schemes.
const (
	HTTP  Scheme = "http"
	HTTPS Scheme = "https"
)

// Expect says what answer proves an Exposure.
type Expect string

const (
	// ExpectHash: an answer with Digest, and with Hash if the backend knows of hashes.
	ExpectHash Expect = "Hash"
	// ExpectDirect: status 200 with Digest and Hash, from the proxy itself.
	ExpectDirect Expect = "Direct"
	// ExpectRedirect: status 301 or 308 to HTTPS, and no Digest: no route is reached.
	ExpectRedirect Expect = "Redirect"
)

// DigestHeader is the response header in which a probe's answer names the
// Exposure that gave it.
const DigestHeader = "Net-Mesh-Digest"

// Decision is one choice and the reason for it; explain prints these.
type Decision struct {
	Subject string `json:"subject"`
	Choice  string `json:"choice"`
	Because string `json:"because"`
}
