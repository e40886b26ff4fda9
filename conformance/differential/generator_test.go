//go:build linux

package differential

import "slices"

// A generator makes the next step of a session from its state, so that what it says mostly makes sense.
type generator struct {
	*vocabulary
	session *session
	// single: one command a step, whole, and none behind a reserve that waits (timed sessions).
	single bool
}

// next is the next step; it is one that the session admits.
func (g *generator) next() step {
	for {
		if st := g.propose(); g.session.admits(st) {
			return st
		}
	}
}

func (g *generator) propose() step {
	n := g.rng.IntN(len(g.session.peers))
	p := &g.session.peers[n]
	switch {
	case !p.open:
		return step{action: opens, peer: n}
	case p.held != "" && g.chance(60):
		return step{action: goesOn, peer: n}
	case p.blocked() && (g.single && !g.chance(4) || !g.chance(12)):
		// Mostly let it wait: the others are to serve it.
		return g.propose()
	case g.chance(1) || p.blocked() && g.chance(30):
		return step{action: ends, peer: n}
	case g.chance(1) || p.blocked() && (g.single || g.chance(30)):
		return step{action: halves, peer: n}
	}
	return g.send(n)
}

func (g *generator) send(n int) step {
	st := step{action: sends, peer: n, commands: []command{g.command(n)}}
	if g.single {
		return st
	}
	if g.chance(15) {
		for range 1 + g.rng.IntN(6) {
			st.commands = append(st.commands, g.command(n))
		}
	}
	size := len(st.text())
	if g.chance(10) {
		for range 1 + g.rng.IntN(3) {
			if at := g.rng.IntN(size); at > 0 {
				st.cuts = append(st.cuts, at)
			}
		}
		slices.Sort(st.cuts)
		st.cuts = slices.Compact(st.cuts)
	}
	if last := st.commands[len(st.commands)-1]; g.chance(6) && !last.waits && !last.closes && !last.ticks {
		st.held = 1 + g.rng.IntN(len(last.text)-1)
		st.cuts = slices.DeleteFunc(st.cuts, func(at int) bool { return at >= size-st.held })
	}
	return st
}

// id is most often a job that exists, sometimes one that did, will or cannot.
func (g *generator) id(p *peer) uint64 {
	s := g.session
	switch {
	case len(p.reserved) > 0 && g.chance(50):
		return p.reserved[g.rng.IntN(len(p.reserved))]
	case len(s.jobs) > 0 && g.chance(85):
		if recent := len(s.jobs) - 20; recent > 0 && g.chance(60) {
			return s.jobs[recent+g.rng.IntN(20)]
		}
		return s.jobs[g.rng.IntN(len(s.jobs))]
	case g.chance(10):
		return []uint64{0, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}[g.rng.IntN(6)]
	}
	return 1 + g.rng.Uint64N(s.lastID+2)
}

// command is any command, in proportions that keep queues short and workers waiting.
func (g *generator) command(n int) command {
	if g.chance(g.malformed) {
		return g.malformedLine()
	}
	p := &g.session.peers[n]
	switch w := g.rng.IntN(116); {
	case w < 20:
		return g.put()
	case w < 38:
		return g.reserve()
	case w < 41:
		return g.about("reserve-job", g.id(p))
	case w < 52:
		return g.about("delete", g.id(p))
	case w < 59:
		return g.about("release", g.id(p))
	case w < 66:
		return g.about("bury", g.id(p))
	case w < 68:
		return g.about("touch", g.id(p))
	case w < 71:
		return g.about("kick-job", g.id(p))
	case w < 74:
		return g.kick()
	case w < 76:
		return g.about("peek", g.id(p))
	case w < 79:
		return said(g.one([]string{"peek-ready", "peek-delayed", "peek-buried"}))
	case w < 82:
		return g.about("stats-job", g.id(p))
	case w < 84:
		return g.named("stats-tube")
	case w < 85:
		return said("stats")
	case w < 88:
		return said(g.one([]string{"list-tubes", "list-tube-used", "list-tubes-watched"}))
	case w < 94:
		return g.named("use")
	case w < 100:
		return g.named("watch")
	case w < 105:
		return g.named("ignore")
	case w < 111:
		return g.pause()
	case w < 113:
		return g.kick()
	case w < 115:
		return g.named("stats-tube")
	}
	return g.quit()
}
