package migration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMap: a map knows in the next run what is at the destination, and takes no job for another.
func TestMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	one := &remoteJob{id: 1, copy: 11, created: 1000, body: []byte("one")}
	two := &remoteJob{id: 2, copy: 12, created: 1000, body: []byte("two")}
	m := reopened(t, path, nil)
	if err := m.add("mail", []*remoteJob{one, two}); err != nil {
		t.Fatal(err)
	}
	if err := m.undo("mail", []*remoteJob{two}); err != nil {
		t.Fatal(err)
	}
	m = reopened(t, path, m)
	for _, c := range []struct {
		name string
		tube string
		job  remoteJob
		want uint64
	}{
		{"the same", "mail", remoteJob{id: 1, created: 1000, body: []byte("one")}, 11},
		{"with an age that was cut off", "mail", remoteJob{id: 1, created: 1002, body: []byte("one")}, 11},
		{"another with its id, later", "mail", remoteJob{id: 1, created: 1003, body: []byte("one")}, 0},
		{"another body", "mail", remoteJob{id: 1, created: 1000, body: []byte("eno")}, 0},
		{"another tube", "post", remoteJob{id: 1, created: 1000, body: []byte("one")}, 0},
		{"one whose copy was taken back", "mail", remoteJob{id: 2, created: 1000, body: []byte("two")}, 0},
	} {
		if got := m.find(c.tube, &c.job); uint64(got) != c.want {
			t.Errorf("%s: the copy is %d, want %d", c.name, got, c.want)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMapCutOff: a line that was being written when its run ended counts for nothing, and the next one does not join it.
func TestMapCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	job := &remoteJob{id: 1, copy: 11}
	m := reopened(t, path, nil)
	if _, err := m.file.WriteString(`{"tube":"mail","from":1,"to":7`); err != nil {
		t.Fatal(err)
	}
	if m = reopened(t, path, m); m.find("mail", job) != 0 {
		t.Error("the line that was cut off counts")
	}
	if err := m.add("mail", []*remoteJob{job}); err != nil {
		t.Fatal(err)
	}
	if m = reopened(t, path, m); m.find("mail", job) != 11 {
		t.Error("the line behind it does not")
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestForeignMap: a file that is no map, or that of another migration, is refused and left alone.
func TestForeignMap(t *testing.T) {
	for text, want := range map[string]string{
		"Dear reader,\n": "this is not the map of a migration",
		"{}\n":           "this is not the map of a migration",
		`{"source":"a","destination":"c"}` + "\n":                    "from a to c",
		`{"source":"a","destination":"b"}` + "\n" + "Dear reader,\n": `line "Dear reader,\n"`,
	} {
		path := filepath.Join(t.TempDir(), "map")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenMap(path, "a", "b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q has become %q: %v", text, after, err)
		}
	}
}

// reopened closes a map, if there is one, and opens it again.
func reopened(t *testing.T, path string, m *Map) *Map {
	t.Helper()
	if m != nil {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := OpenMap(path, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestIDs(t *testing.T) {
	many := make(IDs, 22)
	for i := range many {
		many[i] = 100
	}
	for _, c := range []struct {
		ids  IDs
		want string
	}{
		{IDs{7}, "job 7"},
		{IDs{9, 7}, "jobs 7, 9"},
		{many, "jobs " + strings.TrimSuffix(strings.Repeat("100, ", 20), ", ") + " and 2 more"},
	} {
		if got := c.ids.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
