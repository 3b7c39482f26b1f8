//go:build acceptance

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"knative.dev/networking/pkg/apis/networking/v1alpha1"

	"github.com/net-mesh/net-mesh/test/lab"
)

// flows are what people do with KServe in a mesh, by the objects that KServe makes with its default configuration.
// An InferenceService iris with a predictor is there in all of them.
var flows = []struct {
	name, mode string
	run        func(*testing.T, lab.Mesh)
}{
	{"T1 no VirtualService of KServe's", "mesh-only", predictorAlone},
	{"T2 transformer", "mesh-only", withTransformer},
	{"T3 explainer", "mesh-only", withExplainer},
	{"T5 KServe's VirtualService", "mesh-only", everySpelling},
	{"T6 leftovers", "mesh-only", leftovers},
	{"T9 a local gateway of KServe's own", "mesh-only", ownGateway},
	{"T10 inference graph", "mesh-only", inferenceGraph},
	{"T11 canary and tag", "mesh-only", canaries},
	{"T16 gRPC and WebSocket", "mesh-only", protocols},
	{"T17 stopped and resumed", "mesh-only", stopped},
	{"T18 hostile names", "mesh-only", hostile},
	{"T19 a caller without a sidecar", "mesh-only", unmeshed},
	{"T20 KServe's objects come first", "mesh-only", objectsFirst},
	{"T7 external host", "half-mesh", externalHost},
	{"T7 external host, KServe's objects come first", "half-mesh", externalHostLate},
	{"T8 paths of one host", "half-mesh", pathsOfOneHost},
	{"T4 a local gateway", "gateway", atLocalGateway},
}

func TestKServe(t *testing.T) {
	m := theMesh(t)
	t.Cleanup(func() { _ = theLab(t).SetProfile(cleanup(), "gateway", false) })
	asMode(t, flows[0].mode)
	deployBackends(t, m)
	deployCaller(t, m)
	deployed(t, m, iris.serves("predictor", "runtime", ""), "apps", "iris-predictor")
	mode := flows[0].mode
	for _, f := range flows {
		if f.mode != mode {
			mode = f.mode
			asMode(t, mode)
			settled(t, m, "apps", mode)
		}
		t.Run(f.name, func(t *testing.T) { f.run(t, m) })
	}
}

// inference is answered by a component of its first name's, with KServe's headers, wherever it is called from.
func inference(t *testing.T, m lab.Mesh, i isvc, component string) {
	t.Helper()
	_, h := hears(t, m, "clients", component, to(i.full()))
	asISVC(t, h, i)
}

func predictorAlone(t *testing.T, m lab.Mesh) {
	predictor := iris.component("predictor")
	for _, host := range spelled("iris-predictor") {
		hears(t, m, "apps", strings.TrimSuffix(host, ":80"), to(host))
	}
	byCaller(t, m, "http://"+predictor+"/")
	for _, host := range []string{"iris.apps", "IRIS.apps.svc", iris.full(), iris.full() + ":80"} {
		_, h := hears(t, m, "clients", predictor, to(predictor, "-H", "Host: "+host))
		asISVC(t, h, iris)
	}
	applyFor(t, m, irisName)
	for _, host := range spelled("iris") {
		_, h := hears(t, m, "apps", predictor, to(host))
		asISVC(t, h, iris)
	}
	byCaller(t, m, "http://"+iris.full()+"/")
}

// irisName is what a person writes so that the name resolves though KServe makes no Service of it.
const irisName = "{apiVersion: v1, kind: Service, metadata: {name: iris, namespace: apps, labels: {serving.kserve.io/inferenceservice: iris}}, spec: {ports: [{name: http, port: 80}]}}\n"

func withTransformer(t *testing.T, m lab.Mesh) {
	deployed(t, m, iris.serves("transformer", "httpproxy", leadsOn("iris-predictor.apps")), "apps", "iris-transformer")
	i := iris
	i.first = "transformer"
	applyFor(t, m, i.objects())
	for _, host := range []string{i.component("transformer"), i.full(), "iris.apps"} {
		hears(t, m, "clients", "iris-predictor.apps", to(host))
		if meets(t, m, "http://"+host+"/", map[string]string{"iris-transformer": callerID, "iris-predictor": account("iris-transformer")}) {
			t.Errorf("%s: a gateway is on the way", host)
		}
	}
}

func withExplainer(t *testing.T, m lab.Mesh) {
	deployed(t, m, iris.serves("transformer", "httpproxy", leadsOn("iris-predictor.apps"))+iris.serves("explainer", "runtime", ""), "apps", "iris-transformer", "iris-explainer")
	i := iris
	i.first, i.explained = "transformer", true
	applyFor(t, m, i.objects())
	explainer := i.component("explainer")
	hears(t, m, "clients", explainer, to(explainer))
	model := "http://" + i.full() + "/v1/models/iris:"
	_, h := hears(t, m, "clients", explainer, lab.Request{URL: model + "explain", Args: []string{"-X", "POST"}})
	asISVC(t, h, i)
	hears(t, m, "clients", "iris-predictor.apps", lab.Request{URL: model + "predict", Args: []string{"-X", "POST"}})
}

// everySpelling: the full name is of KServe's VirtualService, which wants it in lower case, the abbreviations are
// ours, and the single label is of KServe's alias: at worst one quick refusal.
func everySpelling(t *testing.T, m lab.Mesh) {
	applyFor(t, m, iris.objects())
	predictor := iris.component("predictor")
	inference(t, m, iris, predictor)
	for _, from := range []string{"apps", "clients"} {
		for _, host := range []string{"iris.apps", "IRIS.APPS", "iris.apps.svc", "IRIS.APPS.SVC", iris.full()} {
			for _, port := range []string{"", ":80"} {
				_, h := hears(t, m, from, predictor, to(host+port))
				asISVC(t, h, iris)
			}
		}
	}
	got, err := m.CallAll(t.Context(), "apps", []lab.Request{to("iris"), to(strings.ToUpper(iris.full()))})
	if err != nil {
		t.Fatal(err)
	}
	for i, what := range []string{"the single label", "the full name in upper case"} {
		t.Logf("%s: %d after %s", what, got[i].Code, got[i].Took)
		if (got[i].Code != 200 && got[i].Code != 404 && got[i].Code != 508) || got[i].Took > quick {
			t.Errorf("%s: got %d after %s, want 200, or one quick refusal", what, got[i].Code, got[i].Took)
		}
	}
	byCaller(t, m, "http://"+iris.full()+"/")
	byCaller(t, m, "http://iris.apps/")
}

// leftovers: KServe does not delete what it has made when it is told to make no VirtualService. What a person
// deletes of it is taken over, and handed back when KServe makes it again.
func leftovers(t *testing.T, m lab.Mesh) {
	applyFor(t, m, iris.objects())
	predictor := iris.component("predictor")
	served := func(args ...string) {
		t.Helper()
		for _, host := range []string{iris.full(), "iris.apps"} {
			request := to(host)
			if len(args) > 0 {
				request = to(predictor, "-H", "Host: "+host)
			}
			_, h := hears(t, m, "clients", predictor, request)
			asISVC(t, h, iris)
		}
	}
	served()
	kubectl(t, m, "", "-n", "apps", "delete", "virtualservices.networking.istio.io", "iris")
	named(t, m, iris.full(), true)
	served()
	kubectl(t, m, iris.objects(), "delete", "--ignore-not-found", "-f", "-")
	served("by Host alone")
	kubectl(t, m, iris.objects(), "apply", "-f", "-")
	named(t, m, iris.full(), false)
	served()
	hears(t, m, "clients", predictor, to(predictor))
	comes(t, m, "iris-predictor", "Ready", "True", "")
}

// named waits until a VirtualService of ours names a host for sidecars, or none does.
func named(t *testing.T, m lab.Mesh, host string, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("VirtualServices of Ingresses to name %s: %v", host, want), func(ctx context.Context) error {
		out, err := m.Kubectl(ctx, nil, "-n", "apps", "get", "virtualservices.networking.istio.io", "-l", "networking.internal.knative.dev/ingress",
			"-o", `jsonpath={range .items[*]}{.spec.gateways}{" "}{.spec.hosts}{"\n"}{end}`)
		got := false
		for _, line := range strings.Split(out, "\n") {
			got = got || strings.HasPrefix(line, `["mesh"]`) && strings.Contains(line, `"`+host+`"`)
		}
		if err == nil && got != want {
			err = fmt.Errorf("they name\n%s", out)
		}
		return err
	})
}

func ownGateway(t *testing.T, m lab.Mesh) {
	i := iris
	i.gateway = "kserve-local-gateway"
	applyFor(t, m, i.objects()+"{apiVersion: v1, kind: Service, metadata: {name: kserve-local-gateway, namespace: istio-system}, spec: {ports: [{name: http2, port: 80}]}}\n")
	inference(t, m, i, i.component("predictor"))
	byCaller(t, m, "http://"+i.full()+"/")
}

func inferenceGraph(t *testing.T, m lab.Mesh) {
	const labels = "serving.kserve.io/inferencegraph: graph, serving.kserve.io/kind: InferenceGraph"
	i := iris
	i.first = "transformer"
	deployed(t, m, i.serves("transformer", "httpproxy", leadsOn("iris-predictor.apps"))+
		knativeService("graph", "apps", "httpproxy", leadsOn(i.full()), labels), "apps", "iris-transformer", "graph")
	applyFor(t, m, i.objects())
	meets(t, m, "http://graph.apps.svc.cluster.local/", map[string]string{
		"graph": callerID, "iris-transformer": account("graph"), "iris-predictor": account("iris-transformer"),
	})
}

// secondRevision is a further revision, which has a share, while the first one has a tag too.
const secondRevision = `{"spec": {"template": {"metadata": {"name": "canary-predictor-two"}, "spec": {"containers": [{"image": "dev.local/pizzaplanetv1:lab", "resources": {"requests": {"cpu": "25m"}}}]}},
  "traffic": [{"revisionName": "canary-predictor-one", "percent": 70, "tag": "prev"}, {"revisionName": "canary-predictor-two", "percent": 30}]}}`

func canaries(t *testing.T, m lab.Mesh) {
	i := isvc{name: "canary", namespace: "apps", first: "predictor"}
	manifest := strings.Replace(i.serves("predictor", "helloworld", ""), "{template: {\n  metadata: {", "{template: {\n  metadata: {name: canary-predictor-one, ", 1)
	deployed(t, m, manifest, "apps", "canary-predictor")
	applyFor(t, m, i.objects())
	answers(t, m, "http://"+i.full()+"/")
	stop := traffic(t, m, "clients", 20, []target{{Name: "canary", URL: "http://" + i.full() + "/"}})
	kubectl(t, m, "", "-n", "apps", "patch", "ksvc", "canary-predictor", "--type=merge", "-p", secondRevision)
	if err := m.ServiceReady(t.Context(), "apps", "canary-predictor"); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{i.full(), "canary.apps"} {
		bothRevisions(t, m, "clients", to(host))
	}
	if a := answers(t, m, "http://prev-canary-predictor.apps.svc.cluster.local/"); !strings.Contains(a.Body, fromA) {
		t.Errorf("the tag's host answers %q, want %q", a.Body, fromA)
	}
	lost(t, "while a share was given", stop())
}

func protocols(t *testing.T, m lab.Mesh) {
	talk, socket := isvc{name: "talk", namespace: "apps", first: "predictor"}, isvc{name: "socket", namespace: "apps", first: "predictor"}
	deployed(t, m, talk.serves("predictor", "grpc-ping", ", ports: [{name: h2c, containerPort: 8080}]")+socket.serves("predictor", "wsserver", ""),
		"apps", "talk-predictor", "socket-predictor")
	applyFor(t, m, talk.objects()+socket.objects())
	// An empty message: no compression, no length.
	kubectl(t, m, "", "-n", "clients", "exec", "deploy/caller", "-c", "caller", "--", "sh", "-c", `printf '\0\0\0\0\0' > /tmp/ping`)
	eventually(t, "gRPC through the loopback", func(ctx context.Context) error {
		a, err := m.Call(ctx, "clients", "http://"+talk.full()+"/ping.PingService/Ping", "--http2-prior-knowledge", "-H", "Content-Type: application/grpc", "-H", "TE: trailers",
			"--data-binary", "@/tmp/ping", "-D", "-", "-o", "/tmp/pong")
		if err == nil && (a.Code != 200 || !strings.Contains(a.Body, "grpc-status: 0")) {
			err = fmt.Errorf("got %d %s", a.Code, a.Body)
		}
		return err
	})
	eventually(t, "WebSocket through the loopback", func(ctx context.Context) error {
		got, err := m.CallAll(ctx, "clients", []lab.Request{to(socket.full(), "--http1.1", "-i", "-m", "3", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket",
			"-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")})
		if err == nil && got[0].Code != 101 {
			err = fmt.Errorf("got %d %s", got[0].Code, got[0].Body)
		}
		return err
	})
}

func stopped(t *testing.T, m lab.Mesh) {
	i := isvc{name: "stopped", namespace: "apps", first: "predictor"}
	manifest := i.serves("predictor", "runtime", "")
	for range 2 {
		deployed(t, m, manifest, "apps", "stopped-predictor")
		kubectl(t, m, i.objects(), "apply", "-f", "-")
		inference(t, m, i, i.component("predictor"))
		hears(t, m, "clients", i.component("predictor"), to("stopped.apps"))
		kubectl(t, m, i.objects()+manifest, "delete", "--wait", "-f", "-")
		for _, host := range []string{i.full(), "stopped.apps", i.component("predictor")} {
			refused(t, m, to(iris.component("predictor"), "-H", "Host: "+host), 404, 502, 503)
		}
	}
}

// hostile is a namespace and a name from which KServe derives wrong hosts by cutting strings.
func hostile(t *testing.T, m lab.Mesh) {
	i := isvc{name: "my-predictor-x", namespace: "team-default", first: "predictor"}
	kubectl(t, m, "{apiVersion: v1, kind: Namespace, metadata: {name: team-default, labels: {istio-injection: enabled}}}\n", "apply", "-f", "-")
	// Nobody needs the name again, so nobody waits until its pods have drained.
	t.Cleanup(func() { _, _ = m.Kubectl(cleanup(), nil, "delete", "namespace", "team-default", "--wait=false") })
	deployed(t, m, i.serves("predictor", "runtime", ""), "team-default", "my-predictor-x-predictor")
	applyFor(t, m, i.objects())
	inference(t, m, i, i.component("predictor"))
	hears(t, m, "clients", i.component("predictor"), to("my-predictor-x.team-default"))
}

func unmeshed(t *testing.T, m lab.Mesh) {
	applyFor(t, m, iris.objects())
	inference(t, m, iris, iris.component("predictor"))
	eventually(t, "a caller without a sidecar to be refused", func(ctx context.Context) error {
		got, err := m.CallAll(ctx, "outside", []lab.Request{to(iris.full())})
		if err == nil && got[0].Code != 0 {
			err = fmt.Errorf("it is answered %d", got[0].Code)
		}
		if err == nil && got[0].Took > quick {
			err = fmt.Errorf("it waits for %s: %s", got[0].Took, got[0].Body)
		}
		return err
	})
}

func objectsFirst(t *testing.T, m lab.Mesh) {
	i := isvc{name: "early", namespace: "apps", first: "predictor"}
	applyFor(t, m, i.objects())
	deployed(t, m, i.serves("predictor", "runtime", ""), "apps", "early-predictor")
	inference(t, m, i, i.component("predictor"))
	hears(t, m, "clients", i.component("predictor"), to("early.apps"))
}

// externalHost is served at the public gateway, which reaches the predictor through its door. Local hosts are not.
// In the mesh KServe's own match leaves the external host without a route, and ours, which is older, has one.
func externalHost(t *testing.T, m lab.Mesh) {
	i := iris
	i.external = "iris.apps.example.com"
	applyFor(t, m, i.objects())
	predictor := i.component("predictor")
	_, h := hears(t, m, "outside", predictor, lab.Request{URL: publicGateway + "/", Args: []string{"-H", "Host: " + i.external}})
	asISVC(t, h, i)
	inference(t, m, i, predictor)
	for _, host := range []string{i.full(), "iris.apps", predictor} {
		holds(t, m, "outside", []ask{{lab.Request{URL: publicGateway + "/", Args: []string{"-H", "Host: " + host}}, 404, ""}})
	}
	_, h = hears(t, m, "clients", predictor, to(predictor, "-H", "Host: "+i.external))
	asISVC(t, h, i)
}

// externalHostLate: KServe's VirtualService is older than ours, until it is made again.
func externalHostLate(t *testing.T, m lab.Mesh) {
	i := isvc{name: "late", namespace: "apps", first: "predictor", external: "late.apps.example.com"}
	applyFor(t, m, i.objects())
	deployed(t, m, i.serves("predictor", "runtime", ""), "apps", "late-predictor")
	predictor := i.component("predictor")
	inference(t, m, i, predictor)
	refused(t, m, to(predictor, "-H", "Host: "+i.external), 404)
	comes(t, m, "late-predictor", v1alpha1.IngressConditionNetworkConfigured, "True", "HostWithoutRoute")
	kubectl(t, m, "", "-n", "apps", "delete", "virtualservices.networking.istio.io", "late")
	kubectl(t, m, i.objects(), "apply", "-f", "-")
	_, h := hears(t, m, "clients", predictor, to(predictor, "-H", "Host: "+i.external))
	asISVC(t, h, i)
	inference(t, m, i, predictor)
}

func pathsOfOneHost(t *testing.T, m lab.Mesh) {
	twin := isvc{name: "twin", namespace: "apps", first: "predictor", domain: "models.example.org"}
	i := iris
	i.domain = twin.domain
	deployed(t, m, twin.serves("predictor", "runtime", ""), "apps", "twin-predictor")
	applyFor(t, m, i.objects()+twin.objects())
	for _, one := range []isvc{i, twin} {
		_, h := hears(t, m, "outside", one.component("predictor"), lab.Request{URL: publicGateway + "/serving/apps/" + one.name + "/v1/models", Args: []string{"-H", "Host: " + one.domain}})
		asISVC(t, h, one)
		if h.Request.URI != "/v1/models" {
			t.Errorf("%s is asked for %s, want /v1/models", one.name, h.Request.URI)
		}
		inference(t, m, one, one.component("predictor"))
	}
	// In the mesh the host is kept by KServe's VirtualServices, by none of which it has a route there.
	refused(t, m, to(iris.component("predictor"), "-H", "Host: "+twin.domain), 404)
	named(t, m, twin.domain, false)
}

func atLocalGateway(t *testing.T, m lab.Mesh) {
	applyFor(t, m, iris.objects())
	inference(t, m, iris, iris.component("predictor"))
	if !meets(t, m, "http://"+iris.full()+"/", map[string]string{"iris-predictor": gatewayID}) {
		t.Error("there is a local gateway, and it is not on the way")
	}
	if a, err := m.Call(t.Context(), "outside", "http://"+iris.component("predictor")+"/"); err != nil || a.Code != 200 {
		t.Error(errors.Join(err, fmt.Errorf("a caller without a sidecar got %d at the local gateway, want 200", a.Code)))
	}
}
