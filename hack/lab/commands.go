package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/net-mesh/net-mesh/test/lab"
)

// command is a command without arguments of its own that does one thing with the lab.
func (a *app) command(use, short string, do func(*cobra.Command, *lab.Lab) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: a.with(func(c *cobra.Command, l *lab.Lab, _ []string) error { return do(c, l) })}
}

func (a *app) with(do func(*cobra.Command, *lab.Lab, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		l, err := a.lab()
		if err != nil {
			return err
		}
		return do(c, l, args)
	}
}

func (a *app) prerequisites() *cobra.Command {
	var install bool
	cmd := a.command("prerequisites", "Check that this machine can run a lab", func(c *cobra.Command, l *lab.Lab) error {
		return l.Prerequisites(c.Context(), install)
	})
	cmd.Flags().BoolVar(&install, "install", false, "install missing Debian packages")
	return cmd
}

func (a *app) build() *cobra.Command {
	return a.command("build", "Build what the lab runs, without running it", func(c *cobra.Command, l *lab.Lab) error {
		if err := l.Prerequisites(c.Context(), false); err != nil {
			return err
		}
		return l.Build(c.Context())
	})
}

func (a *app) up() *cobra.Command {
	var profile string
	cmd := a.command("up", "Bring the lab up, or heal it", func(c *cobra.Command, l *lab.Lab) error {
		if err := l.Prerequisites(c.Context(), false); err != nil {
			return err
		}
		return l.Up(c.Context(), profile)
	})
	cmd.Flags().StringVar(&profile, "profile", "", "one of "+strings.Join(lab.ProfileNames(), ", ")+"; as it was when not given, gateway at first")
	return cmd
}

func (a *app) down() *cobra.Command {
	var all bool
	cmd := a.command("down", "Remove the lab and everything it made", func(c *cobra.Command, l *lab.Lab) error { return l.Down(c.Context(), all) })
	cmd.Flags().BoolVar(&all, "all", false, "remove every lab of this machine, whoever made it")
	return cmd
}

func (a *app) leftovers() *cobra.Command {
	return a.command("leftovers", "Fail if anything is left of a lab that is down", func(_ *cobra.Command, l *lab.Lab) error { return l.Leftovers() })
}

func (a *app) status() *cobra.Command {
	return a.command("status", "Tell what runs and what does not", func(c *cobra.Command, l *lab.Lab) error { return l.Status(c.Context()) })
}

func (a *app) kubectl() *cobra.Command {
	return &cobra.Command{
		Use: "kubectl ARG...", Short: "Run kubectl in the lab", DisableFlagParsing: true,
		RunE: a.with(func(c *cobra.Command, l *lab.Lab, args []string) error { return l.Kubectl(c.Context(), args) }),
	}
}

func (a *app) exec() *cobra.Command {
	return &cobra.Command{
		Use: "exec -- COMMAND [ARG...]", Short: "Run a command in the lab's network, with KUBECONFIG set", Args: cobra.MinimumNArgs(1),
		RunE: a.with(func(c *cobra.Command, l *lab.Lab, args []string) error { return l.Exec(c.Context(), args) }),
	}
}

func (a *app) image() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Handle the lab's images"}
	needsCommand(cmd)
	cmd.AddCommand(&cobra.Command{
		Use: "load ARCHIVE...", Short: "Load image archives, as 'docker save' writes them", Args: cobra.MinimumNArgs(1),
		RunE: a.with(func(c *cobra.Command, l *lab.Lab, args []string) error { return l.LoadImages(c.Context(), args) }),
	})
	return cmd
}

func (a *app) install() *cobra.Command {
	var p lab.Plugin
	var pairs []string
	cmd := a.command("install", "Install net-mesh, or another ingress plugin in its place", func(c *cobra.Command, l *lab.Lab) error {
		var err error
		if p.Images, err = lab.ParseImages(pairs); err != nil {
			return err
		}
		return l.Install(c.Context(), p)
	})
	cmd.Flags().StringArrayVarP(&p.Manifests, "file", "f", nil, "manifest file or folder of another plugin; without it net-mesh of this checkout is built and installed")
	cmd.Flags().StringArrayVar(&pairs, "image", nil, "NAME=PROGRAM_OR_ARCHIVE: what the manifest calls an image, and the static program or image archive to take")
	return cmd
}

func (a *app) profile() *cobra.Command {
	cmd := &cobra.Command{Use: "profile", Short: "Choose the way in which the mesh is used"}
	needsCommand(cmd)
	var addressing bool
	set := &cobra.Command{
		Use: "set " + strings.Join(lab.ProfileNames(), "|"), Short: "Change the profile of a lab that is up", Args: cobra.ExactArgs(1), ValidArgs: lab.ProfileNames(),
		RunE: a.with(func(c *cobra.Command, l *lab.Lab, args []string) error {
			return l.SetProfile(c.Context(), args[0], addressing)
		}),
	}
	set.Flags().BoolVar(&addressing, "addressing", false, "let activator and autoscaler address single pods")
	cmd.AddCommand(set)
	return cmd
}

func (a *app) conformance() *cobra.Command {
	var o lab.ConformanceOptions
	cmd := a.command("conformance", "Run Knative's ingress conformance against the installed plugin", func(c *cobra.Command, l *lab.Lab) error {
		return l.Conformance(c.Context(), o)
	})
	cmd.Flags().StringVar(&o.Mode, "mode", "", "set this profile first, and leave it set: one of "+strings.Join(lab.ProfileNames(), ", "))
	cmd.Flags().IntVar(&o.Count, "count", 1, "how often to run the suite")
	cmd.Flags().IntVar(&o.Parallel, "parallel", 3, "how many tests to run at once")
	cmd.Flags().StringSliceVar(&o.Only, "test", nil, "only these tests")
	cmd.Flags().StringVar(&o.File, "report", "", "file for the results as JSON")
	return cmd
}

func (a *app) suite() *cobra.Command {
	var suite, run string
	cmd := a.command("serving-e2e", "Run one of Knative Serving's own test suites", func(c *cobra.Command, l *lab.Lab) error {
		return l.ServingSuite(c.Context(), suite, run)
	})
	cmd.Flags().StringVar(&suite, "suite", "runtime", "one of "+strings.Join(lab.SuiteNames(), ", "))
	cmd.Flags().StringVar(&run, "run", "", "only tests that match this pattern")
	return cmd
}

func (a *app) bench() *cobra.Command {
	var o lab.BenchOptions
	var pairs []string
	cmd := a.command("bench", "Make many Ingresses at once and measure what comes of it, with net-mesh and with another plugin", func(c *cobra.Command, l *lab.Lab) error {
		var err error
		if o.Peer.Images, err = lab.ParseImages(pairs); err != nil {
			return err
		}
		return l.Bench(c.Context(), o)
	})
	cmd.Flags().IntSliceVar(&o.Counts, "count", []int{60, 300}, "how many Ingresses at once, one run after the other")
	cmd.Flags().StringVar(&o.Mode, "mode", "mesh-only", "set this profile first, and leave it set: one of "+strings.Join(lab.ProfileNames(), ", "))
	cmd.Flags().StringArrayVarP(&o.Peer.Manifests, "file", "f", nil, "manifest file or folder of another plugin, to be measured after net-mesh")
	cmd.Flags().StringArrayVar(&pairs, "image", nil, "NAME=PROGRAM_OR_ARCHIVE of the other plugin, as for install")
	cmd.Flags().StringVar(&o.File, "report", "", "file for the results as JSON")
	cmd.AddCommand(a.benchWays())
	return cmd
}

func (a *app) benchWays() *cobra.Command {
	var o lab.WaysOptions
	cmd := a.command("ways", "Measure what a call costs: direct, by the caller's own sidecar in place of the local gateway, and by a local gateway", func(c *cobra.Command, l *lab.Lab) error {
		return l.BenchWays(c.Context(), o)
	})
	cmd.Flags().IntVar(&o.Rate, "rate", 200, "requests per second")
	cmd.Flags().DurationVar(&o.For, "for", 20*time.Second, "how long each way is measured in each round")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 3, "how often all ways are measured, one after the other; medians are printed")
	cmd.Flags().StringVar(&o.File, "report", "", "file for the results as JSON")
	return cmd
}

func (a *app) collect() *cobra.Command {
	return &cobra.Command{
		Use: "collect DIR", Short: "Gather logs, objects and proxy configuration of a failed run", Args: cobra.ExactArgs(1),
		RunE: a.with(func(c *cobra.Command, l *lab.Lab, args []string) error { return l.Collect(c.Context(), args[0]) }),
	}
}

func (a *app) demo() *cobra.Command {
	return a.command("demo", "Show a Service at zero called from inside the mesh, hop by hop", func(c *cobra.Command, l *lab.Lab) error {
		return l.Demo(c.Context())
	})
}
