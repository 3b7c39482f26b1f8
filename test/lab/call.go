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
	c, err := l.running(ctx)
	return Mesh{Cluster: c, lab: l}, err
}

// callHeader identifies a call in the access logs. A gateway gives each request an x-request-id of its own.
const callHeader = "x-lab-call"

// Answer is what a caller got.
type Answer struct {
	// Request identifies the call in the access logs.
	Request string
	Code    int
	Body    string
	Took    time.Duration
}

// Request is one request that curl sends.
type Request struct {
	URL string
	// Args are further arguments of curl.
	Args []string
}

// Call sends one request with curl from a pod of the Deployment caller in the namespace. More arguments
// go to curl.
func (m Mesh) Call(ctx context.Context, namespace, url string, args ...string) (Answer, error) {
	answers, err := m.CallAll(ctx, namespace, []Request{{URL: url, Args: args}})
	if err != nil {
		return Answer{}, err
	}
	if answers[0].Code == 0 {
		return answers[0], fmt.Errorf("%s: %s", url, answers[0].Body)
	}
	return answers[0], nil
}

// CallAll sends requests one after the other, as Call does, with one curl. The code of a request that got
// no answer is 0, its body curl's complaint.
func (m Mesh) CallAll(ctx context.Context, namespace string, requests []Request) ([]Answer, error) {
	const end = "\x1e"
	answers := make([]Answer, len(requests))
	command := []string{"-n", namespace, "exec", "-i", "deploy/caller", "-c", "caller", "--", "xargs", "-0", "curl"}
	var args []string
	for i, r := range requests {
		answers[i].Request = uuid.NewString()
		if i > 0 {
			args = append(args, "--next")
		}
		args = append(args, "-sS", "-m", "30", "-H", callHeader+": "+answers[i].Request, "-w", `\n%{errormsg}\n%{http_code} %{time_total}`+end, r.URL)
		args = append(args, r.Args...)
	}
	out, err := m.Kubectl(ctx, []byte(strings.Join(args, "\x00")), command...)
	parts := strings.Split(strings.TrimSuffix(out, end), end)
	if len(parts) != len(requests) || out == "" {
		return answers, fmt.Errorf("%d requests from %s: curl answered %d times: %w", len(requests), namespace, len(parts), err)
	}
	for i, part := range parts {
		if err := answers[i].read(strings.TrimSpace(part)); err != nil {
			return answers, err
		}
	}
	return answers, nil
}

func (a *Answer) read(out string) error {
	text, last, _ := cutLast(out, "\n")
	var seconds float64
	if _, err := fmt.Sscan(last, &a.Code, &seconds); err != nil {
		return fmt.Errorf("answer of curl %q: %w", out, err)
	}
	body, message, _ := cutLast(text, "\n")
	a.Body, a.Took = strings.TrimSpace(body), time.Duration(seconds*float64(time.Second))
	if a.Code == 0 {
		a.Body = message
	}
	return nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+len(separator):], true
}
