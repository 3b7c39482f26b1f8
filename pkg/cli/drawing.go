package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

func (a answer) print(to io.Writer, format string) error {
	if format == "json" {
		return printJSON(to, a)
	}
	text := a.text()
	if format == "mermaid" {
		text = a.mermaid()
	}
	_, err := io.WriteString(to, text)
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
	row("Ingress", "%s", strings.TrimSpace(one.Ingress+" "+one.Field))
	row("VirtualService", "%s", one.VirtualService)
	if one.Route != nil {
		routeRows(row, *one.Route)
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

func routeRows(row addRow, r model.Route) {
	row("takes", "%s", condition(r.Match))
	for _, h := range r.SetHeaders {
		row("sets", "%s: %s", h.Key, h.Value)
	}
	if r.RewriteHost != "" {
		row("rewrites", "the host to %s, by which the request is routed once more", r.RewriteHost)
	}
	for _, s := range r.Splits {
		row(fmt.Sprintf("%d %%", s.Percent), "%s:%d", s.Backend.Host, s.Backend.Port)
		for _, h := range s.SetHeaders {
			row("", "sets %s: %s", h.Key, h.Value)
		}
	}
}

// mermaid draws request, entries, routes and backends from left to right.
func (a answer) mermaid() string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	fmt.Fprintf(&out, "  request[%s]\n", label(a.URL))
	for i, why := range a.Because {
		fmt.Fprintf(&out, "  request -.-> none%d[%s]\n", i, label(why))
	}
	for i, one := range a.Ways {
		fmt.Fprintf(&out, "  request --> entry%d[%s]\n", i, label(entryName(one.Entry)))
		if one.Route == nil {
			fmt.Fprintf(&out, "  entry%d -.-> end%d[%s]\n", i, i, label("not routed", one.Because))
			continue
		}
		text := []string{"Ingress " + one.Ingress, one.Field, "takes " + condition(one.Route.Match)}
		for _, h := range one.Route.SetHeaders {
			text = append(text, "sets "+h.Key+": "+h.Value)
		}
		if one.Route.RewriteHost != "" {
			text = append(text, "rewrites the host to "+one.Route.RewriteHost)
		}
		fmt.Fprintf(&out, "  entry%d -->|%s| route%d[%s]\n", i, label(one.VirtualService), i, label(text...))
		for k, s := range one.Route.Splits {
			backend := []string{fmt.Sprintf("%s:%d", s.Backend.Host, s.Backend.Port)}
			for _, h := range s.SetHeaders {
				backend = append(backend, "sets "+h.Key+": "+h.Value)
			}
			fmt.Fprintf(&out, "  route%d -->|%s| backend%d_%d[%s]\n", i, label(fmt.Sprintf("%d %%", s.Percent)), i, k, label(backend...))
		}
	}
	return out.String()
}

// mermaidSafe replaces what ends a quoted label or is taken for markup.
var mermaidSafe = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "&", "#amp;")

func label(lines ...string) string {
	for i := range lines {
		lines[i] = mermaidSafe.Replace(printable(lines[i]))
	}
	return `"` + strings.Join(lines, "<br>") + `"`
}
