package protocol

// A Verb is a command of the language.
//
// The counted verbs stand in the order in which `stats` reports them.
type Verb uint8

// The verbs.
const (
	Put Verb = iota + 1
	Peek
	PeekReady
	PeekDelayed
	PeekBuried
	Reserve
	ReserveWithTimeout
	Delete
	Release
	Use
	Watch
	Ignore
	Bury
	Kick
	Touch
	Stats
	StatsJob
	StatsTube
	ListTubes
	ListTubeUsed
	ListTubesWatched
	PauseTube
	ReserveJob
	KickJob
	Quit

	verbs // one more than the last
)

// match says what may follow the word of a verb.
type match uint8

const (
	// spaced: one space must follow, and the arguments after it. Without it
	// the word is another one.
	spaced match = iota
	// alone: nothing may follow; what does makes the line malformed.
	alone
	// glued: the arguments may follow at once, without a space.
	glued
	// closing: whatever follows is not looked at.
	closing
)

// argument is a kind of argument and thereby the field of a [Command] that it
// fills.
type argument uint8

const (
	argID argument = iota + 1
	argPriority
	argDelay
	argTTR
	argSize
	argTimeout
	argCount
	argTube
	argPausedTube
)

// tail says what may stand between the last argument and the end of the line.
type tail uint8

const (
	// exact: nothing, not even a space.
	exact tail = iota
	// counted: what stands there is a fault, but one that is found only after
	// the command has been counted.
	counted
	// lenient: anything. beanstalkd's number parsers stop where the number
	// does, and clients have come to rely on it.
	lenient
)

// rule is all that the language knows of a verb.
type rule struct {
	verb  Verb
	word  string
	match match
	args  []argument
	tail  tail
	// shown tells whether `stats` has a cmd- counter of the verb. Some have
	// none, and clients that compare whole dictionaries expect that.
	shown bool
}

// rules is the grammar. A line belongs to the first rule that its beginning
// matches, so a word must stand before those it begins with.
var rules = [...]rule{
	{verb: Put, word: "put", args: []argument{argPriority, argDelay, argTTR, argSize}, tail: counted, shown: true},
	{verb: Peek, word: "peek", args: []argument{argID}, shown: true},
	{verb: PeekReady, word: "peek-ready", match: alone, shown: true},
	{verb: PeekDelayed, word: "peek-delayed", match: alone, shown: true},
	{verb: PeekBuried, word: "peek-buried", match: alone, shown: true},
	{verb: ReserveWithTimeout, word: "reserve-with-timeout", args: []argument{argTimeout}, tail: lenient, shown: true},
	{verb: ReserveJob, word: "reserve-job", args: []argument{argID}},
	{verb: Reserve, word: "reserve", match: alone, shown: true},
	{verb: Delete, word: "delete", args: []argument{argID}, shown: true},
	{verb: Release, word: "release", args: []argument{argID, argPriority, argDelay}, shown: true},
	{verb: Bury, word: "bury", args: []argument{argID, argPriority}, shown: true},
	{verb: Kick, word: "kick", args: []argument{argCount}, tail: lenient, shown: true},
	{verb: KickJob, word: "kick-job", args: []argument{argID}},
	{verb: Touch, word: "touch", args: []argument{argID}, shown: true},
	{verb: StatsJob, word: "stats-job", args: []argument{argID}, shown: true},
	{verb: StatsTube, word: "stats-tube", args: []argument{argTube}, shown: true},
	{verb: Stats, word: "stats", match: alone, shown: true},
	{verb: Use, word: "use", args: []argument{argTube}, shown: true},
	{verb: Watch, word: "watch", args: []argument{argTube}, shown: true},
	{verb: Ignore, word: "ignore", args: []argument{argTube}, shown: true},
	{verb: ListTubesWatched, word: "list-tubes-watched", match: alone, shown: true},
	{verb: ListTubeUsed, word: "list-tube-used", match: alone, shown: true},
	{verb: ListTubes, word: "list-tubes", match: alone, shown: true},
	{verb: Quit, word: "quit", match: closing},
	{verb: PauseTube, word: "pause-tube", match: glued, args: []argument{argPausedTube, argDelay}, shown: true},
}

// ruleOf finds a verb's rule; byFirst lists the rules of the words that begin
// with a byte, in the order of the table.
var (
	ruleOf  [verbs]*rule
	byFirst [256][]*rule
)

func init() {
	for i := range rules {
		r := &rules[i]
		ruleOf[r.verb] = r
		byFirst[r.word[0]] = append(byFirst[r.word[0]], r)
	}
}

// Verbs lists every verb once.
func Verbs() []Verb {
	list := make([]Verb, 0, verbs-1)
	for v := Put; v < verbs; v++ {
		list = append(list, v)
	}
	return list
}

// String returns the verb's word on the wire.
func (v Verb) String() string {
	if v == 0 || v >= verbs {
		return "no verb"
	}
	return ruleOf[v].word
}
