package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a program in a pod says of its end counts, not how the stream ended.
func TestHowEnded(t *testing.T) {
	broken := errors.New("stream")
	for _, row := range []struct {
		name, code string
		lost       error
		want       string
	}{
		{"well", "0", nil, ""},
		{"well, and the stream broke", "0", broken, ""},
		{"badly", "2", nil, "exit code 2"},
		{"badly, and the stream said nothing", "1", broken, "exit code 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "exit")
			if err := os.WriteFile(file, []byte(row.code), 0o600); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := howEnded(t.Context(), file, row.lost); err != nil {
				got = err.Error()
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := howEnded(ctx, filepath.Join(t.TempDir(), "never"), broken); err == nil || !strings.Contains(err.Error(), "stream") {
		t.Errorf("without a file: %v, want what became of the stream", err)
	}
}
