package lab

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// Status prints what of the lab runs: its daemons and the pods that are not well.
func (l *Lab) Status(ctx context.Context) error {
	names := l.Host.Daemons()
	if len(names) == 0 {
		return l.mustBeUp()
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	dead := 0
	for _, n := range names {
		state := "running"
		if !l.Host.Alive(n) {
			state = "dead"
			dead++
		}
		fmt.Fprintf(w, "%s\t%d\t%s\n", n, l.Host.Pid(n), state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	p := l.profile()
	fmt.Printf("profile %s, pod addressing %t, %d processes\n", p.Name, p.Addressing, len(l.Host.Processes()))
	if dead > 0 {
		return fmt.Errorf("%d components are dead: 'lab up' starts them again", dead)
	}
	return l.unwellPods(ctx)
}

func (l *Lab) unwellPods(ctx context.Context) error {
	c, err := l.cluster(ctx)
	if err != nil {
		return err
	}
	out, err := c.Kubectl(ctx, nil, "get", "pods", "-A", "-o",
		`jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {.status.phase} {.metadata.deletionTimestamp}{.status.containerStatuses[?(@.ready==false)].name}{"\n"}{end}`)
	if err != nil {
		return err
	}
	var unwell []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		going := len(f) > 2 && strings.HasPrefix(f[2], "20") // a time: it is on its way out
		if len(f) < 2 || f[1] == "Succeeded" || going || (f[1] == "Running" && len(f) == 2) {
			continue
		}
		unwell = append(unwell, strings.TrimSpace(line))
	}
	if len(unwell) > 0 {
		return fmt.Errorf("pods that are not ready:\n%s", strings.Join(unwell, "\n"))
	}
	fmt.Println("all pods are ready")
	return nil
}
