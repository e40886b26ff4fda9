package binlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// windowSize is how much of a file is held in memory. It grows for a body that
// is larger.
const windowSize = 256 << 10

// window reads a file, mostly forwards.
type window struct {
	file *os.File
	size int64
	from int64 // where data begins in the file
	data []byte
	room []byte
}

func openWindow(path string) (*window, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &window{file: f, size: info.Size()}, nil
}

// bytes are n bytes from at, fewer at the end of the file. They hold until the
// next call.
func (w *window) bytes(at int64, n int) ([]byte, error) {
	n = int(min(int64(n), max(0, w.size-at)))
	if at < w.from || at+int64(n) > w.from+int64(len(w.data)) {
		if want := max(n, windowSize); want > len(w.room) {
			w.room = make([]byte, want)
		}
		got, err := w.file.ReadAt(w.room, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if got < n {
			return nil, fmt.Errorf("%s became shorter while it was read", w.file.Name())
		}
		w.from, w.data = at, w.room[:got]
	}
	at -= w.from
	return w.data[at : at+int64(n)], nil
}

// zerosFrom tells whether nothing but zeros follows.
func (w *window) zerosFrom(at int64) (bool, error) {
	end, err := w.dataEnd(at)
	return end == at, err
}

// dataEnd finds the end of what is not zero, from at on.
func (w *window) dataEnd(at int64) (int64, error) {
	end := at
	for at < w.size {
		p, err := w.bytes(at, windowSize)
		if err != nil {
			return 0, err
		}
		if data := bytes.TrimRight(p, "\x00"); len(data) > 0 {
			end = at + int64(len(data))
		}
		at += int64(len(p))
	}
	return end, nil
}

func (w *window) close() error { return w.file.Close() }
