package sim

import (
	"maps"
	"slices"
	"strconv"

	"github.com/haricotq/haricot/internal/wire"
)

// inspect compares all that a server has after its start with what its clients
// know.
func (w *world) inspect(address string) {
	t := w.t
	t.Helper()
	c := talk(t, address)
	defer c.Close()
	sent := uint64(len(w.pool.jobs))
	for _, o := range w.owners {
		sent += uint64(len(o.commands) - o.answered)
		w.tally.unanswered += len(o.commands) - o.answered
		w.tally.commands += o.answered
	}
	w.know()
	last := uint64(0)
	if len(w.ids) > 0 {
		last = slices.Max(slices.Collect(maps.Keys(w.ids)))
	}
	found := survey(t, c, last+sent+1)
	w.tally.jobs += len(found)
	w.counts(c, found)
	pauses := w.pauses(c)
	for _, o := range w.owners {
		if err := o.judge(found, pauses, w.lossy); err != nil {
			t.Error(err)
		}
	}
	if err := w.pool.judge(found, w.lossy); err != nil {
		t.Error(err)
	}
	if w.lossy {
		w.unlearn(found)
	}
	w.know()
	if t.Failed() {
		return
	}
	for _, o := range w.owners {
		w.burials(c, o)
	}
}

// know notes all ids that clients have been told. None may be told twice.
func (w *world) know() {
	note := func(id uint64, token uint32) {
		if id == 0 {
			return
		}
		if other, known := w.ids[id]; known && other != token {
			w.t.Errorf("id %d was given to two jobs", id)
		}
		w.ids[id] = token
	}
	for _, o := range w.owners {
		for token, id := range o.ids {
			note(id, token)
		}
	}
	for token, j := range w.pool.jobs {
		note(j.id, token)
	}
}

// unlearn forgets ids above those of the jobs that are there: what gave them out
// may be lost.
func (w *world) unlearn(found map[uint32]*survivor) {
	highest := uint64(0)
	for _, s := range found {
		highest = max(highest, s.id)
	}
	maps.DeleteFunc(w.ids, func(id uint64, _ uint32) bool { return id > highest })
}

// counts compares the server's counts with the jobs that were found, so that
// there is none beyond those.
func (w *world) counts(c *wire.Conn, found map[uint32]*survivor) {
	w.t.Helper()
	all := stats(w.t, c, "stats")
	w.compare("stats", all, found, func(*survivor) bool { return true })
	tubes := map[string]bool{}
	for _, s := range found {
		tubes[s.tube] = true
	}
	for tube := range tubes {
		w.compare(tube, stats(w.t, c, "stats-tube %s", tube), found, func(s *survivor) bool { return s.tube == tube })
	}
	for _, tube := range wire.List(expect(w.t, c, "OK", "list-tubes").Data) {
		if delete(tubes, tube); tube != "default" && w.empty(tube, found) {
			w.t.Errorf("tube %s is there without a job", tube)
		}
	}
	if len(tubes) > 0 {
		w.t.Errorf("list-tubes lacks %v", tubes)
	}
}

func (w *world) empty(tube string, found map[uint32]*survivor) bool {
	for _, s := range found {
		if s.tube == tube {
			return false
		}
	}
	return true
}

// compare compares counts. Jobs that were delayed may be ready by now.
func (w *world) compare(name string, fields map[string]string, found map[uint32]*survivor, of func(*survivor) bool) {
	w.t.Helper()
	want := map[string]int{}
	for _, s := range found {
		if of(s) {
			want[s.state]++
		}
	}
	number := func(state string) int {
		n, err := strconv.Atoi(fields["current-jobs-"+state])
		if err != nil {
			w.t.Errorf("%s has no count of %s jobs: %v", name, state, err)
		}
		return n
	}
	r, d := number(ready), number(delayed)
	if r+d != want[ready]+want[delayed] || r < want[ready] || number(buried) != want[buried] || number(reserved) != 0 {
		w.t.Errorf("%s: %v, but the jobs are %v", name, fields, want)
	}
}

// pauses asks how long tubes are paused.
func (w *world) pauses(c *wire.Conn) map[string]uint32 {
	w.t.Helper()
	lengths := map[string]uint32{}
	for _, o := range w.owners {
		tube := o.prefix + "p"
		r := ask(w.t, c, "stats-tube %s", tube)
		if r.Word != "OK" {
			continue
		}
		fields := wire.Stats(r.Data)
		length, err := strconv.ParseUint(fields["pause"], 10, 32)
		left, err2 := strconv.ParseUint(fields["pause-time-left"], 10, 32)
		if err != nil || err2 != nil || left > length || left+600 < length {
			w.t.Errorf("%s: pause %q, pause-time-left %q", tube, fields["pause"], fields["pause-time-left"])
		}
		lengths[tube] = uint32(length)
	}
	return lengths
}

// burials compares the order of an owner's buried jobs, by kicking some of them.
func (w *world) burials(c *wire.Conn, o *owner) {
	w.t.Helper()
	for _, tube := range []string{"a", "b", "p"} {
		use := command{verb: "use", tube: o.prefix + tube}
		o.did(use)
		expect(w.t, c, "USING", "use %s", use.tube)
		for n := w.random.IntN(8); ; n-- {
			e := o.acked.firstToKick()
			r := ask(w.t, c, "peek-buried")
			if e == nil || e.state != buried {
				if r.Word != "NOT_FOUND" {
					w.t.Errorf("a job is buried in %s: %v", use.tube, r)
				}
				break
			}
			if uint64(r.ID()) != o.ids[e.token] {
				w.t.Errorf("the first that was buried in %s is %v, not %d", use.tube, r, o.ids[e.token])
			}
			if n <= 0 {
				break
			}
			expect(w.t, c, "KICKED", "kick 1")
			o.did(command{verb: "kick", n: 1})
		}
	}
	expect(w.t, c, "USING", "use default")
	o.did(command{verb: "use", tube: "default"})
	o.ahead = o.acked.clone()
}
