// Command observer tells the controller what the sidecar of its pod says to hosts.
package main

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/net-mesh/net-mesh/pkg/observer"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	look := observer.Look(observer.NoSidecar)
	if os.Getenv(observer.SidecarVariable) != "" {
		look = observer.NewSidecar(cmp.Or(os.Getenv(observer.AddressVariable), observer.DefaultAddress)).Look
	}
	server := observer.Server(":"+cmp.Or(os.Getenv("PORT"), "8080"), look)
	context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(end)
	})
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
