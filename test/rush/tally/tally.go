// Package tally answers: what came of many Ingresses that were made at once? It is what the command
// test/rush prints, and what the lab reads.
package tally

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Ingress is what came of one. Times are since the first of all was sent to the API server.
type Ingress struct {
	Name string `json:"name"`
	// Created is when it was sent, Ready when its status said so, Served when a call was answered by its
	// backend for the first time, in nanoseconds.
	Created time.Duration `json:"created"`
	Ready   time.Duration `json:"ready"`
	Served  time.Duration `json:"served"`
	// First is what the call got that was made when it turned Ready: a status of HTTP, or "no answer".
	First string `json:"first"`
	// Reason is that of LoadBalancerReady then; "" means proven.
	Reason string `json:"reason,omitempty"`
}

// OK is the First of who was served when it was Ready.
const OK = "200"

// NoAnswer is the First of who got none.
const NoAnswer = "no answer"

// Spread are the middle and the last of some times, in nanoseconds.
type Spread struct {
	P50  time.Duration `json:"p50"`
	Last time.Duration `json:"last"`
}

// Summary is all of them in few numbers.
type Summary struct {
	Count int `json:"count"`
	// Ready is since the first was created, Each since each was.
	Ready Spread `json:"ready"`
	Each  Spread `json:"each"`
	// Early are those that were Ready and not served, by what the call got.
	Early map[string]int `json:"early,omitempty"`
	// Late is for how long those were Ready and not served.
	Late Spread `json:"late"`
	// Unproven are those that were Ready for a reason of its own, such as Assumed.
	Unproven map[string]int `json:"unproven,omitempty"`
}

// Sum makes a Summary.
func Sum(all []Ingress) Summary {
	s := Summary{Count: len(all), Early: map[string]int{}, Unproven: map[string]int{}}
	var ready, each, late []time.Duration
	for _, i := range all {
		ready, each = append(ready, i.Ready), append(each, i.Ready-i.Created)
		if i.First != OK {
			s.Early[i.First]++
			late = append(late, i.Served-i.Ready)
		}
		if i.Reason != "" {
			s.Unproven[i.Reason]++
		}
	}
	s.Ready, s.Each, s.Late = spread(ready), spread(each), spread(late)
	return s
}

// TooEarly counts those that were Ready and not served.
func (s Summary) TooEarly() int { return total(s.Early) }

// NotProven counts those that were Ready for a reason of its own.
func (s Summary) NotProven() int { return total(s.Unproven) }

func total(counts map[string]int) int {
	n := 0
	for _, k := range counts {
		n += k
	}
	return n
}

// Counts says how often there was what, in the order of names.
func Counts(counts map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s: %d", what, counts[what]))
	}
	return strings.Join(parts, ", ")
}

// spread takes the upper of two that are in the middle.
func spread(all []time.Duration) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{P50: all[len(all)/2], Last: all[len(all)-1]}
}
