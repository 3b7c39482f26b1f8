package cli

import (
	"fmt"
	"strings"
)

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
		from := fmt.Sprintf("entry%d", i)
		if one.Led != nil {
			// The sidecar is drawn once more, for the second pass.
			fmt.Fprintf(&out, "  entry%d -->|%s| again%d[%s]\n", i, label(ledWords(one.Led)[0]), i, label(entryName(one.Entry), "once more, as "+one.Led.Host))
			from = fmt.Sprintf("again%d", i)
		}
		if one.Route == nil {
			fmt.Fprintf(&out, "  %s -.-> end%d[%s]\n", from, i, label("not routed", one.Because))
			continue
		}
		text := []string{"Ingress " + one.Ingress, one.Field, "takes " + one.Route.Takes.Words()}
		for _, h := range one.Route.Sets {
			text = append(text, "sets "+h.Key+": "+h.Value)
		}
		if one.Route.RewriteHost != "" {
			text = append(text, "rewrites the host to "+one.Route.RewriteHost)
		}
		fmt.Fprintf(&out, "  %s -->|%s| route%d[%s]\n", from, label(one.VirtualService), i, label(text...))
		for k, d := range one.Route.To {
			d.mermaid(&out, i, k)
		}
	}
	return out.String()
}

// mermaid draws a share of the requests, and the activator where it stands between.
func (d destination) mermaid(out *strings.Builder, i, k int) {
	backend := []string{fmt.Sprintf("%s:%d", d.Host, d.Port)}
	for _, h := range d.Sets {
		backend = append(backend, "sets "+h.Key+": "+h.Value)
	}
	share, line := []string{fmt.Sprintf("%v %%", d.Percent)}, "-->"
	if d.Blocker != nil {
		share, line = append(share, stopsWord(d.Blocker)+" here: "+d.Blocker.Because), "-.->"
	}
	fmt.Fprintf(out, "  route%d %s|%s| backend%d_%d[%s]\n", i, line, label(share...), i, k, label(backend...))
	for n, p := range d.Passages {
		from := fmt.Sprintf("backend%d_%d", i, k)
		for m, h := range p.Hops[1:] {
			to, edge := fmt.Sprintf("hop%d_%d_%d_%d", i, k, n, m), []string{"as " + h.Sees}
			if m == 0 && p.When != always {
				edge = []string{p.When.words(), "as " + h.Sees}
			}
			arrow := "-->"
			if h.Blocker != nil {
				arrow, edge = "-.->", append(edge, stopsWord(h.Blocker)+" here: "+h.Blocker.Because)
			}
			fmt.Fprintf(out, "  %s %s|%s| %s[%s]\n", from, arrow, label(edge...), to, label(h.words()))
			from = to
		}
	}
}

// mermaidSafe replaces what ends a quoted label or is taken for markup.
var mermaidSafe = strings.NewReplacer(`"`, "#quot;", "#", "#35;", "<", "#lt;", ">", "#gt;", "&", "#amp;")

func label(lines ...string) string {
	for i := range lines {
		lines[i] = mermaidSafe.Replace(printable(lines[i]))
	}
	return `"` + strings.Join(lines, "<br>") + `"`
}
