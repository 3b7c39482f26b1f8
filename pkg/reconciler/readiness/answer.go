package readiness

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"knative.dev/networking/pkg/http/header"
	"knative.dev/networking/pkg/prober"

	"github.com/net-mesh/net-mesh/pkg/observer"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// fault is what a pod did instead of proving, and what was wanted of it.
type fault struct{ did, wanted string }

// Error implements error, as prober.Verifier wants it.
func (f *fault) Error() string { return f.did + "; wanted " + f.wanted }

// line tells of a fault as of something that is waited for.
func (f *fault) line(p plan.Probe, address string) string {
	return fmt.Sprintf("pod %s of Service %s, which %s for %s at Gateway %s (wanted %s)",
		address, p.Service, f.did, p.URL(), p.Entry, f.wanted)
}

// lineOf tells of the fault of a sidecar.
func (f *fault) lineOf(by viewer, p plan.Probe) string {
	return fmt.Sprintf("%s, which %s for %s in the mesh (wanted %s)", by, f.did, p.URL(), f.wanted)
}

// unanswered is what is known before the first answer.
func unanswered(p plan.Probe) fault { return fault{did: "has not answered yet", wanted: wanted(p)} }

const thisGeneration = "this generation"

func wanted(p plan.Probe) string {
	if p.Expect == plan.ExpectRedirect {
		return "a redirect to HTTPS"
	}
	return thisGeneration
}

func verifier(p plan.Probe) prober.Verifier {
	judge := generation
	if p.Expect == plan.ExpectRedirect {
		judge = redirect
	}
	return func(r *http.Response, _ []byte) (bool, error) {
		if f := judge(p, r); f != nil {
			return false, f
		}
		return true, nil
	}
}

// generation passes an answer that the wanted VirtualService gave. The proxy sets the
// digest on every answer of its probe routes, its own refusals included, and no backend
// can change it. So the digest is the proof, and the status is left to the backend: one
// that does not know probes may answer 404 or want a login. Three it may not be, because
// they say that nobody was there to answer; a request would fare no better.
func generation(p plan.Probe, r *http.Response) *fault {
	digest, hash := r.Header.Get(plan.DigestHeader), r.Header.Get(header.HashKey)
	did := fmt.Sprintf("answered %d", r.StatusCode)
	switch {
	case digest == "":
		return &fault{did: did, wanted: thisGeneration}
	case digest != p.Digest:
		return &fault{did: did + " of another generation", wanted: thisGeneration}
	case hash != "" && hash != p.Hash:
		return &fault{did: did + " with another " + header.HashKey, wanted: thisGeneration}
	}
	switch r.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &fault{did: did + " of this generation", wanted: "an answer of the backend"}
	}
	return nil
}

// direct passes an answer that the sidecar gave by itself: status, hash and digest are all
// of the wanted VirtualService, since no backend had a part in it.
func direct(p plan.Probe, s observer.Sight) *fault {
	did := fmt.Sprintf("answered %d", s.Status)
	switch {
	case s.Fault != "":
		did = "gave no answer (" + s.Fault + ")"
	case s.Digest != "" && s.Digest != p.Digest:
		did += " of another generation"
	case s.Digest == p.Digest && s.Hash != p.Hash:
		did += " with another " + header.HashKey
	case s.Digest == p.Digest && s.Status == http.StatusOK:
		return nil
	}
	return &fault{did: did, wanted: thisGeneration}
}

// redirect passes the redirect of a listener. It precedes all routes, so it has no digest;
// with one it is the backend's, and the listener is not there yet.
func redirect(p plan.Probe, r *http.Response) *fault {
	did := fmt.Sprintf("answered %d", r.StatusCode)
	location, err := url.Parse(r.Header.Get("Location"))
	switch {
	case r.StatusCode != http.StatusMovedPermanently && r.StatusCode != http.StatusPermanentRedirect:
	case err != nil || location.Scheme != string(plan.HTTPS) || !strings.EqualFold(location.Hostname(), p.Host):
		did += " to another place"
	case r.Header.Get(plan.DigestHeader) != "":
		did += " of the backend"
	default:
		return nil
	}
	return &fault{did: did, wanted: wanted(p)}
}
