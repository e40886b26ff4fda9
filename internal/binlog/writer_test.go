package binlog

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haricotq/haricot/internal/protocol"
)

// entry is a job as a test wants it to stand in a log.
type entry struct {
	id                 uint64
	tube               string
	body               string
	state              state
	priority           uint32
	delay, ttr         time.Duration
	created, deadline  time.Time
	reserves, timeouts uint32
	releases, buries   uint32
	kicks              uint32
}

var created = time.Date(2020, 5, 4, 9, 30, 0, 123456000, time.UTC)

func put(id uint64, tube, body string) entry {
	return entry{id: id, tube: tube, body: body, state: ready, priority: uint32(100 + id), ttr: time.Minute, created: putAt(id)}
}

// putAt is when a job was put.
func putAt(id uint64) time.Time { return created.Add(time.Duration(id) * time.Millisecond) }

func (e entry) as(s state) entry { e.state = s; return e }

// logFile is a file that is written as beanstalkd does it, record by record.
type logFile struct {
	version uint32
	data    []byte
}

func newLogFile(version uint32) *logFile {
	return &logFile{version, binary.LittleEndian.AppendUint32(nil, version)}
}

func (f *logFile) full(e entry) *logFile {
	f.length(len(e.tube))
	f.data = append(f.data, e.tube...)
	f.job(e)
	f.data = append(f.data, e.body...)
	f.data = append(f.data, "\r\n"...)
	return f
}

func (f *logFile) short(e entry) *logFile {
	f.length(0)
	f.job(e)
	return f
}

func (f *logFile) zeros(n int) *logFile {
	f.data = append(f.data, make([]byte, n)...)
	return f
}

func (f *logFile) length(n int) {
	if f.version == 5 {
		f.data = binary.LittleEndian.AppendUint64(f.data, uint64(n))
		return
	}
	f.data = binary.LittleEndian.AppendUint32(f.data, uint32(n))
}

// job writes the struct field by field, with the gaps that a C compiler leaves.
func (f *logFile) job(e entry) {
	unit := time.Nanosecond
	if f.version == 5 {
		unit = time.Microsecond
	}
	moment := func(t time.Time) uint64 {
		if t.IsZero() {
			return 0
		}
		return uint64(t.UnixNano() / int64(unit))
	}
	le := binary.LittleEndian
	d := le.AppendUint64(f.data, e.id)
	d = le.AppendUint32(d, e.priority)
	d = le.AppendUint32(d, 0)
	d = le.AppendUint64(d, uint64(e.delay/unit))
	d = le.AppendUint64(d, uint64(e.ttr/unit))
	d = le.AppendUint32(d, uint32(len(e.body)+2))
	d = le.AppendUint32(d, 0)
	d = le.AppendUint64(d, moment(e.created))
	d = le.AppendUint64(d, moment(e.deadline))
	for _, n := range []uint32{e.reserves, e.timeouts, e.releases, e.buries, e.kicks} {
		d = le.AppendUint32(d, n)
	}
	d = append(d, byte(e.state))
	if f.version != 5 {
		d = append(d, 0, 0, 0)
	}
	f.data = d
}

// directory makes a log of files.
func directory(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read opens a directory until the end of the test.
func read(t testing.TB, dir string) *Log {
	t.Helper()
	l, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// bodies reads the bodies of all jobs.
func bodies(t testing.TB, l *Log) map[protocol.JobID]string {
	t.Helper()
	all := map[protocol.JobID]string{}
	for i := range l.Jobs {
		body, err := l.Body(&l.Jobs[i])
		if err != nil {
			t.Fatal(err)
		}
		if len(body) != int(l.Jobs[i].Size) {
			t.Fatalf("the body of job %d has %d bytes, not %d", l.Jobs[i].ID, len(body), l.Jobs[i].Size)
		}
		all[l.Jobs[i].ID] = string(body)
	}
	return all
}
