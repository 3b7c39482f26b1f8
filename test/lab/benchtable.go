package lab

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/net-mesh/net-mesh/test/rush/tally"
)

// table prints passes beside each other.
func table(passes []Pass) string {
	rows := []struct {
		name string
		of   func(Pass) string
	}{
		{"", func(p Pass) string { return fmt.Sprintf("%s, %d", p.Plugin, p.Count) }},
		{"Ready, since the first was created: p50, last", func(p Pass) string { return times(p.Ready) }},
		{"Ready, since each was created: p50, last", func(p Pass) string { return times(p.Each) }},
		{"not served when Ready", func(p Pass) string { return counted(p.TooEarly(), p.Early) }},
		{"  for: p50, last", func(p Pass) string { return times(p.Late) }},
		{"not proven", func(p Pass) string { return counted(p.NotProven(), p.Unproven) }},
		{"virtual hosts, routes in one sidecar, each", func(p Pass) string { return each(p, p.Sidecar.VHosts) + ", " + each(p, p.Sidecar.Routes) }},
		{"bytes of these as JSON, each", func(p Pass) string { return each(p, p.Sidecar.Bytes) }},
		{"  of the Services alone", func(p Pass) string { return each(p, p.Services.Bytes) }},
		{"  told to their own namespace, elsewhere", func(p Pass) string {
			if p.Elsewhere == nil {
				return "-"
			}
			return each(p, p.Elsewhere.Bytes)
		}},
		{"load of the machine before", func(p Pass) string { return p.Load }},
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprint(w, row.name)
		for _, p := range passes {
			fmt.Fprint(w, "\t", row.of(p))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	return passes[0].Mode + "\n" + b.String()
}

func times(s tally.Spread) string {
	return fmt.Sprintf("%.1f s, %.1f s", s.P50.Round(100*time.Millisecond).Seconds(), s.Last.Round(100*time.Millisecond).Seconds())
}

func counted(n int, by map[string]int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", n, tally.Counts(by))
}

// each is a number for one Ingress.
func each(p Pass, n int) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/float64(p.Count)), ".0")
}
