package model_test

import (
	"testing"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// TestWhoAsksForDelegates: the annotation is heard before config-istio, and what cannot be read takes
// nothing away.
func TestWhoAsksForDelegates(t *testing.T) {
	none := "none"
	for _, tt := range []struct {
		annotation string
		configured bool
		want, told bool
	}{
		{none, false, false, false},
		{none, true, true, false},
		{"true", false, true, false},
		{"true", true, true, false},
		{"false", false, false, false},
		{"false", true, false, false},
		{"yes", false, true, true},
		{"False", true, true, true},
		{"", false, true, true},
	} {
		ing := &v1alpha1.Ingress{}
		if tt.annotation != none {
			ing.Annotations = map[string]string{model.DelegateAnnotation: tt.annotation}
		}
		m, findings := model.FromIngress(snapshot.Snapshot{Ingress: ing, World: snapshot.World{Config: config.Config{Istio: config.Istio{Delegates: tt.configured}}}})
		told := len(findings) == 1 && findings[0].Reason == finding.DelegateInvalid
		if m.Delegates != tt.want || told != tt.told || len(findings) > 1 {
			t.Errorf("annotation %q, configured %v: delegates %v, findings %v", tt.annotation, tt.configured, m.Delegates, findings)
		}
	}
}
