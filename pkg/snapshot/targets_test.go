package snapshot

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/apis/networking"
	"knative.dev/networking/pkg/apis/networking/v1alpha1"
	network "knative.dev/networking/pkg/config"
)

// leadingTo is an Ingress whose one path leads to a host.
func leadingTo(host string) *v1alpha1.Ingress {
	ing := &v1alpha1.Ingress{}
	ing.Annotations = map[string]string{networking.IngressClassAnnotationKey: network.IstioIngressClassName}
	ing.Spec.Rules = []v1alpha1.IngressRule{{
		Hosts: []string{"a.example.com"}, Visibility: v1alpha1.IngressVisibilityExternalIP,
		HTTP: &v1alpha1.HTTPIngressRuleValue{Paths: []v1alpha1.HTTPIngressPath{{RewriteHost: host}}},
	}}
	return ing
}

// TestTargetKeysAreNotMoreThanLabels: each label of a host is one wildcard more, as long as the rest of the host. Nobody claims a
// host that is too long, so none is looked for.
func TestTargetKeysAreNotMoreThanLabels(t *testing.T) {
	longest := strings.Repeat("a.", validation.DNS1123SubdomainMaxLength/2) + "b"
	if got := TargetKeys(leadingTo(longest)); len(got) < 100 || len(got) > 130 {
		t.Errorf("the longest host has %d keys", len(got))
	}
	if got := TargetKeys(leadingTo(longest + ".")); len(got) < 100 {
		t.Errorf("the longest host with a dot has %d keys", len(got))
	}
	if got := TargetKeys(leadingTo(strings.Repeat("a.", 500_000) + "b")); len(got) != 0 {
		t.Errorf("a host that is no host has %d keys", len(got))
	}
}
