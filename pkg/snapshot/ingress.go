package snapshot

import (
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Ingress gathers what the translation of one Ingress may look at.
func Ingress(r Reader, cfg config.Config, ing *v1alpha1.Ingress) Snapshot {
	return Snapshot{Ingress: ing, World: World{Config: cfg}}
}
