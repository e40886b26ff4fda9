package store

import "time"

// logAhead is how far beyond its end a log is filled with zeros, in bytes.
const logAhead = 256 << 10

var zeros [2 * logAhead]byte

// logFile is a log that Pebble writes, in one goroutine.
//
// A file that grows has its new length to be brought to the disk at every sync
// too, which takes longer than all the rest of it. So the log is lengthened by
// many records at a time, with zeros, which Pebble then writes over. Reading it
// ends at the zeros, as it does at the remains in a log that is used again;
// those have their length already.
type logFile struct {
	vitalFile
	meter  *meter
	end    int64 // of what is written
	length int64 // of the file, zeros included
}

func newLogFile(f vitalFile, m *meter) *logFile {
	l := &logFile{vitalFile: f, meter: m}
	if info, err := f.Stat(); err == nil {
		l.length = info.Size()
	}
	return l
}

// Write appends to the log.
func (f *logFile) Write(p []byte) (int, error) {
	if end := f.end + int64(len(p)); end > f.length && len(p) <= logAhead {
		// A log that could not be lengthened is as good, only slower.
		if n, err := f.File.WriteAt(zeros[:int64(len(p))+logAhead], f.end); err == nil {
			f.length = f.end + int64(n)
		}
	}
	n, err := f.vitalFile.Write(p)
	f.end += int64(n)
	f.meter.logBytes.Add(uint64(n))
	return n, err
}

// Sync syncs, and takes the time.
func (f *logFile) Sync() error {
	defer f.timed(time.Now())
	return f.vitalFile.Sync()
}

// SyncData syncs what is needed to read the file, and takes the time.
func (f *logFile) SyncData() error {
	defer f.timed(time.Now())
	return f.vitalFile.SyncData()
}

func (f *logFile) timed(began time.Time) { f.meter.synced(time.Since(began)) }
