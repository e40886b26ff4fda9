//go:build linux

package differential

// A command is one thing a client says, well-formed or not, with what the session must know of it in advance. The text is complete
// in itself: it ends where the server is ready for the next command.
type command struct {
	text string
	// replies is how many replies the text draws. A put of a bad size, for example, may draw a second one for what is left over.
	replies int
	// waits: the (only) reply may come much later, in answer to another connection.
	waits bool
	// closes: the server closes the connection without a reply.
	closes bool
	// ticks: the reference acts on the command only at its next timer tick, about a millisecond later.
	ticks bool
	// delays: an old job gets a new deadline.
	delays bool
	// watches and ignores are the tube that the command puts on the watch list or takes from it.
	watches, ignores string
	// looks is the id of the job that the command may show in any state, even half-received.
	looks uint64
	// job is the id of the job that the command acts on.
	job uint64
	// body is the offset at which a put's line ends and its body begins; once the line is there a job id is taken.
	body int
}

// said is a well-formed or malformed command with exactly one reply and nothing else to know.
func said(text string) command { return command{text: text + "\r\n", replies: 1} }
