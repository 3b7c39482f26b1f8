//go:build lab || acceptance

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
)

// isvc is an InferenceService of KServe, as the objects that KServe makes of one.
type isvc struct {
	name, namespace string
	// first takes what is not to be explained: the transformer, or else the predictor.
	first     string
	explained bool
	// external is its public host, and domain that of all whose paths say which one is meant; "" for none.
	external, domain string
	// gateway is the name of the local gateway that KServe is configured with, "" for Knative's.
	gateway string
}

const knativeLocal = "knative-local-gateway"

func (i isvc) full() string { return i.name + "." + i.namespace + ".svc.cluster.local" }

// component is the full name of one of its Knative Services.
func (i isvc) component(kind string) string {
	return fmt.Sprintf("%s-%s.%s.svc.cluster.local", i.name, kind, i.namespace)
}

// objects are the VirtualService, which leads to Knative's local gateway, and the alias of the local gateway.
func (i isvc) objects() string {
	local := knativeLocal
	gateways := []string{"knative-serving/" + knativeLocal, "mesh"}
	if i.gateway != "" {
		local, gateways[0] = i.gateway, "istio-system/"+i.gateway
	}
	hosts, public := []string{i.full()}, "knative-serving/knative-ingress-gateway"
	for _, h := range []string{i.external, i.domain} {
		if h != "" {
			hosts = append(hosts, h)
		}
	}
	inMesh := strings.Join(gateways, ", ")
	if len(hosts) > 1 {
		gateways = append(gateways, public)
	}
	match := func(uri string) string {
		all := fmt.Sprintf("{%sauthority: {regex: %s}, gateways: [%s]}", uri, asRegex(i.full()), inMesh)
		if i.external != "" {
			all += fmt.Sprintf(", {%sauthority: {regex: %s}, gateways: [%s]}", uri, asRegex(i.external), public)
		}
		return all
	}
	var rules []string
	if i.explained {
		rules = append(rules, i.rule("explainer", match(`uri: {regex: '^/v1/models/[\w-]+:explain$'}, `), ""))
	}
	rules = append(rules, i.rule(i.first, match(""), ""))
	if i.domain != "" {
		path := fmt.Sprintf("/serving/%s/%s", i.namespace, i.name)
		to := fmt.Sprintf("authority: {regex: %s}, gateways: [%s]", asRegex(i.domain), public)
		rules = append(rules, i.rule(i.first, fmt.Sprintf("{uri: {prefix: %[1]s/}, %[2]s}, {uri: {exact: %[1]s}, %[2]s}", path, to), "rewrite: {uri: /}, "))
	}
	return fmt.Sprintf(`{apiVersion: networking.istio.io/v1beta1, kind: VirtualService, metadata: {name: %[1]s, namespace: %[2]s},
  spec: {gateways: [%[3]s], hosts: [%[4]s], http: [%[5]s]}}
---
{apiVersion: v1, kind: Service, metadata: {name: %[1]s, namespace: %[2]s},
  spec: {type: ExternalName, externalName: %[6]s.istio-system.svc.cluster.local, sessionAffinity: None}}
---
`, i.name, i.namespace, strings.Join(gateways, ", "), strings.Join(hosts, ", "), strings.Join(rules, ", "), local)
}

func (i isvc) rule(to, match, more string) string {
	return fmt.Sprintf(`{match: [%s], %sheaders: {request: {set: {Host: %s, KServe-Isvc-Name: %s, KServe-Isvc-Namespace: %s}}},
  route: [{destination: {host: %s, port: {number: 80}}, weight: 100}]}`, match, more, i.component(to), i.name, i.namespace, localService)
}

func asRegex(host string) string {
	return `'^` + strings.ReplaceAll(host, ".", `\.`) + `(?::\d{1,5})?$'`
}

// serves is the Knative Service that KServe makes of a component, which always has a pod and no activator before
// it, with an identity of its own.
func (i isvc) serves(kind, image, more string) string {
	return knativeService(i.name+"-"+kind, i.namespace, image, more, fmt.Sprintf("serving.kserve.io/inferenceservice: %s, component: %s", i.name, kind))
}

func knativeService(name, namespace, image, container, labels string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[1]s, namespace: %[2]s}}
---
{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: %[1]s, namespace: %[2]s, labels: {networking.knative.dev/visibility: cluster-local, %[5]s}}, spec: {template: {
  metadata: {labels: {%[5]s}, annotations: {autoscaling.knative.dev/class: kpa.autoscaling.knative.dev, autoscaling.knative.dev/min-scale: "1",
    autoscaling.knative.dev/target-burst-capacity: "0", sidecar.istio.io/proxyCPU: 50m, queue.sidecar.serving.knative.dev/cpu-resource-request: 25m}},
  spec: {serviceAccountName: %[1]s, containers: [{image: "dev.local/%[3]s:lab", resources: {requests: {cpu: 25m}}%[4]s}]}}}}
---
`, name, namespace, image, container, labels)
}

// leadsOn has the program that passes requests on, as transformers and graphs do, pass them to a host.
func leadsOn(host string) string { return fmt.Sprintf(", env: [{name: TARGET_HOST, value: %s}]", host) }

// deployed makes Knative Services for the time of the test, and waits until they are Ready.
func deployed(t *testing.T, m lab.Mesh, manifest, namespace string, names ...string) {
	t.Helper()
	applyFor(t, m, manifest)
	for _, n := range names {
		if err := m.ServiceReady(t.Context(), namespace, n); err != nil {
			t.Fatal(err)
		}
	}
}

// heard is what an application says that it got.
type heard struct {
	Request struct {
		URI     string      `json:"uri"`
		Host    string      `json:"host"`
		Headers http.Header `json:"headers"`
	} `json:"request"`
}

func hear(a lab.Answer) (heard, error) {
	var h heard
	err := json.Unmarshal([]byte(a.Body), &h)
	if err != nil || a.Code != 200 {
		err = fmt.Errorf("got %d %.200q (%w), want what the application was asked", a.Code, a.Body, err)
	}
	return h, err
}

// marker is what the loopback marks requests with.
const marker = "Net-Mesh-Loopback"

// hears calls from a namespace until the application is asked for a host, in whatever case, and returns what it was
// asked.
func hears(t *testing.T, m lab.Mesh, from, host string, request lab.Request) (lab.Answer, heard) {
	t.Helper()
	var a lab.Answer
	var h heard
	eventually(t, fmt.Sprintf("%s %q from %s to be asked of %s", request.URL, request.Args, from, host), func(ctx context.Context) error {
		got, err := m.CallAll(ctx, from, []lab.Request{request})
		if err != nil {
			return err
		}
		a = got[0]
		if h, err = hear(a); err == nil && !strings.EqualFold(h.Request.Host, host) {
			err = fmt.Errorf("the application was asked for %s", h.Request.Host)
		}
		return err
	})
	if got := h.Request.Headers.Values(marker); len(got) > 0 {
		t.Errorf("%s: the application sees the marker: %q", request.URL, got)
	}
	return a, h
}

// asISVC wants the headers by which KServe tells the model.
func asISVC(t *testing.T, h heard, i isvc) {
	t.Helper()
	for name, want := range map[string]string{"KServe-Isvc-Name": i.name, "KServe-Isvc-Namespace": i.namespace} {
		if got := h.Request.Headers.Get(name); got != want {
			t.Errorf("%s of %s is %q, want %q", name, i.name, got, want)
		}
	}
}

// meets calls from namespace clients until each of some Services of namespace apps has been asked by who it should,
// and tells whether a gateway was on the way.
func meets(t *testing.T, m lab.Mesh, url string, callers map[string]string, args ...string) (throughGateway bool) {
	t.Helper()
	at := []lab.Place{{Namespace: "clients", Selector: "app=caller"}, {Namespace: "istio-system", Selector: "istio=ingressgateway"}, {Namespace: "knative-serving", Selector: "app=activator"}}
	for service := range callers {
		at = append(at, lab.Place{Namespace: "apps", Selector: "serving.knative.dev/service=" + service})
	}
	var hops []lab.Hop
	eventually(t, fmt.Sprintf("%s to be asked by %v", url, callers), func(ctx context.Context) error {
		a, err := m.Call(ctx, "clients", url, args...)
		if err != nil || a.Code != 200 {
			return fmt.Errorf("got %d %.200s (%w), want 200", a.Code, a.Body, err)
		}
		if hops, err = m.Hops(ctx, a.Request, at...); err != nil {
			return err
		}
		for service, caller := range callers {
			err = errors.Join(err, askedBy(hops, service, caller))
		}
		return err
	})
	t.Logf("%s\n%s", url, lab.Draw(hops))
	for _, h := range hops {
		throughGateway = throughGateway || strings.HasPrefix(h.Pod, "istio-system/")
	}
	return throughGateway
}

// askedBy wants the identity of who asked to begin with that of a caller: the account of a gateway has a longer name.
func askedBy(hops []lab.Hop, service, caller string) error {
	for _, h := range hops {
		if h.Inbound() && strings.HasPrefix(h.Pod, "apps/"+service) {
			if !strings.HasPrefix(h.Caller, caller) {
				return fmt.Errorf("%s was asked by %s, want %s; the way was\n%s", service, h.Caller, caller, lab.Draw(hops))
			}
			return nil
		}
	}
	return fmt.Errorf("%s was not asked; the way was\n%s", service, lab.Draw(hops))
}

// gatewayID is how the identity of the ingress gateway begins.
const gatewayID = "spiffe://cluster.local/ns/istio-system/sa/istio-ingressgateway"

// account is the identity of one of the Services.
func account(service string) string { return "spiffe://cluster.local/ns/apps/sa/" + service }

func to(host string, args ...string) lab.Request {
	return lab.Request{URL: "http://" + host + "/", Args: args}
}

// bothRevisions are met among sixty requests, of which one of three or so goes to the second.
func bothRevisions(t *testing.T, m lab.Mesh, from string, request lab.Request) {
	t.Helper()
	requests := make([]lab.Request, 60)
	for i := range requests {
		requests[i] = request
	}
	eventually(t, fmt.Sprintf("both revisions to be met by %s %q", request.URL, request.Args), func(ctx context.Context) error {
		got, err := m.CallAll(ctx, from, requests)
		if err != nil {
			return err
		}
		met := map[string]int{}
		for _, a := range got {
			for _, one := range []string{fromA, fromB} {
				if strings.Contains(a.Body, one) {
					met[one]++
				}
			}
		}
		if met[fromA]+met[fromB] != len(got) || met[fromA] == 0 || met[fromB] == 0 {
			return fmt.Errorf("%v of %d", met, len(got))
		}
		return nil
	})
}
