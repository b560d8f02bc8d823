package watch

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// style is how a text is drawn: parameters of the terminal's attributes, as ECMA-48 has them.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
	chosen style = "7" // light and dark are changed
)

// pen draws texts.
type pen struct {
	color bool
	ascii bool
}

// text is a text in a style. Without colors a style that is one is left out.
func (p pen) text(st style, s string) string {
	if st == plain || s == "" || !p.color && st != bold && st != chosen {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[m"
}

// or is the first of two signs, or the second where only ASCII is drawn.
func (p pen) or(sign, ascii string) string {
	if p.ascii {
		return ascii
	}
	return sign
}

// clean is a text on one line that does nothing to a terminal but be shown.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case unicode.Is(unicode.Variation_Selector, c):
			return -1 // terminals do not agree on how wide it makes the sign before it
		case c == utf8.RuneError || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == 0x2028 || c == 0x2029:
			return '?'
		}
		return c
	}, s)
}

// cut is a clean text in at most w columns.
func (p pen) cut(s string, w int) string {
	if s = clean(s); w <= 0 {
		return ""
	}
	if ansi.StringWidthWc(s) <= w {
		return s
	}
	return ansi.TruncateWc(s, w, p.or("…", "~"))
}

// fill is a clean text in exactly w columns, at the left.
func (p pen) fill(s string, w int) string {
	s = p.cut(s, w)
	return s + strings.Repeat(" ", max(0, w-ansi.StringWidthWc(s)))
}

// right is a clean text in exactly w columns, at the right.
func (p pen) right(s string, w int) string {
	s = p.cut(s, w)
	return strings.Repeat(" ", max(0, w-ansi.StringWidthWc(s))) + s
}

// wrapped is a text of several lines in at most w columns and n lines.
func (p pen) wrapped(s string, w, n int) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		for part := range strings.SplitSeq(ansi.WrapWc(clean(line), max(1, w), ""), "\n") {
			if len(out) == n {
				last := out[n-1] + " " + part
				if ansi.StringWidthWc(last) < w { // that there is more is to be seen
					last += p.or("…", "~")
				}
				out[n-1] = p.cut(last, w)
				return out
			}
			out = append(out, p.cut(part, w))
		}
	}
	return out
}

// bar is a bar of w columns of which a share of a hundred is full.
func (p pen) bar(percent float64, w int) string {
	full := max(0, min(w, int(math.Round(percent/100*float64(w)))))
	return p.text(green, strings.Repeat(p.or("█", "#"), full)) + strings.Repeat(p.or("░", "."), w-full)
}

// spark draws values as a line of at most w columns, the latest at the right, between bottom
// and top. Where there are more values than columns, each shows the mean of some.
func (p pen) spark(values []float64, w int, bottom, top float64) string {
	signs := []rune(p.or("▁▂▃▄▅▆▇█", "_.-=+*#@"))
	if w <= 0 || len(values) == 0 {
		return ""
	}
	var b strings.Builder
	for _, v := range shrunk(values, w) {
		i := 0
		if top > bottom {
			i = int((v - bottom) / (top - bottom) * float64(len(signs)))
		}
		b.WriteRune(signs[max(0, min(i, len(signs)-1))])
	}
	return b.String()
}

// shrunk are at most n means of values next to each other.
func shrunk(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for i := range out {
		from, to := i*len(values)/n, (i+1)*len(values)/n
		for _, v := range values[from:to] {
			out[i] += v / float64(to-from)
		}
	}
	return out
}

// bounds are the least and the most of some values, and zero.
func bounds(values []float64) (bottom, top float64) {
	for _, v := range values {
		bottom, top = min(bottom, v), max(top, v)
	}
	return bottom, top
}
