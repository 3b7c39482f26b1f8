package observer

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// mostBytes is more than a Question of MostHosts can have.
	mostBytes = 128 << 10
	// mostQuestions bounds those that are answered at a time.
	mostQuestions = 8
)

// Look puts a Question to a sidecar.
type Look func(context.Context, Question) ([]Sight, error)

// NoSidecar is what an observer sees that was not injected.
func NoSidecar(_ context.Context, q Question) ([]Sight, error) {
	sights := make([]Sight, len(q.Hosts))
	for i := range sights {
		sights[i].Fault = "the pod has no sidecar; have Istio inject one, and restart it"
	}
	return sights, nil
}

// Handler takes Questions at Path, and says at /healthz that it is there.
//
// It is not asked who asks, since callers come past the sidecar: so it does little for
// anybody. It sends GETs without a body to one address only, marked as probes, and tells a
// status and two headers of the answer. It refuses more than a few Questions at a time.
func Handler(look Look) http.Handler {
	mux := http.NewServeMux()
	free := make(chan struct{}, mostQuestions)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+Path, func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			answer(w, r, look)
		default:
			http.Error(w, "too many questions at a time", http.StatusTooManyRequests)
		}
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, look Look) {
	var q Question
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBytes)).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(q.Hosts) > MostHosts || q.Patience <= 0 {
		http.Error(w, "too many hosts, or no patience", http.StatusBadRequest)
		return
	}
	sights, err := look(r.Context(), q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Answer{Sights: sights})
}

// Server is an HTTP server of the Handler, which does not wait for slow callers.
func Server(address string, look Look) *http.Server {
	return &http.Server{
		Addr: address, Handler: Handler(look),
		ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 8 << 10,
	}
}
