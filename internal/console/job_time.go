package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeHelp says how people write a time.
const timeHelp = "write it as 90s, 5m, 2h, 1d or a number of seconds"

// timeUnits are the units in which people write times, beyond those of Go.
var timeUnits = []struct {
	letter byte
	length time.Duration
}{{'w', 7 * 24 * time.Hour}, {'d', 24 * time.Hour}, {'h', time.Hour}, {'m', time.Minute}, {'s', time.Second}}

// readTime reads a time as people write it: 90s, 5m, 1h30m, 2d, 1.5h, or a number
// of seconds. It is a whole number of seconds, as the queue's times are.
func readTime(text string) (time.Duration, error) {
	rest, total := strings.ToLower(strings.ReplaceAll(text, " ", "")), 0.0
	bad := fmt.Errorf("“%s” is no time; %s", shortened(text), timeHelp)
	for last := math.Inf(1); rest != ""; {
		end := 0
		for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || rest[end] == '.') {
			end++
		}
		n, err := strconv.ParseFloat(rest[:end], 64)
		if err != nil {
			return 0, bad
		}
		unit := time.Second
		if rest = rest[end:]; rest != "" {
			if unit = unitOf(rest[0]); unit == 0 || float64(unit) >= last {
				return 0, bad
			}
			rest = rest[1:]
		} else if total > 0 {
			return 0, bad // 5m30 may mean anything
		}
		last = float64(unit)
		total += n * unit.Seconds()
	}
	switch {
	case strings.TrimSpace(text) == "":
		return 0, bad
	case total != math.Trunc(total):
		return 0, fmt.Errorf("“%s” is not a whole number of seconds", shortened(text))
	case total > math.MaxUint32:
		return 0, fmt.Errorf("“%s” is too long; the longest is 136 years", shortened(text))
	}
	return time.Duration(total) * time.Second, nil
}

func unitOf(letter byte) time.Duration {
	for _, u := range timeUnits {
		if u.letter == letter {
			return u.length
		}
	}
	return 0
}

// timeText writes a time of whole seconds so that readTime reads the same.
func timeText(d time.Duration) string {
	if d < time.Second {
		return "0s"
	}
	text := ""
	for _, u := range timeUnits[1:] {
		if n := d / u.length; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + string(rune(u.letter))
			d %= u.length
		}
	}
	return text
}

// shortened is text as a message can quote it.
func shortened(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
