package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/haricotq/haricot/internal/admin"
	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/server"
)

// example is a part of the guide: commands, and what they print.
type example struct {
	line           int
	commands       string
	kind, expected string
}

// examples reads the guide: a block fenced as sh, and the one behind it.
func examples(t *testing.T) (list []example) {
	t.Helper()
	guide, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var block *strings.Builder
	var kind string
	for i, line := range strings.Split(string(guide), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && block == nil:
			kind, block = fence, new(strings.Builder)
		case !isFence && block != nil:
			block.WriteString(line + "\n")
		case isFence:
			switch last := len(list) - 1; {
			case kind == "sh":
				list = append(list, example{line: i, commands: block.String()})
			case last >= 0 && list[last].kind == "":
				list[last].kind, list[last].expected = kind, block.String()
			}
			block = nil
		}
	}
	return list
}

// serveGuide serves the API as the program does, and returns its address.
func serveGuide(t *testing.T) string {
	t.Helper()
	srv, err := server.New(server.Config{Observed: true, MaxJobSize: 65535})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := operator.New(srv, slog.New(slog.DiscardHandler))
	history := operator.NewHistory(o)
	door := admin.New(admin.Config{Logger: slog.New(slog.DiscardHandler)})
	door.Serve(ln)
	door.Open(admin.Handlers{API: New(o, history, Config{})})
	var running sync.WaitGroup
	running.Go(func() {
		if err := srv.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() { history.Run(ctx) })
	t.Cleanup(func() {
		if err := door.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		running.Wait()
	})
	return "http://" + ln.Addr().String() + prefix
}

// TestGuide runs the examples of docs/api.md with curl, one after the other.
func TestGuide(t *testing.T) {
	for _, program := range []string{"curl", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%v; scripts/install has to bring it", err)
			}
			t.Skip(err)
		}
	}
	list := examples(t)
	if len(list) < 10 {
		t.Fatalf("the guide has %d examples only: they are not found", len(list))
	}
	address := serveGuide(t)
	for _, e := range list {
		cmd := exec.CommandContext(t.Context(), "sh", "-e")
		cmd.Stdin = strings.NewReader(e.commands)
		cmd.Env = append(os.Environ(), "API="+address, "no_proxy=*")
		var faults bytes.Buffer
		cmd.Stderr = &faults
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("line %d: %v: %s%s", e.line, err, out, faults.Bytes())
		}
		if err := e.compare(out); err != nil {
			t.Fatalf("line %d: %v in\n%s", e.line, err, out)
		}
	}
}

// compare tells in what an output is not as the guide says.
func (e *example) compare(out []byte) error {
	if e.kind == "text" {
		for line := range strings.Lines(e.expected) {
			if !strings.Contains(string(out), strings.TrimSpace(line)) {
				return fmt.Errorf("there is no %s", line)
			}
		}
		return nil
	}
	got, want := json.NewDecoder(bytes.NewReader(out)), json.NewDecoder(strings.NewReader(e.expected))
	for {
		var g, w any
		gotErr, wantErr := got.Decode(&g), want.Decode(&w)
		switch {
		case errors.Is(gotErr, io.EOF) && errors.Is(wantErr, io.EOF):
			return nil
		case gotErr != nil || wantErr != nil:
			return fmt.Errorf("answers and the guide do not have the same length: %w", errors.Join(gotErr, wantErr))
		}
		if err := contains("answer", g, w); err != nil {
			return err
		}
	}
}

// moving are members whose values depend on when and where.
var moving = []string{"age", "oldest_ready_age", "turns"}

// contains tells which part of what is wanted something does not have.
func contains(path string, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range want {
			inner, there := object[name]
			if !there {
				return fmt.Errorf("%s has no %s", path, name)
			}
			if err := contains(path+"."+name, inner, value); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return fmt.Errorf("%s has %d elements, the guide %d", path, len(list), len(want))
		}
		for i, value := range want {
			if err := contains(fmt.Sprintf("%s.%d", path, i), list[i], value); err != nil {
				return err
			}
		}
		return nil
	case float64:
		for _, name := range moving {
			if _, isNumber := got.(float64); isNumber && strings.HasSuffix(path, "."+name) {
				return nil
			}
		}
	}
	if got != want {
		return fmt.Errorf("%s is %v, in the guide %v", path, got, want)
	}
	return nil
}
