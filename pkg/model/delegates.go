package model

import (
	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// DelegateAnnotation of an Ingress asks for delegates, or wants none, whatever config-istio says.
// Serving copies it from a Route or DomainMapping.
const DelegateAnnotation = "net-mesh.dev/delegate"

// delegates says whether the routes are to be there for VirtualServices of others. A value that
// cannot be read is taken for yes: what is there too much takes nothing from anybody, and what goes
// takes away the routes of whoever delegates to it.
func (in *ingest) delegates() bool {
	switch value, said := in.ing.Annotations[DelegateAnnotation]; {
	case !said:
		return in.world.Config.Istio.Delegates
	case value == "true":
		return true
	case value == "false":
		return false
	default:
		in.report(finding.DelegateInvalid, "metadata.annotations["+DelegateAnnotation+"]",
			`annotation %s: %q is neither "true" nor "false"; correct it, or remove it for what %s says. Delegates are there until then`,
			DelegateAnnotation, value, config.IstioConfigMap)
		return true
	}
}
