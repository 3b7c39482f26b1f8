package cli

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/net-mesh/net-mesh/pkg/model"
	"github.com/net-mesh/net-mesh/pkg/plan"
)

// question is a request, who makes it, and the entry it comes in by; none means all.
type question struct {
	url     string
	tls     bool
	request model.Request
	via     plan.Entry
	from    *caller
	// single is the host as it was asked for, where it is to be looked up in the caller's
	// namespace.
	single string
}

// within completes a host without a dot, as DNS does for the caller.
func (q question) within(clusterDomain string) question {
	name, _, _ := strings.Cut(q.request.Host, ":")
	if q.from == nil || name == "" || strings.Contains(name, ".") {
		return q
	}
	q.single = name
	q.request.Host = name + "." + q.from.Namespace + ".svc." + clusterDomain
	return q
}

func ask(raw string, a asked) (question, error) {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return question{}, fmt.Errorf("URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return question{}, fmt.Errorf("URL %q: want http://HOST/PATH or https://HOST/PATH", raw)
	}
	q := question{url: raw, tls: u.Scheme == "https", via: plan.Entry(a.via)}
	if namespace, name, ok := strings.Cut(a.via, "/"); a.via != "" && q.via != plan.MeshEntry && (!ok || namespace == "" || name == "") {
		return question{}, fmt.Errorf("--via %q: want mesh, or NAMESPACE/NAME of a Gateway", a.via)
	}
	if q.from, err = callerOf(a.from); err != nil {
		return question{}, err
	}
	// Proxies compare the path as it was sent, and without the query.
	q.request = model.Request{Host: strings.ToLower(u.Hostname()), Path: u.EscapedPath()}
	if q.request.Path == "" {
		q.request.Path = "/"
	}
	for _, h := range a.headers {
		if err := q.add(h); err != nil {
			return question{}, err
		}
	}
	return q, nil
}

// callerOf reads a caller; nil if none is named.
func callerOf(from string) (*caller, error) {
	if from == "" {
		return nil, nil
	}
	namespace, account, ok := strings.Cut(from, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(account)) > 0 {
		return nil, fmt.Errorf("--from %q: want NAMESPACE/SERVICEACCOUNT of a caller", from)
	}
	return &caller{namespace, account}, nil
}

// add adds a header to the request, as it is typed.
func (q *question) add(h string) error {
	name, value, ok := strings.Cut(h, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return fmt.Errorf("-H %q: want 'NAME: VALUE'", h)
	}
	if value = strings.TrimSpace(value); strings.EqualFold(name, "Host") {
		q.request.Host = strings.ToLower(value)
		return nil
	}
	q.request.Headers = append(q.request.Headers, model.KV{Key: name, Value: value})
	return nil
}
