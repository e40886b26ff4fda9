package memnet

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns the two ends of a new connection and closes them when the test
// ends.
func pair(t *testing.T, buffer int) (client, server *Conn) {
	t.Helper()
	l := ListenBuffer(buffer)
	client, err := l.Dial()
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server = accepted.(*Conn)
	t.Cleanup(func() {
		client.Close()
		server.Close()
		l.Close()
	})
	return client, server
}

func TestBytesArriveInOrderInBothDirections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t, 7) // far smaller than what is sent
		sent := strings.Repeat("haricot ", 1000)
		for _, way := range []struct{ from, to *Conn }{{client, server}, {server, client}} {
			go func() {
				if n, err := io.WriteString(way.from, sent); n != len(sent) || err != nil {
					t.Errorf("write: %d, %v", n, err)
				}
				way.from.CloseWrite()
			}()
			got, err := io.ReadAll(way.to)
			if err != nil || string(got) != sent {
				t.Errorf("read %d bytes of %d, %v", len(got), len(sent), err)
			}
		}
	})
}

func TestHalfClosedConnectionStillReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t, DefaultBuffer)
		io.WriteString(client, "last words")
		client.CloseWrite()
		if _, err := client.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing after CloseWrite: %v", err)
		}
		got, err := io.ReadAll(server)
		if string(got) != "last words" || err != nil {
			t.Errorf("server read %q, %v", got, err)
		}
		io.WriteString(server, "answer")
		server.Close()
		got, err = io.ReadAll(client)
		if string(got) != "answer" || err != nil {
			t.Errorf("client read %q, %v", got, err)
		}
	})
}

func TestFullBufferBlocksTheWriterUntilThePeerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t, 4)
		written := make(chan int, 1)
		go func() {
			n, _ := io.WriteString(client, "123456")
			written <- n
		}()
		synctest.Wait()
		if len(written) != 0 {
			t.Fatal("six bytes went into a buffer of four")
		}
		p := make([]byte, 2)
		if _, err := io.ReadFull(server, p); err != nil {
			t.Fatal(err)
		}
		if n := <-written; n != 6 {
			t.Errorf("%d bytes written, want 6", n)
		}
	})
}

func TestCloseWakesBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := pair(t, 1)
		readErr, writeErr := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := client.Read(make([]byte, 1))
			readErr <- err
		}()
		go func() {
			_, err := client.Write([]byte("does not fit"))
			writeErr <- err
		}()
		synctest.Wait()
		server.Close()
		if err := <-readErr; !errors.Is(err, io.EOF) {
			t.Errorf("reading from a closed peer: %v", err)
		}
		if err := <-writeErr; !errors.Is(err, syscall.EPIPE) {
			t.Errorf("writing to a closed peer: %v", err)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading after Close: %v", err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := pair(t, 1)
		start := time.Now()
		client.SetDeadline(start.Add(3 * time.Second))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if n, err := client.Write([]byte("ab")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %d, %v", n, err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("the deadline of 3s struck after %v", d)
		}

		client.SetDeadline(time.Time{})
		if n, err := client.Write([]byte("a")); n != 1 || err != nil {
			t.Errorf("write without a deadline: %d, %v", n, err)
		}
		client.SetWriteDeadline(time.Now().Add(time.Second))
		client.SetWriteDeadline(time.Now().Add(time.Minute)) // replaces the second
		start = time.Now()
		if _, err := client.Write([]byte("b")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write into a full buffer: %v", err)
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("the deadline of 1m struck after %v", d)
		}
		client.SetReadDeadline(time.Now().Add(-time.Second))
		var timeout net.Error
		if _, err := client.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("read after a deadline in the past: %v", err)
		}
	})
}

func TestClosedListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		waiting, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		never, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		l.Close()
		if _, err := l.Dial(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := never.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("a connection nobody accepted: %v", err)
		}
		io.WriteString(waiting, "x")
		if _, err := accepted.Read(make([]byte, 1)); err != nil {
			t.Errorf("an accepted connection ended with its listener: %v", err)
		}
	})
}

func TestCloseEndsAWaitingAccept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		synctest.Wait()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
	})
}
