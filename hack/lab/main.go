// Lab is a real mesh on one machine: Kubernetes, Istio and Knative Serving from pinned modules, in a
// network namespace of their own. It is how net-mesh is developed and tested.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/test/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	var exit lab.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.Code)
	case err != nil:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// app makes the lab that the global flags name.
type app struct{ name string }

func (a *app) lab() (*lab.Lab, error) {
	repo, err := checkout()
	if err != nil {
		return nil, err
	}
	return lab.New(a.name, repo)
}

// checkout finds the root of the checkout above the working folder, by its pins.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, "third_party", "kubernetes", "go.mod")); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no checkout of net-mesh above %s: run the lab from inside one", dir)
		}
	}
}

func root() *cobra.Command {
	a := &app{}
	cmd := &cobra.Command{
		Use: "lab", Short: "A real mesh on one machine", SilenceUsage: true, SilenceErrors: true, TraverseChildren: true,
		Long: "A real mesh on one machine: Kubernetes, Istio and Knative Serving, each component the real one,\nbuilt from the pins in third_party and run in a network namespace of its own.",
	}
	needsCommand(cmd)
	name := os.Getenv("LAB_NAME")
	if name == "" {
		name = "lab"
	}
	cmd.PersistentFlags().StringVar(&a.name, "name", name, "name of the lab; several may run side by side (environment: LAB_NAME)")
	cmd.AddCommand(a.prerequisites(), a.build(), a.up(), a.down(), a.leftovers(), a.status(), a.kubectl(), a.exec(), a.image(), a.install(), a.profile(), a.demo(), a.conformance(), a.suite(), a.bench(), a.collect())
	return cmd
}

// needsCommand makes a command that only groups others refuse a word that is none of them.
func needsCommand(cmd *cobra.Command) {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(c *cobra.Command, _ []string) error {
		_ = c.Help()
		return fmt.Errorf("which command?")
	}
}
