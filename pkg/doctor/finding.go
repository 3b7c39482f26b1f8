package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fault "github.com/net-mesh/net-mesh/pkg/finding"
)

// Verdict says what a finding means for calls.
type Verdict string

const (
	// Wrong: calls fail, or will.
	Wrong Verdict = "Wrong"
	// Unknown: it could not be read, so it is not called fit.
	Unknown Verdict = "NotKnown"
	// Notable is worth knowing; it may be meant so.
	Notable Verdict = "WorthKnowing"
	// Good is as it should be.
	Good Verdict = "Fit"
)

func rank(v Verdict) int { return slices.Index([]Verdict{Wrong, Unknown, Notable, Good}, v) }

// Finding is one statement about a mesh.
type Finding struct {
	Reason Reason `json:"reason"`
	// Subject is the object that it is about; zero where that is the mesh.
	Subject fault.Ref `json:"subject,omitzero"`
	// Message names the object, what is the case, and what comes of it.
	Message string `json:"message"`
	// Remedy says what to do.
	Remedy string `json:"remedy,omitempty"`
	// Fixes are objects to apply.
	Fixes []Fix `json:"fixes,omitempty"`
}

// Fix is an object that a person may apply: a new one, or a changed one of theirs.
type Fix struct {
	Object metav1.Object
	ref    fault.Ref
}

// MarshalJSON prints the object as a person would write it, without what the API server adds.
func (f Fix) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(f.Object)
	if err != nil {
		return nil, err
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	delete(whole, "status")
	// The zero value of this mode is left out by its own encoder, and {} says little to people.
	if spec, ok := whole["spec"].(map[string]any); ok {
		if policy, ok := spec["outboundTrafficPolicy"].(map[string]any); ok && policy["mode"] == nil {
			policy["mode"] = "REGISTRY_ONLY"
		}
	}
	if meta, ok := whole["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return json.Marshal(whole)
}

func (f Fix) key() string { return f.ref.Kind + " " + f.ref.Namespace + "/" + f.ref.Name }

// Ref names the object.
func (f Fix) Ref() fault.Ref { return f.ref }

// Verdict is looked up in the catalogue.
func (f Finding) Verdict() Verdict { return f.Reason.Entry().Verdict }

func finding(r Reason, subject fault.Ref, format string, args ...any) Finding {
	return Finding{Reason: r, Subject: subject, Message: fmt.Sprintf(format, args...)}
}

func (f Finding) mend(format string, args ...any) Finding {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}

// good states a fact in which nothing is wrong.
func good(format string, args ...any) Finding {
	return Finding{Reason: Fit, Message: fmt.Sprintf(format, args...)}
}

func ref(kind, namespace, name string) fault.Ref {
	return fault.Ref{Kind: kind, Namespace: namespace, Name: name}
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		rank(a.Verdict())-rank(b.Verdict()),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.Subject.Kind, b.Subject.Kind),
		cmp.Compare(a.Subject.Namespace, b.Subject.Namespace),
		cmp.Compare(a.Subject.Name, b.Subject.Name),
		cmp.Compare(a.Message, b.Message),
	)
}
