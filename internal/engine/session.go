package engine

import (
	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
)

// Conn is the connection under a session. Its methods are called by the
// engine, in the loop, and do not wait.
type Conn interface {
	// Send takes bytes to send and returns how many it took. If it did not
	// take all, it calls Session.Writable when it can take more. An error means
	// that the connection is broken.
	Send(p []byte) (int, error)
	// Resume tells that the session, which did not want input, wants it again.
	Resume()
	// Close ends the connection. The session must not be used afterwards.
	Close()
	// Peer tells who is at the other end.
	Peer() Peer
}

// Peer is the other end of a connection.
type Peer struct {
	Address string // host and port; empty for a unix socket
	PID     int    // the process, if the system tells: on a unix socket; else 0
}

const (
	// keptInput is how many bytes of commands a session takes that it cannot
	// carry out yet, because one before them waits for a job or the client does
	// not read its replies. Beyond it the connection is not read.
	keptInput = 64 << 10
	// unsentOutput is how many bytes of replies may wait to be sent before
	// further commands are held back. So a client that does not read costs this
	// and one reply at most.
	unsentOutput = 256 << 10
)

// Session is one client's conversation. Commands are carried out and answered
// in the order of their arrival, and none before the one in front is answered.
type Session struct {
	engine  *Engine
	conn    Conn
	client  queue.ClientID // 0 once it has taken leave
	opened  queue.Instant
	decoder protocol.Decoder

	input  []byte // received and not carried out
	output []byte // replies, of which sent bytes are sent
	sent   int

	waiting  bool // for a job
	loading  bool // a job's body from the store
	ended    bool // nothing more will be received
	stopping bool // to be closed after the command under way
	dirty    bool // in engine.dirty
	resuming bool // in engine.resumed
	closed   bool
}

// Wants tells whether the session takes input. While it does not, the
// connection should not be read; Conn.Resume tells when that changes.
func (s *Session) Wants() bool {
	return s.client != 0 && !s.ended && len(s.input) < keptInput
}

// Receive hands in bytes that arrived. They belong to the caller again when it
// returns.
func (s *Session) Receive(p []byte) {
	if s.client == 0 || s.ended {
		return
	}
	if len(s.input) > 0 || s.resuming {
		s.input = append(s.input, p...)
		return
	}
	if rest := s.run(p); len(rest) > 0 {
		s.input = append([]byte(nil), rest...)
	}
}

// Room is where the next bytes of a body under way belong. A connection that
// can reads them right there and says so with Filled, which saves copying a
// large body; what comes after them goes through Receive as ever.
func (s *Session) Room() []byte {
	if s.client == 0 || s.ended || len(s.input) > 0 || s.resuming {
		return nil
	}
	return s.decoder.Room()
}

// Filled tells that the first n bytes of Room have arrived.
func (s *Session) Filled(n int) { s.decoder.Filled(n) }

// HalfClose notes that the client has closed its side, though bytes from
// before that may not have been received: it does not wait for jobs any more.
func (s *Session) HalfClose() {
	if s.client != 0 {
		s.engine.machine.HalfClose(s.client)
		s.engine.route()
	}
}

// End notes that all that the client will ever send has been received. It is
// answered, and then the connection is closed.
func (s *Session) End() {
	if s.ended || s.client == 0 {
		return
	}
	s.HalfClose()
	s.ended = true
	s.enqueueResume()
}

// Stop closes the session when the command under way, if there is one, is
// answered. A wait for a job ends.
func (s *Session) Stop() {
	if s.client != 0 {
		s.HalfClose()
		s.stopping = true
		s.enqueueResume()
	}
}

// Drop closes the session at once: the connection is broken or must end.
func (s *Session) Drop() {
	s.leave()
	s.giveOutput()
	s.close()
}

// Writable tells that the connection takes bytes again.
func (s *Session) Writable() {
	if len(s.output) > 0 {
		s.enqueueFlush()
	}
}

// held tells whether further commands must not be carried out yet.
func (s *Session) held() bool {
	return s.waiting || s.loading || len(s.output)-s.sent > unsentOutput
}

// run carries out commands as long as it may and returns the input left over.
// A session that has answered its last command takes leave.
func (s *Session) run(p []byte) (rest []byte) {
	for len(p) > 0 && !s.held() {
		n, event := s.decoder.Next(p)
		p = p[n:]
		if s.act(event); s.client == 0 {
			return nil
		}
	}
	if len(p) == 0 && !s.loading && (s.ended || s.stopping && !s.decoder.Midway()) {
		s.leave()
	}
	return p
}

// act carries out what the decoder found.
func (s *Session) act(event protocol.Event) {
	e := s.engine
	switch event {
	case protocol.Incomplete:
		return
	case protocol.BadLine:
		s.reply(&protocol.Reply{Word: protocol.BadFormat})
		return
	case protocol.UnknownLine:
		s.reply(&protocol.Reply{Word: protocol.UnknownCommand})
		return
	case protocol.CommandLine:
		s.command(&s.decoder.Command)
	case protocol.BodyComplete:
		e.machine.EndPut(e.now, s.client, true)
	case protocol.BodyUnterminated, protocol.Discarded:
		e.machine.EndPut(e.now, s.client, false)
	}
	e.route()
}

func (s *Session) command(c *protocol.Command) {
	m, now := s.engine.machine, s.engine.now
	switch c.Verb {
	case protocol.Put:
		switch intake := m.BeginPut(now, s.client, c); {
		case intake.None:
		case intake.Discard > 0:
			s.decoder.Discard(intake.Discard)
		default:
			s.decoder.Accept(intake.Body)
		}
	case protocol.Quit:
		s.leave()
	case protocol.Reserve, protocol.ReserveWithTimeout:
		m.Apply(now, s.client, c)
		s.waiting = m.Waiting(s.client)
	default:
		m.Apply(now, s.client, c)
	}
}

// reply writes a reply into the output, to be sent at the end of the turn.
func (s *Session) reply(r *protocol.Reply) {
	if s.output == nil {
		s.output = s.engine.takeBuffer()
	}
	s.output = protocol.AppendReply(s.output, r)
	s.enqueueFlush()
	if s.waiting {
		s.waiting = false
		s.enqueueResume()
	}
}

// resume goes on after something that held the session up is over.
func (s *Session) resume() {
	s.resuming = false
	if s.client == 0 || s.held() {
		return
	}
	wanted, kept := s.Wants(), s.input
	s.input = nil
	if rest := s.run(kept); len(rest) > 0 {
		s.input = append(kept[:0], rest...)
	}
	if !wanted && s.Wants() {
		s.conn.Resume()
	}
}

// flush sends what there is to send, and closes the connection if that was
// the last.
func (s *Session) flush() {
	if s.closed {
		return
	}
	if s.sent < len(s.output) {
		n, err := s.conn.Send(s.output[s.sent:])
		if err != nil {
			s.Drop()
			return
		}
		heldBefore := s.held()
		s.sent += n
		if s.sent < len(s.output) {
			s.trimOutput()
		} else {
			s.giveOutput()
		}
		if heldBefore && !s.held() {
			s.enqueueResume()
		}
	}
	if s.client == 0 && len(s.output) == 0 {
		s.close()
	}
}

// trimOutput moves what is left to the front once most of it is sent, so that
// a slow reader does not make the buffer grow without end.
func (s *Session) trimOutput() {
	if s.sent > unsentOutput && s.sent > len(s.output)/2 {
		s.output = append(s.output[:0], s.output[s.sent:]...)
		s.sent = 0
	}
}

func (s *Session) giveOutput() {
	s.engine.giveBuffer(s.output)
	s.output, s.sent = nil, 0
}

// leave takes the client out of the queue. What it was told is still sent, then
// the connection is closed.
func (s *Session) leave() {
	if s.client == 0 {
		return
	}
	e := s.engine
	e.sessions[s.client] = nil
	e.machine.Close(e.now, s.client)
	s.client, s.input, s.waiting = 0, nil, false
	s.decoder = protocol.Decoder{}
	s.enqueueFlush()
	e.route()
}

func (s *Session) close() {
	if !s.closed {
		s.closed = true
		s.engine.open--
		s.conn.Close()
	}
}

func (s *Session) enqueueFlush() {
	if !s.dirty && !s.closed {
		s.dirty = true
		s.engine.dirty = append(s.engine.dirty, s)
	}
}

func (s *Session) enqueueResume() {
	if !s.resuming {
		s.resuming = true
		s.engine.resumed = append(s.engine.resumed, s)
	}
}
