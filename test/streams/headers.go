package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// filler makes headers of so many bytes as they travel in HTTP/1.1, in at most so many headers.
type filler struct{ bytes, count int }

// line is what ": " and the end of line take.
const line = 4

func (f filler) fill(h http.Header) {
	for i := range f.count {
		name := fmt.Sprintf("X-Fill-%03d", i)
		left := f.bytes/f.count - len(name) - line
		if i == 0 {
			left += f.bytes % f.count
		}
		h.Set(name, strings.Repeat("x", max(left, 1)))
	}
}

func sizeOf(h http.Header) (bytes, count int) {
	for name, values := range h {
		for _, v := range values {
			bytes += len(name) + len(v) + line
			count++
		}
	}
	return bytes, count
}

// serveHeaders says how many bytes of headers came, and in how many headers, and answers with as many as it is
// asked for.
func serveHeaders(w http.ResponseWriter, r *http.Request) {
	var f filler
	for name, into := range map[string]*int{"bytes": &f.bytes, "count": &f.count} {
		n, err := strconv.Atoi(r.FormValue(name))
		if err != nil {
			http.Error(w, fmt.Sprintf("%s: %v", name, err), http.StatusBadRequest)
			return
		}
		*into = n
	}
	f.fill(w.Header())
	bytes, count := sizeOf(r.Header)
	fmt.Fprintf(w, "%d %d", bytes, count)
}
