package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// stream is one direction of a connection: a bounded buffer with one reading
// and one writing end. mu guards every field; moved is signalled whenever one
// of them changes in a way that a waiting reader or writer must look at.
type stream struct {
	mu    sync.Mutex
	moved sync.Cond

	limit int    // the writer blocks while this many bytes are in buf
	buf   []byte // written and not yet read

	writerGone bool // no more bytes will come
	readerGone bool // nobody will read what comes

	readBy, writeBy deadline
}

func newStream(limit int) *stream {
	s := &stream{limit: limit}
	s.moved.L = &s.mu
	s.readBy.stream, s.writeBy.stream = s, s
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.readerGone:
			return 0, net.ErrClosed
		case s.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.buf) > 0:
			n := copy(p, s.buf)
			s.buf = s.buf[n:]
			s.moved.Broadcast()
			return n, nil
		case s.writerGone:
			return 0, io.EOF
		}
		s.moved.Wait()
	}
}

func (s *stream) write(p []byte) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writerGone:
			return n, net.ErrClosed
		case s.readerGone:
			return n, syscall.EPIPE
		case s.writeBy.passed():
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		}
		if room := s.limit - len(s.buf); room > 0 {
			part := p[n:min(len(p), n+room)]
			s.buf = append(s.buf, part...)
			n += len(part)
			s.moved.Broadcast()
			continue
		}
		s.moved.Wait()
	}
}

func (s *stream) closeWriter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writerGone = true
	s.writeBy.stop()
	s.moved.Broadcast()
}

// closeReader also forgets what nobody will read.
func (s *stream) closeReader() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readerGone = true
	s.buf = nil
	s.readBy.stop()
	s.moved.Broadcast()
}

// deadline is the reading or the writing time limit of a stream, guarded by the
// stream's mutex.
type deadline struct {
	stream *stream
	at     time.Time   // zero: no limit
	wake   *time.Timer // wakes who waits when the time has come
}

func (d *deadline) set(t time.Time) {
	s := d.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	d.at = t
	if !t.IsZero() {
		d.wake = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.moved.Broadcast()
		})
	}
}

func (d *deadline) passed() bool {
	return !d.at.IsZero() && !time.Now().Before(d.at)
}

func (d *deadline) stop() {
	if d.wake != nil {
		d.wake.Stop()
		d.wake = nil
	}
}

// wrap gives an error the form that package net gives it; io.EOF stays bare, as
// readers compare it.
func wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return opError(op, err)
}
