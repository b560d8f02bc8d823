package page

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"autopilot/metrics/logs"
	"autopilot/metrics/report/wording"
)

// Lengths of texts, in runes.
const (
	shortText = 60
	lineText  = 200
	longText  = 1000
	heldText  = 20000 // a call that a person decides on
	eventText = 4000
)

const zeroWidthJoiner, zeroWidthNonJoiner = 0x200d, 0x200c

// line is a text of strangers as one line.
func line(s string, n int) string {
	switch {
	case len(s) <= min(n, 24) && made(s, letters):
		return s
	case len(s) <= n/2 && made(s, printed) && !strings.Contains(s, "  ") && strings.TrimSpace(s) == s:
		return logs.Redact(s) // nothing else would be done to it
	}
	return wording.Line(visible(s, n), n)
}

// text is line for several lines.
func text(s string, n int) string { return wording.Text(visible(s, n), n) }

// letters and printed are sets of bytes: most of a table is made of them, and needs little
// or no cleaning.
func letters(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func printed(c byte) bool { return c >= ' ' && c <= '~' }

func made(s string, of func(byte) bool) bool {
	for i := range len(s) {
		if !of(s[i]) {
			return false
		}
	}
	return true
}

// visible names characters that cannot be seen, or that turn the direction of writing, as
// in ‹U+202E›: what a person decides by must not read as something else. Joiners stay
// within scripts and pictures that are made with them.
func visible(s string, n int) string {
	if limit := max(n, shortText) * 16; len(s) > limit {
		s = s[:limit] + "…" // wording looks no further, and has to see that there was more
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	last := rune(0)
	for _, c := range s {
		switch {
		case !hidden(c), (c == zeroWidthJoiner || c == zeroWidthNonJoiner) && last > 0x2ff && !hidden(last):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "‹U+%04X›", c)
		}
		last = c
	}
	return b.String()
}

// hidden reports whether a character has no looks of its own.
func hidden(c rune) bool {
	return c >= 0xad && (unicode.Is(unicode.Cf, c) || c == 0x115f || c == 0x1160 || c == 0x3164 || c == 0xffa0 || c == 0x2800 || c == 0x034f)
}

// clock is a moment of today or of another day.
func clock(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch {
	case t.IsZero():
		return wording.None
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// stamp is a moment for a machine.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// span is a time in the few letters that a table has room for: 45 s, 24 min, 1 h 23 min.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return wording.None
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// age is span for what grows while one looks: not more often than each minute.
func age(d time.Duration) string {
	if d >= 0 && d < time.Minute {
		return "<1 min"
	}
	return span(d)
}

// between is the time from one moment to another.
func between(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return wording.None
	}
	return span(to.Sub(from))
}

func tokens(n int64) string {
	switch {
	case n < 0:
		return wording.None
	case n < 10_000:
		return wording.Number(n)
	}
	return wording.Short(float64(n))
}

func percent(p *float64) string {
	if p == nil {
		return wording.None
	}
	return wording.Percent(*p)
}

func number(n *int) string {
	if n == nil {
		return wording.None
	}
	return wording.Number(int64(*n))
}
