package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

func diffCommand() *cobra.Command {
	var in input
	var to, set []string
	c := &cobra.Command{
		Use:   "diff -f PATH... (--set CONFIGMAP.KEY=VALUE... | --to PATH...)",
		Short: "Print what a change would do before it is made",
		Long: `Compares what the controller writes for the documents of -f with what it would write after a change:
with --set of entries of config-istio or config-network, with --to of all documents.

    + an object, or a published address, that would come
    - one that would go
    ~ one that would change, with a unified diff of its YAML

Findings that the change would bring go to standard error.

Exit codes: 0 no difference, 1 a difference, 2 wrong usage or documents that cannot be read.`,
		Example: "  netmesh diff -f world.yaml --set config-istio.local-gateways='[]'\n  netmesh diff -f before/ --to after/",
		Args:    cobra.NoArgs,
	}
	in.flags(c)
	// Not a slice, which would split values at their commas.
	c.Flags().StringArrayVar(&set, "set", nil, "CONFIGMAP.KEY=VALUE in the world after the change; may be repeated")
	c.Flags().StringArrayVar(&to, "to", nil, "file, folder or - that holds the world after the change; may be repeated")
	c.MarkFlagsMutuallyExclusive("set", "to")
	c.MarkFlagsOneRequired("set", "to")
	format := output(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		before, after, err := in.worlds(c.InOrStdin(), set, to)
		if err != nil {
			return err
		}
		before.printWarnings(c.ErrOrStderr())
		after.warnings = slices.DeleteFunc(after.warnings, func(line string) bool { return slices.Contains(before.warnings, line) })
		after.printWarnings(c.ErrOrStderr())
		if err := printFindings(c.ErrOrStderr(), news(before, after)); err != nil {
			return err
		}
		d, err := compare(before, after)
		if err != nil {
			return err
		}
		return d.print(c.OutOrStdout(), format.value)
	}
	return c
}

// worlds reads the world before and the one after. Standard input is read once, whoever
// asks for it.
func (i *input) worlds(in io.Reader, set, to []string) (before, after *world, err error) {
	settings, err := parseSettings(set)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(i.paths, standardInput) && slices.Contains(to, standardInput) {
		return nil, nil, errors.New("standard input can be read once: give - to -f or to --to")
	}
	old, err := i.files(in)
	if err != nil {
		return nil, nil, err
	}
	changed := old
	if len(to) > 0 {
		if changed, err = readPaths(to, in); err != nil {
			return nil, nil, err
		}
	}
	return newWorlds(i.clusterDomain, old, changed, settings)
}

func newWorlds(clusterDomain string, old, changed []snapshot.File, settings []setting) (before, after *world, err error) {
	if before, err = newWorld(old, clusterDomain); err != nil {
		return nil, nil, err
	}
	if after, err = newWorld(changed, clusterDomain, settings...); err != nil {
		return nil, nil, err
	}
	return before, after, nil
}

// parseSettings reads CONFIGMAP.KEY=VALUE. Keys have dots, names of our ConfigMaps have
// none.
func parseSettings(set []string) ([]setting, error) {
	var out []setting
	for _, text := range set {
		target, value, ok := strings.Cut(text, "=")
		name, key, dotted := strings.Cut(target, ".")
		if !ok || !dotted || key == "" || !slices.Contains([]string{config.IstioConfigMap, config.NetworkConfigMap}, name) {
			return nil, fmt.Errorf("--set %q: want %s.KEY=VALUE or %s.KEY=VALUE", text, config.IstioConfigMap, config.NetworkConfigMap)
		}
		out = append(out, setting{name, key, value})
	}
	return out, nil
}

// news are the findings that were not there before.
func news(before, after *world) []finding.Finding {
	old := before.findings()
	return slices.DeleteFunc(after.findings(), func(f finding.Finding) bool { return slices.Contains(old, f) })
}
