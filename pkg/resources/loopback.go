package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"istio.io/api/networking/v1alpha3"
	istiov1 "istio.io/client-go/pkg/apis/networking/v1"
	istiov1alpha3 "istio.io/client-go/pkg/apis/networking/v1alpha3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// LoopbackLabel is on everything that makes the loopback.
const LoopbackLabel = "net-mesh.dev/loopback"

// DigestAnnotation says which generation of the loopback an EnvoyFilter is; the answer to what
// comes a second time says the same.
const DigestAnnotation = "net-mesh.dev/digest"

// Names of the EnvoyFilters. The first two are in Istio's root namespace, the third beside
// each observer.
const (
	LoopbackListener = "net-mesh-loopback"
	LoopbackSwitch   = "net-mesh-loopback-switch"
	LoopbackTrial    = "net-mesh-loopback-trial"
)

// LoopbackSet is all that makes the loopback, in the order of application.
type LoopbackSet struct {
	// Digest is of the listener and the cluster.
	Digest string
	// Service gives the name of the local gateway an address, if nobody else has made it.
	Service *corev1.Service
	// Doors are Gateways at the pods of external gateways.
	Doors []*istiov1.Gateway
	// Trials have observers alone try the listener.
	Trials []*istiov1alpha3.EnvoyFilter
	// Listener adds it to every sidecar. Nothing leads there yet.
	Listener *istiov1alpha3.EnvoyFilter
	// Switch has the name of the local gateway lead there.
	Switch *istiov1alpha3.EnvoyFilter
}

// RenderLoopback says a Loopback in Istio's words. One that is not wanted is empty.
func RenderLoopback(l plan.Loopback) LoopbackSet {
	if !l.Wanted {
		return LoopbackSet{}
	}
	digest := loopbackDigest()
	set := LoopbackSet{Digest: digest, Service: localGateway(l)}
	for _, d := range l.Doors {
		set.Doors = append(set.Doors, door(d))
	}
	for _, t := range l.Trials {
		set.Trials = append(set.Trials, trial(t, digest))
	}
	set.Listener = envoyFilter(l.RootNamespace, LoopbackListener, digest, listenerPatches(serving, digest)...)
	set.Switch = envoyFilter(l.RootNamespace, LoopbackSwitch, digest, switchPatches(l, digest)...)
	return set
}

// All lists the objects for printing.
func (s LoopbackSet) All() []any {
	var all []any
	if s.Service != nil {
		all = append(all, s.Service)
	}
	for _, d := range s.Doors {
		all = append(all, d)
	}
	for _, t := range s.Trials {
		all = append(all, t)
	}
	for _, f := range []*istiov1alpha3.EnvoyFilter{s.Listener, s.Switch} {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

// loopbackDigest changes with anything that a proxy could refuse. A trial differs from what
// serves in its names, so both have the digest of the latter.
func loopbackDigest() string {
	text, err := json.Marshal([]any{loopbackListener(serving, ""), loopbackCluster("", serving.address()), virtualHost(serving.name, serving.host, "")})
	if err != nil {
		panic(fmt.Sprintf("marshalling the loopback: %v", err)) // it is maps, lists and strings
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

func localGateway(l plan.Loopback) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Service.Namespace, Name: l.Service.Name, Labels: loopbackLabels()},
		Spec: corev1.ServiceSpec{
			Type:  corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{Name: "http2", Port: 80}},
		},
	}
}

// door serves what comes from the gateway's own pod, and nothing else reaches it.
func door(d plan.Door) *istiov1.Gateway {
	return &istiov1.Gateway{
		TypeMeta:   metav1.TypeMeta{APIVersion: istiov1.SchemeGroupVersion.String(), Kind: "Gateway"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Name.Namespace, Name: d.Name.Name, Labels: loopbackLabels()},
		Spec: v1alpha3.Gateway{
			Selector: toMap(d.Selector),
			Servers: []*v1alpha3.Server{{
				Port:  &v1alpha3.Port{Name: "http-loopback", Number: plan.DoorPort, Protocol: "HTTP"},
				Bind:  doorBind,
				Hosts: []string{"*"},
			}},
		},
	}
}

func trial(t plan.Trial, digest string) *istiov1alpha3.EnvoyFilter {
	out := envoyFilter(t.Observer.Namespace, LoopbackTrial, digest, listenerPatches(trying, digest)...)
	out.Spec.WorkloadSelector = &v1alpha3.WorkloadSelector{Labels: toMap(t.Selector)}
	return out
}

func envoyFilter(namespace, name, digest string, patches ...*v1alpha3.EnvoyFilter_EnvoyConfigObjectPatch) *istiov1alpha3.EnvoyFilter {
	return &istiov1alpha3.EnvoyFilter{
		TypeMeta: metav1.TypeMeta{APIVersion: istiov1alpha3.SchemeGroupVersion.String(), Kind: "EnvoyFilter"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: loopbackLabels(),
			Annotations: toMap([]model.KV{{Key: DigestAnnotation, Value: digest}}),
		},
		Spec: v1alpha3.EnvoyFilter{ConfigPatches: patches},
	}
}

func loopbackLabels() map[string]string { return map[string]string{LoopbackLabel: "true"} }
