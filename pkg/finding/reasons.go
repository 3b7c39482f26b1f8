package finding

// Reason is a word of the catalogue below; it appears as the reason of
// conditions and events.
type Reason string

// Invalid: a person has to change something.
const (
	RuleWithoutHTTP        Reason = "RuleWithoutHTTP"
	RuleWithoutHosts       Reason = "RuleWithoutHosts"
	HostInvalid            Reason = "HostInvalid"
	ForeignNamespaceHost   Reason = "ForeignNamespaceHost"
	HostConflict           Reason = "HostConflict"
	PathInvalid            Reason = "PathInvalid"
	HeaderInvalid          Reason = "HeaderInvalid"
	PathWithoutSplits      Reason = "PathWithoutSplits"
	PercentNot100          Reason = "PercentNot100"
	PortNotFound           Reason = "PortNotFound"
	SecretForeignNamespace Reason = "SecretForeignNamespace"
	CertificateInvalid     Reason = "CertificateInvalid"
	HTTPOptionUnknown      Reason = "HTTPOptionUnknown"
	GatewayServiceUnfit    Reason = "GatewayServiceUnfit"
	LocalGatewayPublic     Reason = "LocalGatewayPublic"
	LocalTLSWithoutGateway Reason = "LocalTLSWithoutGateway"
	BackendNotResolved     Reason = "BackendNotResolved"
	RouteCycle             Reason = "RouteCycle"
	RouteChainTooLong      Reason = "RouteChainTooLong"
	VisibilityUnknown      Reason = "VisibilityUnknown"
	TLSHostUnknown         Reason = "TLSHostUnknown"
	ExportToInvalid        Reason = "ExportToInvalid"
	DelegateInvalid        Reason = "DelegateInvalid"
)

// Pending: something is awaited, its arrival wakes us.
const (
	ServiceMissing        Reason = "ServiceMissing"
	SecretMissing         Reason = "SecretMissing"
	GatewayMissing        Reason = "GatewayMissing"
	GatewayServiceMissing Reason = "GatewayServiceMissing"
	HostNotServed         Reason = "HostNotServed"
	TargetMissing         Reason = "TargetMissing"
)

// Warning: nothing of the object is touched, but somebody else does not get what he wants of it.
const (
	DelegateConflict   Reason = "DelegateConflict"
	DelegateMissing    Reason = "DelegateMissing"
	HostNamedElsewhere Reason = "HostNamedElsewhere"
	HostWithoutRoute   Reason = "HostWithoutRoute"
)

// Info: worth knowing, told once.
const (
	NoExternalEntry     Reason = "NoExternalEntry"
	RouteShadowed       Reason = "RouteShadowed"
	MeshIgnoresRedirect Reason = "MeshIgnoresRedirect"
	MeshIgnoresTLS      Reason = "MeshIgnoresTLS"
	ConfigKeyUnknown    Reason = "ConfigKeyUnknown"
	LoopbackUntried     Reason = "LoopbackUntried"
)

// Entry is one row of the catalogue.
type Entry struct {
	Reason    Reason
	Severity  Severity
	Condition Condition
	// Help is the sentence of the documentation: what it means, what to do.
	Help string
}

// Catalogue lists every Reason once. Tests hold that each has a golden case and
// is named in the README.
func Catalogue() []Entry {
	return []Entry{
		{RuleWithoutHTTP, Invalid, NetworkConfigured, "A rule has no http block, so it says nothing about where its hosts lead. Add http.paths."},
		{RuleWithoutHosts, Invalid, NetworkConfigured, "A rule has no hosts. A rule without hosts would serve every host of the gateway; name the hosts."},
		{HostInvalid, Invalid, NetworkConfigured, "A host of a rule, or that of a rewriteHost, is not a name that DNS and Istio accept. Correct the host."},
		{ForeignNamespaceHost, Invalid, NetworkConfigured, "A host belongs to another namespace, or is a wildcard that fits hosts of others. Only Ingresses of that namespace may claim it."},
		{HostConflict, Invalid, NetworkConfigured, "Of two Ingresses that claim a host the older has it, unless DNS takes the name for a Service in the namespace of the other. When that one gives the host up, it is served here."},
		{PathInvalid, Invalid, NetworkConfigured, "No request has a path that begins as a path of a rule does: it begins with / and holds what a URL may hold there, all else percent-encoded. The path is not served; correct it."},
		{HeaderInvalid, Invalid, NetworkConfigured, "A header to match or to append has a name or value that no request can have, or that net-mesh itself sets. The path is not served; correct the header."},
		{PathWithoutSplits, Invalid, NetworkConfigured, "A path has no splits, so it leads nowhere. Add a split."},
		{PercentNot100, Invalid, NetworkConfigured, "The percentages of a path's splits do not add up to 100. Correct the percentages."},
		{PortNotFound, Invalid, NetworkConfigured, "A split names a port that its Service does not have. Correct the port or the Service."},
		{SecretForeignNamespace, Invalid, NetworkConfigured, "A TLS block names a Secret of another namespace. It is not looked at; its hosts are not served over TLS. Use a Secret in the namespace of the Ingress."},
		{CertificateInvalid, Invalid, NetworkConfigured, "The Secret of a TLS block holds no PEM certificate with DNS names, or one for a wildcard that does not fit a host. The hosts are not served over TLS until it does."},
		{HTTPOptionUnknown, Invalid, NetworkConfigured, "spec.httpOption is neither Enabled nor Redirected. It is treated as Enabled."},
		{GatewayServiceUnfit, Invalid, NetworkConfigured, "The Service of a gateway has no selector, so no pods can be told to listen. Correct config-istio or the Service."},
		{LocalGatewayPublic, Invalid, NetworkConfigured, "A local gateway listens where an external one does, at one port of the same pods, so the world could call cluster-local hosts there. They are served in the mesh only, until the local gateway has a port of its own."},
		{LocalTLSWithoutGateway, Invalid, NetworkConfigured, "TLS is asked for cluster-local hosts, but no local gateway is configured to end it. In the mesh mTLS protects the way already: leave TLS out, or configure a local gateway."},
		{BackendNotResolved, Invalid, NetworkConfigured, "A path leads to another route, and the two cannot be made one, which is needed where nothing routes a request a second time: no path there takes such requests, or together they are too many."},
		{RouteCycle, Invalid, NetworkConfigured, "A path leads to another route, which leads back. Such requests never arrive; lead one of the hosts elsewhere."},
		{RouteChainTooLong, Invalid, NetworkConfigured, "A path leads to another route, which leads to another, and so on, more than five times. Lead to a nearer route."},
		{VisibilityUnknown, Invalid, NetworkConfigured, "The visibility of a rule is neither ExternalIP nor ClusterLocal. The rule is not served."},
		{TLSHostUnknown, Invalid, NetworkConfigured, "A TLS block names a host that no rule serves. Remove it, or add a rule."},
		{ExportToInvalid, Invalid, NetworkConfigured, "The annotation net-mesh.dev/export-to is no list of namespaces. What config-istio says holds instead."},
		{DelegateInvalid, Invalid, NetworkConfigured, "The annotation net-mesh.dev/delegate is neither \"true\" nor \"false\". Delegates are there until it is corrected."},
		{ServiceMissing, Pending, NetworkConfigured, "The Service of a split does not exist yet, so requests fail there; if its port is given by name, the path is not served at all. Create the Service or correct the split."},
		{SecretMissing, Pending, NetworkConfigured, "The Secret of a TLS block does not exist yet. Its hosts are not served over TLS until it does."},
		{GatewayMissing, Pending, NetworkConfigured, "A Gateway of config-istio does not exist. Create it or correct config-istio."},
		{GatewayServiceMissing, Pending, NetworkConfigured, "The Service of a gateway in config-istio does not exist. Create it or correct config-istio."},
		{HostNotServed, Pending, NetworkConfigured, "No server of a Gateway of config-istio has a host, or no port of the gateway's Service leads to it. Correct the Gateway, its Service or config-istio."},
		{TargetMissing, Pending, NetworkConfigured, "A path leads to a host that no Ingress serves, so requests fail there. Create the Route of that name, or correct what leads there."},
		{DelegateConflict, Warning, NetworkConfigured, "A VirtualService delegates here, and Istio leaves out a route whose condition does not lie within what is delegated. Nothing else is touched. Have the VirtualService delegate more, or call the host itself."},
		{DelegateMissing, Warning, NetworkConfigured, "A VirtualService delegates to a delegate of this Ingress that is not there, or is not told to its namespace, so Istio leaves its route out. Ask for delegates, or correct the name or the namespaces."},
		{HostNamedElsewhere, Warning, NetworkConfigured, "A VirtualService of somebody else names a host of the Ingress for sidecars. Istio lets one of the two have it, so the Ingress may never be Ready, or the other one has no effect. Remove the host from it."},
		{HostWithoutRoute, Warning, NetworkConfigured, "KServe's VirtualService keeps a public host of an InferenceService in the mesh without a route, and Istio puts it before ours, so callers in the mesh get 404. Delete it, and KServe writes a younger one; or name the namespaces that call in export-to."},
		{NoExternalEntry, Info, None, "No external gateway is configured: public hosts are served to callers inside the mesh only."},
		{RouteShadowed, Info, None, "A path can never be reached because an earlier one matches the same requests."},
		{MeshIgnoresRedirect, Info, None, "Redirects to HTTPS concern gateways; with none configured, callers inside the mesh are served directly."},
		{MeshIgnoresTLS, Info, None, "TLS blocks concern gateways; with none configured, mTLS of the mesh protects the way."},
		{ConfigKeyUnknown, Info, None, "config-istio holds a key that has no effect."},
		{LoopbackUntried, Info, None, "No observer can try the loopback before all sidecars have it, so it is not begun. Install an observer, or set loopback to \"false\" in config-istio."},
	}
}

// Entry looks a Reason up. A Reason outside the catalogue is Invalid, so that a
// forgotten row is seen and not passed over.
func (r Reason) Entry() Entry {
	for _, e := range Catalogue() {
		if e.Reason == r {
			return e
		}
	}
	return Entry{Reason: r, Severity: Invalid, Condition: NetworkConfigured, Help: "This reason is missing in the catalogue."}
}
