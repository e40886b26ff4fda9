package queue

import (
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// incomingPut is a client's put whose body has not arrived.
type incomingPut struct {
	job slot // 0 if the put is refused
	// refusal is what the client will be told once the body has gone by.
	refusal protocol.Word
}

// Intake says what to do with the bytes that follow the line of a put.
type Intake struct {
	// Body is to be filled with the body, after which comes a CRLF.
	Body []byte
	// Discard is how many bytes to throw away because the put is refused; 0 if
	// it is not.
	Discard uint64
	// None says that no body follows: the bytes are the next command.
	None bool
}

// bodyEnd is the length of the CRLF after a body.
const bodyEnd = 2

// BeginPut carries out the line of a put. Unless the Intake says that there
// is no body, EndPut must follow when it has gone by.
func (m *Machine) BeginPut(now Instant, from ClientID, cmd *protocol.Command) Intake {
	c := m.clients[from]
	m.stats.Commands[protocol.Put]++
	if cmd.Size > m.config.MaxJobSize {
		return m.refusePut(c, cmd, protocol.JobTooBig)
	}
	if cmd.Malformed {
		m.say(c, protocol.BadFormat)
		return Intake{None: true}
	}
	m.markProducer(c)
	// The id is spent now, whatever becomes of the put, as beanstalkd does: so
	// jobs of equal priority stand in the order in which their lines came.
	id := m.nextID
	m.nextID++
	if m.full || m.overLimit(c.tube, cmd.Size) {
		return m.refusePut(c, cmd, protocol.OutOfMemory)
	}
	made, err := m.makeJob(now, id, c.tube, cmd)
	if err != nil {
		return m.refusePut(c, cmd, protocol.OutOfMemory)
	}
	c.put.job = made
	return Intake{Body: m.body(m.job(made))}
}

// makeJob makes a job as a put asks for it, with a body to be filled. It is in
// no place yet.
func (m *Machine) makeJob(now Instant, id protocol.JobID, t *tube, cmd *protocol.Command) (slot, error) {
	n, err := m.jobs.Alloc()
	if err != nil {
		return 0, err
	}
	body, err := m.memory.Alloc(int(cmd.Size))
	if err != nil {
		m.jobs.Free(n)
		return 0, err
	}
	*m.job(slot(n)) = job{
		id:       id,
		created:  now,
		body:     body,
		size:     cmd.Size,
		priority: cmd.Priority,
		delay:    uint32(cmd.Delay / time.Second),
		ttr:      uint32(max(cmd.TTR, protocol.MinTTR) / time.Second),
		tube:     t.number,
	}
	return slot(n), nil
}

// overLimit tells whether another job of that size is one too many.
func (m *Machine) overLimit(t *tube, size uint32) bool {
	limits := &m.config
	if limits.Memory > 0 && !limits.Durable && m.memory.Used()+int64(size) > limits.Memory {
		return true
	}
	return m.tubeFull(t, size)
}

// tubeFull tells whether another job of that size is one too many for a tube.
func (m *Machine) tubeFull(t *tube, size uint32) bool {
	limits := &m.config
	if limits.TubeJobs > 0 && t.size() >= limits.TubeJobs {
		return true
	}
	return limits.TubeBytes > 0 && t.bytes+uint64(size) > limits.TubeBytes
}

func (m *Machine) refusePut(c *client, cmd *protocol.Command, why protocol.Word) Intake {
	c.put.refusal = why
	return Intake{Discard: uint64(cmd.Size) + bodyEnd}
}

// EndPut carries out a put whose body has gone by; complete tells that a CRLF
// stood behind it.
func (m *Machine) EndPut(now Instant, from ClientID, complete bool) {
	c := m.clients[from]
	s, why := c.put.job, c.put.refusal
	c.put = incomingPut{}
	switch {
	case s == 0:
	case !complete:
		why = protocol.ExpectedCRLF
	case m.draining:
		why = protocol.Draining
	default:
		m.tell(c, protocol.Reply{Form: protocol.WithNumber, Word: protocol.Inserted, Number: uint64(m.job(s).id)})
		m.accept(now, s)
		return
	}
	if s != 0 {
		m.free(s)
	}
	m.say(c, why)
}

// accept brings a new job into its tube.
func (m *Machine) accept(now Instant, s slot) {
	j := m.job(s)
	m.enter(s)
	j.marks = fresh
	m.saveNow(s)
	m.tubeOf(j).total++
	m.tubeOf(j).bytes += uint64(j.size)
	m.stats.TotalJobs++
	m.note(m.tubeOf(j), Puts)
	m.place(now, s, time.Duration(j.delay)*time.Second)
}
