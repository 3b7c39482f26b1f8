// Package translate answers: what does this Ingress become? It composes the
// stations, and it is the only door: controller, command line, golden tests, fuzz
// tests and benchmarks all use it.
package translate

import (
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Result is the whole line, so that every step can be shown.
type Result struct {
	Model    model.Model
	Plan     plan.Plan
	Objects  resources.Set
	Findings []finding.Finding
}

// Ingress translates one Ingress.
func Ingress(s snapshot.Snapshot) Result {
	m, asked := model.FromIngress(s)
	p, decided := plan.Decide(m, s.World)
	return Result{
		Model:    m,
		Plan:     p,
		Objects:  resources.Render(p),
		Findings: finding.Sort(append(asked, decided...)),
	}
}

// LoopbackResult is the line for the one loopback of the mesh, which is of no Ingress.
type LoopbackResult struct {
	Plan     plan.Loopback
	Objects  resources.LoopbackSet
	Findings []finding.Finding
}

// Loopback translates what stands in for the local gateway.
func Loopback(s snapshot.Loopback) LoopbackResult {
	p, findings := plan.DecideLoopback(s)
	return LoopbackResult{Plan: p, Objects: resources.RenderLoopback(p), Findings: findings}
}
