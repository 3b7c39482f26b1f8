package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

const (
	// expected is the size of a body that is announced.
	expected = 1 << 10
	// attempts to see what a busy machine may hide once, and no proxy hides always.
	attempts = 5
	// within is what every mesh carries: Envoy takes 60 KiB of headers, in 100 headers
	// (max_request_headers_kb, max_headers_count), unless it is told otherwise.
	within = 50 << 10
	// most is beyond what a mesh carries.
	most = 128 << 10
	// large is how many headers make up many bytes, and most of them at most.
	large, many = 20, 256
)

// counted is a body that tells whether it was read.
type counted struct {
	io.Reader
	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// expect announces a body. It tells the answer, whether a 100 came, and how much of the body was sent.
func (e end) expect(ctx context.Context, take string) (response *http.Response, came bool, sent int64, err error) {
	var hundred atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { hundred.Store(true) }})
	body := &counted{Reader: content(expected)}
	request, err := e.request(ctx, http.MethodPost, "/take", body)
	if err != nil {
		return nil, false, 0, err
	}
	request.ContentLength = expected
	request.Header.Set("Expect", "100-continue")
	if take != "" {
		request.Header.Set(takeHeader, take)
	}
	response, err = e.client.Do(request)
	return response, hundred.Load(), body.read.Load(), err
}

// tryContinue wants a body to be sent after a 100, and taken.
func tryContinue(ctx context.Context, e end, _ *Result) error {
	response, came, _, err := e.expect(ctx, "yes")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || !came {
		return fmt.Errorf("answered with %s, 100 before: %t", response.Status, came)
	}
	return summed(response, expected)
}

// tryRefusal wants a refusal without a 100, and no body sent. Who passes requests on may send the body when
// nobody answers for a while (Go's own proxy after a second), so one attempt of some is enough; a proxy on the
// way that says 100 by itself says it always.
func tryRefusal(ctx context.Context, e end, r *Result) error {
	var last error
	for range attempts {
		response, came, sent, err := e.expect(ctx, "")
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		r.fact("status", response.StatusCode)
		if response.StatusCode == http.StatusExpectationFailed && !came && sent == 0 {
			return nil
		}
		last = fmt.Errorf("answered with %s, 100 before: %t, bytes sent: %d", response.Status, came, sent)
	}
	return last
}

// headers asks with some headers for some others, and tells how many bytes of headers came to both ends.
func (e end) headers(ctx context.Context, ask, answer filler) (status, sent, got int, err error) {
	request, err := e.request(ctx, http.MethodGet, fmt.Sprintf("/headers?bytes=%d&count=%d", answer.bytes, answer.count), nil)
	if err != nil {
		return 0, 0, 0, err
	}
	ask.fill(request.Header)
	response, err := e.client.Do(request)
	if err != nil {
		return 0, 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK {
		_, err = fmt.Sscan(string(text), &sent)
	}
	got, _ = sizeOf(response.Header)
	return response.StatusCode, sent, got, err
}

// tryHeaders wants what each mesh carries to come whole, both ways.
func tryHeaders(ctx context.Context, e end, _ *Result) error {
	f := filler{bytes: within, count: large}
	status, sent, got, err := e.headers(ctx, f, f)
	if err == nil && (status != http.StatusOK || sent < within || got < within) {
		err = fmt.Errorf("answered with %d; of %d bytes of headers each %d came there and %d back", status, within, sent, got)
	}
	return err
}

// tryLimits looks for the most that is carried, and how more is answered.
func tryLimits(ctx context.Context, e end, r *Result) error {
	none := filler{}
	for _, l := range []struct {
		name        string
		most, step  int
		ask, answer func(n int) filler
	}{
		{"bytes asked", most, 64, bytesOf, nil},
		{"bytes answered", most, 64, nil, bytesOf},
		{"headers asked", many, 1, headersOf, nil},
		{"headers answered", many, 1, nil, headersOf},
	} {
		of := func(f func(int) filler, n int) filler {
			if f == nil {
				return none
			}
			return f(n)
		}
		carried, above, err := limit(l.most, l.step, func(n int) (int, error) {
			return e.status(ctx, of(l.ask, n), of(l.answer, n))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		r.fact(l.name, carried)
		r.fact(l.name+", above", above)
	}
	return nil
}

func bytesOf(n int) filler   { return filler{bytes: n, count: large} }
func headersOf(n int) filler { return filler{count: n} }

// status is what is answered, 0 where the connection is closed instead, again and again.
func (e end) status(ctx context.Context, ask, answer filler) (int, error) {
	for range attempts {
		if status, _, _, err := e.headers(ctx, ask, answer); err == nil {
			return status, nil
		}
	}
	return 0, ctx.Err()
}

// limit is the most, in steps, that is answered with 200, and the status of one step more; 200 where there is
// no limit up to most.
func limit(most, step int, status func(n int) (int, error)) (carried, above int, err error) {
	low, high := 0, most/step+1
	above = http.StatusOK
	for low+1 < high {
		middle := (low + high) / 2
		got, err := status(middle * step)
		if err != nil {
			return 0, 0, err
		}
		if got == http.StatusOK {
			low = middle
			continue
		}
		high, above = middle, got
	}
	if low == 0 {
		return 0, above, errors.New("nothing is carried")
	}
	return low * step, above, nil
}
