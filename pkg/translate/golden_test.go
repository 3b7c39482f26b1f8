package translate_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/net-mesh/net-mesh/pkg/config"
	"github.com/net-mesh/net-mesh/pkg/finding"
	"github.com/net-mesh/net-mesh/pkg/plan"
	"github.com/net-mesh/net-mesh/pkg/resources"
	"github.com/net-mesh/net-mesh/pkg/snapshot"
	"github.com/net-mesh/net-mesh/pkg/translate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	clusterDomain   = "cluster.local"
	systemNamespace = "knative-serving"
)

// TestGolden translates every case under every mode and compares with what a
// person has read and found right.
func TestGolden(t *testing.T) {
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			t.Run(filepath.Base(dir)+"/"+mode, func(t *testing.T) {
				b, cfg := load(t, dir, mode)
				before := marshalAll(t, b.Ingresses)
				out := printed(t, b, cfg)
				if again := printed(t, b, cfg); !cmp.Equal(out, again) {
					t.Error("Translated twice, it reads otherwise:", cmp.Diff(out, again))
				}
				if after := marshalAll(t, b.Ingresses); after != before {
					t.Error("The input was changed:", cmp.Diff(before, after))
				}
				for _, file := range []string{"", ".plan", ".status"} {
					compare(t, filepath.Join(dir, mode+file+".yaml"), out[file])
				}
				if mode == "gateway" {
					compare(t, filepath.Join(dir, "model.yaml"), out["model"])
				}
			})
		}
	}
}

// TestNoOrphans fails for files no test reads.
func TestNoOrphans(t *testing.T) {
	for _, dir := range glob(t, "testdata/cases/*") {
		known := []string{"in.yaml", "model.yaml"}
		for _, mode := range modes(t) {
			known = append(known, "in."+mode+".yaml", mode+".yaml", mode+".plan.yaml", mode+".status.yaml")
		}
		for _, file := range glob(t, dir+"/*") {
			if !slices.Contains(known, filepath.Base(file)) {
				t.Error("Nobody reads", file)
			}
		}
	}
}

// TestEveryReasonIsExercised fails for a Reason of the catalogue that no case
// shows.
func TestEveryReasonIsExercised(t *testing.T) {
	seen := map[finding.Reason]bool{
		finding.ConfigKeyUnknown: true, // has no Ingress; see package config
	}
	for _, dir := range glob(t, "testdata/cases/*") {
		for _, mode := range modes(t) {
			b, cfg := load(t, dir, mode)
			for _, ing := range b.Ingresses {
				for _, f := range translate.Ingress(snapshot.Ingress(b, cfg, ing)).Findings {
					seen[f.Reason] = true
				}
			}
		}
	}
	for _, dir := range glob(t, loopbacks+"/*") {
		for _, f := range loopback(t, dir, "mesh-only").Findings {
			seen[f.Reason] = true
		}
	}
	for _, e := range finding.Catalogue() {
		if !seen[e.Reason] {
			t.Error("No golden case shows", e.Reason)
		}
	}
}

// status is what a user gets to see.
type status struct {
	Ingress  string         `json:"ingress"`
	Public   []plan.Address `json:"publicLoadBalancer"`
	Private  []plan.Address `json:"privateLoadBalancer"`
	Findings []shown        `json:"findings,omitempty"`
	Refs     []string       `json:"watched,omitempty"`
	// Targets are keys of hosts to which backends lead.
	Targets []string `json:"watchedHosts,omitempty"`
}

type shown struct {
	Reason    finding.Reason    `json:"reason"`
	Severity  finding.Severity  `json:"severity"`
	Condition finding.Condition `json:"condition,omitempty"`
	Path      string            `json:"path,omitempty"`
	Message   string            `json:"message"`
}

// printed renders all results of a bundle, by kind of file.
func printed(t *testing.T, b *snapshot.Bundle, cfg config.Config) map[string]string {
	t.Helper()
	var models, plans, statuses []any
	var sets []resources.Set
	for _, ing := range b.Ingresses {
		s := snapshot.Ingress(b, cfg, ing)
		r := translate.Ingress(s)
		models, plans = append(models, r.Model), append(plans, r.Plan)
		st := status{Ingress: r.Model.Name.String(), Public: r.Plan.Public, Private: r.Plan.Private}
		for _, f := range r.Findings {
			st.Findings = append(st.Findings, shown{f.Reason, f.Severity(), f.Condition(), f.Path, f.Message})
		}
		for _, ref := range s.World.Refs {
			st.Refs = append(st.Refs, ref.Kind+" "+ref.Namespace+"/"+ref.Name)
		}
		st.Targets = s.World.TargetKeys
		statuses = append(statuses, st)
		sets = append(sets, r.Objects)
	}
	return map[string]string{
		"": stream(t, resources.Objects(sets...)), ".plan": stream(t, plans), ".status": stream(t, statuses), "model": stream(t, models),
	}
}

func load(t testing.TB, dir, mode string) (*snapshot.Bundle, config.Config) {
	t.Helper()
	texts := [][]byte{read(t, filepath.Join("testdata/modes", mode+".yaml")), read(t, filepath.Join(dir, "in.yaml"))}
	if more, err := os.ReadFile(filepath.Join(dir, "in."+mode+".yaml")); err == nil {
		texts = append(texts, more)
	}
	b, err := snapshot.ReadBundleStrictly(texts...)
	if err != nil {
		t.Fatalf("%s in mode %s: %v", dir, mode, err)
	}
	if len(b.Ignored) > 0 {
		t.Fatalf("%s holds objects that play no part: %v", dir, b.Ignored)
	}
	cfg, _, err := b.Config(clusterDomain, systemNamespace)
	if err != nil {
		t.Fatal("Config:", err)
	}
	return b, cfg
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Errorf("%s (-want +got); after reading the difference, rewrite with -update:\n%s", file, diff)
	}
}

func modes(t testing.TB) []string {
	var names []string
	for _, file := range glob(t, "testdata/modes/*.yaml") {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return names
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func stream(t *testing.T, documents []any) string {
	t.Helper()
	var out bytes.Buffer
	for i, d := range documents {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}

func marshalAll[T any](t *testing.T, all []T) string {
	t.Helper()
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
