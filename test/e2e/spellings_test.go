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
	kubectl(t, m, spellings, "apply", "-f", "-")
	kubectl(t, m, outside, "apply", "-f", "-")
	t.Cleanup(func() {
		_, _ = m.Kubectl(cleanup(), []byte(spellings), "delete", "--ignore-not-found", "--wait=false", "-f", "-")
	})
	for _, d := range []struct{ namespace, names string }{{"apps", "backend-a backend-b backend-tag backend-acme caller"}, {"outside", "caller"}} {
		if err := m.Rollout(t.Context(), d.namespace, strings.Fields(d.names)...); err != nil {
			t.Fatal(err)
		}
	}
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
				atGateway(t, m, localGateway, false)
				atGateway(t, m, publicGateway, true)
			case "half-mesh":
				atGateway(t, m, publicGateway, true)
				noLeak(t, m)
			}
		})
	}
	if err := theLab(t).SetProfile(t.Context(), "gateway", false); err != nil {
		t.Fatal(err)
	}
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

func inMesh(t *testing.T, m lab.Mesh, mode string) {
	t.Helper()
	tag := []string{"-H", "Knative-Serving-Tag: tag"}
	for _, n := range names {
		for _, host := range spelled(n.name) {
			reaches(t, m, "apps", "http://"+host+"/", n.want)
			reaches(t, m, "apps", "http://"+host+"/", fromTag, tag...)
			reaches(t, m, "apps", "http://"+host+"/", n.want, "-H", "Knative-Serving-Tag: other")
		}
	}
	if mode != "mesh-only" {
		return
	}
	// Without a public gateway meshed callers are served public names; nothing resolves them, so any address does.
	atGateway(t, m, "http://a.apps.svc.cluster.local", true)
}

// atGateway asks one address for names, from outside the mesh, or from inside where the address is not a gateway's.
func atGateway(t *testing.T, m lab.Mesh, address string, public bool) {
	t.Helper()
	from := "outside"
	if strings.Contains(address, "apps") {
		from = "apps"
	}
	for _, n := range names {
		hosts := spelled(n.name)[1:]
		if public {
			full := n.name + ".apps.example.com"
			hosts = []string{full, full + ":80", strings.ToUpper(full)}
		}
		for _, host := range hosts {
			reaches(t, m, from, address+"/", n.want, "-H", "Host: "+host)
			reaches(t, m, from, address+"/", fromTag, "-H", "Host: "+host, "-H", "Knative-Serving-Tag: tag")
			if public && n.name != "tag-a" {
				reaches(t, m, from, address+"/.well-known/acme-challenge/token", fromACME, "-H", "Host: "+host)
			}
		}
	}
}

// reaches fails the test unless a call is answered by the wanted backend.
func reaches(t *testing.T, m lab.Mesh, from, url, want string, args ...string) {
	t.Helper()
	a, err := m.Call(t.Context(), from, url, args...)
	if err != nil || a.Code != 200 || !strings.Contains(a.Body, want) {
		t.Errorf("%s %q from %s: got %d %.80q (%v), want 200 %q", url, args, from, a.Code, a.Body, err, want)
	}
}

// noLeak asks the public gateway for cluster-local names in every way a caller can name a host.
func noLeak(t *testing.T, m lab.Mesh) {
	t.Helper()
	for _, n := range names {
		full := n.name + ".apps.svc.cluster.local"
		for _, host := range append(spelled(n.name), full+".", full+":8080", full+":443", n.name+".apps.svc.", "x."+full) {
			for _, args := range [][]string{
				{"-H", "Host: " + host},
				{"--http2-prior-knowledge", "-H", "Host: " + host},
				{"-H", "Host: " + host, "-H", "Knative-Serving-Tag: tag"},
				{"-H", "Host: " + host, "-H", "X-Forwarded-Host: a.apps.example.com"},
				{"-H", "Host: a.apps.example.com", "--request-target", "http://" + host + "/"},
				{"-H", "Host: " + host, "-H", "K-Network-Probe: probe", "-H", "K-Network-Hash: override"},
			} {
				if a, err := m.Call(t.Context(), "outside", publicGateway+"/", args...); err != nil || a.Code != 404 {
					t.Errorf("public gateway asked for %s with %q: got %d %.80q (%v), want 404", host, args, a.Code, a.Body, err)
				}
			}
		}
	}
}
