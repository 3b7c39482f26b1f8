package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/cli"
)

// TestExitCodes holds what other programs rely on, with a word of what is said.
func TestExitCodes(t *testing.T) {
	t.Chdir("testdata")
	t.Setenv("KUBECONFIG", "nowhere")
	for _, tt := range []struct {
		command string
		code    int
		says    string
	}{
		{"", 0, "Usage:"},
		{"--help", 0, "Exit codes:"},
		{"translate --help", 0, "net-mesh.dev/data-from"},
		{"lint --help", 0, "Exit codes:"},
		{"explain --help", 0, "Exit codes:"},
		{"diff --help", 0, "Exit codes:"},
		{"heal", 2, "unknown command"},
		{"translate", 2, "-f"},
		{"lint", 2, "no documents and no cluster, for $KUBECONFIG names what does not exist (nowhere): "},
		{"explain http://a.b", 2, "-f"},
		{"diff --to hello.yaml", 2, "-f"},
		{"translate hello.yaml", 2, "unknown command"},
		{"translate -f hello.yaml -o xml", 2, "accepted are yaml, json, model, plan"},
		{"lint -f hello.yaml -o yaml", 2, "accepted are text, json"},
		{"translate -f hello.yaml --from shop/default", 2, "unknown flag"},
		{"lint -f hello.yaml -n shop", 2, "--namespace is for the live cluster"},
		{"lint -f hello.yaml --context x", 2, "--context is for the live cluster"},
		{"diff -f hello.yaml --mode half-mesh --kubeconfig x", 2, "--kubeconfig is for the live cluster"},
		{"diff -f hello.yaml --live --kubeconfig nowhere", 2, "stat nowhere"},
		{"diff -f hello.yaml --live --to hello.yaml", 2, "none of the others can be"},
		{"diff -f hello.yaml --mode sidecars", 2, "modes are gateway, half-mesh, local-only, mesh-only"},
		{"diff -f hello.yaml --mode gateway:", 2, "want MODE or BEFORE:AFTER"},
		{"diff -f hello.yaml --mode=", 2, "want MODE or BEFORE:AFTER"},
		{"explain http://hello -f hello.yaml --from shop", 2, "want NAMESPACE/SERVICEACCOUNT"},
		{"explain http://hello -f hello.yaml --from Shop/x", 2, "want NAMESPACE/SERVICEACCOUNT"},
		{"translate -f hello.yaml --ingress shop/nobody", 2, "no such Ingress"},
		{"translate -f hello.yaml --ingress hello", 2, "--ingress hello: want NAMESPACE/NAME"},
		{"translate -f nowhere.yaml", 2, "no such file"},
		{"translate -f golden", 2, "no *.yaml"},
		{"translate -f - -f -", 2, "once"},
		{"lint -f gateways.yaml", 0, "no Ingress"},
		{"lint -f hello.yaml -f hello.yaml", 0, "last one counts"},
		{"lint -f hello.yaml -f gateways.yaml", 0, "no findings in 1 Ingress\n"},
		{"diff -f hello.yaml --to hello.yaml", 0, "no difference\n"},
		{"version", 0, "devel"},
		{"version now", 2, "unknown command"},
		{"lint -f paths.yaml", 1, "PercentNot100"},
		{"explain -f hello.yaml", 2, "accepts 1 arg"},
		{"explain ftp://hello.shop -f hello.yaml", 2, "want http://HOST/PATH"},
		{"explain http:///path -f hello.yaml", 2, "want http://HOST/PATH"},
		{"explain http://%zz -f hello.yaml", 2, "URL"},
		{"explain http://hello.shop -f hello.yaml --via sidecar", 2, "want mesh, or NAMESPACE/NAME"},
		{"explain http://hello.shop -f hello.yaml -H nothing", 2, "NAME: VALUE"},
		{"explain http://hello.shop -f hello.yaml -o pdf", 2, "accepted are text, mermaid, html, json"},
		{"explain http://hello.shop -f hello.yaml --via a/b", 1, "not via a/b"},
		{"diff -f hello.yaml", 2, "at least one of the flags"},
		{"diff -f hello.yaml --to hello.yaml --set config-istio.a=b", 2, "none of the others can be"},
		{"diff -f hello.yaml --set local-gateways=[]", 2, "config-istio.KEY=VALUE"},
		{"diff -f hello.yaml --set config-istio.local-gateways", 2, "config-istio.KEY=VALUE"},
		{"diff -f hello.yaml --set config-istio.local-gateways=none", 2, "want a YAML list"},
		{"diff -f hello.yaml -f gateways.yaml --set config-istio.local-gateways=none", 2, "with --set config-istio.local-gateways=none: "},
		{"diff -f hello.yaml --set config-network.cluster-local-domain-tls=maybe", 2, "config-network"},
		{"diff -f - --to -", 2, "once"},
		{"diff -f hello.yaml --set config-istio.unknown=x", 0, "ConfigKeyUnknown"},
	} {
		out, problems, code := run(nil, strings.Fields(tt.command)...)
		if code != tt.code || !strings.Contains(out+problems, tt.says) {
			t.Errorf("netmesh %s: exit code %d, want %d and %q:\n%s%s", tt.command, code, tt.code, tt.says, out, problems)
		}
		if code == 2 && out != "" {
			t.Errorf("netmesh %s: wrong usage, and yet it prints %s", tt.command, out)
		}
	}
}

// TestPluginOfKubectl: help and errors name what was typed.
func TestPluginOfKubectl(t *testing.T) {
	for _, tt := range []struct{ args, says string }{
		{"explain --help", "  kubectl netmesh explain http://hello --from shop/default"},
		{"explain --help", "Usage:\n  kubectl netmesh explain URL"},
		{"--help", "\n    kubectl netmesh lint -f world.yaml"},
		{"translate --help", "| kubectl netmesh translate -f -"},
		{"lint -x", "kubectl netmesh: unknown shorthand flag"},
	} {
		var out bytes.Buffer
		cli.Run("/usr/local/bin/kubectl-netmesh", strings.Fields(tt.args), nil, &out, &out)
		if !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s does not say %q:\n%s", tt.args, tt.says, out.String())
		}
	}
}

// TestMalformed holds that who wrote a bad document is led to its line.
func TestMalformed(t *testing.T) {
	const good = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: b}\n"
	for _, tt := range []struct{ name, text, says string }{
		{"not YAML", good + "---\n" + good + "spec: [1\nx: y\n", "in.yaml:8: did not find expected"},
		{"a tab", good + "spec:\n\ttype: ClusterIP\n", "in.yaml:5: found character"},
		{"wrong type", "# comment\n" + good + "---\n" + good + "spec: [1]\n", "in.yaml:5: spec: want fields, found a list"},
		{"not an object", good + "---\njust words\n", "in.yaml:4: "},
		{"no kind", good + "---\nmetadata: {name: a}\n", "in.yaml:4: it has no kind"},
		{"no name", "apiVersion: v1\nkind: Service\nmetadata: {namespace: b}\n", `in.yaml:1: metadata.name "" of the Service is not a name`},
		{"no namespace", "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n", "in.yaml:1: the Secret b has no metadata.namespace"},
		{"bad namespace", "apiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: a/b}\n", `in.yaml:1: metadata.namespace "a/b"`},
		{"in a list", good + "---\napiVersion: v1\nkind: List\nitems:\n- {kind: Service, apiVersion: v1, metadata: {name: 5}}\n", "in.yaml:4: item 0: "},
		{"list in a list", "apiVersion: v1\nkind: List\nitems:\n- {kind: List, apiVersion: v1, items: []}\n", "in.yaml:1: item 0: a List in a List"},
		{"after an end marker", good + "...\n" + "kind: [\n", "in.yaml:"},
		{"on the line of a marker", good + "--- {kind: Service, apiVersion: v1}\n", `in.yaml:4: metadata.name ""`},
		{"two documents in one", "# comment\n" + good + good, `in.yaml:5: key "apiVersion" is written twice, first in line 2 (and 2 more of the document); leave one, or put --- between two documents`},
		{"a key twice", good + "---\n" + good + "spec:\n  type: ClusterIP\n  ports: []\n  type: ExternalName\n", `in.yaml:11: key "type" is written twice, first in line 9; leave one`},
		{"a key twice in a list", good + "---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: a,\n    namespace: b, name: c}\n", `in.yaml:11: key "name" is written twice, first in line 10`},
		{"a key twice in JSON", "{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n\"metadata\": {\"name\": \"a\", \"namespace\": \"b\"},\n\"kind\": \"Secret\"}\n", `in.yaml:3: key "kind" is written twice, first in line 1`},
		{"a key twice in a kind that plays no part", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec: {}\nspec: {}\n", `in.yaml:5: key "spec" is written twice`},
		{"a key twice in quotes", good + "\"kind\": Secret\n", `in.yaml:4: key "kind" is written twice, first in line 2`},
		{"config", good + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-istio, namespace: s}\ndata: {local-gateways: none}\n", "in.yaml:4: config-istio: local-gateways: "},
		{"config that is written", good + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-istio, namespace: s}\ndata: {local-gateways: none}\n", "; the controller goes on with what it read before\n"},
		{"two system namespaces", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-istio, namespace: s}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-istio, namespace: t}\n", "several namespaces (s, t)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("in.yaml", []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			out, problems, code := run(nil, "lint", "-f", "in.yaml")
			if code != 2 || out != "" || !strings.Contains(problems, tt.says) {
				t.Errorf("exit code %d, want 2 and %q:\n%s%s", code, tt.says, out, problems)
			}
		})
	}
}

// TestEveryMalformedDocumentIsNamed: who mends one should not have to come back for the next.
func TestEveryMalformedDocumentIsNamed(t *testing.T) {
	_, problems, code := run([]byte("a: b\n---\nkind: [\n"), "lint", "-f", "-")
	if code != 2 || strings.Count(problems, "standard input:") != 2 {
		t.Errorf("exit code %d:\n%s", code, problems)
	}
}

func TestStandardInput(t *testing.T) {
	hello := []byte(read(t, "testdata/hello.yaml"))
	want, _, _ := run(nil, "translate", "-f", "testdata/hello.yaml", "-f", "testdata/gateways.yaml")
	for _, text := range [][]byte{hello, append([]byte("\uFEFF"), hello...), bytes.ReplaceAll(hello, []byte("\n"), []byte("\r\n"))} {
		got, problems, code := run(text, "translate", "-f", "-", "-f", "testdata/gateways.yaml")
		if code != 0 || got != want || want == "" {
			t.Errorf("exit code %d: %s%s", code, got, problems)
		}
	}
	if out, problems, code := run(hello, "diff", "-f", "-", "--set", "config-istio.external-gateways=[]"); code != 1 || !strings.Contains(out, "- VirtualService shop/hello-ingress") {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
}

// TestNoKeyIsPrinted, whatever is printed.
func TestNoKeyIsPrinted(t *testing.T) {
	text := strings.ReplaceAll(read(t, "testdata/tls.yaml"), "tls.key: ''", "tls.key: dG9wIHNlY3JldA==")
	for _, format := range []string{"yaml", "json", "model", "plan"} {
		out, problems, _ := run([]byte(text), "translate", "-f", "-", "-f", "testdata/gateways.yaml", "-o", format)
		if all := out + problems; strings.Contains(all, "dG9wIHNlY3JldA") || strings.Contains(all, "top secret") {
			t.Errorf("-o %s prints the key:\n%s", format, all)
		}
	}
}

// TestTerminalIsNotObeyed: names come from anybody.
func TestTerminalIsNotObeyed(t *testing.T) {
	text := strings.ReplaceAll(read(t, "testdata/hello.yaml"), "- hello.shop.example.com", `- "\e[2Jhello\r\n.example.com"`)
	for _, args := range [][]string{{"lint"}, {"explain", "http://x\u009b2J.y"}, {"explain", "http://x.y", "-H", "Host: \x1b[2J"}, {"explain", "http://x.y/\x1b[2J", "-o", "html"}} {
		out, problems, code := run([]byte(text), append(args, "-f", "-")...)
		if code == 2 && args[0] == "lint" {
			t.Error(problems)
		}
		if strings.ContainsAny(out+problems, "\x1b\u009b\r") {
			t.Errorf("%q lets control characters through: %q", args, out+problems)
		}
	}
}

// TestHostileInput: whatever comes, no command panics or outgrows the machine.
func TestHostileInput(t *testing.T) {
	hostile := map[string]string{
		"nothing":        "",
		"markers":        strings.Repeat("---\n", 1000),
		"NUL":            "\x00\x00",
		"not UTF-8":      "kind: \xff\xfe",
		"deep":           strings.Repeat("[", 100000),
		"deep mapping":   strings.Repeat("{a: ", 20000),
		"aliases":        aliases(),
		"lists in lists": strings.Repeat(`{"apiVersion": "v1", "kind": "List", "items": [`, 3000) + strings.Repeat("]}", 3000),
		"null items":     "apiVersion: v1\nkind: List\nitems: [null, 1, {}]\n",
		"null rules":     "apiVersion: networking.internal.knative.dev/v1alpha1\nkind: Ingress\nmetadata: {name: a, namespace: b, annotations: {networking.knative.dev/ingress.class: istio.ingress.networking.knative.dev}}\nspec: {rules: [null, {http: {paths: [null, {splits: [null]}]}, hosts: ['', '*', '*.']}], tls: [null]}\n",
		"many":           strings.Repeat("apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: b}\n---\n", 300),
		"one long line":  "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: b, annotations: {x: " + strings.Repeat("y", 1<<18) + "}}\n",
	}
	for name, text := range hostile {
		everyCommand(t, name, text)
	}
}

// TestCutOffInput cuts every golden case off at some places.
func TestCutOffInput(t *testing.T) {
	for _, file := range glob(t, cases+"cases/*/in.yaml") {
		text := read(t, file)
		for part := 1; part < 5; part++ {
			everyCommand(t, filepath.Base(filepath.Dir(file)), text[:len(text)*part/5])
		}
	}
}

// FuzzRun runs all commands on whatever there is.
func FuzzRun(f *testing.F) {
	for _, file := range glob(f, "testdata/*.yaml") {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) { everyCommand(t, "fuzzed", text) })
}

func everyCommand(t *testing.T, name, text string) {
	t.Helper()
	for _, args := range [][]string{
		{"translate"}, {"lint"}, {"explain", "http://hello.shop"}, {"explain", "http://hello", "--from", "shop/default", "-o", "html"}, {"diff", "--set", "config-istio.local-gateways=[]"},
	} {
		_, problems, code := run([]byte(text), append(args, "-f", "-")...)
		if code < 0 || code > 2 || (code == 2 && problems == "") {
			t.Errorf("%s of %s: exit code %d, and it says %q", args[0], name, code, problems)
		}
	}
}

// aliases would grow beyond any memory if they were followed.
func aliases() string {
	var text strings.Builder
	text.WriteString("kind: Service\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		was, is := string(rune('a'+i)), string(rune('b'+i))
		text.WriteString(is + "0: &" + is + "0 [" + strings.TrimSuffix(strings.Repeat("*"+was+"0, ", 10), ", ") + "]\n")
	}
	return text.String()
}
