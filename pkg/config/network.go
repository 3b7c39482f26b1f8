package config

import (
	"fmt"

	network "knative.dev/networking/pkg/config"
)

// ParseNetwork reads the part of config-network that concerns us.
func ParseNetwork(data map[string]string) (Network, error) {
	parsed, err := network.NewConfigFromMap(data)
	if err != nil {
		return Network{}, fmt.Errorf("%s: %w", NetworkConfigMap, Plain(err))
	}
	return Network{
		ClusterLocalDomainTLS: parsed.ClusterLocalDomainTLS == network.EncryptionEnabled,
		MeshPodAddressability: parsed.EnableMeshPodAddressability,
	}, nil
}
