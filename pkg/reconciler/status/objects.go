package status

import (
	"fmt"

	"github.com/net-mesh/net-mesh/pkg/finding"
)

const (
	ofSomebodyElse        = "exists and belongs to somebody else; delete or rename it, so that it can be written for this Ingress"
	changedBySomebodyElse = "is changed by somebody else as often as it is written for this Ingress, so it is now left as it is, and written once a minute; " +
		"look for a mutating webhook, or a controller that its metadata.managedFields name, and have it leave this object alone"
)

// about says the same of each object.
func about(refs []finding.Ref, reason finding.Reason, what string) []finding.Finding {
	out := make([]finding.Finding, 0, len(refs))
	for _, ref := range refs {
		out = append(out, finding.Finding{Reason: reason, Subject: ref, Message: fmt.Sprintf("%s %s/%s %s", ref.Kind, ref.Namespace, ref.Name, what)})
	}
	return out
}
