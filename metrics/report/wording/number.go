package wording

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// None stands for what is not known.
const None = "-"

const most = 1e15

func known(v float64) bool { return v >= 0 && v < most }

// Amount is a number that can be: from 0 to 1e12, and 0 for one that cannot.
func Amount(v float64) float64 {
	const most = 1e12
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return min(v, most)
}

// Bounded is a count that can be: from 0 to a thousand million.
func Bounded(n int) int { return min(max(n, 0), 1e9) }

// Number writes a count with thousands separators: 1,234,567.
func Number(n int64) string {
	if n < 0 {
		return None
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a count with the word for it: 1 session, 1,200 sessions.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + one + "s"
}

// Rounded writes a number that need not be a whole one as a whole one.
func Rounded(v float64) string {
	if !known(v) {
		return None
	}
	return Number(int64(math.Round(v)))
}

// Dollars writes an amount of US dollars: $1,234.50, or <$0.01.
func Dollars(v float64) string {
	switch {
	case !known(v):
		return None
	case v > 0 && v < 0.005:
		return "<$0.01"
	}
	cents := int64(math.Round(v * 100))
	return fmt.Sprintf("$%s.%02d", Number(cents/100), cents%100)
}

// Percent writes a share of a hundred: 67%. What is not all is not 100%.
func Percent(v float64) string {
	switch {
	case !(v >= 0 && v <= 100):
		return None
	case v < 100 && v >= 99.5:
		return "99%"
	}
	return fmt.Sprintf("%.0f%%", v)
}

// Seconds writes a time in words: 45 seconds, 24 minutes, 1 hour 23 minutes, 3 days 4
// hours.
func Seconds(v float64) string {
	if !known(v) {
		return None
	}
	const minute, hour = 60, 60
	minutes, hours := int(math.Round(v/minute)), int(math.Round(v/minute/hour))
	switch {
	case math.Round(v) < minute:
		return Count(int(math.Round(v)), "second")
	case minutes < hour:
		return Count(minutes, "minute")
	case minutes < 48*hour:
		return pair(minutes, hour, "hour", "minute")
	}
	return pair(hours, 24, "day", "hour")
}

func pair(n, base int, large, small string) string {
	out := Count(n/base, large)
	if rest := n % base; rest > 0 {
		out += " " + Count(rest, small)
	}
	return out
}

// Duration is Seconds of a duration.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Short writes a number for an axis: 950, 1.5k, 180k, 2M.
func Short(v float64) string {
	if !known(v) {
		return None
	}
	for _, u := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.size*0.99995 { // which would be written as a thousand of the unit below
			return short(v/u.size) + u.name
		}
	}
	return short(v)
}

func short(v float64) string {
	digits := 1
	if v < 1 {
		digits = 3
	}
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}
