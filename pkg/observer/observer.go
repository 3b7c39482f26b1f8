// Package observer answers: what does the sidecar of this pod say to a host?
//
// A sidecar answers probes for the hosts of an Ingress itself, by a route that names the
// object which made it. Whoever runs beside a sidecar can therefore see what it has been
// told. The controller asks its own sidecar, and observers, which are small pods in other
// namespaces, ask theirs on its behalf.
package observer

import "time"

// DefaultAddress is where sidecars are asked. Nobody has the address: it is of TEST-NET-1
// (RFC 5737), which is routed nowhere. A sidecar takes what is sent there and routes it by
// its Host; without one nobody answers.
const DefaultAddress = "192.0.2.1:80"

// Variables of the environment, of the controller and of observers.
const (
	// AddressVariable is where sidecars are asked, an IP address and a port; it has to be
	// within what the pod's annotation traffic.sidecar.istio.io/includeOutboundIPRanges says.
	AddressVariable = "NET_MESH_PROBE_ADDRESS"
	// SidecarVariable holds the pod's annotation sidecar.istio.io/status, which Istio's
	// injector sets on every pod that gets a sidecar and which is not there otherwise.
	SidecarVariable = "NET_MESH_SIDECAR"
)

// Path is where an observer takes Questions, and PortName what its port is called in
// Services.
const (
	Path     = "/observe"
	PortName = "http"
)

// MostHosts bounds a Question. All of them are asked for at once.
const MostHosts = 256

// Question is about some hosts.
type Question struct {
	Hosts []string `json:"hosts"`
	// Patience is how long the answer to one host is waited for, at most MostPatience.
	Patience time.Duration `json:"patience"`
}

// MostPatience bounds how long one Question keeps an observer busy.
const MostPatience = time.Second

// Sight is what a sidecar has said to a host.
type Sight struct {
	// Status is of HTTP; 0 if there was no answer, and Fault says why.
	Status int    `json:"status,omitempty"`
	Fault  string `json:"fault,omitempty"`
	// Hash and Digest are the headers K-Network-Hash and Net-Mesh-Digest.
	Hash   string `json:"hash,omitempty"`
	Digest string `json:"digest,omitempty"`
}

// Answer has a Sight for each host of a Question, in its order.
type Answer struct {
	Sights []Sight `json:"sights"`
}
