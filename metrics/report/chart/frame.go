package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"autopilot/metrics/report/wording"
)

// Size of a drawing and of its plot in it, in units of its view box.
const (
	width, height = 420, 200
	left, right   = 56, 410
	top, bottom   = 30, 160
)

// Labels are the words of a drawing.
type Labels struct {
	ID    string // of the element, unique in the page: letters and digits
	Title string
	Desc  string // for who cannot see it
	X, Y  string // what the axes count
}

// frame is a drawing that is being made.
type frame struct {
	strings.Builder
	yMax float64
}

func begin(l Labels, yMax float64) *frame {
	f := &frame{yMax: yMax}
	id := html.EscapeString(l.ID)
	fmt.Fprintf(f, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %d %d" role="img" aria-labelledby="%s-t %s-d">`, width, height, id, id)
	fmt.Fprintf(f, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`, id, escape(l.Title), id, escape(l.Desc))
	f.text((left+right)/2, height-6, "middle", l.X)
	f.text(2, 11, "start", l.Y)
	return f
}

func (f *frame) end() string {
	fmt.Fprintf(f, `<path class="axis" d="M%d %dV%dH%d"/></svg>`, left, top, bottom, right)
	return f.String()
}

// text writes words; the anchor is start, middle or end.
func (f *frame) text(x, y float64, anchor, words string) {
	if words != "" {
		fmt.Fprintf(f, `<text x="%s" y="%s" text-anchor="%s">%s</text>`, num(x), num(y), anchor, escape(words))
	}
}

// yAxis draws the lines and numbers of the vertical axis.
func (f *frame) yAxis(word func(float64) string) {
	for _, v := range ticks(f.yMax) {
		y := f.y(v)
		fmt.Fprintf(f, `<path class="grid" d="M%d %sH%d"/>`, left, num(y), right)
		f.text(left-5, y+4, "end", word(v))
	}
}

// y is the place of a value on the vertical axis.
func (f *frame) y(v float64) float64 { return bottom - (bottom-top)*min(v/f.yMax, 1) }

// legend names the series.
func (f *frame) legend(names []string) {
	const box, char, gap = 9, 6, 10
	x := float64(right)
	for _, n := range names {
		x -= box + 4 + char*float64(len(n)) + gap
	}
	x = max(x, left+30)
	for i, n := range names {
		fmt.Fprintf(f, `<rect class="s%d" x="%s" y="8" width="%d" height="%d"/>`, i, num(x), box, box)
		f.text(x+box+4, 16, "start", n)
		x += box + 4 + char*float64(len(n)) + gap
	}
}

// ticks are round values from zero to at least most, at most six.
func ticks(most float64) []float64 {
	step := roundStep(most)
	var out []float64
	for i := 0; i < 7; i++ {
		v := step * float64(i)
		if v > most*1.0001 {
			break
		}
		out = append(out, v)
	}
	return out
}

// roundStep is the smallest of 1, 2, 5, 10, ... of which five reach a value.
func roundStep(most float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, m := range []float64{1, 2, 5, 10} {
		if base*m*5 >= most*0.9999 {
			return base * m
		}
	}
	return base * 10
}

// ceiling is the end of an axis that shows values up to most.
func ceiling(most float64) float64 {
	if !(most > 0) {
		return 1
	}
	step := roundStep(most)
	return step * math.Ceil(most/step*0.9999)
}

const biggest = 1e14 // beyond it a number is a mistake

// can makes a number one that can be drawn.
func can(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v, biggest)
}

// num writes a coordinate.
func num(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

const maxWords = 400 // runes

func escape(s string) string { return html.EscapeString(wording.Line(s, maxWords)) }
