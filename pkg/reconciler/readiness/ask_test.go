package readiness

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// headers makes those of an answer from pairs of name and value.
func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// TestAnswers states which answers prove something. What an answer lacks is in the line
// that the condition shows.
func TestAnswers(t *testing.T) {
	redirected := atHTTP
	redirected.Expect, redirected.Hash, redirected.Digest = plan.ExpectRedirect, "", ""
	ours, known := headers(plan.DigestHeader, "d1"), headers(plan.DigestHeader, "d1", header.HashKey, "h1")
	const generation, redirect, backend = " (wanted this generation)", " (wanted a redirect to HTTPS)", " (wanted an answer of the backend)"
	for _, row := range []struct {
		name    string
		probe   plan.Probe
		status  int
		headers http.Header
		did     string // empty: it passes
		wanted  string
	}{
		{name: "a backend that knows probes", probe: atHTTP, status: 200, headers: known},
		{name: "a backend that does not", probe: atHTTP, status: 200, headers: ours},
		{name: "a backend without such a path", probe: atHTTP, status: 404, headers: ours},
		{name: "a backend that wants a login", probe: atHTTP, status: 302, headers: ours},
		{name: "a policy that wants a token", probe: atHTTP, status: 401, headers: ours},
		{name: "a policy that refuses", probe: atHTTP, status: 403, headers: ours},
		{name: "a backend with a fault of its own", probe: atHTTP, status: 500, headers: ours},

		{name: "no route", probe: atHTTP, status: 404, did: "answered 404", wanted: generation},
		{name: "somebody's route", probe: atHTTP, status: 200, did: "answered 200", wanted: generation},
		{name: "the hash alone", probe: atHTTP, status: 200, headers: headers(header.HashKey, "h1"), did: "answered 200", wanted: generation},
		{name: "a login before any route", probe: atHTTP, status: 302, did: "answered 302", wanted: generation},
		{name: "a refusal before any route", probe: atHTTP, status: 401, did: "answered 401", wanted: generation},
		{name: "another refusal before any route", probe: atHTTP, status: 403, did: "answered 403", wanted: generation},
		{name: "a listener that still redirects", probe: atHTTP, status: 301, headers: headers("Location", "https://hello.example.com/healthz"),
			did: "answered 301", wanted: generation},
		{name: "the generation before", probe: atHTTP, status: 200, headers: headers(plan.DigestHeader, "d0", header.HashKey, "h0"),
			did: "answered 200 of another generation", wanted: generation},
		{name: "the same Ingress rendered otherwise", probe: atHTTP, status: 200, headers: headers(plan.DigestHeader, "d0", header.HashKey, "h1"),
			did: "answered 200 of another generation", wanted: generation},
		{name: "the generation before, without a backend", probe: atHTTP, status: 503, headers: headers(plan.DigestHeader, "d0"),
			did: "answered 503 of another generation", wanted: generation},
		{name: "a backend behind another route", probe: atHTTP, status: 200, headers: headers(plan.DigestHeader, "d1", header.HashKey, "h0"),
			did: "answered 200 with another K-Network-Hash", wanted: generation},
		{name: "no backend that can be connected to", probe: atHTTP, status: 502, headers: ours, did: "answered 502 of this generation", wanted: backend},
		{name: "no backend at all", probe: atHTTP, status: 503, headers: ours, did: "answered 503 of this generation", wanted: backend},
		{name: "a backend that does not answer", probe: atHTTP, status: 504, headers: ours, did: "answered 504 of this generation", wanted: backend},
		{name: "no backend, and no route", probe: atHTTP, status: 503, did: "answered 503", wanted: generation},

		{name: "a redirect", probe: redirected, status: 301, headers: headers("Location", "https://hello.example.com/healthz")},
		{name: "a redirect that keeps the method", probe: redirected, status: 308, headers: headers("Location", "https://HELLO.example.com:443/healthz")},
		{name: "a redirect for a moment", probe: redirected, status: 302, headers: headers("Location", "https://hello.example.com/healthz"),
			did: "answered 302", wanted: redirect},
		{name: "a redirect to HTTP", probe: redirected, status: 301, headers: headers("Location", "http://hello.example.com/healthz"),
			did: "answered 301 to another place", wanted: redirect},
		{name: "a redirect elsewhere", probe: redirected, status: 301, headers: headers("Location", "https://login.example.com/"),
			did: "answered 301 to another place", wanted: redirect},
		{name: "a redirect to nowhere", probe: redirected, status: 301, did: "answered 301 to another place", wanted: redirect},
		{name: "a redirect of the backend", probe: redirected, status: 301,
			headers: headers("Location", "https://hello.example.com/healthz", plan.DigestHeader, "d1"), did: "answered 301 of the backend", wanted: redirect},
		{name: "still served in plain", probe: redirected, status: 200, headers: known, did: "answered 200", wanted: redirect},
	} {
		t.Run(row.name, func(t *testing.T) {
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range row.headers {
					w.Header()[name] = values
				}
				w.WriteHeader(row.status)
			}))
			defer gateway.Close()
			address := gateway.Listener.Addr().String()
			want := ""
			if row.did != "" {
				want = "pod " + address + " of Service istio-system/gw, which " + row.did +
					" for http://hello.example.com/healthz at Gateway ns/gateway" + row.wanted
			}
			if got := lineOf(ask(t.Context(), row.probe, address), row.probe, address); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func lineOf(f *fault, p plan.Probe, address string) string {
	if f == nil {
		return ""
	}
	return f.line(p, address)
}

// TestSilence states how it is told that there was no answer: in the same words each time.
func TestSilence(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	rude := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }))
	defer rude.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	https := atHTTP
	https.Scheme = plan.HTTPS
	for _, row := range []struct {
		name, address, want string
		probe               plan.Probe
	}{
		{name: "nobody listens", probe: atHTTP, address: closed.Addr().String(), want: "gave no answer (connection refused)"},
		{name: "no answer in time", probe: atHTTP, address: slow.Listener.Addr().String(), want: "gave no answer (timed out after 1s)"},
		{name: "no TLS", probe: https, address: plain.Listener.Addr().String(), want: "gave no answer (tls: first record does not look like a TLS handshake)"},
		{name: "hung up", probe: atHTTP, address: rude.Listener.Addr().String(), want: "gave no answer (connection closed)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := ask(t.Context(), row.probe, row.address); got == nil || got.did != row.want {
				t.Errorf("got %v, want %s", got, row.want)
			}
		})
	}
}

// TestTheRequest is what Knative's proxies take for a probe, with what the route wants.
func TestTheRequest(t *testing.T) {
	seen := make(chan *http.Request, 1)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(plan.DigestHeader, "d1")
		w.(http.Flusher).Flush()
		seen <- r
		// A body that never ends must not matter.
		<-r.Context().Done()
	}))
	defer gateway.Close()
	p := atHTTP
	p.Path, p.Headers = "/a%2Fb", []model.KV{{Key: "Knative-Serving-Tag", Value: "blue"}}
	if f := ask(t.Context(), p, gateway.Listener.Addr().String()); f != nil {
		t.Fatal(f)
	}
	r := <-seen
	for name, want := range map[string]string{
		header.HashKey: header.HashValueOverride, header.ProbeKey: header.ProbeValue,
		header.UserAgentKey: header.IngressReadinessUserAgent, "Knative-Serving-Tag": "blue",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodGet || r.Host != p.Host || r.RequestURI != p.Path || !r.Close {
		t.Errorf("got %s %s of %s, closed %t", r.Method, r.RequestURI, r.Host, r.Close)
	}
}

// TestServerName: gateways choose the listener by it, and know no other.
func TestServerName(t *testing.T) {
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(plan.DigestHeader, "d1")
	}))
	gateway.Config.ErrorLog = log.New(io.Discard, "", 0)
	gateway.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if hello.ServerName != atHTTP.Host {
			return nil, errors.New("no such listener")
		}
		return nil, nil
	}}
	gateway.StartTLS()
	defer gateway.Close()
	p := atHTTP
	p.Scheme = plan.HTTPS
	if f := ask(t.Context(), p, gateway.Listener.Addr().String()); f != nil {
		t.Error(f)
	}
	p.Host = "other.example.com"
	if f := ask(t.Context(), p, gateway.Listener.Addr().String()); f == nil || !strings.Contains(f.did, "gave no answer (tls: ") {
		t.Errorf("got %v, want the handshake refused", f)
	}
}

// TestAskEndsWithItsContext: nobody waits for the answer of a pod that has gone.
func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer gateway.Close()
	if f := ask(ctx, atHTTP, gateway.Listener.Addr().String()); f == nil || f.did != "gave no answer (context canceled)" {
		t.Errorf("got %v, want the request cancelled", f)
	}
}
