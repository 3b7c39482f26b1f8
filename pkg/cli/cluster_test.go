package cli_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestLiveIsTheControllers: what is printed for a live cluster is what the controller
// writes, for every golden case in every mode.
func TestLiveIsTheControllers(t *testing.T) {
	for _, dir := range glob(t, cases+"cases/*") {
		for _, mode := range glob(t, cases+"modes/*.yaml") {
			name := strings.TrimSuffix(filepath.Base(mode), ".yaml")
			files := []string{mode, filepath.Join(dir, "in.yaml")}
			if more := filepath.Join(dir, "in."+name+".yaml"); exists(more) {
				files = append(files, more)
			}
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				s := newServer(t, files...)
				out, problems, _ := run(nil, "translate")
				if diff := cmp.Diff(read(t, filepath.Join(dir, name+".yaml")), out); diff != "" {
					t.Errorf("(-want +got):\n%s%s", diff, problems)
				}
				s.onlyWhatTheControllerReads()
			})
		}
	}
}

// onlyWhatTheControllerReads: Ingresses and VirtualServices are listed, all else is asked for by name.
func (s *server) onlyWhatTheControllerReads() {
	s.t.Helper()
	for _, one := range s.asked {
		if resource, name, _ := strings.Cut(one, " "); strings.HasSuffix(name, "/") && resource != "ingresses" && resource != "virtualservices" {
			s.t.Error("listed", one)
		}
	}
}

// TestLiveTranscripts runs command lines on a cluster that holds the documents of hello.yaml
// and gateways.yaml, and ServerlessServices.
func TestLiveTranscripts(t *testing.T) {
	newServer(t, "testdata/hello.yaml", "testdata/gateways.yaml", "testdata/serverless.yaml")
	t.Chdir("testdata")
	transcribe(t, liveTranscripts)
}

func TestLive(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		change        func(*server)
		code          int
		says          string
	}{
		{"Ingresses in pages", "lint", func(s *server) {
			s.small = true
			s.add(strings.Replace(read(t, "testdata/hello.yaml"), "name: hello", "name: second", 1))
		}, 1, "HostConflict Ingress shop/second"},
		{"one namespace", "translate -n bank", nil, 0, "there is no Ingress"},
		{"other context", "lint --context nowhere", nil, 2, `context "nowhere" does not exist; correct it, or choose another with --kubeconfig or --context`},
		{"no kubeconfig there", "lint --kubeconfig nowhere", nil, 2, "stat nowhere: no such file or directory"},
		{"no rights on Ingresses", "lint", forbid("ingresses"), 2, "cannot list ingresses.networking.internal.knative.dev in all namespaces of cluster test: ingresses.networking.internal.knative.dev is forbidden"},
		{"remedy", "lint", forbid("ingresses"), 2, "ask for that right; ingresses can be limited to a namespace with -n"},
		{"no rights on Services", "lint", forbid("services"), 2, "cannot get services "},
		{"no rights on ConfigMaps", "lint", forbid("configmaps"), 2, "cannot get configmaps knative-serving/config-istio of cluster test"},
		{"no rights on ServerlessServices", "explain http://hello --from shop/default", forbid("serverlessservices"), 0, "warning: whether the activator stands before a revision is not known: cannot list serverlessservices"},
		{"no Service of a split", "explain http://hello --from shop/default", func(s *server) { s.remove("Service", "hello-00002") }, 1, "what goes to hello-00002 never arrives: Service shop/hello-00002 does not exist"},
		{"the loopback", "translate --loopback", func(s *server) {
			s.add(read(t, "testdata/doctor/mesh-only.yaml"))
			s.add(read(t, "testdata/doctor/net-mesh.yaml"))
		}, 0, "name: net-mesh-loopback-trial"},
		{"no rights on the controller", "translate --loopback", forbid("deployments"), 2, "cannot get deployments.apps knative-serving/net-istio-controller"},
		{"what KServe leads to the local gateway", "explain http://iris.models.svc.cluster.local", kserve(t), 0, "led by"},
		{"a name that KServe has left", "explain http://iris.models.svc.cluster.local", func(s *server) {
			kserve(t)(s)
			s.remove("VirtualService", "iris")
		}, 0, "models/iris-predictor-mesh-738f53eb"},
		{"an alias of the local gateway", "explain http://iris.models.svc.cluster.local", func(s *server) {
			kserve(t)(s)
			s.remove("VirtualService", "iris")
			s.remove("Ingress", "iris-predictor")
		}, 1, "Service models/iris gives this name to the local gateway's"},
		{"no rights on what leads there", "explain http://iris.models.svc.cluster.local", func(s *server) {
			kserve(t)(s)
			s.forbidden = []string{"virtualservices"}
		}, 0, "whether VirtualServices of others name the same hosts, or lead them to the local gateway, is not known"},
		{"no rights on VirtualServices", "diff --live", forbid("virtualservices"), 2, "cannot list virtualservices.networking.istio.io"},
		{"no rights on ServiceEntries", "diff --live", forbid("serviceentries"), 2, "cannot list serviceentries.networking.istio.io"},
		{"no Knative", "lint", miss("ingresses"), 2, "cluster test has no ingresses.networking.internal.knative.dev (v1alpha1): install Knative Serving"},
		{"no Istio", "lint", miss("gateways"), 2, "cluster test has no gateways.networking.istio.io (v1): install Istio"},
		{"no controller", "lint", func(s *server) { s.remove("ConfigMap", "config-istio") }, 2, "cluster test has no ConfigMap config-istio: install net-mesh"},
		{"another system namespace", "lint", func(s *server) { s.find("ConfigMap", "config-istio").SetNamespace("elsewhere") }, 0, "GatewayMissing Gateway elsewhere/knative-ingress-gateway"},
		{"two system namespaces", "lint", func(s *server) {
			s.find("ConfigMap", "config-istio").SetNamespace("a")
			s.add(strings.Split(strings.ReplaceAll(read(t, "testdata/gateways.yaml"), "knative-serving", "b"), "---")[0])
		}, 2, "several namespaces (a, b)"},
		{"no Gateway", "lint", func(s *server) { s.remove("Gateway", "knative-ingress-gateway") }, 0, "GatewayMissing"},
		{"faulty config", "lint", func(s *server) {
			s.find("ConfigMap", "config-istio").Object["data"] = map[string]any{"local-gateways": "none"}
		}, 2, `cluster test: config-istio: local-gateways: want a YAML list of {namespace, name, service, labelSelector}, found the text "none"`},
		{"an owner in another namespace", "lint -n bank", thief, 1, "HostConflict Ingress bank/thief"},
		{"an owner that may not be seen", "lint -n bank", func(s *server) { thief(s); s.seeOnly = "bank" }, 0,
			"warning: whether other Ingresses of the cluster claim the same hosts is not known: cannot list ingresses.networking.internal.knative.dev in all namespaces"},
		{"a newer API", "lint", func(s *server) { s.find("Service", "hello").Object["spec"].(map[string]any)["novel"] = true }, 0, "no findings in 1 Ingress"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, "testdata/hello.yaml", "testdata/gateways.yaml")
			if tt.change != nil {
				tt.change(s)
			}
			out, problems, code := run(nil, strings.Fields(tt.command)...)
			if code != tt.code || !strings.Contains(out+problems, tt.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s%s", code, tt.code, tt.says, out, problems)
			}
		})
	}
}

// thief claims, from another namespace and later, a public host that shop/hello has.
func thief(s *server) { s.add(thiefText) }

const thiefText = `
apiVersion: networking.internal.knative.dev/v1alpha1
kind: Ingress
metadata:
  namespace: bank
  name: thief
  uid: of-the-thief
  creationTimestamp: "2026-02-01T10:00:00Z"
  annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}
spec:
  rules:
  - hosts: [hello.shop.example.com]
    visibility: ExternalIP
    http: {paths: [{splits: [{percent: 100, serviceName: thief, serviceNamespace: bank, servicePort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: thief, namespace: bank}
spec: {ports: [{port: 80}]}
`

// TestDiffLiveKnowsTheNeighbours: documents meet the Ingresses that only the cluster has.
func TestDiffLiveKnowsTheNeighbours(t *testing.T) {
	const conflict = "host hello.shop.example.com"
	for name, tt := range map[string]struct {
		documents string
		change    func(*server)
		args      string
		code      int
		out       string // part of what is printed
		problems  string // part of what is told
	}{
		"the cluster's is older":               {documents: thiefText, code: 1, problems: "HostConflict Ingress bank/thief"},
		"and is told of in its namespace only": {documents: thiefText, args: "-n bank", code: 1, problems: "HostConflict Ingress bank/thief"},
		"a document without an age is as old as the cluster says": {
			documents: withoutAge(read(t, "testdata/hello.yaml")), change: thief, problems: "no difference"},
		"nobody may list them": {documents: thiefText, change: forbid("ingresses"), code: 2, problems: "cannot get ingresses"},
		"only some may be listed": {documents: thiefText, change: func(s *server) { s.seeOnly = "bank" }, code: 1, out: "+ VirtualService bank/thief-ingress",
			problems: "warning: whether other Ingresses of the cluster claim the same hosts is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, "testdata/hello.yaml", "testdata/gateways.yaml")
			s.written()
			if tt.change != nil {
				tt.change(s)
			}
			out, problems, code := run([]byte(tt.documents), append([]string{"diff", "--live", "-f", "-"}, strings.Fields(tt.args)...)...)
			if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(problems, tt.problems) {
				t.Errorf("exit code %d, want %d, %q and %q:\n%s%s", code, tt.code, tt.out, tt.problems, out, problems)
			}
			if tt.problems != "" && strings.Contains(tt.problems, "HostConflict") && (!strings.Contains(problems, conflict) || strings.Contains(out, "VirtualService")) {
				t.Errorf("the loser is not told what it loses, or would be given it:\n%s%s", out, problems)
			}
		})
	}
}

func withoutAge(text string) string {
	text = strings.Replace(text, "  creationTimestamp: \"2026-01-01T10:00:00Z\"\n", "", 1)
	return strings.Replace(text, "  uid: 00000000-0000-4000-8000-000000000001\n", "", 1)
}

func forbid(resource string) func(*server) {
	return func(s *server) { s.forbidden = []string{resource} }
}

func miss(resource string) func(*server) { return func(s *server) { s.missing = []string{resource} } }

func TestNoCluster(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for files, says := range map[string]string{
		empty: "no documents and no cluster: give files, folders or - with -f, or a kubeconfig",
		filepath.Join(dir, "none") + string(os.PathListSeparator) + empty: ", for $KUBECONFIG names what does not exist (" + filepath.Join(dir, "none") + "): give files",
	} {
		t.Setenv("KUBECONFIG", files)
		if _, problems, code := run(nil, "lint"); code != 2 || !strings.Contains(problems, says) {
			t.Errorf("exit code %d: %s", code, problems)
		}
	}
	t.Setenv("KUBECONFIG", kubeconfig(t, "http://127.0.0.1:1"))
	if _, problems, code := run(nil, "lint"); code != 2 || !strings.Contains(problems, "see whether the cluster is up and can be reached from here") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

func TestLoggedOut(t *testing.T) {
	url := behind(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	t.Setenv("KUBECONFIG", kubeconfig(t, url))
	if _, problems, code := run(nil, "lint"); code != 2 || !strings.Contains(problems, "log in again") {
		t.Errorf("exit code %d: %s", code, problems)
	}
}

// TestSecretsStayWhereTheyAre: keys are read with the certificates, and go nowhere.
func TestSecretsStayWhereTheyAre(t *testing.T) {
	s := newServer(t, "testdata/gateways.yaml")
	text := strings.ReplaceAll(read(t, "testdata/tls.yaml"), "tls.key: ''", "tls.key: dG9wIHNlY3JldA==")
	s.add(text)
	s.find("Secret", "cert").SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"tls.key":"dG9wIHNlY3JldA=="}`})
	copied := s.find("Secret", "cert").DeepCopy()
	copied.SetNamespace("istio-system")
	copied.SetName("tls-05327842-8bc7-4d18-99b3-bdb24a77d822")
	copied.SetLabels(map[string]string{
		"net-mesh.dev/ingress-namespace": "serving-tests", "networking.internal.knative.dev/ingress": "tls",
		"networking.internal.knative.dev/originSecretName": "cert", "networking.internal.knative.dev/originSecretNamespace": "serving-tests",
		"networking.internal.knative.dev/certificate-uid": "u1",
	})
	s.objects = append(s.objects, *copied)
	commands := [][]string{{"diff", "--live"}, {"diff", "--live", "-f", "-"}, {"lint"}, {"explain", "https://tls.rec.example.com", "-o", "html"}}
	for _, format := range []string{"yaml", "json", "model", "plan"} {
		commands = append(commands, []string{"translate", "-o", format})
	}
	for _, key := range []string{"dG9wIHNlY3JldA==", "b3RoZXIga2V5"} {
		s.find("Secret", copied.GetName()).Object["data"].(map[string]any)["tls.key"] = key
		for _, args := range commands {
			out, problems, code := run([]byte(text+"---\n"+read(t, "testdata/gateways.yaml")), args...)
			if code == 2 {
				t.Errorf("%q: %s", args, problems)
			}
			for _, bytes := range []string{"dG9wIHNlY3JldA", "top secret", "b3RoZXIga2V5", "other key"} {
				if strings.Contains(out+problems, bytes) {
					t.Errorf("%q prints a key:\n%s%s", args, out, problems)
				}
			}
			if args[0] == "diff" && strings.Contains(out, "~ Secret") != (key == "b3RoZXIga2V5") {
				t.Errorf("%q, the copy has key %s:\n%s", args, key, out)
			}
		}
	}
}

// TestDiffLive compares with a cluster that holds what the controller has written.
func TestDiffLive(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*server)
		args   string
		want   []string
	}{
		{"as written", nil, "", nil},
		{"as written, by documents", nil, "-f testdata/hello.yaml -f testdata/gateways.yaml", nil},
		{"as written, by the Ingress alone", nil, "-f testdata/hello.yaml", nil},
		{"a change of the Ingress alone", nil, "-f testdata/folder/deeper", []string{
			"+ VirtualService shop/small-mesh", "+ VirtualService shop/small-local",
			"~ address of Ingress shop/small, scope External: none -> istio-ingressgateway.istio-system.svc.cluster.local",
			"~ address of Ingress shop/small, scope Local: none -> knative-local-gateway.istio-system.svc.cluster.local"}},
		{"others wrote beside ours", func(s *server) {
			s.find("VirtualService", "hello-mesh").SetAnnotations(map[string]string{"a": "b", "networking.knative.dev/ingress.class": "istio.ingress.networking.knative.dev"})
			s.find("VirtualService", "hello-mesh").SetResourceVersion("12")
		}, "", nil},
		{"lost", func(s *server) { s.remove("VirtualService", "hello-local") }, "", []string{"+ VirtualService shop/hello-local"}},
		{"edited", func(s *server) { s.spec("VirtualService", "hello-mesh")["hosts"] = []any{"other.example.com"} }, "", []string{
			"~ VirtualService shop/hello-mesh", "--- VirtualService shop/hello-mesh before", "+++ VirtualService shop/hello-mesh after",
			"-  - other.example.com", "+  - hello.shop.svc.cluster.local"}},
		{"left over", func(s *server) {
			old := s.find("VirtualService", "hello-mesh").DeepCopy()
			old.SetName("hello-old")
			s.objects = append(s.objects, *old)
		}, "", []string{"- VirtualService shop/hello-old"}},
		{"a name left over", func(s *server) {
			e := s.find("VirtualService", "hello-mesh").DeepCopy()
			e.SetKind("ServiceEntry")
			e.SetName("hello-dns")
			e.Object["spec"] = map[string]any{"hosts": []any{"hello.shop.example.com"}}
			s.objects = append(s.objects, *e)
		}, "", []string{"- ServiceEntry shop/hello-dns"}},
		{"names to come", nil, "--set config-istio.external-in-mesh=true --set config-istio.mesh-dns=true", []string{
			"~ VirtualService shop/hello-mesh", "+ ServiceEntry shop/hello-dns"}},
		{"a name of somebody else", func(s *server) {
			s.add("apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: {name: hello-dns, namespace: shop}\nspec: {}")
		}, "--set config-istio.external-in-mesh=true --set config-istio.mesh-dns=true", []string{
			"~ VirtualService shop/hello-mesh", "! ServiceEntry shop/hello-dns belongs to somebody else"}},
		{"somebody else's", func(s *server) {
			v := s.find("VirtualService", "hello-mesh")
			v.SetLabels(nil)
			v.SetOwnerReferences(nil)
		}, "", []string{"! VirtualService shop/hello-mesh belongs to somebody else"}},
		{"of another Ingress", func(s *server) {
			v := s.find("VirtualService", "hello-mesh").DeepCopy()
			v.SetName("theirs")
			v.SetOwnerReferences(nil)
			v.SetLabels(map[string]string{"networking.internal.knative.dev/ingress": "theirs"})
			s.objects = append(s.objects, *v)
		}, "", nil},
		{"in another mode", nil, "--mode half-mesh", []string{
			"~ VirtualService shop/hello-local",
			"~ address of Ingress shop/hello, scope Local: knative-local-gateway.istio-system.svc.cluster.local -> MeshOnly",
			"  Serving then changes the type of the Route's placeholder Service from ExternalName to ClusterIP; callers may see the old address until their DNS answers expire"}},
		{"an Ingress that is not there yet", func(s *server) { s.objects = nil }, "-f testdata/hello.yaml -f testdata/gateways.yaml", []string{
			"+ VirtualService shop/hello-ingress", "+ VirtualService shop/hello-local", "+ VirtualService shop/hello-mesh",
			"~ address of Ingress shop/hello, scope External: none -> istio-ingressgateway.istio-system.svc.cluster.local",
			"~ address of Ingress shop/hello, scope Local: none -> knative-local-gateway.istio-system.svc.cluster.local"}},
		{"a UID that the documents do not know", func(s *server) {
			s.find("Ingress", "hello").SetUID("of-the-cluster")
			for _, name := range []string{"hello-ingress", "hello-local", "hello-mesh"} {
				refs := s.find("VirtualService", name).GetOwnerReferences()
				refs[0].UID = "of-the-cluster"
				s.find("VirtualService", name).SetOwnerReferences(refs)
			}
		}, "-f testdata/hello.yaml -f testdata/gateways.yaml", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, "testdata/hello.yaml", "testdata/gateways.yaml")
			s.written()
			if tt.change != nil {
				tt.change(s)
			}
			out, problems, code := run(nil, append([]string{"diff", "--live"}, strings.Fields(tt.args)...)...)
			if strings.HasPrefix(problems, "Warning HostNamedElsewhere ") {
				_, problems, _ = strings.Cut(problems, "\n") // what is somebody else's names the same host
			}
			if (code != 0) != (len(tt.want) > 0) || code > 1 || (code == 0) != (problems == "no difference\n") || (code == 1) != (problems == "") {
				t.Errorf("exit code %d\n%s%s", code, out, problems)
			}
			lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
			if len(tt.want) == 0 && out != "" {
				t.Error("no difference was wanted:", out)
			}
			for _, want := range tt.want {
				if !slices.Contains(lines, want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
			if !strings.HasPrefix(strings.Join(tt.want, "\n"), "~ V") && len(tt.want) > 0 && len(lines) != len(tt.want) {
				t.Errorf("it says more than %q:\n%s", tt.want, out)
			}
		})
	}
}

func (s *server) spec(kind, name string) map[string]any {
	return s.find(kind, name).Object["spec"].(map[string]any)
}

// written puts what the controller would write for hello.yaml into the cluster, and the
// addresses it would publish.
func (s *server) written() {
	s.t.Helper()
	out, problems, code := run(nil, "translate", "-f", "testdata/hello.yaml", "-f", "testdata/gateways.yaml", "-o", "json")
	if code != 0 {
		s.t.Fatal(problems)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, item := range list.Items {
		s.add(string(item))
	}
	var status map[string]any
	if err := yaml.Unmarshal([]byte(`
publicLoadBalancer: {ingress: [{domainInternal: istio-ingressgateway.istio-system.svc.cluster.local}]}
privateLoadBalancer: {ingress: [{domainInternal: knative-local-gateway.istio-system.svc.cluster.local}]}
`), &status); err != nil {
		s.t.Fatal(err)
	}
	s.find("Ingress", "hello").Object["status"] = status
}

// kserve has the cluster hold an InferenceService's objects, without a gateway.
func kserve(t *testing.T) func(*server) {
	return func(s *server) {
		// An API server converts; this one does not.
		s.add(strings.Replace(read(t, "testdata/kserve.yaml"), "istio.io/v1beta1", "istio.io/v1", 1))
		s.add(read(t, "testdata/mesh-only.yaml"))
	}
}
