package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/report/wording"
)

// scale is a horizontal axis from zero: of time, or of numbers where times are not
// known.
type scale struct {
	size float64 // in the unit
	unit string
}

// place is where a value of the axis stands.
func (s scale) place(v float64) float64 {
	return left + (right-left)*min(max(v/s.size, 0), 1)
}

func (s scale) draw(f *frame) {
	for _, v := range ticks(s.size) {
		f.text(s.place(v), bottom+14, "middle", wording.Short(v))
	}
}

// timeScale is the axis of a time that began at zero, and the factor from seconds to its
// unit.
func timeScale(seconds float64) (scale, float64) {
	unit, size := "minutes", 60.0
	switch {
	case seconds < 180:
		unit, size = "seconds", 1
	case seconds >= 72*3600:
		unit, size = "days", 86400
	case seconds >= 3*3600:
		unit, size = "hours", 3600
	}
	return scale{size: seconds / size, unit: unit + " since the start"}, 1 / size
}

// Point is a value at a moment or after a number of things.
type Point struct {
	At     time.Time
	Number int
	Value  float64 // 0..100
}

// Line is a drawing of shares of a hundred that change by steps. It goes over time when
// every point has one and they differ, else over numbers.
type Line struct {
	Labels

	One    string // what a number counts, such as session; also the axis then
	Start  time.Time
	Points []Point
}

// Draw returns the drawing, or nothing without points.
func (c Line) Draw() string {
	if len(c.Points) == 0 {
		return ""
	}
	const full = 100
	points, x := c.places()
	c.X = x.unit
	f := begin(c.Labels, full)
	f.yAxis(wording.Percent)
	x.draw(f)
	var path strings.Builder
	for i, p := range points {
		px, py := num(x.place(p[0])), num(f.y(p[1]))
		if i == 0 {
			fmt.Fprintf(&path, "M%s %s", px, py)
		} else {
			fmt.Fprintf(&path, "H%sV%s", px, py)
		}
	}
	last := points[len(points)-1]
	fmt.Fprintf(f, `<path class="line" d="%s"/>`, path.String())
	fmt.Fprintf(f, `<circle class="s0" cx="%s" cy="%s" r="4"><title>%s</title></circle>`, num(x.place(last[0])), num(f.y(last[1])), escape("at the end: "+wording.Percent(last[1])))
	return f.end()
}

// places are the points on their axis, in order, at most two for each column.
func (c Line) places() ([][2]float64, scale) {
	var out [][2]float64
	span, factor := c.span(), 0.0
	x := scale{size: 1, unit: c.One + "s"}
	if span > 0 {
		x, factor = timeScale(span)
	}
	for _, p := range c.Points {
		v := float64(max(p.Number, 0))
		if span > 0 {
			v = max(p.At.Sub(c.Start).Seconds(), 0) * factor
		}
		out = append(out, [2]float64{v, min(can(p.Value), 100)})
		if span <= 0 {
			x.size = max(x.size, v)
		}
	}
	slices.SortStableFunc(out, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	const most = 2 * maxColumns
	if len(out) > most {
		var fewer [][2]float64
		for i := range most {
			fewer = append(fewer, out[(i+1)*len(out)/most-1])
		}
		out = fewer
	}
	return out, x
}

// span is the time over which the points go, in seconds; 0 when that is not known.
func (c Line) span() float64 {
	seconds := 0.0
	for _, p := range c.Points {
		if p.At.IsZero() || c.Start.IsZero() {
			return 0
		}
		seconds = max(seconds, p.At.Sub(c.Start).Seconds())
	}
	return seconds
}

// Span is a level that holds from one moment on until the next span.
type Span struct {
	From  time.Time
	Level int // index of the names; less than 0 when it is not known
}

// Band is a drawing of levels over time.
type Band struct {
	Labels

	Names      []string // of the levels, from the lowest; at most four
	Start, End time.Time
	Spans      []Span // in the order of time
}

// Draw returns the drawing, or nothing when there is no level or no time.
func (c Band) Draw() string {
	total := c.End.Sub(c.Start).Seconds()
	if len(c.Spans) == 0 || c.Start.IsZero() || !(total > 0) {
		return ""
	}
	x, factor := timeScale(total)
	c.X = x.unit
	f := begin(c.Labels, float64(len(c.Names)))
	for i, name := range c.Names {
		f.text(left-5, f.y(float64(i)+0.5)+4, "end", name)
	}
	x.draw(f)
	for _, s := range c.slots(total) {
		from, to := x.place(s.from*factor), x.place(s.to*factor)
		words := fmt.Sprintf("%s for %s, from %s after the start", c.Names[s.level], wording.Seconds(s.to-s.from), wording.Seconds(s.from))
		fmt.Fprintf(f, `<rect class="l%d" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, s.level, num(from), num(f.y(float64(s.level)+1)),
			num(max(to-from, 1)), num(float64(bottom-top)/float64(len(c.Names))), escape(words))
	}
	return f.end()
}

type slot struct {
	from, to float64 // seconds since the start
	level    int
}

// slots are the spans as they are drawn. When there are too many of them, time is cut
// into equal parts, and each shows the highest level that it has seen.
func (c Band) slots(total float64) []slot {
	var all []slot
	for i, s := range c.Spans {
		if s.Level < 0 {
			continue
		}
		from := min(max(s.From.Sub(c.Start).Seconds(), 0), total)
		to := total
		if i+1 < len(c.Spans) {
			to = min(max(c.Spans[i+1].From.Sub(c.Start).Seconds(), from), total)
		}
		all = appendSlot(all, slot{from, to, min(s.Level, len(c.Names)-1)})
	}
	if len(all) <= maxColumns {
		return all
	}
	levels := make([]int, maxColumns)
	for i := range levels {
		levels[i] = -1
	}
	for _, s := range all {
		first := int(math.Floor(s.from / total * maxColumns))
		last := int(math.Ceil(s.to/total*maxColumns)) - 1
		for i := max(first, 0); i <= min(max(last, first), maxColumns-1); i++ {
			levels[i] = max(levels[i], s.level)
		}
	}
	var out []slot
	for i, level := range levels {
		if level >= 0 {
			out = appendSlot(out, slot{total * float64(i) / maxColumns, total * float64(i+1) / maxColumns, level})
		}
	}
	return out
}

// appendSlot adds a slot, or makes the last one longer.
func appendSlot(all []slot, s slot) []slot {
	if n := len(all); n > 0 && all[n-1].level == s.level && all[n-1].to >= s.from {
		all[n-1].to = s.to
		return all
	}
	return append(all, s)
}
