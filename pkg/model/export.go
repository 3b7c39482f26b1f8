package model

import (
	"slices"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
)

// ExportAnnotation of an Ingress says which namespaces' sidecars are told its hosts, whatever
// config-istio says. Serving copies it from a Route or DomainMapping.
const ExportAnnotation = "net-mesh.dev/export-to"

// exportTo names the namespaces, the own and the system's among them: applications call
// themselves, and Serving's own pods ask for hosts.
func (in *ingest) exportTo() []string {
	said := in.world.Config.Istio.Export.For(in.ing.Namespace)
	if value, ok := in.ing.Annotations[ExportAnnotation]; ok {
		own, err := config.ParseExportTo(value)
		if err != nil {
			in.report(finding.ExportToInvalid, "metadata.annotations["+ExportAnnotation+"]",
				"annotation %s: %v. What %s says holds until then", ExportAnnotation, err, config.IstioConfigMap)
		} else {
			said = own
		}
	}
	if said == nil || slices.Contains(said, config.ExportAll) {
		return said
	}
	out := []string{in.ing.Namespace, in.world.Config.SystemNamespace}
	for _, namespace := range said {
		if namespace != config.ExportOwn {
			out = append(out, namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
