//go:build lab

package e2e

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/test/lab"
	"github.com/net-mesh/net-mesh/test/lab/platform"
)

//go:embed testdata/spellings.yaml
var spellings string

//go:embed testdata/backends.yaml
var backends string

// What the backends of the Ingress spellings answer.
const (
	fromA    = "Hello World!"
	fromB    = "What a spaceport!"
	fromTag  = "slice of pepperoni"
	fromACME = "acme-challenge/token"
)

// names are the cluster-local ones of the Ingress and the backend that each belongs to.
var names = []struct{ name, want string }{{"a", fromA}, {"b", fromB}, {"tag-a", fromTag}}

// spelled are the ways in which a caller of the same namespace may write a name; the first is for it alone.
func spelled(name string) []string {
	full := name + ".apps.svc.cluster.local"
	return []string{name, name + ".apps", name + ".apps.svc", full, full + ":80", strings.ToUpper(full)}
}

// Each spelling of each name leads to the backend of that very name in every mode, with and without a tag
// in the header, from inside the mesh and through each gateway; and in half mesh the public gateway knows
// no cluster-local name, however it is asked.
func TestSpellings(t *testing.T) {
	m := theMesh(t)
	deployBackends(t, m)
	applyFor(t, m, spellings)
	for _, mode := range []string{"gateway", "half-mesh", "mesh-only"} {
		t.Run(mode, func(t *testing.T) {
			if err := theLab(t).SetProfile(t.Context(), mode, false); err != nil {
				t.Fatal(err)
			}
			placeholders(t, m, mode)
			settled(t, m, "apps", mode)
			inMesh(t, m, mode)
			switch mode {
			case "gateway":
				holds(t, m, "outside", append(atGateway(localGateway, false), atGateway(publicGateway, true)...))
			case "half-mesh":
				holds(t, m, "outside", append(atGateway(publicGateway, true), leaks()...))
				noLeakHTTP2(t, m)
			}
		})
	}
	if err := theLab(t).SetProfile(t.Context(), "gateway", false); err != nil {
		t.Fatal(err)
	}
}

// applyFor makes objects for the time of the test.
func applyFor(t *testing.T, m lab.Mesh, manifest string) {
	t.Helper()
	kubectl(t, m, manifest, "apply", "-f", "-")
	t.Cleanup(func() { _, _ = m.Kubectl(cleanup(), []byte(manifest), "delete", "--ignore-not-found", "-f", "-") })
}

// deployOutside makes a caller without a sidecar, and waits for it.
func deployOutside(t *testing.T, m lab.Mesh) {
	t.Helper()
	kubectl(t, m, outside, "apply", "-f", "-")
	if err := m.Rollout(t.Context(), "outside", "caller"); err != nil {
		t.Fatal(err)
	}
}

// deployBackends makes the backends, and callers inside and outside the mesh, and waits for them.
func deployBackends(t *testing.T, m lab.Mesh) {
	t.Helper()
	applyFor(t, m, backends)
	if err := m.Rollout(t.Context(), "apps", "backend-a", "backend-b", "backend-tag", "backend-acme", "caller"); err != nil {
		t.Fatal(err)
	}
	deployOutside(t, m)
}

const (
	localGateway  = "http://knative-local-gateway.istio-system.svc.cluster.local"
	publicGateway = "http://" + platform.GatewayIP
)

// placeholders makes the Services that Serving makes for a Route's names: with a local gateway they are
// other names of it, else they are Services without pods.
func placeholders(t *testing.T, m lab.Mesh, mode string) {
	t.Helper()
	for _, n := range names {
		spec := "ports: [{name: http, port: 80, targetPort: 80}]"
		if mode == "gateway" {
			spec = "type: ExternalName, externalName: knative-local-gateway.istio-system.svc.cluster.local, " + spec
		}
		kubectl(t, m, "", "-n", "apps", "delete", "service", n.name, "--ignore-not-found")
		kubectl(t, m, fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: apps}, spec: {%s}}", n.name, spec), "apply", "-f", "-")
	}
	t.Cleanup(func() {
		for _, n := range names {
			_, _ = m.Kubectl(cleanup(), nil, "-n", "apps", "delete", "service", n.name, "--ignore-not-found")
		}
	})
}

// ask is one request and what should come of it.
type ask struct {
	lab.Request
	code int
	want string
}

func get(want, url string, args ...string) ask {
	return ask{lab.Request{URL: url, Args: args}, 200, want}
}

// holds asks all from the caller of a namespace, and fails the test for each other answer.
func holds(t *testing.T, m lab.Mesh, from string, asks []ask) {
	t.Helper()
	var requests []lab.Request
	for _, a := range asks {
		requests = append(requests, a.Request)
	}
	answers, err := m.CallAll(t.Context(), from, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range answers {
		if got.Code != asks[i].code || !strings.Contains(got.Body, asks[i].want) {
			t.Errorf("%s %q from %s: got %d %.80q, want %d %q", asks[i].URL, asks[i].Args, from, got.Code, got.Body, asks[i].code, asks[i].want)
		}
	}
}

func inMesh(t *testing.T, m lab.Mesh, mode string) {
	t.Helper()
	var asks []ask
	for _, n := range names {
		for _, host := range spelled(n.name) {
			asks = append(asks, get(n.want, "http://"+host+"/"),
				get(fromTag, "http://"+host+"/", "-H", "Knative-Serving-Tag: tag"),
				get(n.want, "http://"+host+"/", "-H", "Knative-Serving-Tag: other"))
		}
	}
	if mode == "mesh-only" {
		// Without a public gateway meshed callers are served public names; nothing resolves them, so any address does.
		asks = append(asks, atGateway("http://a.apps.svc.cluster.local", true)...)
	}
	holds(t, m, "apps", asks)
}

// atGateway asks one address for all names of a kind.
func atGateway(address string, public bool) []ask {
	var asks []ask
	for _, n := range names {
		hosts := spelled(n.name)[1:]
		if public {
			full := n.name + ".apps.example.com"
			hosts = []string{full, full + ":80", strings.ToUpper(full)}
		}
		for _, host := range hosts {
			asks = append(asks, get(n.want, address+"/", "-H", "Host: "+host),
				get(fromTag, address+"/", "-H", "Host: "+host, "-H", "Knative-Serving-Tag: tag"))
			if public && n.name != "tag-a" {
				asks = append(asks, get(fromACME, address+"/.well-known/acme-challenge/token", "-H", "Host: "+host))
			}
		}
	}
	return asks
}

// unspeakable are ways in which nobody may reach a cluster-local name.
func unspeakable(name string) []string {
	full := name + ".apps.svc.cluster.local"
	return append(spelled(name), full+".", full+":8080", full+":443", name+".apps.svc.", "x."+full)
}

// leaks asks the public gateway for cluster-local names in every way a caller can name a host.
func leaks() []ask {
	var asks []ask
	for _, n := range names {
		for _, host := range unspeakable(n.name) {
			for _, args := range [][]string{
				{"-H", "Host: " + host},
				{"-H", "Host: " + host, "-H", "Knative-Serving-Tag: tag"},
				{"-H", "Host: " + host, "-H", "X-Forwarded-Host: a.apps.example.com"},
				{"-H", "Host: a.apps.example.com", "--request-target", "http://" + host + "/"},
				{"-H", "Host: " + host, "-H", "K-Network-Probe: probe", "-H", "K-Network-Hash: override"},
			} {
				asks = append(asks, ask{lab.Request{URL: publicGateway + "/", Args: args}, 404, ""})
			}
		}
	}
	return asks
}

// noLeakHTTP2 does the same with HTTP/2, where the host is the pseudo-header :authority; each request has a
// connection of its own, because this curl cannot use one twice without TLS.
func noLeakHTTP2(t *testing.T, m lab.Mesh) {
	t.Helper()
	h2 := "--http2-prior-knowledge"
	holds(t, m, "outside", []ask{get(fromA, publicGateway+"/", h2, "-H", "Host: a.apps.example.com")})
	for _, host := range unspeakable("a") {
		holds(t, m, "outside", []ask{{lab.Request{URL: publicGateway + "/", Args: []string{h2, "-H", "Host: " + host}}, 404, ""}})
	}
}
