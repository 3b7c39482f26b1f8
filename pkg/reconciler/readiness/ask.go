package readiness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"knative.dev/networking/pkg/http/header"
	"knative.dev/networking/pkg/prober"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// timeout is of a whole request. Gateways and Knative's proxies answer probes themselves.
const timeout = time.Second

// ask sends a probe to one address of a pod. It returns nil if the answer proves what the
// probe is about.
func ask(ctx context.Context, p plan.Probe, address string) *fault {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options := []any{
		prober.WithHeader(header.UserAgentKey, header.IngressReadinessUserAgent),
		prober.WithHeader(header.ProbeKey, header.ProbeValue),
	}
	for _, h := range p.Headers {
		options = append(options, prober.WithHeader(h.Key, h.Value))
	}
	options = append(options, prober.WithHeader(header.HashKey, header.HashValueOverride), verifier(p))
	passed, err := prober.Do(ctx, to(address), p.URL(), options...)
	if passed {
		return nil
	}
	f := &fault{}
	if !errors.As(err, &f) {
		f = &fault{did: fmt.Sprintf("gave no answer (%s)", reason(err)), wanted: wanted(p)}
	}
	return f
}

// to connects to the address whatever the URL says, which is left for Host and server
// name. A connection is used once: kept ones would hold activators and old pods busy.
func to(address string) http.RoundTripper {
	return headersOnly{&http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
		DisableKeepAlives: true,
		// The question is whether it is routed. Whether the certificate is one that a
		// caller trusts is between those who issued it and the caller.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
}

// headersOnly does not read bodies: a backend that does not know probes may answer with
// one that never ends.
type headersOnly struct{ transport *http.Transport }

func (h headersOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := h.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	resp.Body = http.NoBody
	return resp, nil
}

// reason is the cause of a failure in words that are the same each time.
func reason(err error) string {
	if slow := net.Error(nil); errors.As(err, &slow) && slow.Timeout() {
		return "timed out after " + timeout.String()
	}
	return observer.Reason(err)
}
