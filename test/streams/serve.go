package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// newServer answers HTTP/1.1 and HTTP/2 without TLS at one port, gRPC among it.
func newServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{Handler: handler(), Protocols: protocols, ReadHeaderTimeout: time.Minute}
}

func handler() http.Handler {
	calls := grpc.NewServer()
	testgrpc.RegisterTestServiceServer(calls, talker{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.Host) })
	mux.HandleFunc("GET /events", serveEvents)
	mux.HandleFunc("GET /socket", serveSocket)
	mux.HandleFunc("POST /echo", serveEcho)
	mux.HandleFunc("POST /sum", serveSum)
	mux.HandleFunc("GET /bytes", serveBytes)
	mux.HandleFunc("POST /trailers", serveTrailers)
	mux.HandleFunc("POST /take", serveTake)
	mux.HandleFunc("GET /headers", serveHeaders)
	mux.Handle("POST /grpc.testing.TestService/", calls)
	return mux
}

// serveEvents sends server-sent events with numbers: the first at once, each other one some time after.
func serveEvents(w http.ResponseWriter, r *http.Request) {
	every, err := time.ParseDuration(r.FormValue("every"))
	count, errToo := strconv.Atoi(r.FormValue("count"))
	if err != nil || errToo != nil || every <= 0 {
		http.Error(w, "say every and count", http.StatusBadRequest)
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	for i := range count {
		if i > 0 {
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
		if _, err := fmt.Fprintf(w, "data: %d\n\n", i); err != nil || flusher.Flush() != nil {
			return
		}
	}
}

// serveSocket sends back each message of a WebSocket.
func serveSocket(w http.ResponseWriter, r *http.Request) {
	c, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer c.Close()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// talker is gRPC's own service for tests of interoperability, as far as it is needed: an answer of the wanted
// size for each request, until the caller ends.
type talker struct {
	testgrpc.UnimplementedTestServiceServer
}

// FullDuplexCall answers while requests come.
func (talker) FullDuplexCall(stream testgrpc.TestService_FullDuplexCallServer) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, p := range request.GetResponseParameters() {
			body := []byte(strings.Repeat("x", int(p.GetSize())))
			if err := stream.Send(&testgrpc.StreamingOutputCallResponse{Payload: &testgrpc.Payload{Body: body}}); err != nil {
				return err
			}
		}
	}
}
