package plan

import (
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Decide chooses exposures, listeners, addresses and probes by the mode table.
func Decide(m model.Model, w snapshot.World) (Plan, []finding.Finding) {
	return Plan{}, nil
}
