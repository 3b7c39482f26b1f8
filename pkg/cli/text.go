package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/net-mesh/net-mesh/pkg/doctor"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

func (a answer) print(to io.Writer, format string) error {
	if format == "json" {
		return printJSON(to, a)
	}
	switch format {
	case "html":
		return a.html(to)
	case "mermaid":
		_, err := io.WriteString(to, a.mermaid())
		return err
	}
	_, err := io.WriteString(to, a.text())
	return err
}

func (a answer) text() string {
	var out strings.Builder
	// One writer for all, so that the values stand in one column.
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(label, format string, args ...any) {
		fmt.Fprintf(table, "  %s\t%s\n", label, printable(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintln(table, printable(a.URL))
	if a.From != nil {
		row("from", "%s", a.From)
	}
	for _, note := range a.Notes {
		row("note", "%s", note)
	}
	for i, why := range a.Because {
		row([]string{"not routed", ""}[min(i, 1)], "%s", why)
	}
	for _, one := range a.Ways {
		fmt.Fprintf(table, "\nvia %s\n", entryName(one.Entry))
		one.rows(row)
	}
	for i, d := range a.Decisions {
		if i == 0 || a.Decisions[i-1].Ingress != d.Ingress {
			fmt.Fprintf(table, "\nwhy, for Ingress %s\n", d.Ingress)
		}
		row(printable(d.Subject), "%s, because %s", d.Choice, d.Because)
	}
	for i, f := range a.Findings {
		if i == 0 {
			fmt.Fprint(table, "\nfindings\n")
		}
		fmt.Fprintf(table, "  %s\n", line(f.Finding))
	}
	// A strings.Builder takes everything.
	_ = table.Flush()
	return out.String()
}

type addRow func(label, format string, args ...any)

func (one way) rows(row addRow) {
	if one.Led != nil {
		for i, words := range ledWords(one.Led) {
			row([]string{"led by", ""}[i], "%s", words)
		}
	}
	row("Ingress", "%s", strings.TrimSpace(one.Ingress+" "+one.Field))
	row("VirtualService", "%s", one.VirtualService)
	if one.Route != nil {
		one.Route.rows(row)
	}
	if one.Because != "" && one.Outcome == routed {
		row("note", "%s", one.Because)
	} else if one.Because != "" {
		row("not routed", "%s", one.Because)
	}
}

func entryName(e plan.Entry) string {
	if e == plan.MeshEntry {
		return "mesh (the caller's sidecar)"
	}
	return "gateway " + string(e)
}

func (r route) rows(row addRow) {
	row("takes", "%s", r.Takes.Words())
	for _, h := range r.Sets {
		row("sets", "%s: %s", h.Key, h.Value)
	}
	if r.RewriteHost != "" {
		then := ""
		if len(r.To) > 0 && len(r.To[0].Passages) == 0 {
			then = ", by which the request is routed once more"
		}
		row("rewrites", "the host to %s%s", r.RewriteHost, then)
	}
	if r.NotFound {
		row("answers", "404, because the route it leads to takes no such request")
	}
	for _, d := range r.To {
		row(fmt.Sprintf("%v %%", d.Percent), "%s:%d", d.Host, d.Port)
		if d.RewriteHost != "" {
			row("", "rewrites the host to %s", d.RewriteHost)
		}
		for _, h := range d.Sets {
			row("", "sets %s: %s", h.Key, h.Value)
		}
		if d.Blocker != nil {
			row("", "%s here: %s", stopsWord(d.Blocker), blockerWords(d.Blocker))
		}
		for _, p := range d.Passages {
			row("", "%s", p.words())
			for _, h := range p.Hops {
				if h.Blocker != nil {
					row("", "%s before %s: %s", stopsWord(h.Blocker), h.words(), blockerWords(h.Blocker))
				}
			}
		}
	}
}

// words name the stops behind the entry and whom each sees.
func (p passage) words() string {
	var stops []string
	for _, h := range p.Hops[1:] {
		stops = append(stops, fmt.Sprintf("%s sees %s", h.words(), h.Sees))
	}
	if p.When == always {
		return strings.Join(stops, ", ")
	}
	return p.When.words() + ": " + strings.Join(stops, ", ")
}

func stopsWord(b *doctor.Blocker) string {
	if b.Maybe {
		return "may stop"
	}
	return "stops"
}

func (h hop) words() string {
	switch h.At {
	case activator:
		return "activator"
	case app:
		return "app " + h.Name
	case gateway:
		return "gateway " + h.Name
	}
	return "sidecar of " + h.Name
}
