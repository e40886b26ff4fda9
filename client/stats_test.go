package client

import (
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStatsOfAllVersions decodes documents with the differences there are between
// versions: quotes, and keys that some do not have.
func TestStatsOfAllVersions(t *testing.T) {
	for _, c := range []struct {
		name, document string
		want           ServerStats
	}{
		{
			"1.10", "---\ncurrent-jobs-ready: 3\ncmd-put: 4\nversion: 1.10\nrusage-utime: 0.012345\nuptime: 61\nid: 0123456789abcdef\nhostname: box\n",
			ServerStats{Jobs: JobCounts{Ready: 3}, Commands: CommandCounts{Put: 4}, Version: "1.10", UserTime: 12345 * time.Microsecond, Uptime: 61 * time.Second, ID: "0123456789abcdef", Hostname: "box"},
		},
		{
			"1.12", "---\nversion: \"1.12\"\ndraining: true\nhostname: box\nos: #1 SMP PREEMPT_DYNAMIC Debian 6.1: x\nplatform: x86_64\n",
			ServerStats{Version: "1.12", Draining: true, Hostname: "box", OS: "#1 SMP PREEMPT_DYNAMIC Debian 6.1: x", Platform: "x86_64"},
		},
		{
			"1.13", "---\nversion: \"1.13\"\ndraining: false\nhostname: \"box\"\nos: \"#1 \\S\"\nplatform: \"x86_64\"\n",
			ServerStats{Version: "1.13", Hostname: "box", OS: `#1 \S`, Platform: "x86_64"},
		},
		{
			"what nobody knows yet", "---\nversion: 2\nnew-key: some: text\npid: -1\nuptime: soon\ndraining: perhaps\r\ncmd-put: 18446744073709551616\n",
			ServerStats{Version: "2", Other: map[string]string{"new-key": "some: text", "pid": "-1", "uptime": "soon", "draining": "perhaps", "cmd-put": "18446744073709551616"}},
		},
		{"nothing", "", ServerStats{}},
	} {
		var got ServerStats
		decodeStats([]byte(c.document), &got)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	var job JobStats
	decodeStats([]byte("---\nid: 1\ntube: \"x\"\nstate: reserved\npri: 4294967295\ntime-left: -1\nttr: 4294967295\n"), &job)
	if job.Tube != "x" || job.Priority != 1<<32-1 || job.TimeLeft != -time.Second || job.TTR != (1<<32-1)*time.Second || job.Other != nil {
		t.Errorf("%+v", job)
	}
}

// TestEveryKeyHasItsField looks at what the servers here send: all of it has a
// field, and its value arrives in the field.
func TestEveryKeyHasItsField(t *testing.T) {
	for _, into := range []any{new(ServerStats), new(TubeStats), new(JobStats)} {
		s := reflect.ValueOf(into).Elem()
		fields := make(map[string]reflect.Value)
		collectFields(s, fields)
		for key, field := range fields {
			value := "7"
			switch field.Interface().(type) {
			case bool:
				value = "true"
			case string:
				value = "text"
			}
			if !setStat(field, value) || field.IsZero() {
				t.Errorf("%T: %s does not take %s", into, key, value)
			}
		}
		if n := len(fields); n != map[string]int{"ServerStats": 51, "TubeStats": 14, "JobStats": 14}[s.Type().Name()] {
			t.Errorf("%T has %d keys: %q", into, n, slices.Sorted(maps.Keys(fields)))
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]destination{
		"localhost":             {"tcp", "localhost:11300", false},
		"localhost:1":           {"tcp", "localhost:1", false},
		"::1":                   {"tcp", "[::1]:11300", false},
		"[::1]":                 {"tcp", "[::1]:11300", false},
		"[::1]:5":               {"tcp", "[::1]:5", false},
		"tcp:10.0.0.1":          {"tcp", "10.0.0.1:11300", false},
		"tcp://10.0.0.1:2":      {"tcp", "10.0.0.1:2", false},
		"tls:queue.example":     {"tcp", "queue.example:11300", true},
		"tls://queue.example:1": {"tcp", "queue.example:1", true},
		"unix:/run/q":           {"unix", "/run/q", false},
		"unix:///run/q":         {"unix", "/run/q", false},
		"/run/q":                {"unix", "/run/q", false},
	} {
		if got, err := parseAddress(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":11300", "host:", "a:b:c", "unix:", "tls:", "tcp:"} {
		if got, err := parseAddress(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]uint64{0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, (1<<32 - 1) * time.Second: 1<<32 - 1} {
		if got, err := wholeSeconds(d, 1<<32-1); got != want || err != nil {
			t.Errorf("%v: %d, %v, want %d", d, got, err, want)
		}
	}
	for _, d := range []time.Duration{-1, 1 << 32 * time.Second, 1<<63 - 1} {
		if got, err := wholeSeconds(d, 1<<32-1); err == nil {
			t.Errorf("%v: %d, want an error", d, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{Min: time.Second, Max: 10 * time.Second, Jitter: 0.5}
	for n, seconds := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 1 << 30: 10} {
		full := time.Duration(seconds) * time.Second
		least, most := full, time.Duration(0)
		for range 200 {
			d := b.Delay(n)
			least, most = min(least, d), max(most, d)
		}
		if least < full/2 || most > full || most-least < full/4 {
			t.Errorf("after %d failures from %v to %v, want a spread within %v and %v", n, least, most, full/2, full)
		}
	}
	if d := (Backoff{Min: 1 << 62, Max: 1<<63 - 1}).Delay(5); d != 1<<63-1 {
		t.Errorf("an overflow gives %v", d)
	}
}

// FuzzReply has anything at all come from the server.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{"INSERTED 1\r\n", "RESERVED 1 3\r\nabc\r\n", "OK 4\r\n---\n\r\n", "WATCHING 2\r\n", "KICKED\r\n", "BURIED 1\r\n", "FOUND 1 99999999999\r\n", "USING \r\n", "X\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Write(sent)
			_ = far.Close()
		}()
		c := NewConn(near, "fuzz")
		q := request{}
		for c.receive(&q) == nil {
			if strings.Contains(q.reply.text, "\n") || uint64(len(q.reply.data)) > uint64(len(sent)) {
				t.Errorf("%q was read as %+v", sent, q.reply)
			}
		}
		_ = c.Close()
	})
}
