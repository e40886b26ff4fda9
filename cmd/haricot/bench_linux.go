package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/load"
)

// systemCommands are the subcommands that work on this system only.
type systemCommands struct {
	Bench benchCommand `cmd:"" group:"server" help:"Put load on a beanstalk server, or on two in turns, and measure them."`
}

// benchCommand measures servers. What a workload has no use for is ignored; what is left out, each has defaults of its own for.
type benchCommand struct {
	Workload []string `short:"w" placeholder:"NAME" default:"cycle" help:"What to do, such as put,cycle; 'list' lists them. Default: cycle."`

	Addr   string `placeholder:"ADDR" xor:"server" help:"Measure the server at this address, host:port or unix:PATH, in the tube haricot-bench."`
	PID    int    `name:"pid" placeholder:"PID" help:"With --addr: the server's process, whose processor time and memory are read."`
	Server string `placeholder:"COMMAND" xor:"server" help:"Start this server on a free port; {dir} in it stands for a new directory, as in 'haricot -b {dir}', and {http} for a free address. Default: this haricot."`
	Vs     string `placeholder:"COMMAND" help:"Start this one too, measure both in turns, and compare."`
	Dir    string `placeholder:"DIR" default:"" help:"Make the directories for {dir} here. Default: the system's place for temporary files."`

	Connections int           `short:"n" placeholder:"N" help:"Connections."`
	InFlight    int           `placeholder:"N" help:"Commands that a connection has under way at once."`
	Body        int           `placeholder:"BYTES" help:"Size of a job."`
	Duration    time.Duration `short:"d" default:"1s" placeholder:"TIME" help:"How long a measurement takes, where there is no other end. Default: 1s."`
	Jobs        int           `placeholder:"N" help:"Jobs of a backlog, a fill or a storm."`
	Tubes       int           `placeholder:"N" help:"Tubes that there are or that a connection watches."`
	Rate        int           `placeholder:"N" help:"Jobs a second, for latency and waiting."`
	Drain       bool          `help:"Fill: empty the queue afterwards, and see how long the memory takes to go back to the system."`

	Rounds int  `default:"3" placeholder:"N" help:"Measure so many times; the table has medians. Default: 3."`
	JSON   bool `name:"json" help:"Print each measurement as a line of JSON, instead of a table."`
}

// Run measures until it is done or interrupted. No server that it has started stays.
func (c *benchCommand) Run(p *process) error {
	workloads, err := c.workloads(p)
	if err != nil || workloads == nil {
		return err
	}
	if c.Connections < 0 || c.InFlight < 0 || c.Body < 0 || c.Duration <= 0 || c.Jobs < 0 || c.Tubes < 0 || c.Rate < 0 || c.Rounds <= 0 {
		return usage(errors.New("numbers must be positive"))
	}
	contenders, err := c.contenders()
	if err != nil {
		return usage(err)
	}
	if err := load.MayOpenFiles(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	for _, w := range workloads {
		if err := c.contest(ctx, w, contenders, p); err != nil {
			return err
		}
	}
	return nil
}

// workloads reads the names; it prints the list and returns none if that is asked for.
func (c *benchCommand) workloads(p *process) ([]load.Workload, error) {
	var chosen []load.Workload
	for _, name := range c.Workload {
		if name == "list" {
			for _, w := range load.Workloads() {
				fmt.Fprintf(p.stdout, "%-9s  %s\n", w.Name, w.About)
			}
			return nil, nil
		}
		w, err := load.Find(name)
		if err != nil {
			return nil, usage(fmt.Errorf("%w; try 'haricot bench -w list'", err))
		}
		chosen = append(chosen, w)
	}
	return chosen, nil
}

// contenders are the servers to measure.
func (c *benchCommand) contenders() ([]load.Contender, error) {
	if c.PID != 0 && c.Addr == "" {
		return nil, errors.New("--pid goes with --addr")
	}
	var list []load.Contender
	if c.Addr != "" {
		list = append(list, load.Running(c.Addr, c.Addr, c.PID))
	} else {
		program, err := c.program()
		if err != nil {
			return nil, err
		}
		list = append(list, load.Starting(program, c.Dir))
	}
	if c.Vs != "" {
		program, err := load.ParseProgram(c.Vs)
		if err != nil {
			return nil, fmt.Errorf("--vs: %w", err)
		}
		list = append(list, load.Starting(program, c.Dir))
	}
	return list, nil
}

func (c *benchCommand) program() (load.Program, error) {
	if c.Server != "" {
		program, err := load.ParseProgram(c.Server)
		if err != nil {
			return program, fmt.Errorf("--server: %w", err)
		}
		return program, nil
	}
	self, err := os.Executable()
	if err != nil {
		return load.Program{}, fmt.Errorf("finding this program: %w; name it with --server", err)
	}
	return load.Program{Name: "haricot", Path: self}, nil
}

// contest measures one workload and prints what came out.
func (c *benchCommand) contest(ctx context.Context, w load.Workload, contenders []load.Contender, p *process) error {
	plan := w.Complete(load.Plan{
		Connections: c.Connections, Window: c.InFlight, Body: c.Body, Duration: c.Duration,
		Jobs: c.Jobs, Tubes: c.Tubes, Rate: c.Rate, Drain: c.Drain,
	})
	contest := load.Contest{Workload: w, Plan: plan, Rounds: c.Rounds, Contenders: contenders}
	clean := func() {}
	if isTerminal(p.stderr) {
		contest.Progress = func(what string) { fmt.Fprintf(p.stderr, "\r\x1b[K%s", what) }
		clean = func() { fmt.Fprint(p.stderr, "\r\x1b[K") }
	}
	if c.JSON {
		contest.Measured = func(server string, round int, r load.Result) error {
			report := load.NewReport(w.Name, plan, server, round, &r)
			return report.WriteJSON(p.stdout)
		}
	}
	results, err := contest.Run(ctx)
	clean()
	if err != nil || c.JSON {
		return err
	}
	var names []string
	for _, s := range contenders {
		names = append(names, s.Name)
	}
	title := fmt.Sprintf("%s: %s; %s", w.Name, w.About, plan)
	return load.WriteTable(p.stdout, title, names, results)
}
