package doctor

import (
	"os"
	"strings"
	"testing"

	"github.com/net-mesh/net-mesh/pkg/resources"
)

// What the doctor looks for is what is written. It does not stand on the line, so it has the
// names a second time.
func TestLoopbackIsNamedAsItIsWritten(t *testing.T) {
	for got, want := range map[string]string{
		loopbackLabel: resources.LoopbackLabel, loopbackDigest: resources.DigestAnnotation, loopbackListener: resources.LoopbackListener,
		loopbackSwitch: resources.LoopbackSwitch, loopbackTrial: resources.LoopbackTrial,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for file, words := range map[string][]string{"objects.go": {loopbackProven}, "begin.go": {withdrawnEvent, failingEvent}} {
		text, err := os.ReadFile("../reconciler/loopback/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words {
			if !strings.Contains(string(text), `"`+word+`"`) {
				t.Errorf("%s does not write %s", file, word)
			}
		}
	}
}
