package queue

import (
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/haricotq/haricot/internal/protocol"
)

// What operators see in the random sessions.

// walk is a look through the jobs in small portions.
type walk struct {
	sel  Selection
	at   Position
	met  map[protocol.JobID]bool
	stay map[protocol.JobID]bool // were there from the start on, and selected
}

// prune forgets jobs that have gone or are not selected any more.
func (w *walk) prune(m *model) {
	if w == nil {
		return
	}
	for id := range w.stay {
		if j := m.job(id); j == nil || !m.selects(j, &w.sel) {
			delete(w.stay, id)
		}
	}
}

func (p *couple) drawSelection(t *rapid.T) (sel Selection) {
	if rapid.Bool().Draw(t, "one tube") {
		sel.Tube = drawTube(t)
	}
	sel.States = StatesOf(rapid.SliceOfN(rapid.SampledFrom([]State{Ready, Delayed, Reserved, Buried}), 0, 3).Draw(t, "states")...)
	moments := []Instant{0, p.now}
	for _, j := range p.model.jobs {
		moments = append(moments, j.created, j.created+1, j.created-1)
	}
	if rapid.IntRange(0, 2).Draw(t, "bounds") == 0 {
		sel.Oldest = rapid.SampledFrom(moments).Draw(t, "oldest")
		sel.Newest = rapid.SampledFrom(moments).Draw(t, "newest")
	}
	if rapid.IntRange(0, 2).Draw(t, "by tries") == 0 {
		tries := rapid.Uint32Range(0, 3)
		sel.MinTries = tries.Draw(t, "min tries")
		sel.MaxTries = drawSome(t, "max tries", func(t *rapid.T) uint32 { return tries.Draw(t, "tries") })
	}
	return sel
}

// walkOn begins a walk, or goes on with it.
func (p *couple) walkOn(t *rapid.T) {
	if p.walk == nil {
		p.walk = &walk{sel: p.drawSelection(t), met: make(map[protocol.JobID]bool), stay: make(map[protocol.JobID]bool)}
		for _, j := range p.model.jobs {
			selected := p.model.selects(j, &p.walk.sel)
			if got := p.machine.Selects(j.id, &p.walk.sel); got != selected {
				t.Fatalf("job %d is selected by %+v: %v", j.id, p.walk.sel, got)
			}
			if selected {
				p.walk.stay[j.id] = true
			}
		}
	}
	w := p.walk
	n := rapid.IntRange(1, 4).Draw(t, "portion")
	last := w.at
	w.at = p.machine.Walk(w.at, n, &w.sel, func(at Position, rank Rank) {
		j := p.model.job(rank.ID)
		switch {
		case j == nil || !p.model.selects(j, &w.sel):
			t.Fatalf("job %d is met and not selected by %+v", rank.ID, w.sel)
		case rank != j.rank():
			t.Fatalf("job %d has %+v, want %+v", rank.ID, rank, j.rank())
		case w.met[rank.ID]:
			t.Fatalf("job %d is met twice", rank.ID)
		case at < last:
			t.Fatalf("a job is met at %d, behind %d", at, last)
		}
		last = at + 1
		w.met[rank.ID] = true
	})
	if w.at != 0 {
		if w.at < last {
			t.Fatalf("the walk goes on at %d, and was at %d", w.at, last)
		}
		return
	}
	for id := range w.stay {
		if !w.met[id] {
			t.Fatalf("job %d was there all the time and was not met", id)
		}
	}
	p.walk = nil
}

// compareViews holds what operators see to the model.
func (p *couple) compareViews(t *rapid.T) {
	t.Helper()
	p.compareJobs(t)
	p.compareTubes(t)
	p.compareClients(t)
	got, want := p.machine.Totals(), p.model
	wait, run := want.wait, want.run
	if !p.machine.config.Observed {
		wait, run = Histogram{}, Histogram{}
	}
	if got.Done != want.done || got.Wait != wait || got.Run != run {
		t.Fatalf("in all %v were done, want %v", got.Done, want.done)
	}
	if stats := p.model.stats(); got.QueueStats != stats {
		t.Fatalf("totals: (-model +machine)\n%s", cmp.Diff(stats, got.QueueStats))
	}
	if got.Full != want.full || got.Memory != p.machine.memory.Used() || got.MemoryLimit != p.machine.config.Memory {
		t.Fatalf("totals are %+v", got)
	}
	p.expectOldest(t, got.ReadySince, func(*modelJob) bool { return true })
}

// expectOldest checks since when the oldest ready job of some is said to be ready.
func (p *couple) expectOldest(t *rapid.T, told Instant, of func(*modelJob) bool) {
	t.Helper()
	truth := forever
	for _, j := range p.model.jobs {
		if j.state == Ready && of(j) {
			truth = min(truth, j.ready)
		}
	}
	if truth == forever || !p.machine.config.Observed {
		truth = 0
	}
	over := truth.sub(told)
	if (told == 0) != (truth == 0) || over < 0 || over >= ageGrain && over > p.now.sub(told)/ageShare {
		t.Fatalf("the oldest is ready since %d, and %d is told", truth, told)
	}
}

func (p *couple) compareJobs(t *rapid.T) {
	t.Helper()
	for _, j := range p.model.jobs {
		got, ok := p.machine.Job(j.id)
		want := j.view()
		if _, safe := p.ledger.jobs[j.id]; safe && p.machine.config.Memory > 0 && len(j.body) > 0 {
			want.Away = true
		}
		if !ok || got != want {
			t.Fatalf("job %d: (-model +machine)\n%s", j.id, cmp.Diff(want, got))
		}
		for from := range len(j.body) + 2 {
			into := make([]byte, 2)
			n := p.machine.Body(j.id, from, into)
			part := j.body[min(from, len(j.body)):]
			if part = part[:min(len(part), len(into))]; want.Away {
				part = ""
			}
			if string(into[:n]) != part {
				t.Fatalf("body of job %d from %d on is %q, want %q", j.id, from, into[:n], part)
			}
		}
	}
	for _, id := range []protocol.JobID{0, p.model.nextID} {
		if v, ok := p.machine.Job(id); ok || v != (JobView{}) || p.machine.Body(id, 0, make([]byte, 1)) != 0 {
			t.Fatalf("there is a job %d: %+v", id, v)
		}
	}
}

func (p *couple) compareTubes(t *rapid.T) {
	t.Helper()
	observed := p.machine.config.Observed
	met := make(map[string]bool)
	for at, more := Position(0), true; more; more = at != 0 {
		at = p.machine.Tubes(at, 2, func(v *TubeView) {
			tube := p.model.tubeNamed(v.Name)
			if tube == nil || met[v.Name] {
				t.Fatalf("tube %q is met, twice or though it is not there", v.Name)
			}
			met[v.Name] = true
			named, _ := p.machine.Tube(v.Name)
			if named != *v {
				t.Fatalf("tube %q by its name is %+v, and else %+v", v.Name, named, *v)
			}
			p.expectOldest(t, v.ReadySince, func(j *modelJob) bool { return j.tube == tube })
			if observed && (v.Wait() != tube.wait || v.Run() != tube.run) {
				t.Fatalf("tube %q: jobs have waited %+v, want %+v", v.Name, v.Wait(), tube.wait)
			}
			if !observed && (v.Wait() != Histogram{} || v.Run() != Histogram{}) {
				t.Fatalf("tube %q is observed", v.Name)
			}
			got := *v
			got.ReadySince, got.wait, got.run = 0, nil, nil
			if want := p.model.view(tube, observed); got != want {
				t.Fatalf("tube %q is %+v, want %+v", v.Name, got, want)
			}
		})
	}
	if len(met) != len(p.model.tubes) {
		t.Fatalf("%d tubes were met, of %d", len(met), len(p.model.tubes))
	}
	if v, ok := p.machine.Tube("none"); ok || v != (TubeView{}) {
		t.Fatalf("there is a tube %+v", v)
	}
}

func (p *couple) compareClients(t *rapid.T) {
	t.Helper()
	const most = 2
	var got []ClientView
	for at, more := Position(0), true; more; more = at != 0 {
		at = p.machine.Clients(at, 3, most, func(v *ClientView) { got = append(got, *v) })
	}
	var want []ClientView
	for _, c := range p.model.clients {
		want = append(want, p.model.clientView(c, most))
		one, ok := p.machine.Client(c.id, 100)
		if all := p.model.clientView(c, 100); !ok || !reflect.DeepEqual(all, one) {
			t.Fatalf("client %d: (-model +machine)\n%s", c.id, cmp.Diff(all, one))
		}
	}
	slices.SortFunc(want, func(a, b ClientView) int { return int(a.ID) - int(b.ID) })
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("clients: (-model +machine)\n%s", cmp.Diff(want, got))
	}
	for _, id := range []ClientID{0, ClientID(len(p.machine.clients))} {
		if _, ok := p.machine.Client(id, 1); ok {
			t.Fatalf("there is a client %d", id)
		}
	}
}
