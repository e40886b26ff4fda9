package load

import (
	"errors"
	"testing"
)

func TestScan(t *testing.T) {
	tests := []struct {
		input        string
		kind         kind
		digits, body string
	}{
		{"INSERTED 1\r\n", putKind, "1", ""},
		{"INSERTED 18446744073709551615\r\n", putKind, "18446744073709551615", ""},
		{"DELETED\r\n", deleteKind, "", ""},
		{"RESERVED 7 0\r\n\r\n", reserveKind, "7", ""},
		{"RESERVED 12 4\r\na\r\nb\r\n", reserveKind, "12", "a\r\nb"},
		{"TIMED_OUT\r\n", reserveKind, "", ""},
		{"FOUND 3 2\r\nhi\r\n", otherKind, "3", "hi"},
		{"OK 4\r\n---\n\r\n", otherKind, "", "---\n"},
		{"USING default\r\n", otherKind, "", ""},
		{"WATCHING 2\r\n", otherKind, "", ""},
	}
	for _, test := range tests {
		// A reply that has not arrived whole is left alone, wherever it is cut; what follows it is not touched.
		for n := range len(test.input) {
			var r reply
			if used, err := r.scan([]byte(test.input[:n])); used != 0 || err != nil {
				t.Errorf("%q: used %d, %v; want it left alone", test.input[:n], used, err)
			}
		}
		var r reply
		used, err := r.scan([]byte(test.input + "INSERTED 99\r\n"))
		if err != nil || used != len(test.input) {
			t.Errorf("%q: used %d, %v; want %d", test.input, used, err, len(test.input))
			continue
		}
		if r.kind != test.kind || string(r.digits) != test.digits || string(r.body) != test.body {
			t.Errorf("%q: kind %d, digits %q, body %q", test.input, r.kind, r.digits, r.body)
		}
	}
}

func TestScanRefuses(t *testing.T) {
	for _, input := range []string{
		"\n", "\r\n", "DELETED\n", "DELETED \r\n", "NOT_FOUND\r\n", "INSERTED \r\n", "INSERTED\r\n", "OUT_OF_MEMORY\r\n", "DRAINING\r\n",
		"DEADLINE_SOON\r\n", "RESERVED 1 \r\n\r\n", "RESERVED 1 x\r\n\r\n", "RESERVED 1 2 3\r\n\r\n", "RESERVED 1 2\r\nabcd\r\n",
		"OK 99999999999999\r\n", "BURIED 4\r\n", "USING \r\n",
	} {
		var r reply
		if used, err := r.scan([]byte(input)); !errors.Is(err, ErrReply) {
			t.Errorf("%q: used %d, %v; want it refused", input, used, err)
		}
	}
}
