package observer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client asks observers.
type Client struct{ http *http.Client }

// NewClient keeps its connections.
func NewClient() *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute}}}
}

// Ask puts a Question to the observer at an address, and fails if that does not answer it.
func (c *Client) Ask(ctx context.Context, address string, q Question) ([]Sight, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %d", resp.StatusCode)
	}
	var a Answer
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&a); err != nil {
		return nil, fmt.Errorf("it does not answer as an observer: %w", err)
	}
	if len(a.Sights) != len(q.Hosts) {
		return nil, fmt.Errorf("it answered for %d of %d hosts", len(a.Sights), len(q.Hosts))
	}
	return a.Sights, nil
}
