package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

// parseSwitch reads "true" or "false"; written is false where nothing is.
func parseSwitch(data map[string]string, key string) (on, written bool, err error) {
	switch value := strings.TrimSpace(data[key]); value {
	case "":
		return false, false, nil
	case "true", "false":
		return value == "true", true, nil
	default:
		return false, true, fmt.Errorf(`%s: %s: %q is neither "true" nor "false"`, IstioConfigMap, key, value)
	}
}

func parseExternalInMesh(data map[string]string, istio *Istio) error {
	on, written, err := parseSwitch(data, externalInMeshKey)
	if err == nil && written && !on && len(istio.External) == 0 {
		err = fmt.Errorf(`%s: %s: "false" and no external gateway would leave public hosts without any entry; write "true", or remove one of the two keys`,
			IstioConfigMap, externalInMeshKey)
	}
	istio.ExternalInMesh = on
	return err
}

func parseMeshDNS(data map[string]string, istio *Istio) (err error) {
	istio.MeshDNS, _, err = parseSwitch(data, meshDNSKey)
	return err
}

func parseDelegates(data map[string]string, istio *Istio) (err error) {
	istio.Delegates, _, err = parseSwitch(data, delegatesKey)
	return err
}

// idleMeshDNS tells that there is nothing for sidecars to answer DNS for.
func idleMeshDNS(istio Istio) []finding.Finding {
	if !istio.MeshDNS || istio.PublicInMesh() {
		return nil
	}
	return []finding.Finding{keyFinding(meshDNSKey, fmt.Sprintf(`callers' sidecars serve no public hosts; write %s: "true" too, or delete it`, externalInMeshKey))}
}

// parseLoopback reads whether sidecars stand in for a local gateway that is not there. They do unless told otherwise.
func parseLoopback(data map[string]string, istio *Istio) error {
	on, written, err := parseSwitch(data, loopbackKey)
	istio.Loopback = on || !written
	return err
}

// Values of private-address.
const (
	addressMeshOnly = "mesh-only"
	addressLoopback = "loopback"
)

func parsePrivateAddress(data map[string]string, istio *Istio) error {
	switch value := strings.TrimSpace(data[privateAddressKey]); value {
	case "", addressMeshOnly:
		return nil
	case addressLoopback:
		if on, written, err := parseSwitch(data, loopbackKey); err == nil && written && !on {
			return fmt.Errorf(`%s: %s: %q and %s: "false" would publish an address that leads nowhere; remove one of the two keys`,
				IstioConfigMap, privateAddressKey, addressLoopback, loopbackKey)
		}
		istio.PrivateLoopback = true
		return nil
	default:
		return fmt.Errorf(`%s: %s: %q is neither %q nor %q`, IstioConfigMap, privateAddressKey, value, addressMeshOnly, addressLoopback)
	}
}

func parseExport(data map[string]string, istio *Istio) error {
	var errs []error
	read := func(key string) []string {
		if strings.TrimSpace(data[key]) == "" {
			return nil
		}
		to, err := ParseExportTo(data[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", IstioConfigMap, key, err))
		}
		return to
	}
	istio.Export.Default = read(exportKey)
	for _, key := range slices.Sorted(maps.Keys(data)) {
		namespace, is := strings.CutPrefix(key, exportPrefix)
		if !is {
			continue
		}
		if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
			errs = append(errs, fmt.Errorf("%s: %s: %q is not the name of a namespace: %s", IstioConfigMap, key, namespace, faults[0]))
		}
		if to := read(key); to != nil {
			istio.Export.ByNamespace = append(istio.Export.ByNamespace, NamespaceExport{Namespace: namespace, To: to})
		}
	}
	return errors.Join(errs...)
}

// ParseExportTo reads a list of namespaces, separated by commas: names, "." for that of the
// Ingress, or "*" alone for all.
func ParseExportTo(value string) ([]string, error) {
	var out []string
	for _, item := range strings.Split(value, ",") {
		item = strings.TrimSpace(item)
		if item != ExportAll && item != ExportOwn && len(validation.IsDNS1123Label(item)) > 0 {
			return nil, fmt.Errorf(`%q is not the name of a namespace; want names separated by commas, "." for that of the Ingress, or "*" for all`, item)
		}
		out = append(out, item)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > 1 && slices.Contains(out, ExportAll) {
		return nil, fmt.Errorf(`"*" means all namespaces, so it stands alone; remove it, or the others`)
	}
	return out, nil
}
