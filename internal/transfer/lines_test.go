package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/haricotq/haricot/internal/protocol"
	"github.com/haricotq/haricot/internal/queue"
	"github.com/haricotq/haricot/internal/store"
)

// anyRecord draws a job as a store can have it.
func anyRecord(t *rapid.T, size int) queue.Record {
	instants := rapid.Custom(func(t *rapid.T) queue.Instant { return queue.Instant(rapid.Int64Min(0).Draw(t, "instant")) })
	seconds := func(name string, least uint32) time.Duration {
		return time.Duration(rapid.Uint32Min(least).Draw(t, name)) * time.Second
	}
	r := queue.Record{
		ID:       protocol.JobID(rapid.Uint64Range(1, math.MaxUint64-1).Draw(t, "id")),
		Tube:     rapid.StringMatching(`[A-Za-z0-9+/;.$_()][A-Za-z0-9+/;.$_()-]{0,199}`).Draw(t, "tube"),
		State:    rapid.SampledFrom([]queue.State{queue.Ready, queue.Delayed, queue.Buried}).Draw(t, "state"),
		Priority: protocol.Priority(rapid.Uint32().Draw(t, "pri")),
		Size:     uint32(size),
		Delay:    seconds("delay", 0),
		TTR:      seconds("ttr", 1),
		Created:  instants.Draw(t, "created"),
		Reserves: rapid.Uint32().Draw(t, "reserves"),
		Timeouts: rapid.Uint32().Draw(t, "timeouts"),
		Releases: rapid.Uint32().Draw(t, "releases"),
		Buries:   rapid.Uint32().Draw(t, "buries"),
		Kicks:    rapid.Uint32().Draw(t, "kicks"),
	}
	switch r.State {
	case queue.Delayed:
		r.Due = instants.Draw(t, "due")
	case queue.Buried:
		r.Burial = rapid.Uint64().Draw(t, "burial")
	}
	return r
}

// TestJobLine: whatever a job is, its line brings all of it back, and is one line.
func TestJobLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "body")
		record := anyRecord(t, len(body))
		text, err := json.Marshal(newJobLine(&record, body))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(text, '\n') || bytes.Contains(text, []byte("body_base64")) == utf8.Valid(body) {
			t.Fatalf("the line of a job with the body %q: %s", body, text)
		}
		line, err := parseLine(text)
		if err != nil {
			t.Fatal(err)
		}
		got, gotBody, err := line.(*jobLine).job()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(record, got); diff != "" || !bytes.Equal(body, gotBody) {
			t.Fatalf("%s brings back %q and %s", text, gotBody, diff)
		}
	})
}

// TestImportManyTakenBack: an error after some batches leaves what was there before.
func TestImportManyTakenBack(t *testing.T) {
	dir := t.TempDir()
	job := func(id int) string {
		r := queue.Record{ID: protocol.JobID(id), Tube: "mail", State: queue.Ready, TTR: time.Second, Size: 1}
		text, err := json.Marshal(newJobLine(&r, []byte("x")))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	load := func(first, last int, more ...string) error {
		var lines []string
		for id := first; id <= last; id++ {
			lines = append(lines, job(id))
		}
		in := Lines{Reader: strings.NewReader(strings.Join(append(lines, more...), "\n")), Progress: func(int64) {}}
		_, err := in.Import(dir)
		return err
	}
	if err := load(3000, 3001); err != nil {
		t.Fatal(err)
	}
	before := exported(t, dir)
	if err := load(1, 5000); err == nil || !strings.Contains(err.Error(), "line 3000: there is a job 3000 already") {
		t.Errorf("importing a job that is there: %v", err)
	}
	if after := exported(t, dir); after != before {
		t.Errorf("a failed import has left\n%.500s\nwhere there was\n%s", after, before)
	}
	if err := load(1, 2500, `{"type":"next","id":10000}`); err != nil {
		t.Fatal(err)
	}
	found, err := store.Check(store.Options{Dir: dir}, store.Watch{
		Fault:    func(f store.Fault) { t.Errorf("fault: %v", f) },
		Progress: func(string, int64, int64) {},
	})
	if err != nil || found.Ready != 2502 || found.Next != 10000 {
		t.Errorf("there are %d jobs, and the next id is %d: %v", found.Ready, found.Next, err)
	}
}

// exported is what a store has.
func exported(t *testing.T, dir string) string {
	t.Helper()
	from, err := OpenSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	_, err = Export(&text, from, func(int) {})
	if err = errors.Join(err, from.Close()); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
