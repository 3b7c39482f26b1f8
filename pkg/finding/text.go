package finding

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Conditions and events have limits, and so has the patience of who reads them. An Ingress may
// have thousands of faults, and what it names may be of any length.
const (
	// MostTold is how many messages are told together, or one by one.
	MostTold = 5
	// MostBytes is the length of one message; an event of Kubernetes has room for 1024.
	MostBytes = 800
	// mostListed is how many names one message lists.
	mostListed = 10
)

// Bound shortens a text to a number of bytes. It takes from the middle: a message begins with the
// object and ends with the remedy.
func Bound(text string, bytes int) string {
	const gap = " … "
	if len(text) <= bytes {
		return text
	}
	head, tail := (bytes-len(gap))/2, len(text)-(bytes-len(gap))/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}

// Told gives of messages those that are told, each once and bounded, and how many are not.
func Told(messages []string) (told []string, more int) {
	seen := map[string]bool{}
	for _, m := range messages {
		m = Bound(m, MostBytes)
		switch {
		case seen[m]:
			continue
		case len(told) < MostTold:
			told = append(told, m)
		default:
			more++
		}
		seen[m] = true
	}
	return told, more
}

// Join makes one text of messages that are told, and says how many are not.
func Join(messages []string) string {
	told, more := Told(messages)
	if more > 0 {
		told = append(told, More(more))
	}
	return strings.Join(told, "; ")
}

// More says that there are more findings, and where.
func More(n int) string { return fmt.Sprintf("and %d more, which netmesh lint lists", n) }

// List writes names in order, each once, and of many the first.
func List(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostListed; more > 0 {
		return strings.Join(names[:mostListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
