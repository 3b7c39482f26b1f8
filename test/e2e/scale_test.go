//go:build acceptance

package e2e

import "testing"

// The long form of TestReadyIsTrue.
func TestReadyIsTrueOfMany(t *testing.T) { readyIsTrue(t, 300) }
