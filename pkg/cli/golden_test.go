package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/cli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// transcripts are command lines, run in testdata; golden/<name>.txt shows what each one
// prints and how it ends.
var transcripts = map[string]string{
	"translate":                   "translate -f hello.yaml -f gateways.yaml",
	"translate-secret-as-promise": "translate -f tls.yaml -f gateways.yaml",
	"translate-json":              "translate -f folder -o json",
	"translate-folder":            "translate -f folder",
	"translate-one":               "translate -f hello.yaml -f folder --ingress shop/small -o plan",
	"translate-invalid":           "translate -f paths.yaml -f mesh-only.yaml",
	"translate-model":             "translate -f hello.yaml -o model",
	"translate-cluster-domain":    "translate -f hello.yaml -o model --cluster-domain example.org",
	"translate-loopback":          "translate --loopback -f doctor/mesh-only.yaml -f doctor/net-mesh.yaml -f hello.yaml",
	"translate-loopback-plan":     "translate --loopback -f doctor/net-mesh.yaml -f hello.yaml -f doctor/mesh-only.yaml -o plan",
	"translate-loopback-untried":  "translate --loopback -f hello.yaml -f doctor/mesh-only.yaml -o json",
	"translate-loopback-none":     "translate --loopback -f hello.yaml -f gateways.yaml",
	"lint":                        "lint -f paths.yaml -f mesh-only.yaml",
	"lint-json":                   "lint -f paths.yaml -f mesh-only.yaml -o json",
	"lint-pending":                "lint -f hello.yaml",
	"lint-conflict":               "lint -f hello.yaml -f rival.yaml -f gateways.yaml",
	"lint-nothing-json":           "lint -f hello.yaml -f gateways.yaml -o json",
	"explain":                     "explain http://hello.shop.svc.cluster.local/api?q=1 -f hello.yaml -f gateways.yaml",
	"explain-abbreviation":        "explain hello.shop -f hello.yaml -f gateways.yaml --via mesh -H Knative-Serving-Tag:blue",
	"explain-public":              "explain http://hello.shop.example.com -f hello.yaml -f gateways.yaml",
	"explain-public-mesh-only":    "explain http://hello.shop.example.com -f hello.yaml -f mesh-only.yaml",
	"explain-public-dns":          "explain http://hello.shop.example.com -f hello.yaml -f mesh-dns.yaml",
	"explain-gateway-unknown":     "explain http://hello.shop.example.com -f hello.yaml",
	"explain-not-there":           "explain http://hello.shop.example.com -f hello.yaml -f gateways.yaml --via mesh",
	"explain-no-host":             "explain http://nobody.example.com -f hello.yaml -f gateways.yaml",
	"explain-no-host-at":          "explain http://nobody.example.com -f hello.yaml -f gateways.yaml --via mesh",
	"explain-refused-host":        "explain http://theirs.bank.svc.cluster.local -f paths.yaml -f mesh-only.yaml",
	"explain-no-path":             "explain http://paths.shop/cart -f paths.yaml -f mesh-only.yaml",
	"explain-rewrite":             "explain http://paths.shop/other/x -f paths.yaml -f mesh-only.yaml",
	"explain-host-header":         "explain http://127.0.0.1:8080/cart -H host:paths.shop.svc -H version:2 -f paths.yaml -f mesh-only.yaml",
	"explain-tls":                 "explain https://tls.rec.example.com -f tls.yaml -f gateways.yaml",
	"explain-tls-in-mesh":         "explain https://hello.shop.svc.cluster.local -f hello.yaml -f mesh-only.yaml",
	"explain-redirect":            "explain http://other.example.com -f redirect.yaml -f gateways.yaml",
	"explain-disputed":            "explain http://hello.shop.svc.cluster.local -f hello.yaml -f rival.yaml -f gateways.yaml --via mesh",
	"explain-composed":            "explain http://www.example.org -f mapping.yaml -f hello.yaml -f mesh-only.yaml",
	"explain-delegated":           "explain http://models.example.org/hello -f hello.yaml -f gateways.yaml -f delegates.yaml",
	"explain-delegated-in-vain":   "explain http://models.example.org/hello -f hello.yaml -f gateways.yaml -f delegating.yaml",
	"lint-delegated-in-vain":      "lint -f hello.yaml -f gateways.yaml -f delegating.yaml",
	"lint-delegated":              "lint -f hello.yaml -f gateways.yaml -f delegates.yaml",
	"diff-set-delegates":          "diff --set config-istio.delegates=true -f hello.yaml -f gateways.yaml -f delegating.yaml",
	"explain-led":                 "explain http://iris.models.svc.cluster.local/v1/models/iris:predict --from models/default -f kserve.yaml -f mesh-only.yaml",
	"explain-led-json":            "explain http://iris.models.svc.cluster.local -f kserve.yaml -f mesh-only.yaml -o json",
	"explain-led-mermaid":         "explain http://iris.models.svc.cluster.local -f kserve.yaml -f mesh-only.yaml -o mermaid",
	"explain-led-html":            "explain http://iris.models.svc.cluster.local -f kserve.yaml -f mesh-only.yaml -o html",
	"explain-led-nowhere":         "explain http://iris.models.svc.cluster.local/lost -f kserve.yaml -f mesh-only.yaml",
	"explain-led-round":           "explain http://iris --from models/default -f kserve.yaml -f mesh-only.yaml",
	"explain-led-not":             "explain http://iris.models.svc.cluster.local -f kserve.yaml -f gateways.yaml",
	"explain-mermaid":             "explain http://hello.shop.svc.cluster.local -f hello.yaml -f mesh-only.yaml -o mermaid",
	"explain-mermaid-no":          "explain http://hello.shop.example.com -f hello.yaml -f gateways.yaml --via mesh -o mermaid",
	"explain-json":                "explain http://hello.shop.svc.cluster.local -f hello.yaml -f mesh-only.yaml -o json",
	"explain-disputed-json":       "explain http://hello.shop.svc.cluster.local -f hello.yaml -f rival.yaml -f gateways.yaml --via mesh -o json",
	"explain-from-json":           "explain http://hello/ --from shop/default -f hello.yaml -f gateways.yaml -f serverless.yaml -o json",
	"explain-html":                "explain http://hello --from shop/default -f hello.yaml -f gateways.yaml -f serverless.yaml -o html",
	"explain-html-no":             "explain http://paths.shop/cart -f paths.yaml -f mesh-only.yaml -o html",
	"explain-from":                "explain http://hello --from shop/default -f hello.yaml -f gateways.yaml -f serverless.yaml",
	"explain-from-elsewhere":      "explain http://hello --from bank/default -f hello.yaml -f gateways.yaml",
	"explain-from-nobody":         "explain http://hello -f hello.yaml -f gateways.yaml",
	"explain-from-to-gateway":     "explain http://hello.shop.example.com --from bank/default -f hello.yaml -f gateways.yaml",
	"explain-from-no-service":     "explain http://paths --from shop/default -f paths.yaml -f mesh-only.yaml",
	"explain-from-alias":          "explain http://hello --from shop/default -f hello.yaml -f alias.yaml -f mesh-only.yaml",
	"diff-set":                    "diff -f hello.yaml -f gateways.yaml --set config-istio.local-gateways=[]",
	"diff-set-json":               "diff -f hello.yaml -f gateways.yaml --set config-istio.local-gateways=[] -o json",
	"diff-set-both":               "diff -f hello.yaml -f gateways.yaml --set config-istio.local-gateways=[] --set config-istio.external-gateways=[]",
	"diff-mode":                   "diff -f hello.yaml -f gateways.yaml --mode half-mesh",
	"diff-mode-local-only":        "diff -f hello.yaml -f gateways.yaml --mode local-only",
	"diff-modes":                  "diff -f hello.yaml -f mesh-only.yaml --mode mesh-only:gateway",
	"diff-mode-no-placeholder":    "diff -f tls.yaml -f gateways.yaml --mode half-mesh",
	"diff-mode-keeps-the-rest":    "diff -f hello.yaml -f mesh-dns.yaml --mode local-only",
	"diff-set-mesh-dns":           "diff -f hello.yaml -f mesh-only.yaml --set config-istio.mesh-dns=true",
	"diff-mode-same":              "diff -f hello.yaml -f gateways.yaml --mode gateway",
	"lint-misspelt":               "lint -f misspelt.yaml",
	"diff-to":                     "diff -f hello.yaml -f gateways.yaml --to rival.yaml --to gateways.yaml",
	"diff-same":                   "diff -f hello.yaml -f gateways.yaml --to gateways.yaml --to hello.yaml",
}

// liveTranscripts are run on a cluster.
var liveTranscripts = map[string]string{
	"live-translate": "translate -n shop -o plan",
	"live-lint":      "lint",
	"live-explain":   "explain http://hello/api --from shop/default",
	"live-diff":      "diff --mode mesh-only",
	"live-diff-live": "diff --live -o json",
	"live-diff-to":   "diff --to hello.yaml --to mesh-only.yaml",
}

func TestTranscripts(t *testing.T) {
	t.Chdir("testdata")
	transcribe(t, transcripts)
}

func transcribe(t *testing.T, commands map[string]string) {
	t.Helper()
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			out, problems, code := run(nil, strings.Fields(command)...)
			got := fmt.Sprintf("$ netmesh %s\n%s--- standard error\n%s--- exit code %d\n", command, out, problems, code)
			file := filepath.Join("golden", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(read(t, file), got); diff != "" {
				t.Errorf("%s (-want +got); after reading the difference, rewrite with -update:\n%s", file, diff)
			}
		})
	}
}

func TestNoOrphans(t *testing.T) {
	for _, file := range glob(t, "testdata/golden/*") {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if transcripts[name] == "" && liveTranscripts[name] == "" && examined[name] == "" && blocked[name] == "" {
			t.Error("Nobody reads", file)
		}
	}
}

// TestSchemaIsDescribed: whoever reads the JSON finds every field in the documentation.
func TestSchemaIsDescribed(t *testing.T) {
	docs := read(t, "../../docs/netmesh.md")
	for _, name := range []string{"explain-json", "explain-disputed-json", "explain-from-json", "explain-blocked-json", "explain-blocked-no-sidecar-json", "explain-blocked-service-json", "explain-led-json"} {
		text, _, _ := strings.Cut(read(t, filepath.Join("testdata/golden", name+".txt")), "--- standard error")
		for _, m := range regexp.MustCompile(`"(\w+)": `).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(docs, "`"+m[1]) && !strings.Contains(docs, "."+m[1]) {
				t.Errorf("docs/netmesh.md does not describe %s of %s", m[1], name)
			}
		}
	}
}

// TestDocumentsAreTrue: the transcripts of the documentation are those of the golden files.
func TestDocumentsAreTrue(t *testing.T) {
	for file, names := range map[string][]string{
		"../../README.md":       {"explain-from", "diff-mode-local-only"},
		"../../docs/netmesh.md": {"explain-abbreviation", "diff-modes", "doctor-sidecar-narrow"},
	} {
		text := read(t, file)
		for _, name := range names {
			out, _, _ := strings.Cut(read(t, filepath.Join("testdata/golden", name+".txt")), "--- standard error")
			if !strings.Contains(text, out) {
				t.Errorf("%s does not show %s as it is", file, name)
			}
		}
	}
}

// cases are the golden cases of package translate, which this package prints.
const cases = "../translate/testdata/"

// TestTranslateIsTheControllers compares what is printed with the golden objects, models
// and plans of the translation, and the exit code with its findings.
func TestTranslateIsTheControllers(t *testing.T) {
	for _, dir := range glob(t, cases+"cases/*") {
		for _, mode := range glob(t, cases+"modes/*.yaml") {
			name := strings.TrimSuffix(filepath.Base(mode), ".yaml")
			args := []string{"translate", "-f", mode, "-f", filepath.Join(dir, "in.yaml")}
			if more := filepath.Join(dir, "in."+name+".yaml"); exists(more) {
				args = append(args, "-f", more)
			}
			want := map[string]string{"yaml": name + ".yaml", "plan": name + ".plan.yaml"}
			if name == "gateway" {
				want["model"] = "model.yaml"
			}
			verdict := 0
			if strings.Contains(read(t, filepath.Join(dir, name+".status.yaml")), "severity: Invalid") {
				verdict = 1
			}
			for format, file := range want {
				out, problems, code := run(nil, append(args, "-o", format)...)
				if diff := cmp.Diff(read(t, filepath.Join(dir, file)), out); diff != "" {
					t.Errorf("%s -o %s of %s (-want +got):\n%s", name, format, dir, diff)
				}
				if code != verdict {
					t.Errorf("%s of %s: exit code %d, want %d:\n%s", name, dir, code, verdict, problems)
				}
			}
		}
	}
}

func run(in []byte, args ...string) (out, problems string, code int) {
	var o, p bytes.Buffer
	code = cli.Run("netmesh", args, bytes.NewReader(in), &o, &p)
	return o.String(), p.String(), code
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return files
}

func read(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
