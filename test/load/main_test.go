package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Each target's answers are counted under its own name, and each kind of failure by itself.
func TestRun(t *testing.T) {
	var asked atomic.Int64
	until, stop := io.Pipe()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 50 {
			_ = stop.Close()
		}
		if r.Host == "missing.example.com" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, "I am %s", r.Host)
	}))
	defer server.Close()
	reports := run([]Target{
		{Name: "a", URL: server.URL, Host: "a.example.com", Want: "I am a"},
		{Name: "wrong", URL: server.URL, Host: "b.example.com", Want: "I am a"},
		{Name: "missing", URL: server.URL, Host: "missing.example.com"},
		{Name: "nameless", URL: "http://no-such-name.invalid/"},
		{Name: "deaf", URL: "http://127.0.0.1:1/"},
	}, 500, until)
	for i, want := range []struct{ name, kind string }{{"a", ""}, {"wrong", "answer"}, {"missing", "404"}, {"nameless", "dns"}, {"deaf", "connection"}} {
		got := reports[i]
		if got.Name != want.name || got.Sent == 0 {
			t.Errorf("report %d is %+v, want some requests of %s", i, got, want.name)
		}
		if want.kind == "" {
			if len(got.Failures) != 0 {
				t.Errorf("%s: %+v, want no failure", got.Name, got.Failures)
			}
			continue
		}
		if len(got.Failures) != 1 || got.Failures[0].Kind != want.kind || got.Failures[0].Count != got.Sent {
			t.Errorf("%s: %+v, want %d failures of kind %s", got.Name, got.Failures, got.Sent, want.kind)
		}
	}
}

// What is measured ends by itself, over few connections, and has its quantiles in order.
func TestMeasure(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "I am %s", r.Host)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	got := measure([]Target{{Name: "a", URL: server.URL, Host: "a.example.com", Want: "I am a"}}, 200, time.Second)[0]
	if got.Sent != 200 || len(got.Failures) != 0 || connections.Load() >= int64(got.Sent) {
		t.Errorf("%+v over %d connections, want 200 requests over fewer, and no failure", got, connections.Load())
	}
	if q := got.Took; q == nil || q.P50 <= 0 || q.P99 < q.P50 || q.Max < q.P99 {
		t.Errorf("it took %+v, want quantiles in order", q)
	}
}
