package lab

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/net-mesh/net-mesh/test/lab/cluster"
)

// Mesh is a lab that is up, as seen by someone who calls Services in it.
type Mesh struct {
	cluster.Cluster
	lab *Lab
}

// Mesh returns the mesh of a lab that is up.
func (l *Lab) Mesh(ctx context.Context) (Mesh, error) {
	if err := l.mustBeUp(); err != nil {
		return Mesh{}, err
	}
	c, err := l.cluster(ctx)
	return Mesh{Cluster: c, lab: l}, err
}

// Answer is what a caller got.
type Answer struct {
	// Request identifies the call in the access logs.
	Request string
	Code    int
	Body    string
	Took    time.Duration
}

// Call sends one request with curl from a pod of the Deployment caller in the namespace. More arguments
// go to curl.
func (m Mesh) Call(ctx context.Context, namespace, url string, args ...string) (Answer, error) {
	a := Answer{Request: uuid.NewString()}
	command := append([]string{"-n", namespace, "exec", "deploy/caller", "-c", "caller", "--",
		"curl", "-sS", "-m", "30", "-H", "x-request-id: " + a.Request, "-w", `\n%{http_code} %{time_total}`, url}, args...)
	out, err := m.Kubectl(ctx, nil, command...)
	if err != nil {
		return a, err
	}
	body, last, _ := cutLast(strings.TrimSpace(out), "\n")
	var seconds float64
	if _, err := fmt.Sscan(last, &a.Code, &seconds); err != nil {
		return a, fmt.Errorf("answer of curl %q: %w", out, err)
	}
	a.Body, a.Took = strings.TrimSpace(body), time.Duration(seconds*float64(time.Second))
	return a, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(separator):], true
}
