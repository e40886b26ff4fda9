package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// addJSON adds the members of a JSON object to the parameters.
func (f *form) addJSON(content []byte) error {
	if !validText(content) {
		return &problem{Status: http.StatusBadRequest, Detail: "The JSON is not UTF-8; a body that is not goes into body_base64."}
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var members map[string]any
	err := decoder.Decode(&members)
	if err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is something behind the object")
		}
	}
	if err != nil {
		return badJSON(content, err, decoder.InputOffset())
	}
	f.addMembers(members)
	return nil
}

// badJSON tells where JSON is at fault.
func badJSON(content []byte, err error, at int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	why := err.Error()
	switch {
	case errors.As(err, &syntax):
		at = max(0, syntax.Offset-1)
	case errors.As(err, &kind):
		at, why = 0, "it has to be an object, and is "+kind.Value
	case errors.Is(err, io.ErrUnexpectedEOF):
		at, why = int64(len(content)), "it ends too early"
	}
	before := content[:min(int(at), len(content))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	return &problem{Status: http.StatusBadRequest, Detail: fmt.Sprintf("The JSON is at fault in line %d, column %d: %s.", line, column, why)}
}

func (f *form) addMembers(members map[string]any) {
	for name, member := range members {
		switch member := member.(type) {
		case map[string]any:
			inner := &form{path: f.path + name + ".", values: make(map[string][]value)}
			inner.addMembers(member)
			if f.objects == nil {
				f.objects = make(map[string]*form)
			}
			f.objects[name] = inner
		case []any:
			for _, element := range member {
				f.add(name, element)
			}
		default:
			f.add(name, member)
		}
	}
}

// add adds a value; null is as if the member was not there.
func (f *form) add(name string, member any) {
	v := value{"a list or an object", otherKind}
	switch member := member.(type) {
	case nil:
		return
	case string:
		v = value{member, textKind}
	case json.Number:
		v = value{member.String(), numberKind}
	case bool:
		v = value{strconv.FormatBool(member), flagKind}
	}
	f.values[name] = append(f.values[name], v)
}
