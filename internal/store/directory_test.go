package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestRefusedDirectories opens directories that must not be used. They are left
// exactly as they are.
func TestRefusedDirectories(t *testing.T) {
	const format = formatFile
	for name, test := range map[string]struct {
		files map[string]string
		want  error
		says  string
	}{
		"a newer version":             {map[string]string{format: "haricot store 99\n", "db/CURRENT": "x"}, ErrNewer, "99"},
		"the next version":            {map[string]string{format: "haricot store 2\n"}, ErrNewer, "2"},
		"version 0":                   {map[string]string{format: "haricot store 0\n"}, ErrDamaged, format},
		"garbage for a version":       {map[string]string{format: "\x00\x01\x02", "db/x": "x"}, ErrDamaged, format},
		"an empty version":            {map[string]string{format: ""}, ErrDamaged, format},
		"half a version":              {map[string]string{format: "haricot sto"}, ErrDamaged, format},
		"a very long version":         {map[string]string{format: strings.Repeat("haricot ", 10000)}, ErrDamaged, format},
		"a version and no database":   {map[string]string{format: "haricot store 1\n"}, ErrDamaged, ""},
		"somebody's files":            {map[string]string{"letter.txt": "Dear"}, ErrForeign, "letter.txt"},
		"somebody's hidden file":      {map[string]string{".profile": "x"}, ErrForeign, ".profile"},
		"another database of Pebble":  {map[string]string{"MANIFEST-000001": "x", "CURRENT": "x", "000002.log": ""}, ErrForeign, ""},
		"the log of a beanstalkd":     {map[string]string{"binlog.1": "\x07\x00\x00\x00", "lock": ""}, ErrBeanstalkd, ""},
		"an old log of a beanstalkd":  {map[string]string{"binlog.4711": ""}, ErrBeanstalkd, ""},
		"somebody's file and a store": {map[string]string{format: "haricot store 3\n", "letter.txt": "Dear"}, ErrNewer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range test.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := contents(t, dir)
			for _, readOnly := range []bool{true, false} {
				s, err := Open(Options{Dir: dir, ReadOnly: readOnly})
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("it is opened with error %v, want %v that names %q", err, test.want, test.says)
				}
			}
			after := contents(t, dir)
			if errors.Is(test.want, ErrDamaged) && test.says == "" {
				// Only the database knows that it is missing, and locks come first.
				delete(after, filepath.Join(dir, lockFile))
				delete(after, filepath.Join(dir, database))
				delete(after, filepath.Join(dir, database, lockFile))
			}
			if diff := gocmp.Diff(before, after); diff != "" {
				t.Errorf("the directory was touched:\n%s", diff)
			}
		})
	}
}

func TestMissingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing")
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a missing directory is opened with %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there now: %v", err)
	}
}

func TestLockedDirectory(t *testing.T) {
	dir := t.TempDir()
	writeSamples(t, Options{Dir: dir})
	first, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first.disk.stop() // it makes the ballast beside us
	first.work.Wait()
	before := contents(t, dir)
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a directory that is in use is opened with %v", err)
	}
	if diff := gocmp.Diff(before, contents(t, dir)); diff != "" {
		t.Errorf("the directory was touched:\n%s", diff)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	checkSamples(t, second)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestUnfinishedDirectory starts where an earlier start did not get as far as
// the format.
func TestUnfinishedDirectory(t *testing.T) {
	dir := t.TempDir()
	writeSamples(t, Options{Dir: dir})
	if err := os.RemoveAll(filepath.Join(dir, database)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, formatFile), filepath.Join(dir, formatFile+".new")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeSamples(t, Options{Dir: dir})
}
