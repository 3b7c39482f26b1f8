package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// head is what is sent of a body before the rest, which waits until it has come back.
const head = 1 << 10

func (e end) url(path string) string { return strings.TrimSuffix(e.URL, "/") + path }

// request is one without a body when it is nil.
func (e end) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, e.url(path), body)
	if err == nil {
		request.Host = e.host()
	}
	return request, err
}

// ask sends a request, and wants 200.
func (e end) ask(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := e.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	return e.want200(request)
}

func (e end) want200(request *http.Request) (*http.Response, error) {
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return nil, fmt.Errorf("answered with %s %s", response.Status, text)
	}
	return response, nil
}

// tryEcho sends a body that comes back while it is sent. The rest waits for what came first, so that nobody on
// the way can keep it back. A trailer must come with HTTP/2; with HTTP/1.1 Envoy drops it unless it is told not
// to (enable_trailers of Http1ProtocolOptions).
func tryEcho(ctx context.Context, e end, r *Result) error {
	back := make(chan struct{})
	body, into := io.Pipe()
	go func() { into.CloseWithError(send(ctx, into, e.size, back)) }()
	response, err := e.ask(ctx, http.MethodPost, "/echo", body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	h := sha256.New()
	if _, err := io.CopyN(h, response.Body, head); err != nil {
		return fmt.Errorf("what was sent first did not come back before the rest was sent: %w", err)
	}
	close(back)
	n, err := io.Copy(h, response.Body)
	if n += head; err != nil || n != e.size || sumOf(h) != sumOfContent(e.size) {
		return fmt.Errorf("%d bytes of %d came back, with sum %s: %w", n, e.size, sumOf(h), orEnd(err))
	}
	trailer := response.Trailer.Get(sumTrailer)
	r.fact("trailer", trailer != "")
	if trailer != sumOf(h) && (trailer != "" || e.Protocol == "h2c") {
		return fmt.Errorf("the trailer is %q, want the sum", trailer)
	}
	return nil
}

// send writes a large body; what comes after its head waits for back.
func send(ctx context.Context, w io.Writer, size int64, back <-chan struct{}) error {
	all := content(size)
	if _, err := io.CopyN(w, all, head); err != nil {
		return err
	}
	select {
	case <-back:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := io.Copy(w, all)
	return err
}

func tryUpload(ctx context.Context, e end, _ *Result) error {
	response, err := e.ask(ctx, http.MethodPost, "/sum", content(e.size))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return summed(response, e.size)
}

// summed wants an answer to tell length and sum of the content that was sent.
func summed(response *http.Response, size int64) error {
	got, err := io.ReadAll(response.Body)
	if want := fmt.Sprintf("%d %s", size, sumOfContent(size)); err == nil && string(got) != want {
		err = fmt.Errorf("the other end got %q, want %q", got, want)
	}
	return err
}

func tryDownload(ctx context.Context, e end, _ *Result) error {
	response, err := e.ask(ctx, http.MethodGet, fmt.Sprintf("/bytes?n=%d", e.size), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	h := sha256.New()
	n, err := io.Copy(h, response.Body)
	if err == nil && (n != e.size || sumOf(h) != sumOfContent(e.size)) {
		err = fmt.Errorf("%d bytes came, want %d, or others", n, e.size)
	}
	return err
}

// tryTrailers sends a trailer, and wants the other end to say the same in its own.
func tryTrailers(ctx context.Context, e end, _ *Result) error {
	const value = "said at the end"
	// A body whose length is not known: HTTP/1.1 has no trailer else.
	request, err := e.request(ctx, http.MethodPost, "/trailers", io.MultiReader(bytes.NewReader(make([]byte, head))))
	if err != nil {
		return err
	}
	request.Trailer = http.Header{sentTrailer: {value}}
	response, err := e.want200(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	said, came := response.Trailer[sentTrailer]
	switch {
	case !came:
		return errors.New("no trailer came back")
	case strings.Join(said, ",") != value:
		return fmt.Errorf("the other end got trailer %q, want %q", said, value)
	}
	return nil
}
