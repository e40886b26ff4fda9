package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// A line is the client's end of one connection of a script. A goroutine of its
// own collects what arrives, so that a server is never held up by the script
// unless the script says so.
type line struct {
	name string
	conn net.Conn
	done chan struct{} // closed when the collector has ended

	mu      sync.Mutex
	moved   sync.Cond // signalled when any field below changes
	got     []byte    // arrived and not yet compared
	ended   bool      // the server closed, or the script did
	resting bool      // the script has told the collector not to read
	hungUp  bool      // the script has closed the connection
}

func newLine(name string, conn net.Conn) *line {
	l := &line{name: name, conn: conn, done: make(chan struct{})}
	l.moved.L = &l.mu
	go l.collect()
	return l
}

func (l *line) collect() {
	defer close(l.done)
	p := make([]byte, 64<<10)
	for {
		l.mu.Lock()
		for l.resting && !l.hungUp {
			l.moved.Wait()
		}
		l.mu.Unlock()
		n, err := l.conn.Read(p)
		l.mu.Lock()
		l.got = append(l.got, p[:n]...)
		l.ended = l.ended || err != nil
		l.moved.Broadcast()
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// rest tells the collector to leave what arrives in the network, or to go on.
// The collector may still take what it was already waiting for.
func (l *line) rest(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting = on
	l.moved.Broadcast()
}

// hangUp closes both sides and waits for the collector.
func (l *line) hangUp() {
	l.mu.Lock()
	l.hungUp = true
	l.moved.Broadcast()
	l.mu.Unlock()
	l.conn.Close()
	<-l.done
}

// halfClose closes the writing side.
func (l *line) halfClose() error {
	c, ok := l.conn.(interface{ CloseWrite() error })
	if !ok {
		return fmt.Errorf("%T cannot be half-closed", l.conn)
	}
	return c.CloseWrite()
}

// largestWrite is how many bytes are sent at once, so that a text of a gigabyte
// never stands in memory. A text up to this size goes out in one write.
const largestWrite = 1 << 20

// send writes the texts, in one write if they are not huge. That the server has
// closed the connection is no error: the script finds out by what it expects.
func (l *line) send(texts []text) error {
	var w bytes.Buffer
	flush := func() error {
		_, err := l.conn.Write(w.Bytes())
		w.Reset()
		return err
	}
	for _, t := range texts {
		for _, c := range t {
			most := max(1, largestWrite/len(c.bytes))
			for left := c.count; left > 0; left -= most {
				w.Write(bytes.Repeat(c.bytes, min(left, most)))
				if w.Len() < largestWrite {
					continue
				}
				if err := flush(); err != nil {
					return l.excuse(err)
				}
			}
		}
	}
	return l.excuse(flush())
}

func (l *line) excuse(err error) error {
	if err == nil {
		return nil
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s: the server does not take what is sent: %w", l.name, err)
	}
	return nil
}

// wait returns true as soon as enough says that what has arrived will do, and
// false when patience is at an end. enough gets the bytes and whether the
// connection has ended, and must not keep them. No patience means that it is
// asked once and the clock is not looked at.
func (l *line) wait(patience time.Duration, enough func(got []byte, ended bool) bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if patience == 0 {
		return enough(l.got, l.ended)
	}
	late := false
	timer := time.AfterFunc(patience, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.moved.Broadcast()
	})
	defer timer.Stop()
	for {
		if enough(l.got, l.ended) {
			return true
		}
		if late {
			return false
		}
		l.moved.Wait()
	}
}

// take removes the first n bytes of what has arrived.
func (l *line) take(n int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.got[:n:n]
	l.got = l.got[n:]
	return b
}

// first returns a copy of the first n bytes of what has arrived.
func (l *line) first(n int) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.got[:n])
}

// state returns a copy of what has arrived and whether the connection has ended.
func (l *line) state() (got []byte, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.got), l.ended
}
