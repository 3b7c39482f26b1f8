//go:build lab

package e2e

import "testing"

// The short form of what the acceptance run does with ten Services through all modes.
func TestModesUnderLoad(t *testing.T) {
	changeModes(t, 2, 20, "gateway", "half-mesh", "gateway")
}
