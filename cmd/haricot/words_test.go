package main

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "90": 90 * time.Second, "90s": 90 * time.Second, "5m": 5 * time.Minute, "1h30m": 90 * time.Minute,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute, "10ms": time.Second, "1500ms": 2 * time.Second,
		"4294967295": 4294967295 * time.Second,
	} {
		var got span
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "-1", "-5m", "4294967296", "49711d", "1d1d", "d", "99999999999999999999d", "5 m", "1e3", "+5", "0x10"} {
		var got span
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestJobID(t *testing.T) {
	for _, text := range []string{"", "0", "-1", "+1", "1.0", "18446744073709551616", "mail"} {
		if err := new(jobID).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for the id of a job", text)
		}
	}
	var got jobID
	if err := got.UnmarshalText([]byte("18446744073709551615")); err != nil || uint64(got) != 1<<64-1 {
		t.Errorf("the largest id is %d (%v)", got, err)
	}
}
