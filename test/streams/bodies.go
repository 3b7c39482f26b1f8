package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
)

// The headers that say something of what else was sent.
const (
	sumTrailer  = "X-Sum"  // SHA-256 of a body
	sentTrailer = "X-Sent" // what the caller's trailer said
	takeHeader  = "X-Take" // the body is wanted
)

// content is a body that both ends know, and that nobody can make shorter.
func content(size int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{}), size)
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// sumOfContent is the SHA-256 of content.
func sumOfContent(size int64) string {
	h := sha256.New()
	_, _ = io.Copy(h, content(size)) // neither end of it fails
	return sumOf(h)
}

// serveEcho sends a body back while it comes, and its SHA-256 in a trailer.
func serveEcho(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	if err := c.EnableFullDuplex(); err != nil && r.ProtoMajor == 1 {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Trailer", sumTrailer)
	w.WriteHeader(http.StatusOK)
	h, buffer := sha256.New(), make([]byte, 64<<10)
	for c.Flush() == nil {
		n, err := r.Body.Read(buffer)
		h.Write(buffer[:n])
		if _, failed := w.Write(buffer[:n]); failed != nil {
			return
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler) // so that the caller does not take this for the end
		}
	}
	w.Header().Set(sumTrailer, sumOf(h))
}

// serveSum says how long a body was, and its SHA-256.
func serveSum(w http.ResponseWriter, r *http.Request) {
	h := sha256.New()
	n, err := io.Copy(h, r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, "%d %s", n, sumOf(h))
}

// serveBytes answers with n bytes of content.
func serveBytes(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.FormValue("n"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(n, 10))
	_, _ = io.Copy(w, content(n)) // the caller notices what is missing
}

// serveTrailers answers with a trailer that says what the caller's said.
func serveTrailers(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Trailer", sentTrailer)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintln(w, "see the trailer")
	w.Header().Set(sentTrailer, r.Trailer.Get(sentTrailer))
}

// serveTake reads a body, which makes the server say 100, if a header says so, and refuses it otherwise.
func serveTake(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(takeHeader) == "" {
		http.Error(w, "nobody wants it", http.StatusExpectationFailed)
		return
	}
	serveSum(w, r)
}
