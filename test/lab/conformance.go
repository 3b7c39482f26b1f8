package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
	"github.com/net-mesh/net-mesh/test/lab/images"
	"github.com/net-mesh/net-mesh/test/lab/pins"
)

// ConformanceTests are those of Knative's ingress conformance at the pinned version, stable, beta and alpha.
var ConformanceTests = []string{
	"basics", "basics/http2", "dispatch/path", "dispatch/path_and_percentage", "dispatch/percentage", "dispatch/rule",
	"grpc", "grpc/split", "headers/post-split", "headers/pre-split", "headers/probe", "headers/tags", "host-rewrite",
	"hosts/multiple", "httpoption", "ingressclass", "retry", "timeout", "tls", "update",
	"visibility", "visibility/path", "visibility/split", "websocket", "websocket/split",
}

// needsPrivateAddress are the tests that create an ExternalName Service to the private load balancer's
// name, which does not exist where the status says MeshOnly. needsGateway are those of what only a gateway
// does: end TLS, redirect, and be where cluster-local hosts are not served.
var (
	needsPrivateAddress = map[string]bool{"host-rewrite": true, "visibility": true, "visibility/path": true, "visibility/split": true}
	needsGateway        = map[string]bool{"tls": true, "httpoption": true, "visibility": true, "visibility/path": true, "visibility/split": true}
)

// testLimit is what one test may take; the longest needs half a minute on an idle machine.
const testLimit = 6 * time.Minute

// Result is the outcome of one test.
type Result struct {
	Test    string `json:"test"`
	Run     int    `json:"run"`
	Outcome string `json:"outcome"` // pass, fail or skip
	// Fault is how the program ended, if not well.
	Fault   string  `json:"fault,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Report is what a conformance run found.
type Report struct {
	Profile string   `json:"profile"`
	Results []Result `json:"results"`
	Passed  int      `json:"passed"`
	Failed  int      `json:"failed"`
}

// ConformanceOptions say what to run.
type ConformanceOptions struct {
	// Count is how often the whole suite runs.
	Count int
	// Parallel is how many tests run at once.
	Parallel int
	// Only restricts the tests to those named, when not empty.
	Only []string
	// Mode is the profile to set first and to leave set; "" for the current one.
	Mode string
	// File receives the Report as JSON, when not "".
	File string
}

// Conformance runs Knative's ingress conformance against the installed plugin under the current profile,
// each test as a process of its own: the suite panics on some unexpected answers, and would take the
// other tests with it.
func (l *Lab) Conformance(ctx context.Context, o ConformanceOptions) error {
	p, tests, err := o.check(l.profile())
	if err != nil {
		return err
	}
	if err := l.mustBeUp(); err != nil {
		return err
	}
	if o.Mode != "" {
		if err := l.SetProfile(ctx, o.Mode, false); err != nil {
			return err
		}
	}
	dir, err := l.builder().Build(ctx, pins.Conformance())
	if err != nil {
		return err
	}
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	suite, err := l.suiteFor(ctx, c, p, filepath.Join(dir, "conformance.test"))
	if err != nil {
		return err
	}
	report := Report{Profile: p.Name}
	for run := 1; run <= o.Count; run++ {
		results, err := l.conformanceRun(ctx, suite, tests, run, o.Parallel)
		if err != nil {
			return err
		}
		for _, r := range results {
			report.add(r)
		}
		l.Progress.Say("run %d of %d: %d passed, %d failed so far", run, o.Count, report.Passed, report.Failed)
	}
	return l.finish(report, o.File)
}

// check finds the profile and the tests, before anything is changed.
func (o ConformanceOptions) check(current Profile) (Profile, []string, error) {
	p := current
	if o.Mode != "" {
		if err := checkProfile(o.Mode); err != nil {
			return p, nil, err
		}
		p = Profiles[o.Mode]
	}
	if o.Count < 1 {
		return p, nil, fmt.Errorf("conformance %d times proves nothing: want at least once", o.Count)
	}
	tests, err := selectTests(p, o.Only)
	return p, tests, err
}

// conformanceRun runs each test once and returns the results in the order of the tests.
func (l *Lab) conformanceRun(ctx context.Context, s suite, tests []string, run, parallel int) ([]Result, error) {
	results := make([]Result, len(tests))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, parallel))
	for i, test := range tests {
		g.Go(func() (err error) {
			if results[i], err = l.conformanceTest(ctx, s, test, run); err != nil {
				return err
			}
			l.Progress.Say("%-4s  %-30s %6.1fs", results[i].Outcome, test, results[i].Seconds)
			return ctx.Err()
		})
	}
	return results, g.Wait()
}

func (r *Report) add(one Result) {
	r.Results = append(r.Results, one)
	if one.Outcome == "pass" {
		r.Passed++
		return
	}
	r.Failed++
}

func (l *Lab) finish(r Report, file string) error {
	if err := writeJSON(file, r); err != nil {
		return err
	}
	fmt.Printf("%s: %d passed, %d failed\n", r.Profile, r.Passed, r.Failed)
	if r.Failed > 0 {
		return fmt.Errorf("%d conformance tests failed; their output is in %s", r.Failed, l.Host.Path("conformance"))
	}
	return nil
}

func selectTests(p Profile, only []string) ([]string, error) {
	known := map[string]bool{}
	var tests []string
	for _, t := range ConformanceTests {
		if p.noLocalGateway() && p.Config[privateAddress] == "" && needsPrivateAddress[t] || p.MeshOnly && needsGateway[t] {
			continue
		}
		known[t] = true
		tests = append(tests, t)
	}
	if len(only) == 0 {
		return tests, nil
	}
	for _, t := range only {
		if !known[t] {
			return nil, fmt.Errorf("%q is no conformance test of profile %s; there are %s", t, p.Name, strings.Join(tests, ", "))
		}
	}
	return only, nil
}

func (l *Lab) conformanceTest(ctx context.Context, s suite, test string, run int) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, testLimit+time.Minute)
	defer cancel()
	file := l.Host.Path("conformance", fmt.Sprintf("%s-%d.log", strings.ReplaceAll(test, "/", "_"), run))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return Result{}, err
	}
	begin := time.Now()
	// All others are skipped by name: a pattern would take "visibility/path" for a part of "visibility".
	args := append(imagesOf(images.DefaultTag), "-test.v", "-test.run", "^TestIngressConformance$", "-skip-tests", strings.Join(allBut(test), ","),
		"-test.timeout", testLimit.String(), "-enable-alpha", "-enable-beta", "-cluster-suffix", cluster.Domain)
	failed := s(ctx, file, io.Discard, args...)
	r := Result{Test: test, Run: run, Seconds: time.Since(begin).Seconds()}
	out, err := os.ReadFile(file)
	if err != nil {
		return r, errors.Join(failed, err)
	}
	r.Outcome = outcome(out, "TestIngressConformance/"+test, failed)
	if failed != nil {
		r.Fault = failed.Error()
	}
	return r, nil
}

func allBut(test string) []string {
	var others []string
	for _, t := range ConformanceTests {
		if t != test {
			others = append(others, t)
		}
	}
	return others
}

// outcome is pass only when the suite says so of this very test: a pattern that matches nothing passes too.
func outcome(out []byte, name string, err error) string {
	switch {
	case err == nil && bytes.Contains(out, []byte("--- PASS: "+name+" (")):
		return "pass"
	case err == nil && bytes.Contains(out, []byte("--- SKIP: "+name+" (")):
		return "skip"
	}
	return "fail"
}
