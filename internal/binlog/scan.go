package binlog

import (
	"encoding/binary"
	"fmt"

	"github.com/haricotq/haricot/internal/protocol"
)

const versionSize = 4

// A Gap is a part of a file that could not be read.
type Gap struct {
	File     string
	From, To int64 // offsets in the file
	Reason   string
}

// String says all of it in a line.
func (g Gap) String() string {
	return fmt.Sprintf("%s, bytes %d to %d: %s", g.File, g.From, g.To, g.Reason)
}

// scanner goes through one file.
type scanner struct {
	*window
	*layout
	yield func(*record) (fault string)
	gap   func(from, to int64, reason string)
	step  func(at int64)
}

// version reads the first bytes of a file. It returns no layout for a version
// that is not known, and neither layout nor reason for a file in which nothing
// was ever written.
func version(w *window) (l *layout, reason string, err error) {
	p, err := w.bytes(0, versionSize)
	if err != nil {
		return nil, "", err
	}
	if len(p) == versionSize {
		v := binary.LittleEndian.Uint32(p)
		if l := layouts[v]; l != nil {
			return l, "", nil
		}
		if layouts[binary.BigEndian.Uint32(p)] != nil {
			return nil, "it was written on a big-endian machine", nil
		}
		reason = fmt.Sprintf("its version is %d; known are 5 and 7", v)
	} else {
		reason = "it ends within the number of its version"
	}
	if blank, err := w.zerosFrom(0); err != nil || blank {
		return nil, "", err
	}
	return nil, reason, nil
}

// run reads all records and reports what lies between those it can read.
func (s *scanner) run() error {
	at := int64(versionSize)
	for {
		s.step(at)
		r, fault, err := s.record(at)
		if err != nil {
			return err
		}
		if r == nil && fault == "" {
			blank, err := s.zerosFrom(at)
			if err != nil || blank {
				return err
			}
			fault = "zeros stand in the middle of the records"
			if s.size-at < int64(s.lengthSize+s.jobSize) {
				fault = "the file ends within a record"
			}
		}
		if fault == "" {
			fault = s.yield(r)
		}
		if fault == "" {
			at = r.end
			continue
		}
		next, err := s.resume(at + 1)
		if err != nil {
			return err
		}
		s.gap(at, next, fault)
		at = next
	}
}

// record reads the record that begins at an offset. It returns neither record
// nor fault where the end of the records is marked or the file ends.
func (s *scanner) record(at int64) (*record, string, error) {
	head := s.lengthSize + s.jobSize
	p, err := s.bytes(at, head+protocol.MaxTubeName)
	if err != nil || len(p) < head {
		return nil, "", err
	}
	length := uint64(binary.LittleEndian.Uint32(p))
	if s.lengthSize == 8 {
		length = binary.LittleEndian.Uint64(p)
	}
	if length > protocol.MaxTubeName {
		return nil, fmt.Sprintf("a tube would have a name of %d bytes", length), nil
	}
	if len(p) < head+int(length) {
		return nil, "the file ends within a record", nil
	}
	r := &record{}
	name := p[s.lengthSize : s.lengthSize+int(length)]
	s.job(r, p[s.lengthSize+int(length):][:s.jobSize])
	if length == 0 && r.id == 0 {
		return nil, "", nil
	}
	if length > 0 && !protocol.ValidTube(name) {
		return nil, fmt.Sprintf("a tube would be named %q", name), nil
	}
	if fault := r.fault(); fault != "" {
		return nil, fault, nil
	}
	r.tube = string(name)
	r.at, r.body = at, at+int64(head)+int64(length)
	r.end = r.body
	if r.full() {
		r.end += int64(r.bodySize)
		return s.ended(r)
	}
	return r, "", nil
}

// ended makes sure that a body is there and ends as it must.
func (s *scanner) ended(r *record) (*record, string, error) {
	if r.end > s.size {
		return nil, fmt.Sprintf("the file ends within the body of job %d in tube %s", r.id, r.tube), nil
	}
	p, err := s.bytes(r.end-2, 2)
	if err != nil {
		return nil, "", err
	}
	if string(p) != "\r\n" {
		return nil, fmt.Sprintf("the body of job %d in tube %s does not end where it should", r.id, r.tube), nil
	}
	return r, "", nil
}

// resume finds the next place at which a record certainly begins, or the end
// of what is not zero.
func (s *scanner) resume(from int64) (int64, error) {
	for at := from; at < s.size; at++ {
		r, _, err := s.record(at)
		if err != nil {
			return 0, err
		}
		if r == nil || !r.certain() {
			continue
		}
		if r.full() {
			return at, nil
		}
		if followed, err := s.followed(r); err != nil || followed {
			return at, err
		}
	}
	return s.dataEnd(from)
}

// followed tells whether after a short record, which has fewer marks than a
// full one, there is another, or the end.
func (s *scanner) followed(r *record) (bool, error) {
	next, fault, err := s.record(r.end)
	if err != nil || fault != "" {
		return false, err
	}
	if next == nil {
		return s.zerosFrom(r.end)
	}
	return next.certain(), nil
}
