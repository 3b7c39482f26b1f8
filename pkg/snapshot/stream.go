package snapshot

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
)

// position is where a document begins. What an API server gave has no lines, only 0.
type position struct {
	file string
	line int
}

// inner is how the YAML parser names a line of the document it was given.
var inner = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:line (\d+): )?`)

// fault says an error with its place: the very line where the parser names one, else
// that where the document begins.
func (p position) fault(err error) error {
	if m := inner.FindStringSubmatch(err.Error()); m != nil {
		if line, bad := strconv.Atoi(m[1]); bad == nil {
			p.line += line - 1
		}
		return fmt.Errorf("%s%s", p.prefix(), err.Error()[len(m[0]):])
	}
	return fmt.Errorf("%s%w", p.prefix(), err)
}

// prefix is the beginning of an error about this place.
func (p position) prefix() string {
	switch {
	case p.line == 0:
		return p.file + ": "
	case p.file == "":
		return fmt.Sprintf("document at line %d: ", p.line)
	}
	return fmt.Sprintf("%s:%d: ", p.file, p.line)
}

// split cuts a stream at its document markers. Every line ends up in exactly one
// part, so that lines can be counted; what follows a marker on its line is content.
func split(text []byte) [][]byte {
	var docs [][]byte
	var current []byte
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\uFEFF"))) {
		if isMarker(line) {
			docs = append(docs, current)
			current = append([]byte("   "), line[3:]...)
			continue
		}
		current = append(current, line...)
	}
	return append(docs, current)
}

// isMarker says whether a line begins a document, or ends one: to the parser both end
// what it reads, and it would pass over the rest in silence.
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	return len(line) == 3 || bytes.ContainsRune([]byte(" \t\r\n"), rune(line[3]))
}
