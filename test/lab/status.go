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
		fmt.Printf("lab %s is not up\n", l.Host.Name)
		return nil
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
	out, err := c.Kubectl(ctx, nil, "get", "pods", "-A", "--no-headers")
	if err != nil {
		return err
	}
	var unwell []string
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] == "Completed" {
			continue
		}
		ready, all, _ := strings.Cut(f[2], "/")
		if ready != all {
			unwell = append(unwell, strings.TrimSpace(line))
		}
	}
	if len(unwell) > 0 {
		return fmt.Errorf("pods that are not ready:\n%s", strings.Join(unwell, "\n"))
	}
	fmt.Println("all pods are ready")
	return nil
}
