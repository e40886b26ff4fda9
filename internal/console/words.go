package console

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/haricotq/haricot/internal/operator"
	"github.com/haricotq/haricot/internal/queue"
)

// functions are what templates can call.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"asset":    c.assets.url,
		"tubeURL":  tubeURL,
		"number":   number,
		"count":    count,
		"rate":     rate,
		"percent":  percent,
		"size":     size,
		"duration": duration,
		"ago":      ago,
		"until":    until,
		"moment":   moment,
		"plural":   plural,
		"live":     live,
		"tone":     toneOf,
		"add":      func(a, b int) int { return a + b },
	}
}

// number writes a number of any integer type with separators.
func number(n any) string {
	digits := fmt.Sprintf("%d", n)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// count writes a number for a table, where nothing must catch the eye less than
// something.
func count(n any) template.HTML {
	digits := number(n)
	if digits == "0" {
		return `<span class="zero">0</span>`
	}
	return template.HTML(digits)
}

// rate writes how often something happens in a second.
func rate(perSecond float64) string {
	switch {
	case perSecond <= 0:
		return "0"
	case perSecond < 0.095:
		return "<0.1"
	case perSecond < 9.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	default:
		return number(int64(math.Round(perSecond)))
	}
}

// percent writes a share, 0 to 1.
func percent(share float64) string {
	if share > 0 && share < 0.005 {
		return "<1%"
	}
	return strconv.Itoa(int(math.Round(100*share))) + "%"
}

// size writes a number of bytes of any integer type.
func size(n any) string {
	bytes, err := strconv.ParseFloat(fmt.Sprintf("%d", n), 64)
	if err != nil {
		return "?"
	}
	if bytes < 1024 {
		return strconv.Itoa(int(bytes)) + " B"
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	unit := -1
	for bytes >= 1024 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	digits := 1
	if bytes >= 99.95 {
		digits = 0
	}
	return strconv.FormatFloat(bytes, 'f', digits, 64) + " " + units[unit]
}

// duration writes a length of time in its two largest units.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + duration(-d)
	case d == 0:
		return "0s"
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.Itoa(int(d/time.Millisecond)) + "ms"
	case d < 10*time.Second && d%time.Second >= 100*time.Millisecond:
		return strconv.FormatFloat(math.Floor(d.Seconds()*10)/10, 'f', 1, 64) + "s"
	}
	const day = 24 * time.Hour
	units := []struct {
		length time.Duration
		name   string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units[:3] {
		if d < u.length {
			continue
		}
		text := number(int64(d/u.length)) + u.name
		if rest := d % u.length / units[i+1].length; rest > 0 {
			text += " " + strconv.Itoa(int(rest)) + units[i+1].name
		}
		return text
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}

const momentFormat = "2006-01-02 15:04:05 UTC"

// ago writes how long ago a moment was, with the moment itself as its title.
func ago(then, now queue.Instant) template.HTML { return timed(then, time.Duration(now-then)) }

// until writes how long it is until a moment, with the moment itself as its title.
func until(then, now queue.Instant) template.HTML { return timed(then, time.Duration(then-now)) }

func timed(at queue.Instant, d time.Duration) template.HTML {
	if at == 0 {
		return `<span class="zero">–</span>`
	}
	t := operator.Time(at).UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `" title="` + t.Format(momentFormat) + `">` +
		template.HTMLEscapeString(duration(max(0, d))) + `</time>`)
}

// moment writes when something was.
func moment(at queue.Instant) template.HTML {
	if at == 0 {
		return `<span class="zero">–</span>`
	}
	t := operator.Time(at).UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format(momentFormat) + `</time>`)
}

// plural writes a number of things: plural 1 "job" "jobs" is "1 job".
func plural(n any, one, many string) string {
	text := number(n)
	if text == "1" {
		return text + " " + one
	}
	return text + " " + many
}

// live are the attributes of the part of a page that is kept up to date: an
// element with an id, which the page at the address has too. Seconds is how
// often.
func live(id, here string, seconds int) template.HTMLAttr {
	return template.HTMLAttr(fmt.Sprintf(
		`id="%[1]s" data-live="%[2]d" hx-get="%[3]s" hx-trigger="refresh" hx-select="#%[1]s" hx-target="this" hx-swap="outerMorph"`,
		id, seconds, template.HTMLEscapeString(here)))
}

// sentence is an error's text as a sentence.
func sentence(err error) string {
	text := err.Error()
	first, width := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[width:] + "."
}
