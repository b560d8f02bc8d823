package chart

import (
	"fmt"
	"strings"
)

const maxColumns = 120

// Merge says how columns are brought together when there are too many of them.
type Merge string

// Ways to merge.
const (
	Mean Merge = "mean" // of the values, which then is what a column shows
	Last Merge = "last" // the values of the last one stand for all
)

// Column is one bar. Values are those of the series, from the axis upwards.
type Column struct {
	Number int // of what it shows, such as a session
	Values []float64
	Mark   bool // a cross stands over it
}

// Columns is a drawing of bars.
type Columns struct {
	Labels

	One    string   // what a column is, such as session
	Marked string   // what a cross says
	Series []string // at most four
	Merge  Merge
	Word   func(float64) string // writes a value
	Bars   []Column
}

// group is one column as it is drawn.
type group struct {
	first, last int
	values      []float64
	mark        bool
}

// Draw returns the drawing, or nothing without columns.
func (c Columns) Draw() string {
	if len(c.Bars) == 0 || len(c.Series) == 0 {
		return ""
	}
	groups := c.groups()
	most := 0.0
	for _, g := range groups {
		sum := 0.0
		for _, v := range g.values {
			sum += v
		}
		most = max(most, sum)
	}
	f := begin(c.Labels, ceiling(most))
	f.yAxis(c.Word)
	slot := float64(right-left) / float64(len(groups))
	thick := max(slot*0.8, slot-2)
	thick = min(thick, 40)
	for i, g := range groups {
		x := left + slot*float64(i) + (slot-thick)/2
		fmt.Fprintf(f, `<g><title>%s</title>`, escape(c.words(g)))
		base := 0.0
		for k, v := range g.values {
			if v > 0 {
				y := f.y(base + v)
				fmt.Fprintf(f, `<rect class="s%d" x="%s" y="%s" width="%s" height="%s"/>`, k, num(x), num(y), num(thick), num(max(f.y(base)-y, 0.3)))
			}
			base += v
		}
		if g.mark {
			y, half := max(f.y(base)-6, top-6), min(thick/2, 4)
			mid := x + thick/2
			fmt.Fprintf(f, `<path class="red" d="M%s %sL%s %sM%s %sL%s %s"/>`,
				num(mid-half), num(y-half), num(mid+half), num(y+half), num(mid-half), num(y+half), num(mid+half), num(y-half))
		}
		f.WriteString(`</g>`)
	}
	c.numbers(f, groups, slot)
	if len(c.Series) > 1 {
		f.legend(c.Series)
	}
	return f.end()
}

// numbers writes which columns are which, as many as fit.
func (c Columns) numbers(f *frame, groups []group, slot float64) {
	const labels = 6
	every := max(1, (len(groups)+labels-1)/labels)
	for i := 0; i < len(groups); i += every {
		f.text(left+slot*(float64(i)+0.5), bottom+14, "middle", fmt.Sprint(groups[i].first))
	}
}

// words are what a column says.
func (c Columns) words(g group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", c.One, g.first)
	if g.last != g.first {
		fmt.Fprintf(&b, " to %d, %s", g.last, c.Merge)
	}
	for k, v := range g.values {
		sep := ", "
		if k == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s %s", sep, c.Series[k], c.Word(v))
	}
	if g.mark {
		b.WriteString(", " + c.Marked)
	}
	return b.String()
}

// groups brings the columns together.
func (c Columns) groups() []group {
	each := (len(c.Bars) + maxColumns - 1) / maxColumns
	var out []group
	for i := 0; i < len(c.Bars); i += each {
		bars := c.Bars[i:min(i+each, len(c.Bars))]
		g := group{first: bars[0].Number, last: bars[len(bars)-1].Number, values: make([]float64, len(c.Series))}
		for _, b := range bars {
			g.mark = g.mark || b.Mark
			for k := range g.values {
				v := 0.0
				if k < len(b.Values) {
					v = can(b.Values[k])
				}
				if c.Merge == Last {
					g.values[k] = 0
				}
				g.values[k] += v
			}
		}
		for k := range g.values {
			if c.Merge == Mean {
				g.values[k] /= float64(len(bars))
			}
		}
		out = append(out, g)
	}
	return out
}
