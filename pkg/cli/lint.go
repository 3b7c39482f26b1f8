package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

func lintCommand() *cobra.Command {
	var in input
	c := &cobra.Command{
		Use:   "lint [-f PATH...]",
		Short: "Print what is wrong, or worth knowing",
		Long: `Prints the findings that the controller would show as conditions and events, gravest first,
one a line: severity, reason, object, field, what is wrong and what to do. -o json adds what the
reason means in general. Misspelt fields of documents are warnings, on standard error, and so is
the line that says that nothing was found.

Severities: Invalid (a person has to change something), Pending (something is awaited, which may
just be missing among the documents), Warning (somebody else does not get what he wants of the
object), Info.

Exit codes: 0 nothing Invalid, 1 something Invalid, 2 wrong usage, or a world that
cannot be read.`,
		Example: "  netmesh lint\n  netmesh lint -f world.yaml -o json",
		Args:    cobra.NoArgs,
	}
	in.flags(c)
	format := output(c, "text", "json")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := in.documents(c)
		if err != nil {
			return err
		}
		w, err := d.world(c.Context(), in.clusterDomain, change{})
		if err != nil {
			return err
		}
		w.printWarnings(c.ErrOrStderr())
		if format.value == "json" {
			err = printJSON(c.OutOrStdout(), shown(w.findings()))
		} else {
			err = printFindings(c.OutOrStdout(), w.findings())
		}
		if err != nil {
			return err
		}
		if len(w.findings()) == 0 {
			fmt.Fprintf(c.ErrOrStderr(), "no findings in %s\n", count(len(w.ingresses), "Ingress", "Ingresses"))
		}
		return w.verdict()
	}
	return c
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shownFinding is a Finding with what the catalogue says about its reason.
type shownFinding struct {
	Severity finding.Severity `json:"severity"`
	finding.Finding
	Condition finding.Condition `json:"condition,omitempty"`
	Help      string            `json:"help"`
}

// shown is never nil, so that nothing found reads as an empty list.
func shown(all []finding.Finding) []shownFinding {
	out := make([]shownFinding, 0, len(all))
	for _, f := range all {
		out = append(out, shownFinding{f.Severity(), f, f.Condition(), f.Reason.Entry().Help})
	}
	return out
}

func printFindings(to io.Writer, all []finding.Finding) error {
	var text strings.Builder
	for _, f := range all {
		fmt.Fprintln(&text, line(f))
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// line leaves out what the catalogue says of the reason: a message names object, fault and
// remedy by itself.
func line(f finding.Finding) string {
	about := f.Subject.Kind + " " + nameOf(f.Subject)
	if f.Path != "" {
		about += " " + f.Path
	}
	return printable(fmt.Sprintf("%s %s %s: %s", f.Severity(), f.Reason, about, f.Message))
}
