package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/doctor"
)

// reportSchema names the structure of the doctor's JSON and YAML.
const reportSchema = "netmesh.doctor/v1"

// shownReport is a Report for programs.
type shownReport struct {
	Schema string       `json:"schema"`
	Fit    bool         `json:"fit"`
	Checks []shownCheck `json:"checks"`
	Fixes  []doctor.Fix `json:"fixes"`
}

type shownCheck struct {
	Name     string          `json:"name"`
	About    string          `json:"about"`
	Findings []shownVerdicts `json:"findings"`
}

type shownVerdicts struct {
	Verdict doctor.Verdict `json:"verdict"`
	doctor.Finding
	Help string `json:"help"`
}

func shownOf(r doctor.Report) shownReport {
	out := shownReport{Schema: reportSchema, Fit: !r.Unfit(), Checks: []shownCheck{}, Fixes: append([]doctor.Fix{}, r.Fixes(doctor.Wrong)...)}
	for _, c := range r.Checks {
		one := shownCheck{c.Name, c.About, []shownVerdicts{}}
		for _, f := range c.Findings {
			one.Findings = append(one.Findings, shownVerdicts{f.Verdict(), f, f.Reason.Entry().Help})
		}
		out.Checks = append(out.Checks, one)
	}
	return out
}

func printReport(to io.Writer, r doctor.Report, format string) error {
	switch format {
	case "json":
		return printJSON(to, shownOf(r))
	case "yaml":
		text, err := yaml.Marshal(shownOf(r))
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	case "fixes":
		var documents []any
		for _, fix := range r.Fixes(doctor.Wrong) {
			documents = append(documents, fix)
		}
		return printYAML(to, documents)
	}
	_, err := io.WriteString(to, reportText(r))
	return err
}

// titles of the groups, in their order.
var titles = []struct {
	verdict doctor.Verdict
	title   string
}{{doctor.Wrong, "wrong"}, {doctor.Unknown, "not known"}, {doctor.Notable, "worth knowing"}, {doctor.Good, "fit"}}

// reportText groups by verdict. What is fit is a line for each check; what several checks do not
// know for one cause is told once.
func reportText(r doctor.Report) string {
	var out strings.Builder
	for _, group := range titles {
		var texts []string
		var checks [][]string
		for _, c := range r.Checks {
			for _, f := range c.Findings {
				if f.Verdict() != group.verdict {
					continue
				}
				text := findingText(f)
				if i := slices.Index(texts, text); i >= 0 && group.verdict == doctor.Unknown {
					checks[i] = append(checks[i], c.Name)
					continue
				}
				texts, checks = append(texts, text), append(checks, []string{c.Name})
			}
		}
		if len(texts) > 0 && out.Len() > 0 {
			out.WriteString("\n")
		}
		for i, text := range texts {
			if i == 0 {
				fmt.Fprintf(&out, "%s\n", group.title)
			}
			fmt.Fprintf(&out, "  %s: %s", strings.Join(checks[i], ", "), text)
		}
	}
	printFixes(&out, "to apply; netmesh doctor -o fixes prints these alone", r.Fixes(doctor.Wrong))
	printFixes(&out, "to apply if it is meant to be open", r.Fixes(doctor.Notable))
	return out.String()
}

func printFixes(out *strings.Builder, title string, fixes []doctor.Fix) {
	for i, fix := range fixes {
		if i == 0 {
			fmt.Fprintf(out, "\n%s\n", title)
		}
		fmt.Fprintf(out, "---\n%s", indented(fix))
	}
}

func findingText(f doctor.Finding) string {
	if f.Verdict() == doctor.Good {
		return printable(f.Message) + "\n"
	}
	text := fmt.Sprintf("%s\n    %s\n", f.Reason, printable(f.Message))
	if f.Remedy != "" {
		text += fmt.Sprintf("    do: %s\n", printable(f.Remedy))
	}
	return text
}

// indented is an object's YAML; control characters of names are escaped by YAML itself.
func indented(fix doctor.Fix) string {
	text, err := yaml.Marshal(fix)
	if err != nil {
		return "# " + printable(err.Error()) + "\n"
	}
	return string(text)
}
