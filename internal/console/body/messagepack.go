package body

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/tinylib/msgp/msgp"
)

const (
	// packDepth is how deep values may lie in one another, packMost how many
	// there may be.
	packDepth = 200
	packMost  = 200_000
	// binaryMost is how many bytes of binary data within a value are shown.
	binaryMost = 64
)

var errPack = errors.New("body: this is no MessagePack")

// startsMessagePack tells whether bytes begin as a map or an array does. Other
// values are too little to tell.
func startsMessagePack(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	t := msgp.NextType(b)
	return t == msgp.MapType || t == msgp.ArrayType
}

// isMessagePack tells whether bytes are a map or an array, and nothing else.
func isMessagePack(b []byte) bool {
	if !startsMessagePack(b) {
		return false
	}
	u := unpacker{painter: &painter{full: true}, left: packMost}
	rest, err := u.value(b, 0, Plain)
	return err == nil && len(rest) == 0
}

// messagePack lays values out as JSON would, as many as can be read. What JSON
// does not have is named: binary data, times, other types, keys of all kinds.
func (p *painter) messagePack(b []byte) {
	u := unpacker{painter: p, left: packMost}
	if rest, err := u.value(b, 0, Plain); (err != nil || len(rest) > 0) && !p.line {
		p.add(Aside, " …")
	}
}

// unpacker reads values and paints them.
type unpacker struct {
	*painter
	left int // how many values may still be read
}

// value reads one value and returns what follows it. Strings get the mark Key
// if that is given.
func (u *unpacker) value(b []byte, depth int, mark Mark) ([]byte, error) {
	if u.left--; len(b) == 0 || u.left < 0 || depth > packDepth {
		return b, errPack
	}
	switch t := msgp.NextType(b); t {
	case msgp.MapType:
		n, rest, err := msgp.ReadMapHeaderBytes(b)
		if err != nil {
			return rest, errPack
		}
		return u.many(rest, n, depth, true)
	case msgp.ArrayType:
		n, rest, err := msgp.ReadArrayHeaderBytes(b)
		if err != nil {
			return rest, errPack
		}
		return u.many(rest, n, depth, false)
	case msgp.StrType:
		text, rest, err := msgp.ReadStringZC(b)
		if err != nil {
			return b, errPack
		}
		if mark == Plain {
			mark = String
		}
		u.quoted(mark, text)
		return rest, nil
	case msgp.BinType:
		data, rest, err := msgp.ReadBytesZC(b)
		if err != nil {
			return b, errPack
		}
		u.binary("binary", data)
		return rest, nil
	default:
		return u.scalar(b, t)
	}
}

// many reads the n elements of an array, or the n pairs of a map.
func (u *unpacker) many(b []byte, n uint32, depth int, pairs bool) (rest []byte, err error) {
	open, end := "[", "]"
	if pairs {
		open, end = "{", "}"
	}
	u.add(Plain, open)
	for i := range n {
		if i > 0 {
			u.add(Plain, ",")
		}
		u.newLine(depth + 1)
		if pairs {
			if b, err = u.value(b, depth+1, Key); err != nil {
				return b, err
			}
			u.add(Plain, ": ")
		}
		if b, err = u.value(b, depth+1, Plain); err != nil {
			return b, err
		}
	}
	if n > 0 {
		u.newLine(depth)
	}
	u.add(Plain, end)
	return b, nil
}

// scalar reads a value that has no others in it and is neither text nor data.
func (u *unpacker) scalar(b []byte, t msgp.Type) (rest []byte, err error) {
	var text string
	mark := Number
	switch t {
	case msgp.NilType:
		mark, text = Word, "null"
		rest, err = msgp.ReadNilBytes(b)
	case msgp.BoolType:
		var is bool
		is, rest, err = msgp.ReadBoolBytes(b)
		mark, text = Word, strconv.FormatBool(is)
	case msgp.IntType:
		var n int64
		n, rest, err = msgp.ReadInt64Bytes(b)
		text = strconv.FormatInt(n, 10)
	case msgp.UintType:
		var n uint64
		n, rest, err = msgp.ReadUint64Bytes(b)
		text = strconv.FormatUint(n, 10)
	case msgp.Float32Type:
		var f float32
		f, rest, err = msgp.ReadFloat32Bytes(b)
		text = float(float64(f), 32)
	case msgp.Float64Type:
		var f float64
		f, rest, err = msgp.ReadFloat64Bytes(b)
		text = float(f, 64)
	case msgp.InvalidType:
		return b, errPack
	default:
		return u.extension(b)
	}
	if err != nil {
		return b, errPack
	}
	u.add(mark, text)
	return rest, nil
}

// float writes a number so that it is told from a whole one.
func float(f float64, bits int) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', 1, bits)
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

// timeExtension is the type of a time in an extension.
const timeExtension = -1

// extension reads a value of a type that an application has added.
func (u *unpacker) extension(b []byte) ([]byte, error) {
	rest, err := msgp.Skip(b)
	if err != nil {
		return b, errPack
	}
	at := 1 // of the type: behind the code, and behind the length if there is one
	switch b[0] {
	case 0xc7:
		at = 2
	case 0xc8:
		at = 3
	case 0xc9:
		at = 5
	}
	value := b[:len(b)-len(rest)]
	if len(value) <= at {
		return b, errPack
	}
	kind := int8(value[at])
	if kind == timeExtension {
		if t, _, err := msgp.ReadTimeUTCBytes(b); err == nil {
			u.add(Word, "time ")
			u.add(String, t.Format(time.RFC3339Nano))
			return rest, nil
		}
	}
	u.binary(fmt.Sprintf("type %d", kind), value[at+1:])
	return rest, nil
}

// binary appends data that is no text.
func (u *unpacker) binary(name string, data []byte) {
	u.add(Word, name+" ")
	u.add(String, hex.EncodeToString(data[:min(len(data), binaryMost)]))
	if len(data) > binaryMost {
		u.add(Aside, fmt.Sprintf("… (%d bytes)", len(data)))
	}
}
