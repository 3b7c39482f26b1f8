package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Target is where cases are tried.
type Target struct {
	// Name tells targets apart in the report.
	Name string `json:"name"`
	// URL is the root of what is asked; its host is looked up and dialled.
	URL string `json:"url"`
	// Host is the host asked for, that of URL when "".
	Host string `json:"host,omitempty"`
	// Protocol is "h2c" for HTTP/2, "" for HTTP/1.1.
	Protocol string `json:"protocol,omitempty"`
	// Cases are names of cases.
	Cases []string `json:"cases"`
}

// Result is what came of one case at one target.
type Result struct {
	Target string `json:"target"`
	Case   string `json:"case"`
	OK     bool   `json:"ok"`
	// Problem is why it is not.
	Problem string `json:"problem,omitempty"`
	// Lasted is how long it took, in nanoseconds.
	Lasted time.Duration `json:"lasted"`
	// Events are those of a stream that came.
	Events int `json:"events,omitempty"`
	// Facts are what may differ from mesh to mesh, to be compared between ways.
	Facts map[string]string `json:"facts,omitempty"`
}

func (r *Result) fact(name string, value any) {
	if r.Facts == nil {
		r.Facts = map[string]string{}
	}
	r.Facts[name] = fmt.Sprint(value)
}

type options struct {
	// lasts is how long streams do, every the time between two of their events.
	lasts, every time.Duration
	// size is that of a large body, in bytes.
	size int64
	// patience is the limit of a case, beside the time it lasts.
	patience time.Duration
}

// count is of a stream's events: the first comes at once.
func (o options) count() int { return int(o.lasts/o.every) + 1 }

// silent has an event at the beginning, one at the end, and none between.
func (o options) silent() options {
	o.every = o.lasts
	return o
}

// cases are what can be tried. Those that last are tried side by side, the others one after the other.
var cases = map[string]struct {
	lasts bool
	try   func(context.Context, end, *Result) error
}{
	"events":        {true, tryEvents},
	"events-silent": {true, silently(tryEvents)},
	"socket":        {true, trySocket},
	"socket-silent": {true, silently(trySocket)},
	"grpc":          {true, tryGRPC},
	"grpc-silent":   {true, silently(tryGRPC)},
	"echo":          {false, tryEcho},
	"upload":        {false, tryUpload},
	"download":      {false, tryDownload},
	"trailers":      {false, tryTrailers},
	"continue":      {false, tryContinue},
	"refusal":       {false, tryRefusal},
	"headers":       {false, tryHeaders},
	"limits":        {false, tryLimits},
}

func silently(do func(context.Context, end, *Result) error) func(context.Context, end, *Result) error {
	return func(ctx context.Context, e end, r *Result) error {
		e.options = e.silent()
		return do(ctx, e, r)
	}
}

// end is the caller's end of a target.
type end struct {
	Target
	options
	client *http.Client
}

func newEnd(t Target, o options) end {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(t.Protocol == "")
	protocols.SetUnencryptedHTTP2(t.Protocol == "h2c")
	return end{Target: t, options: o, client: &http.Client{Transport: &http.Transport{
		Protocols: protocols,
		// Whoever expects a 100 waits for it.
		ExpectContinueTimeout: o.patience,
		// Headers go in one piece: who is refused while writing may miss why.
		WriteBufferSize: 1 << 20, MaxResponseHeaderBytes: 10 << 20,
	}}}
}

// host is what is asked for.
func (e end) host() string {
	if u, err := url.Parse(e.URL); err == nil && e.Host == "" {
		return u.Host
	}
	return e.Host
}

// run tries every case of every target. A case that nobody knows is an error, and nothing is tried then.
func run(ctx context.Context, targets []Target, o options) ([]Result, error) {
	var results []*Result
	var ends []end
	for _, t := range targets {
		for _, c := range t.Cases {
			if cases[c].try == nil {
				return nil, fmt.Errorf("%s: no case is called %q", t.Name, c)
			}
			results = append(results, &Result{Target: t.Name, Case: c})
			ends = append(ends, newEnd(t, o))
		}
	}
	var under sync.WaitGroup
	for i, r := range results {
		if cases[r.Case].lasts {
			under.Go(func() { r.try(ctx, ends[i], o.lasts+o.patience) })
		}
	}
	for i, r := range results {
		if !cases[r.Case].lasts {
			r.try(ctx, ends[i], o.patience)
		}
	}
	under.Wait()
	all := make([]Result, len(results))
	for i, r := range results {
		all[i] = *r
	}
	return all, nil
}

func (r *Result) try(ctx context.Context, e end, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer e.client.CloseIdleConnections()
	begin := time.Now()
	err := cases[r.Case].try(ctx, e, r)
	r.Lasted, r.OK = time.Since(begin), err == nil
	if err != nil {
		r.Problem = err.Error()
	}
}
