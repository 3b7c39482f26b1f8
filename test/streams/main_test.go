package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// quick are options that need no patience.
var quick = options{lasts: 200 * time.Millisecond, every: 50 * time.Millisecond, size: 1 << 20, patience: time.Minute}

// serving runs a server with the protocols of the real one, and tells its address.
func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	if h != nil {
		s.Handler = h
	}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}

// passing is a proxy of Go's before a server, which passes on what it can, as Knative's beside an application.
func passing(t *testing.T, to string) http.Handler {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	var transports [3]*http.Transport
	for version := 1; version <= 2; version++ {
		transports[version] = http.DefaultTransport.(*http.Transport).Clone()
		transports[version].Protocols = new(http.Protocols)
		transports[version].Protocols.SetHTTP1(version == 1)
		transports[version].Protocols.SetUnencryptedHTTP2(version == 2)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.FlushInterval = -1
	proxy.Transport = roundTripper(func(r *http.Request) (*http.Response, error) { return transports[r.ProtoMajor].RoundTrip(r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
		proxy.ServeHTTP(w, r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ofProtocol are the cases that a protocol has.
func ofProtocol(protocol string, without ...string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(cases)), func(c string) bool {
		return slices.Contains(without, c) ||
			(protocol == "h2c" && slices.Contains([]string{"socket", "socket-silent", "continue", "refusal", "limits"}, c)) ||
			(protocol == "" && strings.HasPrefix(c, "grpc"))
	})
}

func tried(t *testing.T, targets ...Target) []Result {
	t.Helper()
	results, err := run(t.Context(), targets, quick)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// All cases are well where nothing is between, and, but for trailers of requests, where a proxy of Go's is.
func TestCases(t *testing.T) {
	server := serving(t, nil)
	proxy := serving(t, passing(t, server))
	results := tried(t,
		Target{Name: "http", URL: server, Cases: ofProtocol("")}, Target{Name: "h2c", URL: server, Protocol: "h2c", Cases: ofProtocol("h2c")},
		Target{Name: "proxied", URL: proxy, Cases: ofProtocol("", "trailers")}, Target{Name: "proxied h2c", URL: proxy, Protocol: "h2c", Cases: ofProtocol("h2c", "trailers")})
	for _, r := range results {
		want := 0
		switch {
		case strings.HasSuffix(r.Case, "-silent"):
			want = 2
		case cases[r.Case].lasts:
			want = 5
		}
		if !r.OK || r.Events != want {
			t.Errorf("%+v: want it well, with %d events", r, want)
		}
	}
}

// spoilers are what somebody on the way may do, and what notices it.
var spoilers = []struct {
	name, noticed, says string
	spoil               func(http.Handler) http.Handler
}{
	{"streams are ended", "events", "ended after", cutting},
	{"silent streams are ended", "events-silent", "ended after 1 of 2 events", cutting},
	{"bodies are kept until they are whole", "echo", "answered with 504", keeping},
	{"a body is not whole", "download", "bytes", shortening},
	{"a 100 is said by itself", "refusal", "100 before: true", func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusContinue)
			h.ServeHTTP(w, r)
		})
	}},
	{"no upgrades", "socket", "426 Upgrade Required", func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Upgrade")
			h.ServeHTTP(w, r)
		})
	}},
	{"headers are limited", "headers", "answered with 431", func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if bytes, _ := sizeOf(r.Header); bytes > within {
				w.WriteHeader(http.StatusRequestHeaderFieldsTooLarge)
				return
			}
			h.ServeHTTP(w, r)
		})
	}},
	{"trailers are dropped", "trailers", "no trailer", func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(noTrailers{w}, r) })
	}},
}

// cutting ends what has not ended after a while, in the middle of an answer. It does so when the handler has
// returned: to take the connection from under one that writes has no defined outcome.
func cutting(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), quick.lasts/4)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
		if ctx.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	})
}

// keeping passes a request on when all of it has come, if it comes soon.
func keeping(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(quick.lasts)); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		all, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(all))
		h.ServeHTTP(w, r)
	})
}

// shortening answers with one byte less than is asked for.
func shortening(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.RawQuery = "n=1048575"
		h.ServeHTTP(w, r)
	})
}

// noTrailers hides the trailers that are announced.
type noTrailers struct{ http.ResponseWriter }

func (w noTrailers) Write(p []byte) (int, error) {
	w.Header().Del("Trailer")
	return w.ResponseWriter.Write(p)
}

// A case that notices nothing proves nothing.
func TestWhatIsSpoiltIsNoticed(t *testing.T) {
	for _, s := range spoilers {
		t.Run(s.name, func(t *testing.T) {
			r := tried(t, Target{Name: s.name, URL: serving(t, s.spoil(handler())), Cases: []string{s.noticed}})[0]
			if r.OK || !strings.Contains(r.Problem, s.says) {
				t.Errorf("%+v: want it to complain of %q", r, s.says)
			}
		})
	}
}

// The most that is carried is found to the step, and how more is answered.
func TestLimit(t *testing.T) {
	for _, row := range []struct{ allowed, carried, above int }{{1000, 960, 431}, {64, 64, 431}, {1 << 20, 4096, 200}, {0, 0, 431}} {
		carried, above, err := limit(4096, 64, func(n int) (int, error) {
			if n > row.allowed {
				return 431, nil
			}
			return 200, nil
		})
		if carried != row.carried || above != row.above || (err != nil) != (row.carried == 0) {
			t.Errorf("up to %d: got %d, then %d (%v), want %d, then %d", row.allowed, carried, above, err, row.carried, row.above)
		}
	}
}

// Headers are as many and as large as is said.
func TestFiller(t *testing.T) {
	for _, f := range []filler{{}, {bytes: 51200, count: 20}, {bytes: 1003, count: 10}} {
		h := http.Header{}
		f.fill(h)
		if bytes, count := sizeOf(h); bytes != f.bytes || count != f.count {
			t.Errorf("%+v: got %d bytes in %d headers", f, bytes, count)
		}
	}
}

// What is asked for wrongly is refused before anything is tried.
func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{
		nil, {"no-such"}, {"try"}, {"try", "-targets", "[]"}, {"try", "-every", "0s", "-targets", `[{"name":"a"}]`},
		{"try", "-for", "1s", "-every", "2s", "-targets", `[{"name":"a"}]`}, {"try", "-targets", `[{"name":"a","cases":["no-such"]}]`},
	} {
		if err := start(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q: got nil, want an error", args)
		}
	}
	var out bytes.Buffer
	targets := `[{"name":"a","url":"` + serving(t, nil) + `","host":"a.example.org","cases":["upload"]}]`
	if err := start(t.Context(), []string{"try", "-size", "1000", "-targets", targets}, &out); err != nil {
		t.Fatal(err)
	}
	var results []Result
	if err := json.Unmarshal(out.Bytes(), &results); err != nil || len(results) != 1 || !results[0].OK {
		t.Errorf("got %s (%v)", out.String(), err)
	}
}
