package doctor

// Reason is a word of the catalogue below.
type Reason string

// The words. They are apart from those of package finding, which are conditions and events of
// Ingresses.
const (
	Fit      Reason = "Fit"
	NotKnown Reason = "NotKnown"

	ServingMissing         Reason = "ServingMissing"
	ServingNotReady        Reason = "ServingNotReady"
	ServingVersionUnknown  Reason = "ServingVersionUnknown"
	ServingVersionUntested Reason = "ServingVersionUntested"
	OtherIngressClass      Reason = "OtherIngressClass"

	ConfigUnreadable    Reason = "ConfigUnreadable"
	ConfigWithoutEffect Reason = "ConfigWithoutEffect"
	PodAddressability   Reason = "PodAddressability"
	ActivatorHangs      Reason = "ActivatorHangs"

	ControllerMissing  Reason = "ControllerMissing"
	ControllerNotReady Reason = "ControllerNotReady"
	NetIstioRuns       Reason = "NetIstioRuns"
	WebhookRefuses     Reason = "WebhookRefuses"

	NobodyProves        Reason = "NobodyProves"
	ControllerUnmeshed  Reason = "ControllerUnmeshed"
	ObserversUnreadable Reason = "ObserversUnreadable"
	ObserverMissing     Reason = "ObserverMissing"
	ObserverNotReady    Reason = "ObserverNotReady"
	ObserverUnmeshed    Reason = "ObserverUnmeshed"
	ObserverCaptured    Reason = "ObserverCaptured"
	ObserverUnlisted    Reason = "ObserverUnlisted"

	SystemPodUnmeshed     Reason = "SystemPodUnmeshed"
	SystemPodWithoutMTLS  Reason = "SystemPodWithoutMTLS"
	PlainTextAccepted     Reason = "PlainTextAccepted"
	MTLSDisabled          Reason = "MTLSDisabled"
	NamespaceNotInjected  Reason = "NamespaceNotInjected"
	PodNotInjected        Reason = "PodNotInjected"
	CallersWithoutSidecar Reason = "CallersWithoutSidecar"

	GatewayMissing        Reason = "GatewayMissing"
	GatewayServiceMissing Reason = "GatewayServiceMissing"
	GatewayWithoutPods    Reason = "GatewayWithoutPods"

	SidecarHidesRoutes    Reason = "SidecarHidesRoutes"
	SidecarDetours        Reason = "SidecarDetours"
	SidecarHidesRevisions Reason = "SidecarHidesRevisions"
	SidecarBlindsObserver Reason = "SidecarBlindsObserver"

	PolicyShutsActivator   Reason = "PolicyShutsActivator"
	PolicyShutsRevisions   Reason = "PolicyShutsRevisions"
	PolicyShutsCallers     Reason = "PolicyShutsCallers"
	PolicyShutsGateway     Reason = "PolicyShutsGateway"
	PolicyShutsIstiod      Reason = "PolicyShutsIstiod"
	PolicyShutsObserver    Reason = "PolicyShutsObserver"
	PolicyShutsUnusedPort  Reason = "PolicyShutsUnusedPort"
	PolicyByAddress        Reason = "PolicyByAddress"
	RegistryOnly           Reason = "RegistryOnly"
	ExportHidesRoutes      Reason = "ExportHidesRoutes"
	ExportLeavesOut        Reason = "ExportLeavesOut"
	VirtualServiceClaims   Reason = "VirtualServiceClaims"
	HostUnrouted           Reason = "HostUnrouted"
	NameGoesRound          Reason = "NameGoesRound"
	DestinationRulePlain   Reason = "DestinationRulePlain"
	DestinationRuleRefused Reason = "DestinationRuleRefused"
	ActivatorNotAllowed    Reason = "ActivatorNotAllowed"
	ActivatorNotAllowedYet Reason = "ActivatorNotAllowedYet"

	LoopbackNotInForce    Reason = "LoopbackNotInForce"
	LoopbackWithdrawn     Reason = "LoopbackWithdrawn"
	LoopbackFails         Reason = "LoopbackFails"
	LoopbackStays         Reason = "LoopbackStays"
	LoopbackWithoutRoutes Reason = "LoopbackWithoutRoutes"

	CallerUnmeshed Reason = "CallerUnmeshed"
	ServiceMissing Reason = "ServiceMissing"
)

// Entry is one row of the catalogue.
type Entry struct {
	Reason  Reason
	Verdict Verdict
	// Help says in general what it means.
	Help string
}

// Catalogue lists every Reason once. Tests hold that each is found in some golden case and is
// described in docs/mesh-only.md or docs/netmesh.md.
func Catalogue() []Entry {
	return []Entry{
		{Fit, Good, "As it should be."},
		{NotKnown, Unknown, "It could not be read, so nothing is said about it."},
		{ServingMissing, Wrong, "A Deployment of Knative Serving is not there."},
		{ServingNotReady, Wrong, "A Deployment of Knative Serving has no ready pod."},
		{ServingVersionUnknown, Notable, "Serving does not say its version."},
		{ServingVersionUntested, Notable, "This version of Serving is not the one that net-mesh is tested with."},
		{OtherIngressClass, Wrong, "Serving gives its Ingresses to another controller."},
		{ConfigUnreadable, Wrong, "config-istio or config-network cannot be read. The last one that could be stays in force."},
		{ConfigWithoutEffect, Notable, "An entry of config-istio has no effect."},
		{PodAddressability, Notable, "enable-mesh-pod-addressability changes Serving, and net-mesh makes no objects for it."},
		{ActivatorHangs, Wrong, "Two settings of config-network exclude each other."},
		{ControllerMissing, Wrong, "The controller is not there."},
		{ControllerNotReady, Wrong, "The controller has no ready pod, so no Ingress is served anew."},
		{NetIstioRuns, Wrong, "net-istio's controller writes the same objects."},
		{WebhookRefuses, Wrong, "A webhook configuration of net-istio refuses when nobody answers."},
		{NobodyProves, Notable, "Neither the controller nor an observer has a sidecar to be asked, so that routes in the mesh are assumed."},
		{ControllerUnmeshed, Notable, "The controller has no sidecar, so observers prove the mesh alone."},
		{ObserversUnreadable, Wrong, "The list of observers cannot be read."},
		{ObserverMissing, Wrong, "An observer is listed that does not exist. Ingresses wait for it."},
		{ObserverNotReady, Wrong, "An observer has no ready pod. Ingresses wait for it."},
		{ObserverUnmeshed, Wrong, "An observer has no sidecar, so that it sees nothing. Ingresses wait for it."},
		{ObserverCaptured, Wrong, "The sidecar of an observer takes the questions of the controller, and wants mTLS, which they do not have."},
		{ObserverUnlisted, Notable, "An observer runs that nobody asks."},
		{SystemPodUnmeshed, Wrong, "A pod of Serving has no sidecar where mTLS is demanded."},
		{SystemPodWithoutMTLS, Notable, "A pod of Serving has no sidecar, so calls pass it in plain text and without identity."},
		{PlainTextAccepted, Notable, "Plain text is accepted beside mTLS, so an identity is not demanded of callers."},
		{MTLSDisabled, Notable, "mTLS is switched off."},
		{NamespaceNotInjected, Notable, "A namespace with Services gets no sidecars."},
		{PodNotInjected, Notable, "A pod in an injected namespace has no sidecar."},
		{CallersWithoutSidecar, Notable, "Pods without a sidecar cannot call cluster-local hosts without a local gateway."},
		{GatewayMissing, Wrong, "A Gateway that config-istio names does not exist."},
		{GatewayServiceMissing, Wrong, "The Service of a gateway that config-istio names does not exist, or leads to no pods."},
		{GatewayWithoutPods, Wrong, "No ready pod stands behind a gateway."},
		{SidecarHidesRoutes, Wrong, "A Sidecar object keeps callers' sidecars from knowing routes, and no gateway is there to serve them instead."},
		{SidecarDetours, Notable, "A Sidecar object keeps callers' sidecars from knowing routes, so calls go by the local gateway, in plain text."},
		{SidecarHidesRevisions, Wrong, "A Sidecar object keeps the sidecars of Serving from knowing revisions, so that their calls leave without mTLS."},
		{SidecarBlindsObserver, Wrong, "A Sidecar object keeps who proves the mesh from seeing routes. Ingresses wait."},
		{PolicyShutsActivator, Wrong, "A NetworkPolicy keeps callers or gateways from the activator, so Services at zero cannot be called."},
		{PolicyShutsRevisions, Wrong, "A NetworkPolicy keeps Serving or gateways from revisions."},
		{PolicyShutsCallers, Notable, "A NetworkPolicy keeps callers from revisions; through the activator they arrive nevertheless."},
		{PolicyShutsGateway, Wrong, "A NetworkPolicy keeps the controller from gateways, so that nothing is proven."},
		{PolicyShutsIstiod, Wrong, "A NetworkPolicy keeps sidecars from istiod, so that they learn nothing."},
		{PolicyShutsObserver, Wrong, "A NetworkPolicy keeps the controller from an observer. Ingresses wait for it."},
		{PolicyShutsUnusedPort, Notable, "A NetworkPolicy shuts a port that no revision uses yet."},
		{PolicyByAddress, Unknown, "A NetworkPolicy admits by address or by labels that are not known, so whether it stands in the way is not known."},
		{RegistryOnly, Notable, "Sidecars refuse hosts that they do not know."},
		{ExportHidesRoutes, Wrong, "The mesh keeps VirtualServices to their own namespaces, and config-istio does not say otherwise."},
		{ExportLeavesOut, Notable, "Routes are not told to some sidecars, by export-to."},
		{VirtualServiceClaims, Wrong, "A VirtualService of others claims a host of a route; Istio lets one of the two have it."},
		{HostUnrouted, Notable, "A VirtualService of others, such as KServe's, names a host for sidecars and has no route for it there, so callers in the mesh get 404."},
		{NameGoesRound, Wrong, "A Service gives its name to the local gateway's, as KServe's do, and nothing routes that name, so calls go round (508), or get 404 at the gateway."},
		{DestinationRulePlain, Notable, "A DestinationRule sends calls of revisions in plain text."},
		{DestinationRuleRefused, Wrong, "A DestinationRule sends calls of revisions in plain text, where mTLS is demanded."},
		{ActivatorNotAllowed, Wrong, "An AuthorizationPolicy of a revision does not allow the activator, which stands before it now."},
		{ActivatorNotAllowedYet, Notable, "An AuthorizationPolicy of a revision does not allow the activator, which stands before it at times."},
		{LoopbackNotInForce, Wrong, "There is no local gateway, and sidecars do not stand in for it."},
		{LoopbackWithdrawn, Wrong, "What sidecars were to have in place of a local gateway was withdrawn, because observers or others did not show it."},
		{LoopbackFails, Wrong, "What sidecars have in place of a local gateway does not answer everywhere any more."},
		{LoopbackStays, Notable, "Sidecars still have what stands in for a local gateway, and it is not wanted any more."},
		{LoopbackWithoutRoutes, Wrong, "A Sidecar object takes from callers the routes of port 80, by which what stands in for a local gateway sends requests on."},
		{CallerUnmeshed, Wrong, "The caller has no sidecar."},
		{ServiceMissing, Wrong, "The Service that a share of the requests goes to does not exist."},
	}
}

// Entry looks a Reason up. One that is missing is Wrong, so that a forgotten row is seen.
func (r Reason) Entry() Entry {
	for _, e := range Catalogue() {
		if e.Reason == r {
			return e
		}
	}
	return Entry{Reason: r, Verdict: Wrong, Help: "This reason is missing in the catalogue."}
}
