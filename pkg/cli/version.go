package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which netmesh this is",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprintln(c.OutOrStdout(), version(info))
			return err
		},
	}
}

// version is that of the module, or else the commit it was built from, or else devel.
func version(info *debug.BuildInfo) string {
	const devel = "devel"
	if info == nil {
		return devel
	}
	if v := info.Main.Version; v != "" && v != "("+devel+")" {
		return v
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	switch revision := set["vcs.revision"]; {
	case revision == "":
		return devel
	case set["vcs.modified"] == "true":
		return devel + " " + revision + ", changed since"
	default:
		return devel + " " + revision
	}
}
