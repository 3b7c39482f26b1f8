// Command controller makes Istio serve Knative's Ingresses.
package main

import (
	"knative.dev/pkg/injection/sharedmain"

	"github.com/net-mesh/net-mesh/pkg/reconciler/ingress"
	"github.com/net-mesh/net-mesh/pkg/reconciler/loopback"
)

// component is net-istio's name, so that an installation of it can be replaced in place.
const component = "net-istio-controller"

func main() {
	gate := loopback.NewGate()
	sharedmain.Main(component, ingress.NewController(gate), loopback.NewController(gate))
}
