package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/wire"
)

// Properties are what jobs get when they are put.
type Properties struct {
	Priority   protocol.Priority
	Delay, TTR time.Duration // whole seconds
}

// Put puts one job.
func (s *Server) Put(tube string, p Properties, body []byte) (protocol.JobID, error) {
	if err := s.use(tube); err != nil {
		return 0, err
	}
	s.wire.Put(p.Priority, seconds(p.Delay), seconds(p.TTR), body)
	r, err := s.expect("INSERTED")
	return r.ID(), err
}

func seconds(d time.Duration) uint64 { return uint64(d / time.Second) }

const (
	feedBuffer = 64 << 10
	// feedWindow is how many puts may be without a reply. It bounds how many jobs are under way when one is refused.
	feedWindow = 8192
	// refusedAtMost is how many refusals are remembered.
	refusedAtMost = 100
)

// Fed is what has become of the bodies of a feed.
type Fed struct {
	Put      int       // so many are in the tube
	Refused  int       // so many are not, because the server refused them
	Refusals []Refusal // the first of them
}

// Refusal is a body that the server did not take.
type Refusal struct {
	Number int // of the body, from 1
	Err    error
}

// feed is a pipeline of puts: one goroutine sends them, and one reads the replies. While a put waits for its reply, the one that reads
// does nothing else: beanstalkd reads nothing before it has got rid of its replies, and the one that sends would wait for it for ever.
type feed struct {
	in       *bufio.Reader
	head     []byte // "put PRIORITY DELAY TTR "
	inserted func(id []byte)
	idle     func()

	sending sync.Mutex // over out; taken before mu
	out     *bufio.Writer

	mu      sync.Mutex // over the following; held for moments
	changed sync.Cond
	queued  int   // puts written, perhaps still in out; who sends them flushes before he waits for anything else
	known   int   // replies read
	ended   bool  // no more puts will come, and all were flushed
	failed  error // the connection is done for
	stop    error // why no more puts are to come
	fed     Fed
}

// Source gives the bodies of a feed, one after the other, and io.EOF after the last. It must call flush before it waits for
// input, so that what it has given is on its way meanwhile. A body is used until the next call only.
type Source func(flush func() error) ([]byte, error)

// Feed puts the bodies of a source into a tube, without waiting for replies in between. inserted is called with each id, in
// digits, in the order of the bodies; idle when no reply is there to be read for the moment.
//
// Bodies that are too big are left out and counted as refused. When the server has no room or is draining, the feed ends with
// that error. It ends as well when ctx does: then what was sent is waited for, and the source, which may be waiting for input, is
// left where it is.
func (s *Server) Feed(ctx context.Context, tube string, p Properties, source Source, inserted func(id []byte), idle func()) (Fed, error) {
	if err := s.use(tube); err != nil {
		return Fed{}, err
	}
	f := &feed{
		out: bufio.NewWriterSize(s.conn, feedBuffer), in: bufio.NewReaderSize(s.conn, feedBuffer),
		head:     fmt.Appendf(nil, "put %d %d %d ", p.Priority, seconds(p.Delay), seconds(p.TTR)),
		inserted: inserted, idle: idle,
	}
	f.changed.L = &f.mu
	go f.send(source)
	defer context.AfterFunc(ctx, func() { f.end(ctx.Err()) })()
	f.receive()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fed, errors.Join(f.stop, f.failed)
}

// send puts until there are no more bodies, or nobody wants more.
func (f *feed) send(source Source) {
	for {
		body, err := source(f.flush)
		if err == nil {
			err = f.put(body)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			f.end(err)
			return
		}
	}
}

// errEnded tells the sender that it is to send no more.
var errEnded = errors.New("the feed has ended")

// put writes one put.
func (f *feed) put(body []byte) error {
	f.sending.Lock()
	defer f.sending.Unlock()
	if err := f.admit(); err != nil {
		return err
	}
	line := strconv.AppendInt(append(f.out.AvailableBuffer(), f.head...), int64(len(body)), 10)
	f.out.Write(append(line, '\r', '\n')) //nolint:errcheck // The last write tells.
	f.out.Write(body)                     //nolint:errcheck // likewise
	if _, err := f.out.WriteString("\r\n"); err != nil {
		return f.broken(err)
	}
	return nil
}

// admit waits until there is room for another put, and counts it.
func (f *feed) admit() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queued-f.known >= feedWindow {
		f.mu.Unlock()
		err := f.flushLocked()
		f.mu.Lock()
		if err != nil {
			return err
		}
	}
	for f.queued-f.known >= feedWindow && !f.over() {
		f.changed.Wait()
	}
	if f.over() {
		return errEnded
	}
	if f.queued++; f.queued == f.known+1 {
		f.changed.Broadcast()
	}
	return nil
}

// over tells whether no more puts are to come.
func (f *feed) over() bool { return f.ended || f.stop != nil || f.failed != nil }

// flush sends what was written.
func (f *feed) flush() error {
	f.sending.Lock()
	defer f.sending.Unlock()
	if err := f.flushLocked(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over() {
		return errEnded
	}
	return nil
}

// flushLocked is called by who has locked sending.
func (f *feed) flushLocked() error {
	if err := f.out.Flush(); err != nil {
		return f.broken(err)
	}
	return nil
}

// broken notes that nothing more can be sent.
func (f *feed) broken(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = fmt.Errorf("sending jobs: %w", err)
	}
	f.changed.Broadcast()
	return errEnded
}

// end says that no more puts will come, and sends those that were written.
func (f *feed) end(err error) {
	f.sending.Lock()
	defer f.sending.Unlock()
	_ = f.flushLocked() // An error is in failed.
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.stop == nil && !errors.Is(err, errEnded) {
		f.stop = err
	}
	f.changed.Broadcast()
}

// receive reads replies until the last put has one.
func (f *feed) receive() {
	for f.await() {
		known, fed := 0, Fed{}
		var failed error
		for failed == nil && (known == 0 || f.in.Buffered() > 0) {
			if failed = f.reply(&fed, known+1); failed == nil {
				known++
			}
		}
		f.settle(known, &fed, failed)
	}
	f.idle()
}

// await waits until a reply is due. It returns false when none will be any more.
func (f *feed) await() bool {
	if f.in.Buffered() == 0 {
		f.idle()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.queued == f.known && !f.over() {
		f.changed.Wait()
	}
	return f.failed == nil && f.queued > f.known
}

// settle adds up what was read.
func (f *feed) settle(known int, fed *Fed, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fed.Put += fed.Put
	f.fed.Refused += fed.Refused
	for _, r := range fed.Refusals {
		r.Number += f.known
		if len(f.fed.Refusals) < refusedAtMost {
			f.fed.Refusals = append(f.fed.Refusals, r)
		}
		if !errors.Is(r.Err, ErrTooBig) && f.stop == nil {
			f.stop = r.Err
		}
	}
	f.known += known
	if failed != nil && f.failed == nil {
		f.failed = failed
	}
	f.changed.Broadcast()
}

// insertedWord begins the reply to a put that was taken.
var insertedWord = []byte("INSERTED ")

// reply reads one reply.
func (f *feed) reply(fed *Fed, number int) error {
	line, err := f.in.ReadSlice('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading a reply: %w", err)
	}
	line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
	if id, ok := bytes.CutPrefix(line, insertedWord); ok {
		fed.Put++
		f.inserted(id)
		return nil
	}
	word, text, _ := bytes.Cut(line, []byte(" "))
	refused := refusal(&wire.Reply{Word: string(word), Text: string(text)})
	if errors.Is(refused, ErrRefused) {
		return refused
	}
	fed.Refused++
	fed.Refusals = append(fed.Refusals, Refusal{number, refused})
	return nil
}
