// Package pkg holds the line along which an Ingress becomes Istio objects:
//
//	cluster ──gather──▶ Snapshot ──ingest──▶ Model ──decide──▶ Plan ──render──▶ Objects ──apply──▶ cluster
//	         snapshot             model              plan           resources            reconciler
//
// From Snapshot to Objects everything is pure: values in, values out, no cluster,
// clock, logger or environment. What is wrong with the user's world comes out as
// Findings. Package translate composes the pure stations; it is the only door.
//
// Newcomers read finding, config, snapshot, model, plan, resources, translate, in
// that order; each package says at its top which question it answers. A case of
// translate/testdata shows one input at every station, under every mode.
package pkg
