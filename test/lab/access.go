package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/net-mesh/net-mesh/test/lab/host"
)

// ExitError carries the exit code of a command that was run for the user.
type ExitError struct{ Code int }

func (e ExitError) Error() string { return fmt.Sprintf("the command ended with code %d", e.Code) }

// Kubectl runs kubectl in the lab with the user's own input and output.
func (l *Lab) Kubectl(ctx context.Context, args []string) error {
	c, err := l.running(ctx)
	if err != nil {
		return err
	}
	return l.pass(c.Command(ctx, args...))
}

// Exec runs a command in the lab's network, with KUBECONFIG set.
func (l *Lab) Exec(ctx context.Context, args []string) error {
	c, err := l.running(ctx)
	if err != nil {
		return err
	}
	cmd := l.Host.Command(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "PATH="+c.Programs+":"+os.Getenv("PATH"))
	return l.pass(cmd)
}

func (l *Lab) mustBeUp() error {
	if !l.Host.Alive("apiserver") {
		return fmt.Errorf("lab %[1]s is not up: run 'bin/lab --name %[1]s up' first (labs on this machine: %[2]s)", l.Host.Name, strings.Join(host.All(), ", "))
	}
	return nil
}

// pass connects a command with the user's terminal. An interrupt is the command's to handle.
func (l *Lab) pass(cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return ExitError{Code: max(1, exit.ExitCode())}
	}
	return err
}

// Down removes the lab and everything it made, or all labs of the machine.
func (l *Lab) Down(ctx context.Context, all bool) error {
	there, names := host.All(), []string{l.Host.Name}
	if all {
		names = there
	} else if !slices.Contains(there, l.Host.Name) {
		l.Progress.Say("%s", noLab(l.Host.Name, there))
		return nil
	}
	for _, n := range names {
		h, err := host.New(n)
		if err != nil {
			return err
		}
		if err := l.down(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// noLab says that there is nothing to do, which is no fault: who mistypes a name sees the others.
func noLab(name string, there []string) string {
	if len(there) == 0 {
		return fmt.Sprintf("there is no lab %s, and no other on this machine", name)
	}
	return fmt.Sprintf("there is no lab %s (labs on this machine: %s)", name, strings.Join(there, ", "))
}

func (l *Lab) down(ctx context.Context, h host.Host) error {
	release, err := l.lock(ctx, h)
	if err != nil {
		return err
	}
	defer release()
	return l.Progress.Step(ctx, "lab "+h.Name+" down", h.Remove)
}

// Leftovers reports, as an error, what is there of the lab although it should be gone.
func (l *Lab) Leftovers() error {
	left := l.Host.Leftovers()
	if len(left) == 0 {
		fmt.Printf("nothing is left of lab %s\n", l.Host.Name)
		return nil
	}
	return fmt.Errorf("of lab %s there is left:\n%s", l.Host.Name, strings.Join(left, "\n"))
}
