// Package model answers: what is asked, with no alternatives left? Names are
// expanded, ports are numbers, order is fixed, and the mode plays no part yet.
package model

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// KV and Scope are the words of the earlier stations, used unchanged.
type (
	KV    = snapshot.KV
	Scope = config.Scope
)

// Model is one Ingress in our own terms.
type Model struct {
	Name types.NamespacedName `json:"name"`
	UID  types.UID            `json:"uid,omitempty"`
	// Hash is Knative's hash of spec, namespace and name; a probe answered with it
	// was answered by this very Ingress.
	Hash string `json:"hash"`
	// Labels and Annotations are the few that our objects keep.
	Labels      []KV `json:"labels,omitempty"`
	Annotations []KV `json:"annotations,omitempty"`
	// VirtualHosts: a host appears in one per scope at most, and two of one scope
	// never have the same routes.
	VirtualHosts []VirtualHost `json:"virtualHosts,omitempty"`
	Plain        Plain         `json:"plain"`
	Certificates []Certificate `json:"certificates,omitempty"`
	// ExportTo are the namespaces whose sidecars are told the hosts of the mesh, sorted, or
	// config.ExportAll. Nil: nothing is said.
	ExportTo []string `json:"exportTo,omitempty"`
	// Delegates: others want to delegate to the routes.
	Delegates bool `json:"delegates,omitempty"`
	// Rivals are the claims of other Ingresses to hosts of this one.
	Rivals []Rival `json:"rivals,omitempty"`
	// Created tells the older of two Ingresses; zero if the API server has not seen it.
	Created metav1.Time `json:"-"`
	// Claims are the hosts that the Ingress may ask for and does, each once for a scope,
	// whether or not they can be served just now.
	Claims []Claim `json:"-"`
	// Asked is not printed: it adds to the above what is missing for the moment.
	Asked Asked `json:"-"`
}

// Claim is a host that is asked for.
type Claim struct {
	Scope Scope
	Host  Host
	// Source is the field, e.g. spec.rules[0].hosts[1].
	Source string
}

// Rival is a claim of another Ingress that it may make.
type Rival struct {
	Ingress types.NamespacedName `json:"ingress"`
	Created metav1.Time          `json:"created"`
	Scope   Scope                `json:"scope"`
	Host    Host                 `json:"host"`
}

// Asked names what the Ingress may ask for and does, whether or not it can be served
// just now: a Service or a Secret may be gone for a moment only. What is served from
// before and is not asked for has been withdrawn.
type Asked struct {
	// Hosts in all spellings, and those to be served with TLS; sorted.
	Hosts, TLS []string
}

// Plain says what becomes of requests without TLS to public hosts at a gateway.
type Plain string

const (
	// Serve answers them.
	Serve Plain = "Serve"
	// Redirect sends them to HTTPS.
	Redirect Plain = "Redirect"
)

// VirtualHost is a set of hosts that share their routes.
type VirtualHost struct {
	Scope  Scope   `json:"scope"`
	Hosts  []Host  `json:"hosts"`
	Routes []Route `json:"routes"`
	// Source is the field this came from, e.g. spec.rules[0].
	Source string `json:"source"`
	// Resolution is there if a backend is another route.
	Resolution *Resolution `json:"resolution,omitempty"`
}

// Resolution is what becomes of a virtual host's routes where nothing routes a request once
// more: those that lead to another route are composed with it.
type Resolution struct {
	// Routes do what those of the virtual host and then those of the targets would do.
	Routes []Route `json:"routes"`
	// Targets are the routes led to, in the order in which they were come by.
	Targets []Target `json:"targets,omitempty"`
	// Faults say which backends could not be resolved. They stay in Routes as written, and
	// requests fail there.
	Faults []finding.Finding `json:"faults,omitempty"`
}

// Target is a host of an Ingress to which a path leads.
type Target struct {
	// Path is the field of this Ingress that leads there, e.g. spec.rules[0].http.paths[0].
	Path    string               `json:"path"`
	Host    string               `json:"host"`
	Ingress types.NamespacedName `json:"ingress"`
}

// Host is one name under which routes are served.
type Host struct {
	// Name is the full name.
	Name string `json:"name"`
	// Short are the abbreviations that DNS allows inside the cluster; empty for
	// names that are not of the cluster's own domain.
	Short []string `json:"short,omitempty"`
	// Backing says what stands behind the name in the cluster.
	Backing Backing `json:"backing"`
	// Elsewhere: a VirtualService of others has the full name, so only the abbreviations are served.
	Elsewhere bool `json:"elsewhere,omitempty"`
	// OnlyMesh: gateways have it from others, so only sidecars are told.
	OnlyMesh bool `json:"onlyMesh,omitempty"`
}

// Backing says what Service carries a host's name.
type Backing string

const (
	// NoService: none, or the name is not of the cluster's domain.
	NoService Backing = "None"
	// ClusterIPService: one that Istio knows by all its abbreviations.
	ClusterIPService Backing = "ClusterIP"
	// AliasService: one of type ExternalName, which Istio resolves to its target.
	AliasService Backing = "ExternalName"
)

// Route says what happens to requests that match.
type Route struct {
	Match      Match `json:"match"`
	SetHeaders []KV  `json:"setHeaders,omitempty"`
	// RewriteHost replaces the request's host; empty leaves it.
	RewriteHost string  `json:"rewriteHost,omitempty"`
	Splits      []Split `json:"splits"`
	// NotFound answers with status 404 instead: the path leads to another route, which takes
	// no such request. There are no Splits then.
	NotFound bool `json:"notFound,omitempty"`
	// Source is the field this came from: rule and path by number.
	Source Source `json:"source"`
	// Awaits says what has to come before the route can be followed as it is written; not
	// for those of a Resolution.
	Awaits []finding.Finding `json:"-"`
}

// Source is where in the Ingress a route was written.
type Source struct {
	Rule int `json:"rule"`
	Path int `json:"path"`
	// Part counts the routes of a Resolution that one path became, from 1; 0 if it is one.
	Part int `json:"part,omitempty"`
}

// Match is a conjunction; an empty Match matches everything.
type Match struct {
	PathPrefix string `json:"pathPrefix,omitempty"`
	// Headers must be equal; sorted by name.
	Headers []KV `json:"headers,omitempty"`
}

// Split is a share of a route's requests. The shares of a route add up to Whole, or to
// FineWhole in a Resolution where percents would be too coarse.
type Split struct {
	Backend    Backend `json:"backend"`
	Percent    int32   `json:"percent"`
	SetHeaders []KV    `json:"setHeaders,omitempty"`
	// RewriteHost is that of the route for this share alone; only in a Resolution, and only
	// if the shares of a route differ in it.
	RewriteHost string `json:"rewriteHost,omitempty"`
}

// PercentOf is the share of a split in percent.
func (r Route) PercentOf(s Split) float64 {
	var whole int32
	for _, other := range r.Splits {
		whole += other.Percent
	}
	return float64(s.Percent) * 100 / float64(whole)
}

// What the shares of a route add up to.
const (
	Whole     = 100
	FineWhole = 10000
)

// Backend is a port of a Service.
type Backend struct {
	Service types.NamespacedName `json:"service"`
	// Host is the Service's full name.
	Host string `json:"host"`
	Port uint32 `json:"port"`
}

// Certificate is what a TLS block asks for the hosts of one scope, where its Secret was
// found fit.
type Certificate struct {
	Scope Scope `json:"scope"`
	// Hosts are those of the block, sorted.
	Hosts []string `json:"hosts"`
	// Shared: the certificate names a wildcard, and its hosts are public. A client may use
	// a connection for every host that the certificate fits, so all Ingresses that use it
	// have to be served behind one listener, which is for Names.
	Shared bool `json:"shared,omitempty"`
	// Names are those of a Shared certificate that the Ingress' namespace may claim.
	Names  []string             `json:"names,omitempty"`
	Secret types.NamespacedName `json:"secret"`
	UID    types.UID            `json:"uid,omitempty"`
	Labels []KV                 `json:"labels,omitempty"`
	Source string               `json:"source"`
	// Index is the position in spec.tls; it is part of names we give.
	Index int `json:"index"`
}
