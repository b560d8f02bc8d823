package forecast

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"autopilot/metrics/ledger"
)

const none = "-"

// Text says the forecast in one line for people, such as "3 sessions (2-5), about
// 24m (15m-50m), 180k tokens, $0.90 ($0.50-$1.60); from 7 earlier runs".
func (e Expectation) Text() string {
	var b strings.Builder
	unit := "sessions"
	if sessions(e.Sessions.Likely) == "1" {
		unit = "session"
	}
	fmt.Fprintf(&b, "%s %s%s, about %s%s, %s tokens, %s%s", sessions(e.Sessions.Likely), unit, brackets(e.Sessions, sessions),
		span(e.Seconds.Likely), brackets(e.Seconds, span), count(e.Tokens.Likely), dollars(e.CostUSD.Likely), brackets(e.CostUSD, dollars))
	switch e.Runs {
	case 0:
		b.WriteString("; a guess without earlier runs")
	case 1:
		b.WriteString("; from 1 earlier run")
	default:
		fmt.Fprintf(&b, "; from %d earlier runs", e.Runs)
	}
	if len(e.Exceeds) > 0 {
		fmt.Fprintf(&b, "; cut to the limit of %s", strings.Join(e.Exceeds, ", "))
	}
	return b.String()
}

// brackets are the bounds of a range, unless they say nothing.
func brackets(r ledger.Range, word func(float64) string) string {
	likely, bounds := word(r.Likely), bounds(r, word)
	if bounds == likely {
		return ""
	}
	return " (" + bounds + ")"
}

func bounds(r ledger.Range, word func(float64) string) string {
	low, high := word(r.Low), word(r.High)
	if low == high {
		return low
	}
	return low + "-" + high
}

// shown reports whether a number is one that says something to people.
func shown(v float64) bool { return v >= 0 && v < 1e15 }

func sessions(v float64) string {
	if !shown(v) {
		return none
	}
	return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
}

// span says seconds as 45s, 24m, 1h 23m or 3d 4h.
func span(v float64) string {
	const minute, hour, day = 60, 60, 24
	minutes := math.Round(v / minute)
	hours := math.Round(v / (minute * hour))
	switch {
	case !shown(v):
		return none
	case math.Round(v) < minute:
		return fmt.Sprintf("%.0fs", v)
	case minutes < hour:
		return fmt.Sprintf("%.0fm", minutes)
	case minutes < 2*day*hour:
		return pair(minutes, hour, "h", "m")
	}
	return pair(hours, day, "d", "h")
}

func pair(n, base float64, large, small string) string {
	rest := math.Mod(n, base)
	out := fmt.Sprintf("%.0f%s", (n-rest)/base, large)
	if rest > 0 {
		out += fmt.Sprintf(" %.0f%s", rest, small)
	}
	return out
}

// count says a large number as 950, 180k, 1.8M or 2.5G.
func count(v float64) string {
	const k, m, g = 1e3, 1e6, 1e9
	switch {
	case !shown(v):
		return none
	case math.Round(v) < k:
		return fmt.Sprintf("%.0f", v)
	case math.Round(v/k) < k:
		return fmt.Sprintf("%.0fk", v/k)
	case v < m*(k-0.05):
		return short(v/m) + "M"
	}
	return short(v/g) + "G"
}

func short(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

func dollars(v float64) string {
	switch {
	case !shown(v):
		return none
	case v > 0 && v < 0.005:
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", v)
}
