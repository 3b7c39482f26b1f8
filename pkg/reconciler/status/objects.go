package status

import (
	"fmt"
	"slices"

	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

const (
	ofSomebodyElse         = "exists and belongs to somebody else; delete or rename it, so that it can be written for this Ingress"
	delegateOfSomebodyElse = "exists and belongs to somebody else, so who delegates to it gets what it says; delete or rename it, so that the delegate of this Ingress can be written"
	changedBySomebodyElse  = "is changed by somebody else as often as it is written for this Ingress, so it is now left as it is, and written once a minute; " +
		"look for a mutating webhook, or a controller that its metadata.managedFields name, and have it leave this object alone"
)

// apart tells objects that the Ingress needs from those that only others do, who delegate to them.
func apart(refs []finding.Ref, p plan.Plan) (needed, delegates []finding.Ref) {
	for _, ref := range refs {
		if ref.Kind == "VirtualService" && slices.ContainsFunc(p.Delegates, func(d plan.Delegate) bool { return d.Name == ref.Name }) {
			delegates = append(delegates, ref)
		} else {
			needed = append(needed, ref)
		}
	}
	return needed, delegates
}

// about says the same of each object.
func about(refs []finding.Ref, reason finding.Reason, what string) []finding.Finding {
	out := make([]finding.Finding, 0, len(refs))
	for _, ref := range refs {
		out = append(out, finding.Finding{Reason: reason, Subject: ref, Message: fmt.Sprintf("%s %s/%s %s", ref.Kind, ref.Namespace, ref.Name, what)})
	}
	return out
}
