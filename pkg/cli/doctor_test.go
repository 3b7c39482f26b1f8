package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/doctor"
)

// A mesh that is fit, without and with gateways. What documents of a case say replaces it.
const (
	around   = "-f hello.yaml -f serverless.yaml -f doctor/serving.yaml -f doctor/net-mesh.yaml -f doctor/istio.yaml -f doctor/strict.yaml -f doctor/apps.yaml "
	meshOnly = around + "-f doctor/mesh-only.yaml -f doctor/loopback.yaml "
	gateways = around + "-f gateways.yaml -f doctor/gateway-pod.yaml "
)

// examined are meshes for the doctor, by the name of their golden file.
var examined = map[string]string{
	"doctor":                    meshOnly,
	"doctor-gateways":           gateways,
	"doctor-kubeflow":           meshOnly + "-f doctor/kubeflow.yaml",
	"doctor-kubeflow-gateways":  gateways + "-f doctor/kubeflow.yaml",
	"doctor-serving-missing":    strings.ReplaceAll(meshOnly, "-f doctor/serving.yaml ", ""),
	"doctor-serving-odd":        meshOnly + "-f doctor/serving-odd.yaml",
	"doctor-serving-old":        meshOnly + "-f doctor/serving-old.yaml",
	"doctor-serving-nameless":   meshOnly + "-f doctor/serving-nameless.yaml",
	"doctor-config-faulty":      meshOnly + "-f doctor/config-faulty.yaml",
	"doctor-config-misspelt":    meshOnly + "-f mesh-only.yaml",
	"doctor-config-none":        around + "-f doctor/gateway-pod.yaml",
	"doctor-net-istio":          meshOnly + "-f doctor/net-istio.yaml",
	"doctor-no-controller":      strings.ReplaceAll(meshOnly, "-f doctor/net-mesh.yaml ", ""),
	"doctor-controller-idle":    meshOnly + "-f doctor/controller-idle.yaml",
	"doctor-observers":          meshOnly + "-f doctor/observers-unfit.yaml",
	"doctor-observers-none":     strings.ReplaceAll(meshOnly, "-f doctor/net-mesh.yaml ", "-f doctor/observers-none.yaml "),
	"doctor-observers-unlisted": meshOnly + "-f doctor/observers-none.yaml",
	"doctor-unmeshed":           meshOnly + "-f doctor/system-unmeshed.yaml",
	"doctor-unmeshed-lax":       strings.ReplaceAll(meshOnly, "-f doctor/strict.yaml ", "") + "-f doctor/system-unmeshed.yaml",
	"doctor-mtls-mixed":         meshOnly + "-f doctor/mtls-mixed.yaml",
	"doctor-mtls-off":           meshOnly + "-f doctor/mtls-off.yaml",
	"doctor-not-injected":       meshOnly + "-f doctor/not-injected.yaml",
	"doctor-not-injected-local": gateways + "-f doctor/not-injected.yaml",
	"doctor-gateways-missing":   around + "-f doctor/gateways-missing.yaml",
	"doctor-sidecar-narrow":     meshOnly + "-f doctor/sidecar-narrow.yaml",
	"doctor-sidecar-detour":     gateways + "-f doctor/sidecar-detour.yaml",
	"doctor-sidecar-fit":        meshOnly + "-f doctor/sidecar-fit.yaml",
	"doctor-policies":           gateways + "-f doctor/policies.yaml",
	"doctor-policies-fit":       meshOnly + "-f doctor/policies-fit.yaml",
	"doctor-policies-doubt":     meshOnly + "-f doctor/policies-doubt.yaml",
	"doctor-registry-only":      meshOnly + "-f doctor/registry-only.yaml",
	"doctor-export-to":          meshOnly + "-f doctor/export-to.yaml",
	"doctor-export-to-fit":      meshOnly + "-f doctor/export-to-fit.yaml",
	"doctor-virtualservices":    gateways + "-f doctor/virtualservices.yaml",
	"doctor-kserve":             meshOnly + "-f doctor/kserve.yaml",
	"doctor-destinationrules":   meshOnly + "-f doctor/destinationrules.yaml",
	"doctor-destinationrules-lax": strings.ReplaceAll(meshOnly, "-f doctor/strict.yaml ", "") +
		"-f doctor/destinationrules.yaml",
	"doctor-authorization":      meshOnly + "-f doctor/authorization.yaml",
	"doctor-authorization-fit":  meshOnly + "-f doctor/authorization-fit.yaml",
	"doctor-loopback-none":      strings.ReplaceAll(meshOnly, "-f doctor/loopback.yaml ", ""),
	"doctor-loopback-withdrawn": strings.ReplaceAll(meshOnly, "loopback.yaml ", "loopback-withdrawn.yaml "),
	"doctor-loopback-failing":   meshOnly + "-f doctor/loopback-failing.yaml",
	"doctor-loopback-stays":     gateways + "-f doctor/loopback.yaml",
	"doctor-loopback-sidecar":   meshOnly + "-f doctor/loopback-sidecar.yaml",
	"doctor-nothing":            "-f hello.yaml -f doctor/mesh-only.yaml",
	"doctor-json":               meshOnly + "-f doctor/kubeflow.yaml -o json",
	"doctor-yaml":               meshOnly + "-f doctor/sidecar-narrow.yaml -o yaml",
	"doctor-fixes":              gateways + "-f doctor/kubeflow.yaml -o fixes",
	"doctor-fixes-none":         meshOnly + "-o fixes",
}

func TestDoctor(t *testing.T) {
	t.Chdir("testdata")
	commands := map[string]string{}
	for name, args := range examined {
		commands[name] = "doctor " + strings.TrimSpace(args)
	}
	transcribe(t, commands)
}

// TestEveryReasonIsFound: a reason that no mesh of the tests has is one that nobody has seen.
func TestEveryReasonIsFound(t *testing.T) {
	var all strings.Builder
	for _, file := range append(glob(t, "testdata/golden/doctor*.txt"), glob(t, "testdata/golden/explain-blocked*.txt")...) {
		all.WriteString(read(t, file))
	}
	for _, e := range doctor.Catalogue() {
		if e.Verdict != doctor.Good && e.Verdict != doctor.Unknown && !regexp.MustCompile(`\b`+string(e.Reason)+`\b`).MatchString(all.String()) {
			t.Errorf("no golden file has reason %s", e.Reason)
		}
	}
}

// blocked are calls that something is in the way of.
var blocked = map[string]string{
	"explain-blocked-sidecar":          "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/kubeflow.yaml",
	"explain-blocked-sidecar-gateways": "http://hello.shop --from clients/caller " + gateways + "-f doctor/kubeflow.yaml",
	"explain-blocked-registry-only":    "http://hello.shop --from clients/caller " + gateways + "-f doctor/sidecar-narrow.yaml",
	"explain-blocked-detour":           "http://hello.shop --from clients/caller " + gateways + "-f doctor/sidecar-detour.yaml",
	"explain-blocked-maybe":            "http://hello.shop --from clients/unseen " + meshOnly + "-f doctor/sidecar-detour.yaml -f doctor/policies-labels.yaml",
	"explain-unseen-account":           "http://hello.shop --from clients/callr " + meshOnly,
	"explain-unseen-namespace":         "http://hello.shop --from nowhere/nobody " + meshOnly,
	"explain-unseen-not-routed":        "http://nobody.shop --from nowhere/nobody " + meshOnly + "-o json",
	"explain-blocked-policies":         "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/policies.yaml",
	"explain-blocked-share":            "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/kubeflow.yaml -f doctor/sidecar-fit.yaml",
	"explain-blocked-gateway":          "http://hello.shop.example.com --from clients/caller " + gateways + "-f doctor/policies.yaml",
	"explain-blocked-no-sidecar":       "http://hello.shop --from plain/default " + meshOnly + "-f doctor/not-injected.yaml",
	"explain-blocked-bare-namespace":   "http://hello.shop --from plain/unseen " + meshOnly + "-f doctor/not-injected.yaml",
	"explain-blocked-no-sidecar-local": "http://hello.shop --from plain/default " + gateways + "-f doctor/not-injected.yaml",
	"explain-blocked-no-sidecar-json":  "http://hello.shop --from plain/default " + meshOnly + "-f doctor/not-injected.yaml -o json",
	"explain-blocked-export":           "http://hello.shop --from plain/default " + meshOnly + "-f doctor/export-to.yaml",
	"explain-blocked-not":              "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/sidecar-fit.yaml -f doctor/policies-fit.yaml",
	"explain-blocked-json":             "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/policies.yaml -o json",
	"explain-blocked-html":             "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/policies.yaml -o html",
	"explain-blocked-service":          "http://half.example.com -f hello.yaml -f service-missing.yaml -f mesh-only.yaml",
	"explain-blocked-service-rewrite":  "http://half.example.com/other -f hello.yaml -f service-missing.yaml -f gateways.yaml",
	"explain-blocked-service-maybe":    "http://half.example.com/ -f service-missing.yaml -f mesh-only.yaml",
	"explain-blocked-service-json":     "http://half.example.com -f hello.yaml -f service-missing.yaml -f mesh-only.yaml -o json",
	"explain-blocked-service-html":     "http://half.example.com -f hello.yaml -f service-missing.yaml -f mesh-only.yaml -o html",
	"explain-blocked-service-mermaid":  "http://half.example.com -f hello.yaml -f service-missing.yaml -f mesh-only.yaml -o mermaid",
	"explain-blocked-mermaid":          "http://hello.shop --from clients/caller " + meshOnly + "-f doctor/policies.yaml -o mermaid",
}

func TestExplainNamesTheBlocker(t *testing.T) {
	t.Chdir("testdata")
	commands := map[string]string{}
	for name, args := range blocked {
		commands[name] = "explain " + strings.TrimSpace(args)
	}
	transcribe(t, commands)
}

// TestDoctorsReasonsAreDescribed: who meets one finds it in the documentation, with the same words.
func TestDoctorsReasonsAreDescribed(t *testing.T) {
	docs := read(t, "../../docs/netmesh.md")
	for _, e := range doctor.Catalogue() {
		if !strings.Contains(docs, "| `"+string(e.Reason)+"` |") || !strings.Contains(docs, " | "+e.Help+" |") {
			t.Errorf("docs/netmesh.md does not say %s: %s", e.Reason, e.Help)
		}
	}
}

// TestFixesMend applies all that the doctor prints, and asks again: nothing that was to be mended
// may be left, and nothing else may have become worse.
func TestFixesMend(t *testing.T) {
	t.Chdir("testdata")
	mended := 0
	for name, args := range examined {
		if strings.Contains(args, " -o ") {
			continue
		}
		before := diagnose(t, args)
		if len(before.fixes) == 0 {
			continue
		}
		mended++
		file := filepath.Join(t.TempDir(), "fixes.yaml")
		if err := os.WriteFile(file, []byte(strings.Join(before.fixes, "\n---\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		after := diagnose(t, args+" -f "+file)
		if len(after.fixes) > 0 {
			t.Errorf("%s: after the fixes these are offered:\n%s", name, after.fixes)
		}
		for _, message := range after.messages {
			if !slices.Contains(before.messages, message) {
				t.Errorf("%s: the fixes bring %s", name, message)
			}
		}
	}
	if mended < 6 {
		t.Errorf("only %d meshes were mended", mended)
	}
}

// diagnosis is what the doctor says in JSON; messages are those of what is not fit.
type diagnosis struct{ fixes, messages []string }

func diagnose(t *testing.T, args string) diagnosis {
	t.Helper()
	out, problems, code := run(nil, strings.Fields("doctor -o json "+args)...)
	var report struct {
		Checks []struct {
			Findings []struct {
				Verdict, Message string
				Fixes            []json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil && code != 2 {
		t.Fatalf("%s: %v: %s", args, err, problems)
	}
	var d diagnosis
	for _, c := range report.Checks {
		for _, f := range c.Findings {
			for _, fix := range f.Fixes {
				if !slices.Contains(d.fixes, string(fix)) {
					d.fixes = append(d.fixes, string(fix))
				}
			}
			if f.Verdict != "Fit" {
				d.messages = append(d.messages, f.Message)
			}
		}
	}
	return d
}

// patient serves a mesh as a cluster.
func patient(t *testing.T, args string) *server {
	t.Helper()
	var files []string
	for _, word := range strings.Fields(args) {
		if word != "-f" {
			files = append(files, filepath.Join("testdata", word))
		}
	}
	return newServer(t, files...)
}

// TestDoctorOfACluster: the same is found in a cluster and in its documents.
func TestDoctorOfACluster(t *testing.T) {
	for _, name := range []string{"doctor", "doctor-gateways", "doctor-kubeflow", "doctor-net-istio", "doctor-observers", "doctor-config-faulty", "doctor-policies", "doctor-gateways-missing"} {
		t.Run(name, func(t *testing.T) {
			s := patient(t, examined[name])
			out, problems, code := run(nil, "doctor")
			want := read(t, filepath.Join("testdata/golden", name+".txt"))
			_, want, _ = strings.Cut(want, "\n")
			want, _, _ = strings.Cut(want, "--- standard error")
			if got := strings.ReplaceAll(out, "cluster test: ", "doctor/config-faulty.yaml:1: "); got != want || problems != "" {
				t.Errorf("exit code %d (-want +got):\n%s%s", code, cmp.Diff(want, got), problems)
			}
			s.small = true
			if again, _, _ := run(nil, "doctor"); again != out {
				t.Error("in pages it finds something else:", cmp.Diff(out, again))
			}
		})
	}
}

// TestDoctorSaysWhatItMayNotRead: what is refused is not known, by the name of the right, and
// all else is found as before.
func TestDoctorSaysWhatItMayNotRead(t *testing.T) {
	for resource, want := range map[string]string{
		"pods":                            "cannot list pods in all namespaces: ",
		"namespaces":                      "cannot list namespaces: ",
		"deployments":                     "cannot list deployments.apps in all namespaces: ",
		"networkpolicies":                 "do: ask for the right to list networkpolicies.networking.k8s.io in all namespaces",
		"sidecars":                        "do: ask for the right to list sidecars.networking.istio.io in all namespaces",
		"virtualservices":                 "virtual services, unrouted hosts: NotKnown",
		"destinationrules":                "destination rules: NotKnown",
		"peerauthentications":             "system sidecars, mtls: NotKnown",
		"authorizationpolicies":           "authorization: NotKnown",
		"mutatingwebhookconfigurations":   "cannot list mutatingwebhookconfigurations.admissionregistration.k8s.io: ",
		"validatingwebhookconfigurations": "webhooks: NotKnown",
		"services":                        "do: ask for the right to list services in all namespaces",
		"gateways":                        "do: ask for the right to get gateways.networking.istio.io knative-serving/knative-",
		"serverlessservices":              "fit\n",
	} {
		for _, missing := range []bool{false, true} {
			if missing && strings.Contains("pods namespaces deployments services serverlessservices gateways", resource) {
				continue // every cluster has those
			}
			t.Run(resource, func(t *testing.T) {
				s := patient(t, gateways)
				s.forbidden = []string{resource}
				if missing {
					s.forbidden, s.missing = nil, []string{resource}
					_, kind, _ := strings.Cut(want, "list ")
					kind, _, _ = strings.Cut(kind, " in ")
					if want = "cluster test has no " + strings.TrimSuffix(kind, ": "); strings.HasSuffix(want, "no ") {
						want += resource
					}
				}
				out, problems, code := run(nil, "doctor")
				if !strings.Contains(out, want) || (code == 0) != (resource == "serverlessservices") || code == 2 || strings.HasPrefix(out, "wrong") {
					t.Errorf("exit code %d, want %q in\n%s%s", code, want, out, problems)
				}
			})
		}
	}
}

// TestMeshConfigByName: who may not list ConfigMaps beside istiod may get the one.
func TestMeshConfigByName(t *testing.T) {
	for name, tt := range map[string]struct {
		hide bool
		says string
	}{
		"it may be had by name": {false, "outbound traffic: sidecars pass on hosts that they do not know (ALLOW_ANY)"},
		"nor by name":           {true, "ask for the right to get configmap istio-system/istio"},
	} {
		s := patient(t, meshOnly)
		s.unlisted = "istio-system"
		if tt.hide {
			s.hidden = "istio-system"
		}
		out, problems, _ := run(nil, "doctor")
		if !strings.Contains(out, tt.says) {
			t.Errorf("%s: %s%s", name, out, problems)
		}
	}
}

// TestExplainSaysWhatItMayNotRead: a blocker that may not be seen is no blocker, and that is told.
func TestExplainSaysWhatItMayNotRead(t *testing.T) {
	s := patient(t, meshOnly+"-f doctor/kubeflow.yaml")
	if out, problems, code := run(nil, "explain", "http://hello.shop", "--from", "clients/caller"); code != 1 || !strings.Contains(out, "Sidecar istio-system/default keeps") || problems != "" {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
	s.forbidden = []string{"sidecars", "networkpolicies"}
	out, problems, code := run(nil, "explain", "http://hello.shop", "--from", "clients/caller")
	if code != 0 || strings.Count(problems, "is not known in full: cannot list") != 2 {
		t.Errorf("exit code %d: %s%s", code, out, problems)
	}
}
