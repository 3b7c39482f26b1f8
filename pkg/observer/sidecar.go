package observer

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/networking/pkg/http/header"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// Sidecar is that of this pod.
type Sidecar struct {
	url    string
	client *http.Client
}

// NewSidecar asks at an address, such as DefaultAddress.
func NewSidecar(address string) *Sidecar {
	return &Sidecar{
		url: "http://" + address + "/healthz",
		client: &http.Client{
			// Without a proxy of the environment: the sidecar is to be asked and nobody else.
			Transport: &http.Transport{MaxIdleConnsPerHost: MostHosts, IdleConnTimeout: time.Minute, DisableCompression: true},
			// A redirect is an answer.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Look asks for all hosts at once. It never fails: what goes wrong is in the Sights.
func (s *Sidecar) Look(ctx context.Context, q Question) ([]Sight, error) {
	sights := make([]Sight, len(q.Hosts))
	var all sync.WaitGroup
	for i, host := range q.Hosts {
		all.Go(func() { sights[i] = s.look(ctx, host, min(q.Patience, MostPatience)) })
	}
	all.Wait()
	return sights, nil
}

// look sends what only the direct answer of a mesh VirtualService answers rightly. Whatever
// else it reaches is told to be a probe.
func (s *Sidecar) look(ctx context.Context, host string, patience time.Duration) Sight {
	if len(validation.IsDNS1123Subdomain(host)) > 0 && !plan.OfLoopback(host) {
		return Sight{Fault: "not the name of a host"}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return Sight{Fault: Reason(err)}
	}
	r.Host = host
	r.Header.Set(header.UserAgentKey, header.IngressReadinessUserAgent)
	r.Header.Set(header.ProbeKey, header.ProbeValue)
	r.Header.Set(header.HashKey, header.HashValueOverride)
	resp, err := s.client.Do(r)
	if err != nil {
		return Sight{Fault: Reason(err)}
	}
	// Bodies are not read: one may never end.
	_ = resp.Body.Close()
	return Sight{Status: resp.StatusCode, Hash: resp.Header.Get(header.HashKey), Digest: resp.Header.Get(plan.DigestHeader)}
}

// Reason is the cause of a failed request without what differs each time, such as our own
// port, so that equal faults are told in equal words.
func Reason(err error) string {
	if slow := net.Error(nil); errors.As(err, &slow) && slow.Timeout() {
		return "timed out"
	}
	if number := syscall.Errno(0); errors.As(err, &number) {
		return number.Error()
	}
	if errors.Is(err, io.EOF) {
		return "connection closed"
	}
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		return op.Err.Error()
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
