// Package finding answers: what is wrong with, or worth knowing about, the
// user's world? A Finding is data. It is produced by the pure stations of the
// line, shown as a condition or an event by the reconciler, and printed by the
// command line; it never causes a retry.
package finding

import (
	"cmp"
	"slices"
)

// Severity says what a Finding does to the object it is about.
type Severity string

const (
	// Info changes no condition. It is told once, as an event.
	Info Severity = "Info"
	// Warning leaves a condition True and is told there: the object is served as it asks for, and
	// somebody else who wants something of it is not.
	Warning Severity = "Warning"
	// Pending means that something is awaited which will wake us when it comes:
	// the condition is Unknown.
	Pending Severity = "Pending"
	// Invalid means that a person has to change something: the condition is
	// False. What is valid beside it is still served.
	Invalid Severity = "Invalid"
)

// Condition is the condition of the Ingress a Finding is shown on.
type Condition string

const (
	// None is for Findings that change no condition.
	None Condition = ""
	// NetworkConfigured is Knative's condition for "the rules are accepted".
	NetworkConfigured Condition = "NetworkConfigured"
	// LoadBalancerReady is Knative's condition for "the data plane serves them".
	LoadBalancerReady Condition = "LoadBalancerReady"
)

// Ref names the object a Finding is about.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Finding is one statement about the user's world.
type Finding struct {
	Reason  Reason `json:"reason"`
	Subject Ref    `json:"subject"`
	// Path is the field of the Ingress that led here, e.g. spec.rules[0].hosts[1].
	Path string `json:"path,omitempty"`
	// Message names the object, the fault and the remedy.
	Message string `json:"message"`
}

// Severity is looked up in the catalogue.
func (f Finding) Severity() Severity { return f.Reason.Entry().Severity }

// Condition is looked up in the catalogue.
func (f Finding) Condition() Condition { return f.Reason.Entry().Condition }

// Sort orders Findings by severity (gravest first), then reason, subject, path
// and message, and removes repetitions, so that equal worlds read equal.
func Sort(all []Finding) []Finding {
	out := slices.Clone(all)
	slices.SortStableFunc(out, compare)
	return slices.Compact(out)
}

// Worst returns the gravest severity among the Findings; ok is false when there
// are none.
func Worst(all []Finding) (worst Severity, ok bool) {
	for _, f := range all {
		if !ok || rank(f.Severity()) < rank(worst) {
			worst, ok = f.Severity(), true
		}
	}
	return worst, ok
}

func compare(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(rank(a.Severity()), rank(b.Severity())),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Subject.Kind, b.Subject.Kind),
		cmp.Compare(a.Subject.Namespace, b.Subject.Namespace),
		cmp.Compare(a.Subject.Name, b.Subject.Name),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Message, b.Message),
	)
}

func rank(s Severity) int {
	return slices.Index([]Severity{Invalid, Pending, Warning, Info}, s)
}
