package migration

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// Role is the part of a server in a migration.
type Role string

// The two roles.
const (
	Source      Role = "source"
	Destination Role = "destination"
)

// Server is one of the two servers of a migration.
type Server struct {
	*wire.Conn
	role    Role
	address string
	id      string // of the running process; empty if it tells none
	picks   bool   // it has reserve-job
	watched string
}

// NewServer takes an open connection over and finds out what server it is. The address is for messages.
func NewServer(role Role, address string, conn io.ReadWriteCloser) (*Server, error) {
	s := &Server{Conn: wire.New(conn), role: role, address: address, watched: protocol.DefaultTube}
	stats, err := s.Ask("stats")
	if err == nil {
		s.id = wire.Stats(stats.Data)["id"]
		var pick wire.Reply
		pick, err = s.Ask("reserve-job 0") // There is no such job.
		s.picks = pick.Word == "NOT_FOUND"
	}
	if err != nil {
		return nil, errors.Join(s.failed(err), s.Close())
	}
	return s, nil
}

// Same tells whether both are connections to one process.
func (s *Server) Same(as *Server) bool { return s.id != "" && s.id == as.id }

// Picks tells whether the server has the command reserve-job, without which no job can be buried that others wait for.
func (s *Server) Picks() bool { return s.picks }

// failed says which server an error is about.
func (s *Server) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", s.role, s.address, err)
}

// refused is an answer that ends a migration.
func (s *Server) refused(what string, r *wire.Reply) error {
	remedy := map[string]string{
		"JOB_TOO_BIG":   "; start it with a larger limit: -z BYTES",
		"DRAINING":      "; it takes no jobs until it gets SIGUSR2, or is started anew",
		"OUT_OF_MEMORY": "; it has no room for further jobs: see --memory, the limits of tubes, and the disk",
	}[r.Word]
	return s.failed(fmt.Errorf("%s was answered %v%s", what, r, remedy))
}

// receive reads as many replies.
func (s *Server) receive(n int, each func(i int, r *wire.Reply)) error {
	for i := range n {
		r, err := s.Receive()
		if err != nil {
			return s.failed(err)
		}
		each(i, &r)
	}
	return nil
}

// enter makes a tube the one that is used, and watched as the only one.
func (s *Server) enter(tube string) error {
	s.Send("use %s", tube)
	s.Send("watch %s", tube)
	n := 2
	if s.watched != tube {
		s.Send("ignore %s", s.watched)
		n++
	}
	s.watched = tube
	var refused error
	err := s.receive(n, func(_ int, r *wire.Reply) {
		if r.Word != "USING" && r.Word != "WATCHING" {
			refused = s.refused("entering tube "+tube, r)
		}
	})
	return errors.Join(err, refused)
}

// tubeNames lists the tubes.
func (s *Server) tubeNames() ([]string, error) {
	r, err := s.Ask("list-tubes")
	if err != nil {
		return nil, s.failed(err)
	}
	return wire.List(r.Data), nil
}

// counts are the jobs of a tube by state, and for how long it is paused; all zero if there is no such tube.
func (s *Server) counts(tube string) (jobs map[string]int, paused uint64, err error) {
	r, err := s.Ask("stats-tube %s", tube)
	if err != nil {
		return nil, 0, s.failed(err)
	}
	stats := wire.Stats(r.Data)
	jobs = map[string]int{}
	for _, state := range []string{"ready", "delayed", "buried", "reserved"} {
		jobs[state] = int(number(stats["current-jobs-"+state]))
	}
	return jobs, number(stats["pause-time-left"]), nil
}

// remoteJob is a job as the wire shows it.
type remoteJob struct {
	id       protocol.JobID
	state    string
	priority protocol.Priority
	delay    uint64 // what remains, in seconds
	ttr      uint64
	created  int64 // in seconds since 1970, give or take one
	body     []byte
	copy     protocol.JobID // at the destination; 0 if it is not there
}

// describe fills in what stats-job says.
func (j *remoteJob) describe(stats map[string]string) {
	j.state = stats["state"]
	j.priority = protocol.Priority(number(stats["pri"]))
	j.ttr = number(stats["ttr"])
	j.created = time.Now().Unix() - int64(number(stats["age"]))
	if j.state == "delayed" {
		// The server has cut off the fraction. A job may be late rather than early.
		j.delay = min(number(stats["time-left"])+1, 1<<32-1)
	}
}

// number reads a number of the statistics; what is not there is 0.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
