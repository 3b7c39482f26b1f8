package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	securityv1 "istio.io/client-go/pkg/apis/security/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
)

// Objects are those of other people, sorted by namespace and name.
type Objects struct {
	Namespaces            []*corev1.Namespace
	Pods                  []*corev1.Pod
	Deployments           []*appsv1.Deployment
	NetworkPolicies       []*networkingv1.NetworkPolicy
	Sidecars              []*istiov1.Sidecar
	VirtualServices       []*istiov1.VirtualService
	DestinationRules      []*istiov1.DestinationRule
	PeerAuthentications   []*securityv1.PeerAuthentication
	AuthorizationPolicies []*securityv1.AuthorizationPolicy
	Mutating              []*admissionv1.MutatingWebhookConfiguration
	Validating            []*admissionv1.ValidatingWebhookConfiguration
	// EnvoyFilters are those of the loopback, Events what was said of it.
	EnvoyFilters []*istiov1alpha3.EnvoyFilter
	Events       []*corev1.Event
	// ConfigMaps are Istio's mesh configurations.
	ConfigMaps []*corev1.ConfigMap
}

var readers = map[string]func(*Objects, snapshot.Document) error{
	kindNamespace:           func(o *Objects, d snapshot.Document) error { return take(&o.Namespaces, d) },
	kindPod:                 func(o *Objects, d snapshot.Document) error { return take(&o.Pods, d) },
	kindDeployment:          func(o *Objects, d snapshot.Document) error { return take(&o.Deployments, d) },
	kindNetworkPolicy:       func(o *Objects, d snapshot.Document) error { return take(&o.NetworkPolicies, d) },
	kindSidecar:             func(o *Objects, d snapshot.Document) error { return take(&o.Sidecars, d) },
	kindVirtualService:      func(o *Objects, d snapshot.Document) error { return take(&o.VirtualServices, d) },
	kindDestinationRule:     func(o *Objects, d snapshot.Document) error { return take(&o.DestinationRules, d) },
	kindPeerAuthentication:  func(o *Objects, d snapshot.Document) error { return take(&o.PeerAuthentications, d) },
	kindAuthorizationPolicy: func(o *Objects, d snapshot.Document) error { return take(&o.AuthorizationPolicies, d) },
	kindEnvoyFilter: func(o *Objects, d snapshot.Document) error {
		err := take(&o.EnvoyFilters, d)
		o.EnvoyFilters = slices.DeleteFunc(o.EnvoyFilters, func(e *istiov1alpha3.EnvoyFilter) bool { return e.Labels[loopbackLabel] == "" })
		return err
	},
	kindEvent: func(o *Objects, d snapshot.Document) error {
		err := take(&o.Events, d)
		o.Events = slices.DeleteFunc(o.Events, func(e *corev1.Event) bool {
			return e.InvolvedObject.Name != config.IstioConfigMap || !strings.HasPrefix(e.Reason, loopbackEvent)
		})
		return err
	},
	kindMutating:   func(o *Objects, d snapshot.Document) error { return take(&o.Mutating, d) },
	kindValidating: func(o *Objects, d snapshot.Document) error { return take(&o.Validating, d) },
	kindConfigMap: func(o *Objects, d snapshot.Document) error {
		if d.Name.Name != meshConfigMap && !strings.HasPrefix(d.Name.Name, meshConfigMap+"-") {
			return nil
		}
		err := take(&o.ConfigMaps, d)
		// Others beside it, such as those of the injector, have names that begin so too.
		o.ConfigMaps = slices.DeleteFunc(o.ConfigMaps, func(cm *corev1.ConfigMap) bool { return cm.Data["mesh"] == "" })
		return err
	},
}

// Kinds that Read looks into, with their API groups, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(readers)) }

// always are kinds of which every cluster has objects.
var always = []string{kindNamespace, kindPod, kindDeployment}

// Read types the documents of which it knows the kind. A later one of the same name replaces
// an earlier one. The error names the document that cannot be read.
func Read(documents []snapshot.Document) (Objects, error) {
	var o Objects
	last := map[string]int{}
	for i, d := range documents {
		last[d.Kind+" "+d.Name.String()] = i
	}
	for i, d := range documents {
		read, known := readers[d.Kind]
		if !known || last[d.Kind+" "+d.Name.String()] != i {
			continue
		}
		if err := read(&o, d); err != nil {
			return o, fmt.Errorf("%s%w", d.Origin, config.Plain(err))
		}
	}
	o.sort()
	return o, nil
}

// Absent lists kinds of which the documents hold no object though every cluster has some:
// whoever wrote them down has left them out.
func (o Objects) Absent() []Unread {
	there := map[string]bool{kindNamespace: len(o.Namespaces) > 0, kindPod: len(o.Pods) > 0, kindDeployment: len(o.Deployments) > 0}
	var out []Unread
	for _, kind := range always {
		if !there[kind] {
			name := kind
			if kind == kindDeployment {
				name = "Deployment"
			}
			out = append(out, Unread{kind, "the documents hold no " + name + ", and every cluster has some",
				"add what \"kubectl get namespaces,pods,deployments -A -o yaml\" prints"})
		}
	}
	return out
}

func take[T any, P interface {
	*T
	metav1.Object
}](all *[]P, d snapshot.Document) error {
	text := d.Text
	if !bytes.HasPrefix(text, []byte("{")) || !json.Valid(text) {
		var err error
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return err
		}
	}
	object := P(new(T))
	if err := json.Unmarshal(text, object); err != nil {
		return err
	}
	*all = append(*all, object)
	return nil
}

func (o *Objects) sort() {
	sortByName(o.Namespaces)
	sortByName(o.Pods)
	sortByName(o.Deployments)
	sortByName(o.NetworkPolicies)
	sortByName(o.Sidecars)
	sortByName(o.VirtualServices)
	sortByName(o.DestinationRules)
	sortByName(o.PeerAuthentications)
	sortByName(o.AuthorizationPolicies)
	sortByName(o.Mutating)
	sortByName(o.Validating)
	sortByName(o.EnvoyFilters)
	sortByName(o.Events)
	sortByName(o.ConfigMaps)
}

func sortByName[T metav1.Object](all []T) { slices.SortStableFunc(all, compareNames[T]) }
