package snapshot

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/pkg/config"
)

// Labels of KServe, which Serving hands on from the Services that KServe makes of an
// InferenceService: one of its components each (pkg/constants in kserve/kserve).
const (
	inferenceServiceLabel = "serving.kserve.io/inferenceservice"
	componentLabel        = "component"

	predictor   = "predictor"
	transformer = "transformer"
	explainer   = "explainer"
)

// inferenceService names the InferenceService whose requests an Ingress may be the first to
// take, if it is of one. Labels say so, and KServe's name for the component too, so that no two
// may be the first. A label may have dots, the name of an InferenceService has none.
func inferenceService(ing *v1alpha1.Ingress) (types.NamespacedName, bool) {
	name, component := ing.Labels[inferenceServiceLabel], ing.Labels[componentLabel]
	of := types.NamespacedName{Namespace: ing.Namespace, Name: name}
	return of, len(validation.IsDNS1035Label(name)) == 0 && (component == predictor || component == transformer) && ing.Name == componentOf(of, component).Name
}

// alias is the InferenceService for which an Ingress is to serve its name, empty if there is none.
// By default KServe makes an alias of the local gateway of that name, and a VirtualService for its
// full name only, so that the abbreviations lead to the local gateway, which does not know them,
// or to the loopback, round and round. Told to make no VirtualService it makes neither. The first
// component takes what is left; where there is an explainer, paths would decide, and it is left
// alone. So it is where the Service of that name is another one, or an Ingress claims the name.
func alias(rec *Recorder, cfg config.Config, ing *v1alpha1.Ingress) types.NamespacedName {
	of, is := inferenceService(ing)
	if !is {
		return types.NamespacedName{}
	}
	taken := slices.ContainsFunc(rec.Targets(serviceKey(of)), func(other *v1alpha1.Ingress) bool {
		return nameOf(other) != nameOf(ing) && mayHave(rec, other, of)
	})
	explained, transformed := component(rec, of, explainer), component(rec, of, transformer)
	if taken || explained || transformed && ing.Labels[componentLabel] == predictor || !isFree(rec, cfg, of) {
		return types.NamespacedName{}
	}
	return of
}

// mayHave says whether an Ingress that claims the name of an InferenceService may do so: one of another
// namespace may only mean a domain of the world, and only while no Service has the name.
func mayHave(r Reader, ing *v1alpha1.Ingress, of types.NamespacedName) bool {
	if ing.Namespace == of.Namespace {
		return true
	}
	_, found := r.Service(of)
	return !found && slices.Contains(Claims(ing), Claim{Scope: config.External, Host: serviceKey(of)})
}

// isFree says whether the Service of an InferenceService's name leads nowhere else: there is none,
// or it is KServe's alias, or one without pods that a person made for the name, and labelled so.
func isFree(r Reader, cfg config.Config, of types.NamespacedName) bool {
	s, found := r.Service(of)
	switch {
	case !found:
		return true
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		return leadsToLocalService(cfg, s.Spec.ExternalName)
	}
	return len(s.Spec.Selector) == 0 && s.Spec.ClusterIP != corev1.ClusterIPNone && s.Labels[inferenceServiceLabel] == of.Name && !placeholder(s)
}

// component says whether an InferenceService has one of its components.
func component(rec *Recorder, of types.NamespacedName, kind string) bool {
	return slices.ContainsFunc(rec.Targets(serviceKey(componentOf(of, kind))), func(ing *v1alpha1.Ingress) bool {
		return ing.Namespace == of.Namespace && ing.Labels[inferenceServiceLabel] == of.Name && ing.Labels[componentLabel] == kind
	})
}

func componentOf(of types.NamespacedName, kind string) types.NamespacedName {
	return types.NamespacedName{Namespace: of.Namespace, Name: of.Name + "-" + kind}
}

// aliasKeys are those of the hosts by which alias is decided.
func aliasKeys(ing *v1alpha1.Ingress) []string {
	of, is := inferenceService(ing)
	if !is {
		return nil
	}
	return []string{serviceKey(of), serviceKey(componentOf(of, explainer)), serviceKey(componentOf(of, transformer))}
}

// leadsToLocalService says whether a name is that of a local gateway's Service, or of that by
// which the loopback goes.
func leadsToLocalService(cfg config.Config, externalName string) bool {
	return leadsToLocalGateway(cfg, externalName) ||
		strings.EqualFold(strings.TrimSuffix(externalName, "."), config.LocalGatewayHost(cfg.ClusterDomain))
}
