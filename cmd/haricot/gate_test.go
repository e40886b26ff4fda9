package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// gate stands between a migration and its destination.
type gate struct {
	address string
	// inserted is called before the reply to the n-th put goes on, and says whether it may, and whether the connection may live.
	inserted func(n int) (reply, live bool)
	// old makes the server one that lacks reserve-job.
	old  bool
	puts int // belongs to the goroutine that accepts
}

// open opens the gate until the end of the test.
func (g *gate) open(t *testing.T, to string) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.address = ln.Addr().String()
	var work sync.WaitGroup
	work.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				return
			}
			work.Go(func() { g.forth(client, server) })
			g.back(client, server)
		}
	})
	t.Cleanup(func() {
		ln.Close()
		work.Wait()
	})
	return g
}

// forth brings commands to the server.
func (g *gate) forth(client, server net.Conn) {
	defer server.Close()
	lines := bufio.NewReader(client)
	for {
		line, err := lines.ReadString('\n')
		if g.old {
			line = strings.Replace(line, "reserve-job ", "unheard-of ", 1)
		}
		if _, failed := io.WriteString(server, line); err != nil || failed != nil {
			return
		}
	}
}

// back brings replies back, for one connection after the other.
func (g *gate) back(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	lines := bufio.NewReader(server)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		reply, live := true, true
		if strings.HasPrefix(line, "INSERTED") && g.inserted != nil {
			g.puts++
			reply, live = g.inserted(g.puts)
		}
		if reply {
			if _, err := io.WriteString(client, line); err != nil {
				return
			}
		}
		if !live {
			return
		}
	}
}
