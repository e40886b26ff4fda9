//go:build linux

package differential

import "testing"

// TestDiffer shows for each leeway what it covers and what it does not.
func TestDiffer(t *testing.T) {
	body := func(text string) reply { return reply{line: "OK 1", body: []byte(text), hasBody: true} }
	for _, c := range []struct {
		name      string
		want, got reply
		same      bool
	}{
		{"the same word", reply{line: "DELETED"}, reply{line: "DELETED"}, true},
		{"another word", reply{line: "DELETED"}, reply{line: "NOT_FOUND"}, false},
		{"another body", reply{line: "FOUND 1 1", body: []byte("a"), hasBody: true}, reply{line: "FOUND 1 1", body: []byte("b"), hasBody: true}, false},
		{"no body", body("---\nid: 1\n"), reply{line: "OK 1"}, false},
		{"pid", body("---\ncurrent-jobs-urgent: 0\npid: 1\n"), body("---\ncurrent-jobs-urgent: 0\npid: 234\n"), true},
		{"id of the process", body("---\ncurrent-jobs-urgent: 0\nid: a\n"), body("---\ncurrent-jobs-urgent: 0\nid: b\n"), true},
		{"id of a job", body("---\nid: 1\npri: 0\n"), body("---\nid: 2\npri: 0\n"), false},
		{"a count", body("---\ncurrent-jobs-urgent: 0\n"), body("---\ncurrent-jobs-urgent: 1\n"), false},
		{"age by one", body("---\nid: 1\nage: 9\n"), body("---\nid: 1\nage: 10\n"), true},
		{"age by two", body("---\nid: 1\nage: 9\n"), body("---\nid: 1\nage: 11\n"), false},
		{"quotes", body("---\nname: true\n"), body("---\nname: \"true\"\n"), true},
		{"quotes elsewhere", body("---\nid: 1\nstate: ready\n"), body("---\nid: 1\nstate: \"ready\"\n"), false},
		{"another name", body("---\nname: a\n"), body("---\nname: b\n"), false},
		{"a key missing", body("---\nname: a\npause: 0\n"), body("---\nname: a\n"), false},
		{"keys in another order", body("---\nid: 1\nage: 0\nttr: 0\n"), body("---\nid: 1\nttr: 0\nage: 0\n"), false},
		{"a list in another order", body("---\n- a\n- b\n"), body("---\n- b\n- a\n"), false},
	} {
		if text := differ(c.want, c.got); (text == "") != c.same {
			t.Errorf("%s: the difference is %q", c.name, text)
		}
	}
}
