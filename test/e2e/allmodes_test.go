//go:build acceptance

package e2e

import "testing"

func TestAllModesUnderLoad(t *testing.T) {
	changeModes(t, 10, 50, "gateway", "half-mesh", "mesh-only", "half-mesh", "gateway", "mesh-only", "gateway")
}
