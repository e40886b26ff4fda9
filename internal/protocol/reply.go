package protocol

import "strconv"

// crlf ends every line and every body.
const crlf = "\r\n"

// A Word is the first word of a reply and says what it means.
type Word uint8

// The words of the replies.
const (
	// Refusals that any command can meet.
	OutOfMemory Word = iota + 1
	InternalError
	BadFormat
	UnknownCommand
	// Replies to put.
	Inserted
	Buried
	ExpectedCRLF
	JobTooBig
	Draining
	// Replies to the other commands of producers and workers.
	Using
	Reserved
	DeadlineSoon
	TimedOut
	Deleted
	Released
	Touched
	Kicked
	Watching
	NotIgnored
	NotFound
	// Replies to questions.
	Found
	OK
	Paused

	words // one more than the last
)

var wordText = [words]string{
	OutOfMemory:    "OUT_OF_MEMORY",
	InternalError:  "INTERNAL_ERROR",
	BadFormat:      "BAD_FORMAT",
	UnknownCommand: "UNKNOWN_COMMAND",
	Inserted:       "INSERTED",
	Buried:         "BURIED",
	ExpectedCRLF:   "EXPECTED_CRLF",
	JobTooBig:      "JOB_TOO_BIG",
	Draining:       "DRAINING",
	Using:          "USING",
	Reserved:       "RESERVED",
	DeadlineSoon:   "DEADLINE_SOON",
	TimedOut:       "TIMED_OUT",
	Deleted:        "DELETED",
	Released:       "RELEASED",
	Touched:        "TOUCHED",
	Kicked:         "KICKED",
	Watching:       "WATCHING",
	NotIgnored:     "NOT_IGNORED",
	NotFound:       "NOT_FOUND",
	Found:          "FOUND",
	OK:             "OK",
	Paused:         "PAUSED",
}

// Words lists every reply word once.
func Words() []Word {
	list := make([]Word, 0, words-1)
	for w := OutOfMemory; w < words; w++ {
		list = append(list, w)
	}
	return list
}

// String returns the word as it stands on the wire.
func (w Word) String() string {
	if w == 0 || w >= words {
		return "no word"
	}
	return wordText[w]
}

// A Form is what follows the word of a reply.
type Form uint8

// The forms.
const (
	// Bare: nothing, "DELETED\r\n".
	Bare Form = iota
	// WithNumber: a number, "INSERTED 7\r\n".
	WithNumber
	// WithText: a text, "USING default\r\n".
	WithText
	// WithJob: a job's id and body, "RESERVED 7 5\r\nhello\r\n".
	WithJob
	// Document: a document, "OK 9\r\n---\n- foo\n\r\n".
	Document
	// ServerDocument: the document of stats. Whoever sends it puts it together,
	// for it needs [ProcessStats], and makes the reply a Document.
	ServerDocument
)

// A Reply is one answer to a client.
type Reply struct {
	Form   Form
	Word   Word
	Number uint64 // the id of a job, or a count
	Text   string
	Data   []byte // the body of a job, or a document
}

// AppendReply appends a reply as it stands on the wire.
func AppendReply(dst []byte, r *Reply) []byte {
	dst = append(dst, wordText[r.Word]...)
	switch r.Form {
	case Bare:
	case WithNumber:
		dst = appendNumber(dst, r.Number)
	case WithText:
		dst = append(dst, ' ')
		dst = append(dst, r.Text...)
	case WithJob:
		dst = appendNumber(dst, r.Number)
		return appendSized(dst, r.Data)
	case Document:
		return appendSized(dst, r.Data)
	case ServerDocument:
		panic("protocol: the document of stats is not put together")
	}
	return append(dst, crlf...)
}

func appendNumber(dst []byte, n uint64) []byte {
	dst = append(dst, ' ')
	return strconv.AppendUint(dst, n, 10)
}

func appendSized(dst, data []byte) []byte {
	dst = appendNumber(dst, uint64(len(data)))
	dst = append(dst, crlf...)
	dst = append(dst, data...)
	return append(dst, crlf...)
}
