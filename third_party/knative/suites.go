//go:build suites

// Package knative pins what the lab runs of Knative: Serving's components, the
// test images, and (through these imports) the test suites with everything
// their binaries are built from.
package knative

import (
	_ "knative.dev/networking/test/conformance/ingress"
	_ "knative.dev/serving/test/conformance/api/v1"
	_ "knative.dev/serving/test/conformance/api/v1beta1"
	_ "knative.dev/serving/test/conformance/runtime"
	_ "knative.dev/serving/test/e2e"
	_ "knative.dev/serving/test/e2e/domainmapping"
	_ "knative.dev/serving/test/e2e/tagheader"
)
