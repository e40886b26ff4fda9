package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/server"
	"github.com/haricotq/haricot/internal/service"
)

const defaultPort = "11300"

// serveCommand runs the server. The short flags are beanstalkd's.
type serveCommand struct {
	Listen     []string    `short:"l" sep:"none" placeholder:"ADDR" help:"Listen on this host name, IP address or unix:PATH; may be repeated. Default: all addresses."`
	Port       word        `short:"p" default:"11300" placeholder:"PORT" help:"Listen on this port, a number or a service name. Default: 11300."`
	MaxJobSize jobSize     `short:"z" default:"65535" placeholder:"BYTES" help:"Refuse larger jobs; at most 1073741824. Default: 65535."`
	User       *word       `short:"u" placeholder:"USER" help:"Become this user, and its group, once the sockets are open."`
	SocketMode socketMode  `placeholder:"MODE" help:"Permission of unix sockets, such as 0770. Default: what the umask leaves."`
	Verbose    int         `short:"V" type:"counter" help:"Log connections too; short for --log-level=debug."`
	LogLevel   string      `default:"info" enum:"debug,info,warn,error" placeholder:"LEVEL" help:"Log debug, info, warn or error and above. Default: info."`
	LogFormat  string      `default:"text" enum:"text,json" placeholder:"FORMAT" help:"Log as text or json. Default: text."`
	Version    versionFlag `short:"v" help:"Print the version and exit."`

	storeFlags  `embed:""`
	httpFlags   `embed:""`
	bygoneFlags `embed:""`
}

// Run serves until a signal ends it. Errors from here on are logged, for somebody may read nothing else.
func (c *serveCommand) Run(p *process) error {
	if err := errors.Join(c.storeFlags.check(), c.httpFlags.check()); err != nil {
		return usage(err)
	}
	log := c.logger(p.stderr)
	err := c.serve(log, p)
	if err == nil {
		return nil
	}
	log.Error("cannot serve", "error", err)
	f := failed(err)
	f.told = true
	return f
}

// serve is the life of the server: signals are caught before anything that can take long, such as the lookup of a host name, then
// the sockets are opened with the rights that the process was started with, then those are given up, and only then is a client
// listened to.
func (c *serveCommand) serve(log *slog.Logger, p *process) error {
	raiseProcs()
	c.announce(log)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var up parts
	signals := catchSignals(&signalActions{
		drain: up.drain,
		stop: func() {
			notify(log, daemon.SdNotifyStopping)
			up.operators.Load().stopping()
			stop()
		},
		exit: p.exit,
		log:  log,
	})
	defer signals.release()

	sockets, forHTTP, err := c.openSockets(ctx, log)
	defer removeSockets(log, slices.Concat(sockets, forHTTP))
	if err != nil {
		if ctx.Err() != nil {
			return nil // A signal came while a host name was looked up.
		}
		return &failure{error: err, code: exitSocket}
	}
	if err := c.becomeUser(log, slices.Concat(sockets, forHTTP)); err != nil {
		return &failure{error: err, code: userStatus(err)}
	}
	operators := c.openWindow(log, forHTTP)
	defer operators.close()
	up.operators.Store(operators)
	kept, err := c.openStore(log, p)
	if err != nil {
		return err
	}
	srv, err := server.New(c.serverConfig(log, kept))
	if err != nil {
		return errors.Join(c.unrecovered(err), kept.close())
	}
	kept.recovered()
	up.server.Store(srv)
	operators.look(srv, kept)
	for _, s := range sockets {
		if err := srv.Serve(s.Listener); err != nil {
			return &failure{error: fmt.Errorf("cannot serve on %s: %w", s.Addr(), err), code: exitSocket}
		}
	}
	notify(log, daemon.SdNotifyReady)
	err = srv.Run(ctx)
	operators.close() // before the store is, which it looks at
	if err = errors.Join(err, kept.close()); err != nil {
		return fmt.Errorf("the server failed: %w", err)
	}
	log.Info("stopped")
	return nil
}

// parts are those of the server that signals act on, from when they are there.
type parts struct {
	server    atomic.Pointer[server.Server]
	operators atomic.Pointer[window]
}

func (u *parts) drain(on bool) {
	if srv := u.server.Load(); srv != nil {
		srv.Drain(on)
	}
}

// serverConfig says how the server is to work.
func (c *serveCommand) serverConfig(log *slog.Logger, kept *keeper) server.Config {
	config := server.Config{
		MaxJobSize:   c.MaxJobSize.bytes,
		MemoryLimit:  c.memory(),
		TubeMaxJobs:  uint64(c.TubeMaxJobs),
		TubeMaxBytes: uint64(c.TubeMaxBytes),
		Logger:       log,
		Observed:     len(c.HTTP) > 0,
	}
	if kept != nil {
		config.Store = kept.Store
	}
	return config
}

// announce logs who starts with which limits, and what of the command line has no effect.
func (c *serveCommand) announce(log *slog.Logger) {
	var files unix.Rlimit
	// Go raises the soft limit to the hard one before main runs. Should it be unreadable, 0 is logged, and nothing depends on it.
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	log.Info("starting", "version", protocol.Version, "pid", os.Getpid(), "max_job_size", c.MaxJobSize.bytes,
		"open_files", files.Cur, "procs", runtime.GOMAXPROCS(0))
	if c.MaxJobSize.clamped {
		log.Warn("the maximum job size was set to the most that is allowed", "flag", "-z", "max_job_size", c.MaxJobSize.bytes)
	}
	c.warn(log)
}

// raiseProcs lets the runtime run three goroutines at once, however few processors there are, unless GOMAXPROCS is set in the
// environment. The event loop holds one place even while it waits, because its epoll call goes past the runtime; with no more than
// that one, signals and the garbage collector would have to take turns with it, and the second is for them, the third for
// clients that are served by goroutines.
func raiseProcs() {
	const least = 3
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < least {
		runtime.GOMAXPROCS(least)
	}
}

// openSockets gives the sockets for clients and those for HTTP. On an error those that are open already are given too.
func (c *serveCommand) openSockets(ctx context.Context, log *slog.Logger) (sockets, forHTTP []*service.Socket, err error) {
	if sockets, err = c.open(ctx, log); err != nil {
		return nil, nil, err
	}
	forHTTP, err = c.openHTTP(ctx, c.SocketMode)
	return sockets, forHTTP, err
}

// open gives the sockets that systemd has passed, or opens those that the flags name. On an error none is left open.
func (c *serveCommand) open(ctx context.Context, log *slog.Logger) ([]*service.Socket, error) {
	sockets, err := service.Activated()
	if err != nil {
		return nil, err
	}
	if len(sockets) > 0 {
		if len(c.Listen) > 0 || c.Port != defaultPort {
			log.Warn("-l and -p are ignored: systemd passed the sockets")
		}
		return sockets, nil
	}
	addresses, err := c.addresses(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		s, err := service.Listen(ctx, a, service.Mode(c.SocketMode))
		if err != nil {
			for _, open := range sockets {
				open.Close()
			}
			removeSockets(log, sockets)
			return nil, err
		}
		sockets = append(sockets, s)
	}
	return sockets, nil
}

// addresses reads -l and -p. The port is looked at even if only unix sockets are asked for: a wrong one is a mistake to hear of.
func (c *serveCommand) addresses(ctx context.Context) ([]service.Address, error) {
	port, err := service.ParsePort(ctx, string(c.Port))
	if err != nil {
		return nil, fmt.Errorf("-p: %w", err)
	}
	if len(c.Listen) == 0 {
		return []service.Address{{Port: port}}, nil
	}
	var list []service.Address
	for _, s := range c.Listen {
		a, err := service.ParseAddress(s, port)
		if err != nil {
			return nil, fmt.Errorf("-l: %w", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// becomeUser carries out -u. The new unix sockets become the user's too.
func (c *serveCommand) becomeUser(log *slog.Logger, sockets []*service.Socket) error {
	if c.User == nil {
		return nil
	}
	u, err := service.LookupUser(string(*c.User))
	if err != nil {
		return fmt.Errorf("-u: %w", err)
	}
	for _, s := range sockets {
		if err := s.Chown(u); err != nil {
			return fmt.Errorf("-u: %w", err)
		}
	}
	if err := u.Become(); err != nil {
		return fmt.Errorf("-u: %w; start as root, or leave -u out", err)
	}
	log.Info("became user", "user", u.Name, "uid", u.UID, "gid", u.GID)
	return nil
}

// removeSockets deletes the files of our unix sockets. It often may not after -u, since the directory belongs to somebody else; the
// next start replaces what is left.
func removeSockets(log *slog.Logger, sockets []*service.Socket) {
	for _, s := range sockets {
		if err := s.Remove(); err != nil {
			log.Warn("a unix socket is left behind", "error", err)
		}
	}
}

// notify tells systemd how far we are, if it wants to know. That it cannot be told must not end a server that works.
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd cannot be notified", "state", state, "error", err)
	}
}
