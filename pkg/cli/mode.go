package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// mode is a combination of gateways that has a name; empty means as configured.
type mode string

// modes says which scopes have gateways.
var modes = map[mode]struct{ external, local bool }{
	"gateway":    {true, true},
	"half-mesh":  {true, false},
	"local-only": {false, true},
	"mesh-only":  {false, false},
}

func modeNames() string {
	var names []string
	for _, m := range slices.Sorted(maps.Keys(modes)) {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// parseModes reads AFTER or BEFORE:AFTER.
func parseModes(text string) (before, after mode, err error) {
	first, second, both := strings.Cut(text, ":")
	if !both {
		first, second = "", text
	}
	for i, word := range []string{first, second} {
		if _, known := modes[mode(word)]; !known && (both || i > 0) {
			return "", "", fmt.Errorf("--mode %q: want MODE or BEFORE:AFTER; modes are %s", text, modeNames())
		}
	}
	return mode(first), mode(second), nil
}

// apply leaves gateways as they are configured where the mode has any, or else gives the
// default ones. All else stays as it is.
func (m mode) apply(have, defaults config.Istio) config.Istio {
	has, known := modes[m]
	if !known {
		return have
	}
	scope := func(wanted bool, have, defaults []config.Gateway) []config.Gateway {
		switch {
		case !wanted:
			return nil
		case len(have) == 0:
			return defaults
		}
		return have
	}
	// What else is configured is no matter of modes.
	have.External = scope(has.external, have.External, defaults.External)
	have.Local = scope(has.local, have.Local, defaults.Local)
	return have
}
