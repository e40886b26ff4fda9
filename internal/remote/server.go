package remote

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// Server is a connection to a server. It belongs to one goroutine.
type Server struct {
	conn io.ReadWriteCloser
	wire *wire.Conn
	used string
}

// New makes a Server of a connection that nothing was said on yet, and takes it over.
func New(conn io.ReadWriteCloser) *Server {
	return &Server{conn: conn, wire: wire.New(conn), used: protocol.DefaultTube}
}

// Close closes the connection. The jobs it holds are ready again then.
func (s *Server) Close() error { return s.wire.Close() }

// ask sends a command and expects one word for an answer.
func (s *Server) ask(word, format string, args ...any) (wire.Reply, error) {
	s.wire.Send(format, args...)
	return s.expect(word)
}

// expect reads a reply.
func (s *Server) expect(word string) (wire.Reply, error) {
	r, err := s.wire.Receive()
	if err == nil && r.Word != word {
		err = refusal(&r)
	}
	return r, err
}

// use chooses the tube of the commands that name none.
func (s *Server) use(tube string) error {
	if s.used == tube {
		return nil
	}
	if _, err := s.ask("USING", "use %s", tube); err != nil {
		return err
	}
	s.used = tube
	return nil
}

// Stats asks for the statistics of the server.
func (s *Server) Stats() (Stats, error) {
	r, err := s.ask("OK", "stats")
	return parseStats(r.Data), err
}

// Tubes lists the tubes there are.
func (s *Server) Tubes() ([]string, error) {
	r, err := s.ask("OK", "list-tubes")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(r.Data)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- "); ok {
			names = append(names, protocol.Unquote(name))
		}
	}
	return names, nil
}

// tubesAtOnce is how many tubes are asked for in one write: few enough that their replies, of some 400 bytes, fit into the
// buffers between while nobody reads.
const tubesAtOnce = 64

// TubeStats asks for the statistics of tubes. Those that are gone are left out.
func (s *Server) TubeStats(tubes ...string) ([]Stats, error) {
	var all []Stats
	for len(tubes) > 0 {
		n := min(len(tubes), tubesAtOnce)
		for _, tube := range tubes[:n] {
			s.wire.Send("stats-tube %s", tube)
		}
		for range n {
			r, err := s.wire.Receive()
			switch {
			case err != nil:
				return nil, err
			case r.Word == "OK":
				all = append(all, parseStats(r.Data))
			case r.Word != "NOT_FOUND":
				return nil, refusal(&r)
			}
		}
		tubes = tubes[n:]
	}
	return all, nil
}

// TubeStat asks for the statistics of a tube.
func (s *Server) TubeStat(tube string) (Stats, error) {
	all, err := s.TubeStats(tube)
	if err == nil && len(all) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Job is a job that was looked at.
type Job struct {
	ID    protocol.JobID
	Stats Stats
	Body  []byte
}

// Job looks at a job.
func (s *Server) Job(id protocol.JobID) (*Job, error) {
	s.wire.Send("peek %d", id)
	s.wire.Send("stats-job %d", id)
	return s.job()
}

// job reads the replies to a peek and to stats-job.
func (s *Server) job() (*Job, error) {
	found, err := s.wire.Receive()
	if err != nil {
		return nil, err
	}
	stats, err := s.expect("OK")
	if err != nil {
		return nil, err
	}
	if found.Word != "FOUND" {
		return nil, refusal(&found)
	}
	return &Job{found.ID(), parseStats(stats.Data), bytes.Clone(found.Data)}, nil
}

// State is a state in which the protocol lets one look at a tube's next job.
type State string

// The states.
const (
	Ready   State = "ready"
	Delayed State = "delayed"
	Buried  State = "buried"
)

// Peek looks at the job of a tube that is next in a state: the most urgent ready one, the delayed one that is due first, the
// one that was buried first. [ErrNotFound] says that there is none.
func (s *Server) Peek(tube string, state State) (*Job, error) {
	for {
		if err := s.use(tube); err != nil {
			return nil, err
		}
		r, err := s.ask("FOUND", "peek-%s", state)
		if err != nil {
			return nil, err
		}
		stats, err := s.ask("OK", "stats-job %d", r.ID())
		if err == ErrNotFound { //nolint:errorlint // as it came from ask: the job has gone in between, and another one is next
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Job{r.ID(), parseStats(stats.Data), r.Data}, nil
	}
}

// Delete deletes a job that no client has reserved.
func (s *Server) Delete(id protocol.JobID) error {
	_, err := s.ask("DELETED", "delete %d", id)
	return err
}

// KickJob makes a buried or delayed job ready.
func (s *Server) KickJob(id protocol.JobID) error {
	_, err := s.ask("KICKED", "kick-job %d", id)
	return err
}

// Change says what a job is to have when it is given back; what is nil stays as it is.
type Change struct {
	Priority *protocol.Priority
	Delay    time.Duration // whole seconds
}

// Release takes a job that no client has reserved and gives it back, ready or delayed. The server must know reserve-job.
func (s *Server) Release(id protocol.JobID, change Change) error {
	priority, err := s.take(id, change)
	if err != nil {
		return err
	}
	_, err = s.ask("RELEASED", "release %d %d %d", id, priority, int64(change.Delay/time.Second))
	return err
}

// Bury takes a job that no client has reserved and buries it. The server must know reserve-job.
func (s *Server) Bury(id protocol.JobID, change Change) error {
	priority, err := s.take(id, change)
	if err != nil {
		return err
	}
	_, err = s.ask("BURIED", "bury %d %d", id, priority)
	return err
}

// take reserves a job and tells which priority it is to have.
func (s *Server) take(id protocol.JobID, change Change) (protocol.Priority, error) {
	r, err := s.wire.Ask("reserve-job %d", id)
	switch {
	case err != nil:
		return 0, err
	case r.Word == "BAD_FORMAT": // Before 1.12, beanstalkd took it for a wrong reserve.
		return 0, fmt.Errorf("%w reserve-job", ErrUnknown)
	case r.Word != "RESERVED":
		return 0, refusal(&r)
	case change.Priority != nil:
		return *change.Priority, nil
	}
	stats, err := s.ask("OK", "stats-job %d", id)
	return protocol.Priority(parseStats(stats.Data).Number("pri")), err
}

// Pause keeps the jobs of a tube from being reserved for a time, which 0 ends.
func (s *Server) Pause(tube string, length time.Duration) error {
	_, err := s.ask("PAUSED", "pause-tube %s %d", tube, int64(length/time.Second))
	return err
}
