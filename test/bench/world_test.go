package bench

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

// modes are files of pkg/translate/testdata/modes.
var modes = []string{"gateway", "half-mesh", "mesh-only"}

// perNamespace is how many Services a namespace of the world has.
const perNamespace = 100

// world is a cluster: its Ingresses, what they lead to, and how it is configured.
type world struct {
	*snapshot.Bundle
	config config.Config
}

// translate does for the Ingress at an index what a reconciliation does before it writes.
func (w world) translate(i int) translate.Result {
	return translate.Ingress(snapshot.Ingress(w, w.config, w.Ingresses[i]))
}

// services is a world of Services of Knative, each with an Ingress as Serving writes it and with the
// placeholder that carries its name.
func services(t testing.TB, mode string, count int) world {
	t.Helper()
	var documents bytes.Buffer
	for i := range count {
		namespace, name := fmt.Sprintf("team-%d", i/perNamespace), fmt.Sprintf("service-%d", i)
		short := name + "." + namespace
		ingress(&documents, namespace, name,
			rule("ClusterLocal", namespace, name+"-00001", short, short+".svc", short+".svc.cluster.local"),
			rule("ExternalIP", namespace, name+"-00001", short+".example.com"))
		placeholder(&documents, namespace, name)
	}
	return read(t, mode, documents.Bytes())
}

// manyHosts is a world of one Ingress whose hosts are public and cluster-local in turn, each with a backend
// of its own, as a Route with many tags has them.
func manyHosts(t testing.TB, mode string, count int) world {
	t.Helper()
	var documents bytes.Buffer
	var rules []string
	for i := range count {
		name := fmt.Sprintf("tag-%d-service", i)
		if i%2 == 0 {
			rules = append(rules, rule("ExternalIP", "team", name, name+".team.example.com"))
			continue
		}
		rules = append(rules, rule("ClusterLocal", "team", name, name+".team.svc.cluster.local"))
		placeholder(&documents, "team", name)
	}
	ingress(&documents, "team", "service", rules...)
	return read(t, mode, documents.Bytes())
}

// rivals is a world of two Ingresses that claim the same public hosts.
func rivals(t testing.TB, mode string, count int) world {
	t.Helper()
	var documents bytes.Buffer
	var hosts []string
	for i := range count {
		hosts = append(hosts, fmt.Sprintf("host-%d.example.com", i))
	}
	for _, name := range []string{"one", "two"} {
		ingress(&documents, "team", name, rule("ExternalIP", "team", name, hosts...), rule("ExternalIP", "team", name, name+".example.org"))
	}
	return read(t, mode, documents.Bytes())
}

// manyPaths is a world of one Ingress with one rule of as many hosts as paths.
func manyPaths(t testing.TB, mode string, count int) world {
	t.Helper()
	var documents bytes.Buffer
	var hosts, paths []string
	for i := range count {
		hosts = append(hosts, fmt.Sprintf("host-%d.example.com", i))
		paths = append(paths, fmt.Sprintf(`{"path": "/path-%d", "splits": [{"percent": 100, "serviceNamespace": "team", "serviceName": "one", "servicePort": 80}]}`, i))
	}
	ingress(&documents, "team", "one", fmt.Sprintf(`{"visibility": "ExternalIP", "hosts": ["%s"], "http": {"paths": [%s]}}`, strings.Join(hosts, `", "`), strings.Join(paths, ", ")))
	return read(t, mode, documents.Bytes())
}

// Documents are written as JSON, which is YAML that is read fast.

func ingress(out *bytes.Buffer, namespace, name string, rules ...string) {
	fmt.Fprintf(out, `{"apiVersion": "networking.internal.knative.dev/v1alpha1", "kind": "Ingress", "metadata": {"namespace": %q, "name": %q, "uid": "uid-%s",
 "annotations": {"networking.knative.dev/ingress.class": "istio.ingress.networking.knative.dev"}, "labels": {"serving.knative.dev/route": %[2]q}},
 "spec": {"httpOption": "Enabled", "rules": [`, namespace, name, name)
	for i, r := range rules {
		if i > 0 {
			out.WriteString(",\n")
		}
		out.WriteString(r)
	}
	out.WriteString("]}}\n---\n")
}

func rule(visibility, namespace, backend string, hosts ...string) string {
	return fmt.Sprintf(`{"visibility": %q, "hosts": ["%s"], "http": {"paths": [{"appendHeaders": {"Knative-Serving-Default-Route": "true"},
 "splits": [{"percent": 100, "serviceNamespace": %q, "serviceName": %[4]q, "servicePort": 80,
 "appendHeaders": {"Knative-Serving-Namespace": %[3]q, "Knative-Serving-Revision": %[4]q}}]}]}}`, visibility, strings.Join(hosts, `", "`), namespace, backend)
}

func placeholder(out *bytes.Buffer, namespace, name string) {
	fmt.Fprintf(out, `{"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": %q, "name": %q}, "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"name": "http2", "port": 80}]}}
---
`, namespace, name)
}

// worlds keeps what was read, since to read takes longer than what is measured.
var worlds sync.Map

func read(t testing.TB, mode string, documents []byte) world {
	t.Helper()
	key := mode + string(documents)
	if w, ok := worlds.Load(key); ok {
		return w.(world)
	}
	of, err := os.ReadFile("../../pkg/translate/testdata/modes/" + mode + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := snapshot.ReadBundle(of, documents)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := b.Config("cluster.local", "knative-serving")
	if err != nil {
		t.Fatal(err)
	}
	w := world{Bundle: b, config: cfg}
	worlds.Store(key, w)
	return w
}
