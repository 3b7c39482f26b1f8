//go:build acceptance

package e2e

import "testing"

func TestAllModesUnderLoad(t *testing.T) {
	changeModes(t, 10, 50, "gateway", "half-mesh", "mesh-only", "half-mesh", "gateway", "mesh-only", "gateway")
}

// With the loopback's name as the private address Serving's placeholders stay as they are, and callers in the mesh
// lose nothing at all.
func TestAliasModesUnderLoad(t *testing.T) {
	changeModes(t, 10, 50, "gateway", "half-mesh-alias", "mesh-only-alias", "half-mesh-alias", "gateway", "mesh-only-alias", "gateway")
}
