package client

import (
	"context"
	"io"
	"net"
	"testing"
)

// TestPortions sees to it that no more goes out at once than both sides can buffer.
func TestPortions(t *testing.T) {
	qs := make([]request, 3000)
	for i := range qs {
		if i >= 1000 {
			qs[i].body = make([]byte, 7000)
		}
	}
	qs[2999].body = make([]byte, 2*batchBytes)
	total := 0
	for part := range portions(qs) {
		size := 0
		for i := range part {
			size += len(part[i].body)
		}
		if len(part) > batchCount || size > batchBytes && len(part) > 1 {
			t.Errorf("a portion of %d requests with %d bytes", len(part), size)
		}
		total += len(part)
	}
	if total != len(qs) {
		t.Errorf("%d requests in portions, want %d", total, len(qs))
	}
}

// TestLargeBodyIsNotCopied looks at the buffer after a large body was sent.
func TestLargeBodyIsNotCopied(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.CopyN(io.Discard, far, int64(len("put 1024 0 60 60000\r\n"))+60000+2)
		_, _ = io.WriteString(far, "INSERTED 1\r\n")
		_ = far.Close()
	}()
	c := NewConn(near, "pipe")
	defer c.Close()
	if _, err := c.Put(context.Background(), make([]byte, 60000)); err != nil {
		t.Fatal(err)
	}
	if cap(c.out) > 1000 {
		t.Errorf("the write buffer has grown to %d bytes", cap(c.out))
	}
}
