package lab

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WayMedian are the medians of a way's passes, and what failed in all of them.
type WayMedian struct {
	WayPass
	// Loads are those of the machine before each pass.
	Loads []string `json:"loads"`
}

// waysMedians puts passes of one way together, in the order in which ways are compared.
func waysMedians(passes []WayPass) []WayMedian {
	var all []WayMedian
	for _, w := range ways {
		var of []WayPass
		for _, p := range passes {
			if p.Way == w.name {
				of = append(of, p)
			}
		}
		if len(of) > 0 {
			all = append(all, medianOf(of))
		}
	}
	return all
}

func medianOf(passes []WayPass) WayMedian {
	m := WayMedian{WayPass: WayPass{
		Way: passes[0].Way, Mode: passes[0].Mode, CPU: map[string]time.Duration{},
		P50:    median(passes, func(p WayPass) time.Duration { return p.P50 }),
		P99:    median(passes, func(p WayPass) time.Duration { return p.P99 }),
		Memory: median(passes, func(p WayPass) int64 { return p.Memory }),
	}}
	for stop := range passes[0].CPU {
		m.CPU[stop] = median(passes, func(p WayPass) time.Duration { return p.CPU[stop] })
	}
	for _, p := range passes {
		m.Round = max(m.Round, p.Round)
		m.Sent += p.Sent
		m.Failed += p.Failed
		m.Loads = append(m.Loads, p.Load)
	}
	return m
}

// median is the one in the middle, or between the two there.
func median[T ~int64](passes []WayPass, of func(WayPass) T) T {
	values := make([]T, len(passes))
	for i, p := range passes {
		values[i] = of(p)
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// waysTable prints ways beside each other.
func waysTable(o WaysOptions, medians []WayMedian) string {
	cpu := func(stop string) func(WayMedian) string {
		return func(m WayMedian) string {
			took, there := m.CPU[stop]
			if !there {
				return "-"
			}
			return micro(took)
		}
	}
	rows := []struct {
		name string
		of   func(WayMedian) string
	}{
		{"", func(m WayMedian) string { return m.Way + ", " + m.Mode }},
		{"p50", func(m WayMedian) string { return milli(m.P50) }},
		{"p99", func(m WayMedian) string { return milli(m.P99) }},
		{"processor time for a request, caller's sidecar", cpu(callerStop)},
		{"  gateway", cpu(gatewayStop)},
		{"  callee's sidecar", cpu(calleeStop)},
		{"  all of these", func(m WayMedian) string {
			var sum time.Duration
			for _, c := range m.CPU {
				sum += c
			}
			return micro(sum)
		}},
		{"memory of the caller's sidecar", func(m WayMedian) string { return fmt.Sprintf("%.1f MiB", float64(m.Memory)/(1<<20)) }},
		{"requests, failed", func(m WayMedian) string { return fmt.Sprintf("%d, %d", m.Sent, m.Failed) }},
		{"load of the machine before", func(m WayMedian) string { return strings.Join(m.Loads, " ") }},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests per second for %s, medians of %d rounds\n", o.Rate, o.For, o.Rounds)
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprint(w, row.name)
		for _, m := range medians {
			fmt.Fprint(w, "\t", row.of(m))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	return b.String()
}

func milli(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
func micro(d time.Duration) string { return fmt.Sprintf("%d µs", d.Microseconds()) }
