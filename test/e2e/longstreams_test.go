//go:build acceptance

package e2e

import (
	"os"
	"testing"
	"time"
)

// Ten minutes of streams, or what STREAMS_FOR says, and bodies of 100 MB.
func TestStreams(t *testing.T) {
	last := 10 * time.Minute
	if said := os.Getenv("STREAMS_FOR"); said != "" {
		var err error
		if last, err = time.ParseDuration(said); err != nil {
			t.Fatalf("STREAMS_FOR: %v", err)
		}
	}
	streams(t, last, 5*time.Second, 100_000_000)
}
