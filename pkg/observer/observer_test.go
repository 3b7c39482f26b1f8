package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/net-mesh/net-mesh/pkg/plan"
)

// sidecar answers probes for the hosts it has been told of.
func sidecar(t *testing.T, digests map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest, known := digests[r.Host]
		switch {
		case !known || r.Header.Get("K-Network-Probe") != "probe" || r.Header.Get("K-Network-Hash") != "override":
			http.NotFound(w, r)
		case digest == "silent":
			<-r.Context().Done()
		case digest == "moved":
			http.Redirect(w, r, "https://"+r.Host+"/", http.StatusMovedPermanently)
		default:
			w.Header().Set(plan.DigestHeader, digest)
			w.Header().Set("K-Network-Hash", "h1")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func address(s *httptest.Server) string { return s.Listener.Addr().String() }

// TestThroughAnObserver has each kind of answer, as an observer tells it. Silence is asked for apart: whoever
// answers has all the time there is.
func TestThroughAnObserver(t *testing.T) {
	data := sidecar(t, map[string]string{"a.example.com": "d1", "slow.example.com": "silent", "moved.example.com": "moved", plan.SwitchHost: "d2"})
	pod := httptest.NewServer(Handler(NewSidecar(address(data)).Look))
	t.Cleanup(pod.Close)
	for _, asked := range []struct {
		q    Question
		want []Sight
	}{
		{q: Question{Patience: MostPatience, Hosts: []string{
			"a.example.com", "unknown.example.com", "moved.example.com", "a.example.com:8080", "a/b", "_a.example.com", plan.SwitchHost,
		}}, want: []Sight{
			{Status: 200, Hash: "h1", Digest: "d1"}, {Status: 404}, {Status: 301},
			{Fault: "not the name of a host"}, {Fault: "not the name of a host"}, {Fault: "not the name of a host"}, {Status: 200, Digest: "d2", Hash: "h1"},
		}},
		{q: Question{Patience: time.Millisecond, Hosts: []string{"slow.example.com"}}, want: []Sight{{Fault: "timed out"}}},
	} {
		got, err := NewClient().Ask(t.Context(), address(pod), asked.q)
		if diff := cmp.Diff(asked.want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	}
}

// TestNobodyAtTheAddress is how it looks without a sidecar, where somebody refuses.
func TestNobodyAtTheAddress(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	got, err := NewSidecar(closed.Addr().String()).Look(t.Context(), Question{Hosts: []string{"a"}, Patience: time.Second})
	if diff := cmp.Diff([]Sight{{Fault: "connection refused"}}, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

// TestAllHostsAreAskedAtOnce: the silence of many costs as much as that of one. In a bubble of synctest time
// passes only when all wait, so no answer is late for want of a processor.
func TestAllHostsAreAskedAtOnce(t *testing.T) {
	var hosts []string
	for i := range MostHosts {
		hosts = append(hosts, fmt.Sprintf("h%d", i))
	}
	synctest.Test(t, func(t *testing.T) {
		// Another order would be answered by nobody: each request waits for all others.
		var met sync.WaitGroup
		met.Add(len(hosts))
		s := &Sidecar{url: "http://sidecar/healthz", client: &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
			met.Done()
			met.Wait()
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})}}
		sights, _ := s.Look(t.Context(), Question{Hosts: hosts, Patience: time.Minute})
		if want := slices.Repeat([]Sight{{Status: http.StatusOK}}, MostHosts); !cmp.Equal(sights, want) {
			t.Errorf("%d answers for %d hosts, or not all good: %v", len(sights), MostHosts, sights)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheHandlerRefuses(t *testing.T) {
	many, _ := json.Marshal(Question{Hosts: slices.Repeat([]string{"a"}, MostHosts+1), Patience: 1})
	for _, row := range []struct {
		name, method, path, body string
		status                   int
	}{
		{name: "is there", method: http.MethodGet, path: "/healthz", status: 200},
		{name: "a question", method: http.MethodPost, path: Path, body: `{"hosts":["a"],"patience":1}`, status: 200},
		{name: "no JSON", method: http.MethodPost, path: Path, body: `hosts`, status: 400},
		{name: "no patience", method: http.MethodPost, path: Path, body: `{"hosts":["a"]}`, status: 400},
		{name: "too many hosts", method: http.MethodPost, path: Path, body: string(many), status: 400},
		{name: "too long", method: http.MethodPost, path: Path, body: `{"hosts":["` + strings.Repeat("a", mostBytes) + `"],"patience":1}`, status: 400},
		{name: "another method", method: http.MethodGet, path: Path, status: 405},
		{name: "another path", method: http.MethodPost, path: "/", status: 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Handler(NoSidecar).ServeHTTP(w, httptest.NewRequest(row.method, row.path, strings.NewReader(row.body)))
			if w.Code != row.status {
				t.Errorf("got %d, want %d", w.Code, row.status)
			}
		})
	}
}

// TestFewQuestionsAtATime: whoever else can reach an observer cannot have it flood the mesh.
func TestFewQuestionsAtATime(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	h := Handler(func(context.Context, Question) ([]Sight, error) {
		begun <- struct{}{}
		<-end
		return nil, nil
	})
	ask := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(`{"patience":1}`)))
		return w.Code
	}
	var asking sync.WaitGroup
	for range mostQuestions {
		asking.Go(func() { ask() })
	}
	for range mostQuestions {
		<-begun
	}
	if got := ask(); got != http.StatusTooManyRequests {
		t.Errorf("one more was answered %d", got)
	}
	close(end)
	asking.Wait()
}

// TestWhatIsNoAnswer states what the Client takes for a failure of the observer.
func TestWhatIsNoAnswer(t *testing.T) {
	for body, want := range map[string]string{
		`{"sights":[{"status":200}]}`: "it answered for 1 of 2 hosts",
		`<html>`:                      "it does not answer as an observer: invalid character '<' looking for beginning of value",
	} {
		pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		if _, err := NewClient().Ask(t.Context(), address(pod), Question{Hosts: []string{"a", "b"}}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		pod.Close()
	}
	pod := httptest.NewServer(Handler(func(context.Context, Question) ([]Sight, error) { return nil, errors.New("broken") }))
	defer pod.Close()
	if _, err := NewClient().Ask(t.Context(), address(pod), Question{Patience: 1}); err == nil || err.Error() != "it answered 500" {
		t.Errorf("got %v", err)
	}
}

func TestAPodWithoutSidecarSaysSo(t *testing.T) {
	pod := httptest.NewServer(Handler(NoSidecar))
	defer pod.Close()
	got, err := NewClient().Ask(t.Context(), address(pod), Question{Hosts: []string{"a"}, Patience: 1})
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Fault, "no sidecar") {
		t.Errorf("got %v, error %v", got, err)
	}
}
