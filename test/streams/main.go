// Command streams is both ends of what a mesh must carry whole: streams that last and are silent, large bodies,
// trailers, 100-continue and large headers. "streams serve" answers, "streams try" asks and reports as JSON
// what came of each case.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"
)

func main() {
	if err := start(context.Background(), os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func start(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say serve or try")
	}
	switch args[0] {
	case "serve":
		s := newServer()
		// Knative says at which port.
		s.Addr = ":" + os.Getenv("PORT")
		return s.ListenAndServe()
	case "try":
		return try(ctx, args[1:], out)
	default:
		return fmt.Errorf("%q is neither serve nor try", args[0])
	}
}

func try(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("try", flag.ContinueOnError)
	flags.DurationVar(&o.lasts, "for", time.Minute, "how long streams last")
	flags.DurationVar(&o.every, "every", 2*time.Second, "time between two events of a stream that is not silent")
	flags.Int64Var(&o.size, "size", 100<<20, "bytes of a large body")
	flags.DurationVar(&o.patience, "patience", 5*time.Minute, "limit of each case, beside the time that streams last")
	text := flags.String("targets", "", `JSON list of {"name","url","host","protocol","cases"}`)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.every <= 0 || o.lasts < o.every {
		return fmt.Errorf("streams of %s with an event each %s have no second event", o.lasts, o.every)
	}
	var targets []Target
	if err := json.Unmarshal([]byte(*text), &targets); err != nil {
		return fmt.Errorf("-targets is not a JSON list of targets: %w", err)
	}
	if len(targets) == 0 {
		return errors.New("-targets names no target")
	}
	results, err := run(ctx, targets, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(results)
}
