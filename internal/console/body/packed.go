package body

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"regexp"
)

// unpackMost is how much is unpacked: a small body may become huge.
const unpackMost = 512 << 10

// unpack unpacks what was packed with gzip or zlib; kind is empty if it was
// not. whole tells that there is no more of it.
func unpack(b []byte) (content []byte, kind string, whole bool) {
	var r io.ReadCloser
	var err error
	switch {
	case len(b) > 2 && b[0] == 0x1f && b[1] == 0x8b:
		kind = "gzip"
		r, err = gzip.NewReader(bytes.NewReader(b))
	case len(b) > 2 && b[0]&0x0f == 8 && b[0]>>4 <= 7 && (uint(b[0])<<8|uint(b[1]))%31 == 0:
		kind = "zlib"
		r, err = zlib.NewReader(bytes.NewReader(b))
	default:
		return nil, "", false
	}
	if err != nil {
		return nil, "", false
	}
	defer r.Close()
	content, err = io.ReadAll(io.LimitReader(r, unpackMost+1))
	if len(content) == 0 && err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, "", false // two bytes were alike, no more
	}
	if len(content) > unpackMost {
		return content[:unpackMost], kind, false
	}
	return content, kind, err == nil
}

// formats are what is known by how it begins and ends, and shown as text or
// bytes only.
var formats = []struct{ name, start, end string }{
	{"Ruby Marshal", "\x04\x08", ""},
	{"Python pickle", "\x80\x02", "."},
	{"Python pickle", "\x80\x03", "."},
	{"Python pickle", "\x80\x04\x95", "."},
	{"Python pickle", "\x80\x05\x95", "."},
	{"Java serialized", "\xac\xed\x00\x05", ""},
	{"Zstandard", "\x28\xb5\x2f\xfd", ""},
	{"PDF", "%PDF-", ""},
	{"XML", "<?xml ", ""},
}

// phpStart is how a value that PHP has serialized begins.
var phpStart = regexp.MustCompile(`\A(?:a:\d+:\{|[OC]:\d+:"|s:\d+:"|i:-?\d+;\z|b:[01];\z|N;\z)`)

// formatOf names what a body is, or returns nothing. A beginning may lack its end.
func formatOf(b []byte, whole bool) string {
	if phpStart.Match(b) {
		return "PHP serialized"
	}
	for _, f := range formats {
		if bytes.HasPrefix(b, []byte(f.start)) && (!whole || bytes.HasSuffix(b, []byte(f.end))) {
			return f.name
		}
	}
	return ""
}
