// Package platform answers: which objects make a Kubernetes cluster into an Istio mesh with Knative
// Serving? They come from the pinned modules and programs; only what a lab needs differently is changed.
package platform

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// CoreDNS is the cluster's DNS.
//
//go:embed manifests/coredns.yaml
var CoreDNS []byte

// Mesh holds the mesh-wide settings and the namespaces that are injected.
//
//go:embed manifests/mesh.yaml
var Mesh []byte

// Rush holds the backends of many Ingresses, in namespace apps.
//
//go:embed manifests/rush.yaml
var Rush []byte

// RushBackends are their Services.
var RushBackends = []string{"rush-a", "rush-b", "rush-c"}

//go:embed manifests/istio.yaml
var istioValues []byte

// GatewayIP is the load balancer address of the ingress gateway. Nobody has it: kube-proxy turns calls to
// it into calls to the gateway's pods, inside the lab's network namespace.
const GatewayIP = "10.200.0.80"

// gatewayName is the ingress gateway's Deployment, Service, account and the start of its other names.
const gatewayName = "istio-ingressgateway"

// Istio returns the objects of istiod and, apart, those of the ingress gateway.
func Istio(ctx context.Context, programs, scratch string) (istiod, gateway []byte, err error) {
	values := filepath.Join(scratch, "istio-values.yaml")
	if err := os.WriteFile(values, istioValues, 0o644); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "istioctl"), "manifest", "generate", "-f", values)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	out, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("istioctl manifest generate: %w", err)
	}
	objects, err := Parse(out)
	if err != nil {
		return nil, nil, err
	}
	var core, edge []unstructured.Unstructured
	for _, o := range objects {
		if strings.HasPrefix(o.GetName(), gatewayName) {
			edge = append(edge, o)
			continue
		}
		core = append(core, o)
	}
	if istiod, err = Print(core); err != nil {
		return nil, nil, err
	}
	gateway, err = Print(edge)
	return istiod, gateway, err
}

// Sources are the folders of the modules whose manifests make up Serving.
type Sources struct{ Serving, Networking, Caching string }

// Serving returns Knative's custom resource definitions and, apart, everything else of Serving. Files that
// are links in Serving's repository are taken from the modules they point to, for a module holds no links.
func (s Sources) Objects() (definitions, core []byte, err error) {
	definitions, err = s.read(
		filepath.Join(s.Serving, "config/core/300-resources/*.yaml"),
		filepath.Join(s.Networking, "config/[^c]*.yaml"), filepath.Join(s.Networking, "config/certificate.yaml"),
		filepath.Join(s.Caching, "config/image.yaml"),
	)
	if err != nil {
		return nil, nil, err
	}
	config := filepath.Join(s.Serving, "config/core")
	core, err = s.read(
		filepath.Join(config, "100-namespace.yaml"), filepath.Join(config, "200-serviceaccount.yaml"), filepath.Join(config, "200-roles/*.yaml"),
		filepath.Join(config, "configmaps/*.yaml"), filepath.Join(s.Networking, "config/config-network.yaml"),
		filepath.Join(config, "deployments/*.yaml"), filepath.Join(config, "webhooks/*.yaml"), filepath.Join(config, "999-cache.yaml"),
	)
	return definitions, core, err
}

var koRef = regexp.MustCompile(`ko://knative\.dev/serving/cmd/([a-z]+)`)

func (s Sources) read(patterns ...string) ([]byte, error) {
	var all []unstructured.Unstructured
	for _, p := range patterns {
		files, err := filepath.Glob(p)
		if err == nil && len(files) == 0 {
			err = errors.New("none found")
		}
		if err != nil {
			return nil, fmt.Errorf("manifests %s: %w", p, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return nil, err
			}
			objects, err := Parse(koRef.ReplaceAll(text, []byte("dev.local/$1:lab")))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			all = append(all, objects...)
		}
	}
	kept := all[:0]
	for _, o := range all {
		// Without a metrics server these only complain.
		if o.GetKind() != "HorizontalPodAutoscaler" {
			fit(&o)
			kept = append(kept, o)
		}
	}
	return Print(kept)
}

// fit makes an object of Serving fit for a small mesh. The activator and the autoscaler carry traffic
// and get a sidecar, the others do not. What they ask of the processor is less than upstream, so that
// pods fit in, and not nothing, because it is also their weight when the machine is busy.
func fit(o *unstructured.Unstructured) {
	if o.GetKind() == "ConfigMap" && o.GetName() == "config-domain" {
		// Without a domain of its own a Service has no public name.
		_ = unstructured.SetNestedField(o.Object, "", "data", "example.com")
	}
	if o.GetKind() != "Deployment" {
		return
	}
	inject := "false"
	if o.GetName() == "activator" || o.GetName() == "autoscaler" {
		inject = "true"
	}
	_ = unstructured.SetNestedField(o.Object, inject, "spec", "template", "metadata", "labels", "sidecar.istio.io/inject")
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		_ = unstructured.SetNestedField(c.(map[string]any), "50m", "resources", "requests", "cpu")
	}
	_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
}

var separator = regexp.MustCompile(`(?m)^---\s*$`)

// Parse reads the objects of a manifest of any number of YAML documents; empty ones are left out.
func Parse(manifest []byte) ([]unstructured.Unstructured, error) {
	var all []unstructured.Unstructured
	for _, doc := range separator.Split(string(manifest), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			return nil, err
		}
		if len(object) > 0 {
			all = append(all, unstructured.Unstructured{Object: object})
		}
	}
	return all, nil
}

// Print writes objects as a manifest.
func Print(objects []unstructured.Unstructured) ([]byte, error) {
	var b strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return []byte(b.String()), nil
}

// Demo is a Service and a caller of it.
//
//go:embed manifests/demo.yaml
var Demo []byte

// Ways is a Knative Service that always has a pod, and a host that leads to it by the local gateway, as KServe
// makes them.
//
//go:embed manifests/ways.yaml
var Ways []byte
