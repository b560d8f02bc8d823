package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/report/wording"
)

// Moment is what was measured at a time: a value for each series.
type Moment struct {
	At     time.Time
	Values []float64
}

// Curves is a drawing of values over time: a line for each series, at most two. The second
// one has the class k1, which a page draws dashed.
type Curves struct {
	Labels

	Start  time.Time
	Series []string
	Word   func(float64) string // writes a value
	Points []Moment
	// Gap is the longest time between two moments that are joined; 0 joins all.
	Gap time.Duration
	// Names and Spans are levels as those of a Band, which are drawn below the curves.
	Names []string
	Spans []Span
}

// Draw returns the drawing, or nothing without two moments that differ.
func (c Curves) Draw() string {
	points, span, most := c.groups()
	if len(points) < 2 || !(span > 0) || len(c.Series) == 0 {
		return ""
	}
	x, factor := timeScale(span)
	c.X = x.unit
	f := begin(c.Labels, ceiling(most))
	f.yAxis(c.Word)
	x.draw(f)
	c.band(f, x, span, factor)
	for k := range c.Series[:min(len(c.Series), 2)] {
		var path strings.Builder
		for i, p := range points {
			fmt.Fprintf(&path, "%s%s %s", c.step(points, i), num(x.place(p.seconds*factor)), num(f.y(p.values[k])))
		}
		class := "line"
		if k > 0 {
			class = fmt.Sprintf("line k%d", k)
		}
		last := points[len(points)-1].values[k]
		fmt.Fprintf(f, `<path class="%s" d="%s"><title>%s</title></path>`, class, path.String(), escape(c.Series[k]+", at the end "+c.Word(last)))
	}
	if len(c.Series) > 1 {
		f.legend(c.Series[:2])
	}
	return f.end()
}

// step joins a point with the one before it, or begins a line.
func (c Curves) step(points []measured, i int) string {
	if i == 0 || c.Gap > 0 && points[i].from-points[i-1].to > c.Gap.Seconds() {
		return "M"
	}
	return "L"
}

// bandStep is how much higher a level is than the one below it.
const bandStep = 6

// band draws the levels below the curves: the worse, the higher.
func (c Curves) band(f *frame, x scale, span, factor float64) {
	if len(c.Names) == 0 {
		return
	}
	b := Band{Names: c.Names, Start: c.Start, Spans: c.Spans}
	for _, s := range b.slots(span) {
		from, to, high := x.place(s.from*factor), x.place(s.to*factor), float64(bandStep*(s.level+1))
		words := fmt.Sprintf("%s for %s, from %s after the start", c.Names[s.level], wording.Seconds(s.to-s.from), wording.Seconds(s.from))
		fmt.Fprintf(f, `<rect class="band l%d" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`, s.level, num(from), num(bottom-high), num(max(to-from, 1)), num(high), escape(words))
	}
}

// measured is a moment, or the mean of several, as it is drawn.
type measured struct {
	seconds  float64 // since the start
	from, to float64 // of the first and the last of them
	values   []float64
	count    float64
}

// groups brings the moments together into at most as many as there are columns, each the
// mean of what was measured in its part of the time.
func (c Curves) groups() (out []measured, span, most float64) {
	all := make([]measured, 0, len(c.Points))
	for _, p := range c.Points {
		if p.At.IsZero() || c.Start.IsZero() {
			continue
		}
		m := measured{seconds: max(p.At.Sub(c.Start).Seconds(), 0), values: make([]float64, len(c.Series)), count: 1}
		for k := range m.values {
			if k < len(p.Values) {
				m.values[k] = can(p.Values[k])
			}
		}
		span = max(span, m.seconds)
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Compare(a.seconds, b.seconds) })
	slot := -1
	for _, m := range all {
		i := len(out)
		if len(all) > maxColumns {
			i = min(int(m.seconds/span*maxColumns), maxColumns-1)
		}
		if i != slot {
			out, slot = append(out, measured{from: m.seconds, values: make([]float64, len(c.Series))}), i
		}
		g := &out[len(out)-1]
		g.to = m.seconds
		g.seconds += m.seconds
		g.count++
		for k := range g.values {
			g.values[k] += m.values[k]
		}
	}
	for i := range out {
		out[i].seconds /= out[i].count
		for k := range out[i].values {
			out[i].values[k] /= out[i].count
			most = max(most, out[i].values[k])
		}
	}
	return out, span, most
}
