package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "abc"}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":                   {Main: debug.Module{Version: "v1.2.3"}},
		"devel abc":                {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{commit}},
		"devel abc, changed since": {Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}},
		"devel":                    {},
	} {
		if got := version(info); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := version(nil); got != "devel" {
		t.Errorf("without build information: %q", got)
	}
}
