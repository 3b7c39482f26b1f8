package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Prefixes of the legacy format, in which each gateway has a key of its own and
// "none" cannot be said.
const (
	legacyExternal = "gateway."
	legacyLocal    = "local-gateway."
)

// isLegacy says whether a key is one of the legacy format that still has effect.
func isLegacy(key string) bool {
	if _, old := retired[key]; old {
		return false
	}
	return strings.HasPrefix(key, legacyExternal) || strings.HasPrefix(key, legacyLocal)
}

func legacyKeys(data map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(data)), func(key string) bool { return !isLegacy(key) })
}

// parseLegacy reads <prefix><namespace>.<name>: <service host>; without a
// namespace the system's is meant. Every gateway applies to every Ingress. It
// returns nil when no key has the prefix.
func parseLegacy(data map[string]string, prefix, systemNamespace string) ([]Gateway, error) {
	var gateways []Gateway
	for _, key := range legacyKeys(data) {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		namespace, rest, qualified := strings.Cut(name, ".")
		if !qualified {
			namespace, rest = systemNamespace, name
		}
		g, err := item{Namespace: namespace, Name: rest, Service: strings.TrimSpace(data[key])}.gateway()
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", IstioConfigMap, key, err)
		}
		gateways = append(gateways, g)
	}
	return gateways, nil
}
