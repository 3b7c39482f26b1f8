// Command load sends requests at a steady rate to all targets in turn, and reports as JSON every answer that was
// not the expected one. Until its standard input ends, each request has a connection and a name lookup of its
// own, so that no gap hides behind a connection that was open before. With -for it ends by itself, keeps
// connections, and tells how long answers took.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Target is where requests go.
type Target struct {
	// Name tells targets apart in the report.
	Name string `json:"name"`
	// URL is what is asked; its host is looked up and dialled.
	URL string `json:"url"`
	// Host is the host asked for, that of URL when "".
	Host string `json:"host,omitempty"`
	// Want is a part of the body that tells the right backend.
	Want string `json:"want,omitempty"`
}

// Report says what came of the requests to one target.
type Report struct {
	Name string `json:"name"`
	Sent int    `json:"sent"`
	// Failures are in the order in which their kinds first came.
	Failures []Failure `json:"failures,omitempty"`
	// Took is how long answers took, of whatever kind; nil where it was not measured.
	Took *Took `json:"took,omitempty"`
}

// Took are quantiles, in nanoseconds.
type Took struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// Failure is one kind of wrong answer, with the time of the first and of the last.
type Failure struct {
	// Kind is "dns", "connection", "answer" for a wrong body, or the status as a number.
	Kind  string    `json:"kind"`
	Count int       `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Text is the first error or body.
	Text string `json:"text"`
}

// patience is the limit of one request.
const patience = 10 * time.Second

func main() {
	rate := flag.Int("rate", 50, "requests per second, to all targets together")
	last := flag.Duration("for", 0, "how long, and measure; 0: until standard input ends")
	targets := flag.String("targets", "", `JSON list of {"name","url","host","want"}`)
	flag.Parse()
	var all []Target
	if err := json.Unmarshal([]byte(*targets), &all); err != nil || len(all) == 0 {
		log.Fatalf("--targets is not a JSON list of targets: %v", err)
	}
	var reports []Report
	if *last > 0 {
		reports = measure(all, *rate, *last)
	} else {
		reports = run(all, *rate, os.Stdin)
	}
	if err := json.NewEncoder(os.Stdout).Encode(reports); err != nil {
		log.Fatal(err)
	}
}

// run sends until the reader ends.
func run(targets []Target, rate int, until io.Reader) []Report {
	attacker := vegeta.NewAttacker(vegeta.KeepAlive(false), vegeta.HTTP2(false), vegeta.Timeout(patience), vegeta.Redirects(vegeta.NoFollow))
	go func() {
		_, _ = io.Copy(io.Discard, until)
		attacker.Stop()
	}()
	return send(attacker, targets, rate, 0, func(int, *vegeta.Result) {})
}

// measure sends for a time, over connections that are kept.
func measure(targets []Target, rate int, last time.Duration) []Report {
	attacker := vegeta.NewAttacker(vegeta.HTTP2(false), vegeta.Timeout(patience), vegeta.Redirects(vegeta.NoFollow))
	metrics := make([]vegeta.Metrics, len(targets))
	reports := send(attacker, targets, rate, last, func(i int, r *vegeta.Result) { metrics[i].Add(r) })
	for i := range reports {
		metrics[i].Close()
		of := metrics[i].Latencies
		reports[i].Took = &Took{P50: of.P50, P99: of.P99, Max: of.Max}
	}
	return reports
}

// send sends for a time, or until the attacker is stopped where it is 0, and shows each result, with the number of
// its target.
func send(attacker *vegeta.Attacker, targets []Target, rate int, last time.Duration, show func(int, *vegeta.Result)) []Report {
	reports := make([]Report, len(targets))
	asks := make([]vegeta.Target, len(targets))
	for i, t := range targets {
		reports[i].Name = t.Name
		asks[i] = vegeta.Target{Method: http.MethodGet, URL: t.URL, Header: http.Header{}}
		if t.Host != "" {
			asks[i].Header.Set("Host", t.Host)
		}
	}
	pace := vegeta.Rate{Freq: rate, Per: time.Second}
	for r := range attacker.Attack(vegeta.NewStaticTargeter(asks...), pace, last, "") {
		// The static targeter goes round: request n is for target n modulo their number.
		i := int(r.Seq % uint64(len(targets)))
		reports[i].add(r, targets[i].Want)
		show(i, r)
	}
	return reports
}

func (r *Report) add(got *vegeta.Result, want string) {
	r.Sent++
	kind, text := judge(got, want)
	if kind == "" {
		return
	}
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Kind == kind {
			f.Count++
			f.Last = got.Timestamp
			return
		}
	}
	r.Failures = append(r.Failures, Failure{Kind: kind, Count: 1, First: got.Timestamp, Last: got.Timestamp, Text: text})
}

func judge(got *vegeta.Result, want string) (kind, text string) {
	switch {
	case got.Code == http.StatusOK && bytes.Contains(got.Body, []byte(want)):
		return "", ""
	case got.Code == http.StatusOK:
		return "answer", string(got.Body)
	case got.Code != 0:
		return fmt.Sprint(got.Code), string(got.Body)
	case strings.Contains(got.Error, "lookup "):
		return "dns", got.Error
	default:
		return "connection", got.Error
	}
}
