package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// tryEvents counts server-sent events.
func tryEvents(ctx context.Context, e end, r *Result) error {
	response, err := e.ask(ctx, http.MethodGet, fmt.Sprintf("/events?every=%s&count=%d", e.every, e.count()), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var first time.Time
	for lines := bufio.NewScanner(response.Body); ; {
		if !lines.Scan() {
			err = lines.Err()
			break
		}
		data, isEvent := strings.CutPrefix(lines.Text(), "data: ")
		if !isEvent {
			continue
		}
		if data != strconv.Itoa(r.Events) {
			return fmt.Errorf("event %q came after %d events", data, r.Events)
		}
		if r.Events == 0 {
			first = time.Now()
		}
		r.Events++
	}
	if err != nil || r.Events != e.count() {
		return fmt.Errorf("the stream ended after %d of %d events: %w", r.Events, e.count(), orEnd(err))
	}
	if came := time.Since(first); came < e.lasts/2 {
		return fmt.Errorf("%d events came within %s: somebody has kept them back", r.Events, came)
	}
	return nil
}

func orEnd(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

// trySocket has messages of a WebSocket sent back.
func trySocket(ctx context.Context, e end, r *Result) error {
	c, response, err := websocket.DefaultDialer.DialContext(ctx, strings.Replace(e.url("/socket"), "http", "ws", 1), http.Header{"Host": {e.host()}})
	if err != nil {
		if response != nil {
			err = fmt.Errorf("%w: %s", err, response.Status)
		}
		return err
	}
	defer c.Close()
	limit, _ := ctx.Deadline()
	if err := c.SetReadDeadline(limit); err != nil {
		return err
	}
	err = e.events(ctx, r, func(n int) error {
		want := strconv.Itoa(n)
		if err := c.WriteMessage(websocket.TextMessage, []byte(want)); err != nil {
			return err
		}
		_, got, err := c.ReadMessage()
		if err == nil && string(got) != want {
			err = fmt.Errorf("message %q came back as %q", want, got)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), limit); err != nil {
		return err
	}
	_, _, err = c.ReadMessage()
	if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		return fmt.Errorf("the other end did not close as it was asked to: %w", orEnd(err))
	}
	return nil
}

// tryGRPC has one call answered for as long as it lasts, with a status at the end.
func tryGRPC(ctx context.Context, e end, r *Result) error {
	u, err := url.Parse(e.URL)
	if err != nil {
		return err
	}
	address := u.Host
	if u.Port() == "" {
		address += ":80"
	}
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithAuthority(e.host()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	stream, err := testgrpc.NewTestServiceClient(c).FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	err = e.events(ctx, r, func(n int) error {
		size := n + 1
		if err := stream.Send(&testgrpc.StreamingOutputCallRequest{ResponseParameters: []*testgrpc.ResponseParameters{{Size: int32(size)}}}); err != nil && !errors.Is(err, io.EOF) {
			return err // at the end of the stream, the status says why
		}
		got, err := stream.Recv()
		if err == nil && len(got.GetPayload().GetBody()) != size {
			err = fmt.Errorf("%d bytes came, want %d", len(got.GetPayload().GetBody()), size)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the call did not end well: %w", errors.Join(err, ctx.Err()))
	}
	return nil
}

// events has a number of things done at their times.
func (e end) events(ctx context.Context, r *Result, do func(n int) error) error {
	tick := time.NewTicker(e.every)
	defer tick.Stop()
	for n := range e.count() {
		if n > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := do(n); err != nil {
			return fmt.Errorf("after %d of %d events: %w", n, e.count(), err)
		}
		r.Events++
	}
	return nil
}
