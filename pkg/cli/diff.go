package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

func diffCommand() *cobra.Command {
	var in input
	var f diffFlags
	c := &cobra.Command{
		Use:   "diff [-f PATH...] (--set CONFIGMAP.KEY=VALUE... | --mode [BEFORE:]AFTER | --to PATH... | --live)",
		Short: "Print what a change would do before it is made",
		Long: `Compares what the controller writes for a world, that of -f or the live cluster, with another:

--set   the same after a change of entries of config-istio or config-network
--mode  the same in another mode: gateway, half-mesh, local-only, mesh-only. Gateways stay as they are
        configured, or are the default ones. BEFORE:AFTER compares two modes
--to    what it writes for other documents
--live  what is there now: which objects the controller would create, change and delete. It compares
        as the controller does, so what others wrote beside its own is no difference. With -f it is told for
        the Ingresses of these documents, as if they were applied: what they do not hold is read from the
        cluster, other Ingresses that claim the same hosts too. May be joined with --set or --mode

    + an object that would come
    - one that would go
    ~ one that would change, with a unified diff of its YAML; or a published address that would
    ! one of somebody else that has a name the controller needs; it would be left alone

Secrets are compared by sums of their bytes. Findings that the change would bring go to standard error, and so does the line that says that there is no difference.

Exit codes: 0 no difference, 1 a difference, 2 wrong usage, or a world that cannot be read.`,
		Example: "  netmesh diff --mode mesh-only\n  netmesh diff -f world.yaml --set config-istio.local-gateways='[]'\n" +
			"  netmesh diff -f before/ --to after/\n  netmesh diff -f ingress.yaml -f config.yaml --live",
		Args: cobra.NoArgs,
	}
	in.flags(c)
	// Not a slice, which would split values at their commas.
	c.Flags().StringArrayVar(&f.set, "set", nil, "CONFIGMAP.KEY=VALUE in the world after the change; may be repeated")
	c.Flags().StringArrayVar(&f.to, "to", nil, "file, folder or - that holds the world after the change; may be repeated")
	c.Flags().StringVar(&f.mode, "mode", "", "the mode after the change, or BEFORE:AFTER: "+modeNames())
	c.Flags().BoolVar(&f.live, "live", false, "compare with the objects that are in the cluster now")
	c.MarkFlagsMutuallyExclusive("set", "mode", "to")
	c.MarkFlagsMutuallyExclusive("to", "live")
	c.MarkFlagsOneRequired("set", "mode", "to", "live")
	format := output(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := f.difference(c, &in)
		if err != nil {
			return err
		}
		err = d.print(c.OutOrStdout(), format.value)
		if err == nil {
			fmt.Fprintln(c.ErrOrStderr(), "no difference")
		}
		return err
	}
	return c
}

type diffFlags struct {
	set, to []string
	mode    string
	live    bool
}

// difference reads both worlds, tells what is to be told of them, and compares them.
func (f diffFlags) difference(c *cobra.Command, in *input) (difference, error) {
	before, after, d, err := f.worlds(c, in)
	if err != nil {
		return difference{}, err
	}
	if f.live {
		after.printWarnings(c.ErrOrStderr())
		if err := printFindings(c.ErrOrStderr(), after.findings()); err != nil {
			return difference{}, err
		}
		return after.against(c.Context(), d.live, len(in.paths) == 0)
	}
	before.printWarnings(c.ErrOrStderr())
	after.warnings = slices.DeleteFunc(after.warnings, func(line string) bool { return slices.Contains(before.warnings, line) })
	after.printWarnings(c.ErrOrStderr())
	if err := printFindings(c.ErrOrStderr(), news(before, after)); err != nil {
		return difference{}, err
	}
	return compare(before, after)
}

// worlds reads the world before and the one after. Standard input is read once, whoever
// asks for it.
func (f diffFlags) worlds(c *cobra.Command, in *input) (before, after *world, d *documents, err error) {
	var was, is change
	if is.settings, err = parseSettings(f.set); err != nil {
		return nil, nil, nil, err
	}
	if c.Flags().Changed("mode") {
		if was.mode, is.mode, err = parseModes(f.mode); err != nil {
			return nil, nil, nil, err
		}
	}
	if slices.Contains(in.paths, standardInput) && slices.Contains(f.to, standardInput) {
		return nil, nil, nil, errors.New("standard input can be read once: give - to -f or to --to")
	}
	if d, err = in.documents(c); err != nil {
		return nil, nil, nil, err
	}
	if f.live && d.live == nil {
		live, err := in.connect()
		if err == nil {
			err = d.overlay(c.Context(), live)
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
	changed := d
	if len(f.to) > 0 {
		files, err := readPaths(f.to, c.InOrStdin())
		if err != nil {
			return nil, nil, nil, err
		}
		changed = &documents{files: files}
	}
	if before, err = d.world(c.Context(), in.clusterDomain, was); err != nil {
		return nil, nil, nil, err
	}
	after, err = changed.world(c.Context(), in.clusterDomain, is)
	if err != nil && len(f.set) > 0 {
		err = fmt.Errorf("with --set %s: %w", strings.Join(f.set, " --set "), err)
	}
	return before, after, d, err
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
