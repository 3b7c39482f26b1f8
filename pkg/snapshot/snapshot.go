// Package snapshot answers: what may be looked at, and what was missing? It
// gathers the facts one translation needs from a Reader into a value. After it
// nobody reads the cluster.
package snapshot

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Snapshot is one Ingress and the world around it.
type Snapshot struct {
	// Ingress is as it was read. It is never changed, and not seen after package
	// model.
	Ingress *v1alpha1.Ingress
	// Targets are other Ingresses that may serve the hosts to which backends lead, and
	// those to which theirs lead, by name. They are not changed, nor seen after package
	// model, either.
	Targets []*v1alpha1.Ingress
	World   World
}

// World holds facts about other objects, sorted by name. It shares no memory
// with them.
type World struct {
	Config config.Config
	// External and Local are the gateways that config-istio offers this Ingress,
	// in configured order, with what is known about them.
	External, Local []Gateway
	// Outside are all external gateways, whichever Ingresses they are for, if the Ingress has
	// rules for a local one: what listens where one of them does is reached by the world.
	Outside      []Gateway
	Services     []Service
	Certificates []Certificate
	// Neighbours are other Ingresses that claim hosts which may be this one's, by name.
	Neighbours []Neighbour
	// Alias is the InferenceService of KServe whose names the Ingress serves too; empty: none.
	Alias types.NamespacedName
	// Others are VirtualServices for sidecars that name hosts of the Ingress, by name. Those of
	// Ingresses are among them only if they name hosts of the Alias.
	Others []VirtualService
	// Roots are VirtualServices of others that delegate to this Ingress, or try to, by name. Whoever
	// comes to do so, or ceases to, has to wake it: DelegateKeys says how they are found.
	Roots []Root
	// Refs names everything that was looked at, found or not: exactly these are
	// to be watched.
	Refs []Ref
	// HostKeys are those that neighbours were looked for by, sorted: whoever comes to
	// claim such a host, or gives it up, has to wake this Ingress.
	HostKeys []string
	// TargetKeys are those that Targets were looked for by, sorted: whatever changes in an
	// Ingress that claims such a host has to wake this one.
	TargetKeys []string
	// MeshKeys are those that Others were looked for by, sorted: whatever changes in a
	// VirtualService for sidecars that names such a host has to wake this Ingress.
	MeshKeys []string
}

// Neighbour is another Ingress with the facts that decide who has a host.
type Neighbour struct {
	Name types.NamespacedName
	// Created is zero for one that the API server has not seen yet.
	Created metav1.Time
	// External and Local are the gateways that config-istio offers it.
	External, Local []config.Gateway
	// Claims are those that may concern this Ingress, in the order of the rules.
	Claims []Claim
}

// Claim is a host as it is written in a rule.
type Claim struct {
	Scope config.Scope
	Host  string
}

// Ref names an object that was looked at.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Found      bool   `json:"found"`
}

// Service holds the facts about a Service that matter for routing.
type Service struct {
	Name         types.NamespacedName
	Found        bool
	ExternalName string
	Headless     bool
	Ports        []Port
	Selector     []KV
	// Placeholder: Serving keeps it for the name of a Route, and its Ingress says where
	// requests go.
	Placeholder bool
}

// Port is one port of a Service.
type Port struct {
	Name   string
	Number int32
	// Target is the pods' port where it is given as a number, else 0.
	Target int32
}

// KV is an entry of a label or header map. Slices of them are sorted by key.
type KV struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Certificate holds what a Secret says about itself; no key goes further.
type Certificate struct {
	Secret types.NamespacedName
	Found  bool
	UID    types.UID
	// Names are the DNS names of the leaf certificate, sorted.
	Names []string
	// Labels are those that a copy must carry on.
	Labels []KV
	// Fault says why Names is empty though the Secret exists.
	Fault string
}

// Gateway is a gateway of config-istio with the facts about its two objects.
type Gateway struct {
	config.Gateway
	// Found says whether the Gateway object exists.
	Found   bool
	Servers []Server
	// PodLabels are those of the pods at which the Gateway object listens.
	PodLabels []KV
	// Pods is the Service in front of the gateway's pods.
	Pods Service
}

// Server is one server of a Gateway object.
type Server struct {
	Port     uint32
	Protocol string
	// Redirect: plain requests are answered with a redirect to HTTPS.
	Redirect bool
	// ClientCertificate: no handshake without one.
	ClientCertificate bool
	// Passthrough: TLS is not ended here, so no HTTP route applies.
	Passthrough bool
	// Bind is the address that is listened at; empty for all.
	Bind  string
	Hosts []string
}
