package host

import (
	"context"
	"fmt"
	"time"
)

// interval between two looks at a condition.
const interval = 100 * time.Millisecond

// WaitFor looks at a condition until it holds, ctx ends, or limit has passed; the last reason why it did
// not hold is part of the error.
func WaitFor(ctx context.Context, what string, limit time.Duration, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if pause(ctx) != nil {
			return fmt.Errorf("waited %s for %s: %w", limit, what, last)
		}
	}
}

func pause(ctx context.Context) error {
	t := time.NewTimer(interval)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
