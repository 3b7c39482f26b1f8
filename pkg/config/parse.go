package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// Keys of config-istio.
const (
	externalGatewaysKey = "external-gateways"
	localGatewaysKey    = "local-gateways"
	externalInMeshKey   = "external-in-mesh"
	loopbackKey         = "loopback"
	privateAddressKey   = "private-address"
	meshDNSKey          = "mesh-dns"
	delegatesKey        = "delegates"
	exportKey           = "export-to"
	// exportPrefix and a namespace are the key for the Ingresses of that namespace.
	exportPrefix = exportKey + "."
	// noGateways is the only way to ask for none: a value that happens to hold
	// nothing, such as a comment, is a mistake and not a mode.
	noGateways = "[]"
)

// keys are all that are written out in full.
var keys = []string{externalGatewaysKey, localGatewaysKey, externalInMeshKey, loopbackKey, privateAddressKey, meshDNSKey, delegatesKey, exportKey}

// retired lists keys that net-istio once knew, with what to do instead.
var retired = map[string]string{
	"local-gateway.mesh":           `it was removed from net-istio; write local-gateways: "[]" to serve cluster-local hosts in the mesh only`,
	"enable-virtualservice-status": "it was removed from net-istio; delete it",
}

// ParseIstio reads config-istio in both of its formats: lists under
// external-gateways and local-gateways, and the legacy keys
// gateway.<namespace>.<name>. What is wrong is an error that lists what is
// accepted; keys without effect are Findings.
func ParseIstio(data map[string]string, clusterDomain, systemNamespace string) (Istio, []finding.Finding, error) {
	findings := unknownKeys(data)
	lists, legacy := usesLists(data), legacyKeys(data)
	if lists && len(legacy) > 0 {
		return Istio{}, findings, fmt.Errorf("%s: keys %s and %s cannot be mixed with %s: keep one format",
			IstioConfigMap, externalGatewaysKey, localGatewaysKey, strings.Join(legacy, ", "))
	}
	istio := DefaultIstio(clusterDomain, systemNamespace)
	external, more, errExternal := parseScope(data, External, systemNamespace)
	local, evenMore, errLocal := parseScope(data, Local, systemNamespace)
	findings = finding.Sort(slices.Concat(findings, more, evenMore))
	if err := errors.Join(errExternal, errLocal); err != nil {
		return Istio{}, findings, err
	}
	if external != nil {
		istio.External = external
	}
	if local != nil {
		istio.Local = local
	}
	err := errors.Join(apart(istio), parseExternalInMesh(data, &istio), parseMeshDNS(data, &istio), parseExport(data, &istio),
		parseLoopback(data, &istio), parsePrivateAddress(data, &istio), parseDelegates(data, &istio))
	if err != nil {
		return Istio{}, findings, err
	}
	return istio, finding.Sort(append(findings, idleMeshDNS(istio)...)), nil
}

// apart refuses a Gateway of both scopes: whatever is exposed there for the cluster is for the
// world as well.
func apart(istio Istio) error {
	var errs []error
	for _, g := range istio.Local {
		if slices.ContainsFunc(istio.External, func(e Gateway) bool { return e.Name == g.Name }) {
			errs = append(errs, fmt.Errorf("%s: Gateway %s is a local gateway and an external one, so the world could call cluster-local hosts; give these a Gateway with a port of its own, or write %s: %q",
				IstioConfigMap, g.Name, localGatewaysKey, noGateways))
		}
	}
	return errors.Join(errs...)
}

// DefaultIstio is net-istio's default: one gateway per scope. The loopback is on, for when
// there is no local one.
func DefaultIstio(clusterDomain, systemNamespace string) Istio {
	gateway := func(name, service string) []Gateway {
		return []Gateway{{
			Name:        types.NamespacedName{Namespace: systemNamespace, Name: name},
			Service:     types.NamespacedName{Namespace: "istio-system", Name: service},
			ServiceHost: service + ".istio-system.svc." + clusterDomain,
		}}
	}
	return Istio{
		External: gateway("knative-ingress-gateway", "istio-ingressgateway"),
		Local:    gateway("knative-local-gateway", LocalGateway.Name),
		Loopback: true,
	}
}

// parseScope returns nil when the ConfigMap says nothing about the scope, and an
// empty list when it asks for no gateway.
func parseScope(data map[string]string, scope Scope, systemNamespace string) ([]Gateway, []finding.Finding, error) {
	key, prefix := externalGatewaysKey, legacyExternal
	if scope == Local {
		key, prefix = localGatewaysKey, legacyLocal
	}
	if value := strings.TrimSpace(data[key]); value != "" {
		gateways, findings, err := parseList(key, value)
		if err != nil {
			return nil, findings, fmt.Errorf("%s: %s: %w", IstioConfigMap, key, err)
		}
		return gateways, findings, nil
	}
	gateways, err := parseLegacy(data, prefix, systemNamespace)
	return gateways, nil, err
}

func parseList(key, value string) ([]Gateway, []finding.Finding, error) {
	entries, err := readEntries(value)
	if err != nil {
		return nil, nil, err
	}
	if len(entries) == 0 && value != noGateways {
		return nil, nil, fmt.Errorf("the list is empty; write %q to ask for no gateway, or remove the key for the default", noGateways)
	}
	var findings []finding.Finding
	if field, ok := twice(value); ok {
		findings = append(findings, listFinding(key, fmt.Sprintf("an entry of %s of %s has field %s twice, and the last one counts; remove one", key, IstioConfigMap, field)))
	}
	gateways := make([]Gateway, 0, len(entries))
	defaults := 0
	for i, e := range entries {
		g, err := e.gateway()
		if err != nil {
			return nil, findings, fmt.Errorf("entry %d: %w%s", i, err, e.alsoUnknown())
		}
		for _, field := range e.unknown {
			findings = append(findings, listFinding(key, fmt.Sprintf("entry %d of %s of %s has no field %s, so what is written there has no effect; correct its spelling or remove it", i, key, IstioConfigMap, field)))
		}
		if g.Selector == nil {
			defaults++
		}
		gateways = append(gateways, g)
	}
	if len(entries) > 0 && defaults != 1 {
		return nil, findings, fmt.Errorf("exactly one entry without labelSelector is wanted (the default gateway), found %d", defaults)
	}
	return gateways, findings, nil
}

// parseService reads <name>.<namespace>.<rest>. A trailing dot is tolerated.
func parseService(host string) (types.NamespacedName, string, error) {
	bare := strings.TrimSuffix(host, ".")
	parts := strings.SplitN(bare, ".", 3)
	if errs := validation.IsDNS1123Subdomain(bare); len(errs) > 0 || len(parts) < 3 {
		return types.NamespacedName{}, "", fmt.Errorf("service %q: want <name>.<namespace>.svc.<cluster domain>", host)
	}
	return types.NamespacedName{Namespace: parts[1], Name: parts[0]}, bare, nil
}

func usesLists(data map[string]string) bool {
	return strings.TrimSpace(data[externalGatewaysKey]) != "" || strings.TrimSpace(data[localGatewaysKey]) != ""
}

func unknownKeys(data map[string]string) []finding.Finding {
	var findings []finding.Finding
	for _, key := range slices.Sorted(maps.Keys(data)) {
		switch advice, old := retired[key]; {
		case old:
			findings = append(findings, keyFinding(key, advice))
		case slices.Contains(keys, key), strings.HasPrefix(key, exportPrefix), strings.HasPrefix(key, "_"), isLegacy(key):
		default:
			findings = append(findings, keyFinding(key, "it is not known; delete it or correct its spelling"))
		}
	}
	return append(findings, blankKeys(data)...)
}

// blankKeys tells of keys that are there and say nothing, which some take for "none".
func blankKeys(data map[string]string) []finding.Finding {
	var findings []finding.Finding
	for key, prefix := range map[string]string{externalGatewaysKey: legacyExternal, localGatewaysKey: legacyLocal} {
		value, there := data[key]
		switch older := slices.ContainsFunc(legacyKeys(data), func(k string) bool { return strings.HasPrefix(k, prefix) }); {
		case !there || strings.TrimSpace(value) != "":
		case older:
			findings = append(findings, keyFinding(key, "it is empty, and keys of the older form say which gateways there are; delete it"))
		default:
			findings = append(findings, keyFinding(key, fmt.Sprintf("it is empty, and empty means the default; for no gateway write %q", noGateways)))
		}
	}
	return findings
}

func keyFinding(key, advice string) finding.Finding {
	return listFinding(key, fmt.Sprintf("key %s of %s has no effect: %s", key, IstioConfigMap, advice))
}

func listFinding(key, message string) finding.Finding {
	return finding.Finding{
		Reason:  finding.ConfigKeyUnknown,
		Subject: finding.Ref{Kind: "ConfigMap", Name: IstioConfigMap},
		Path:    "data." + key,
		Message: message,
	}
}
