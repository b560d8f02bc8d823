package chart_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/wording"
)

func curves(n int, every time.Duration) chart.Curves {
	c := chart.Curves{Labels: labels(), Start: start(), Series: []string{"available", "swap"}, Word: wording.Short}
	for i := range n {
		c.Points = append(c.Points, chart.Moment{At: start().Add(time.Duration(i) * every), Values: []float64{float64(10 - i%2), float64(i % 3)}})
	}
	return c
}

func TestCurves(t *testing.T) {
	t.Parallel()
	svg := curves(3, time.Hour).Draw()
	for _, part := range []string{
		`<path class="line" d="M56 30L233 43L410 30">`, `<path class="line k1" d="M56 160L233 147L410 134">`, ">available, at the end 10<", ">swap, at the end 2<", "minutes since the start", `>swap</text>`,
	} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	parse(t, svg)
	for name, c := range map[string]chart.Curves{"nothing": curves(0, time.Hour), "one moment": curves(1, time.Hour), "all at once": curves(5, 0), "no start": {Points: curves(3, time.Hour).Points, Series: []string{"a"}, Word: wording.Short}} {
		if svg := c.Draw(); svg != "" {
			t.Errorf("%s is drawn:\n%s", name, svg)
		}
	}
}

func TestCurvesWithGaps(t *testing.T) {
	t.Parallel()
	c := curves(2, time.Minute)
	late := curves(2, time.Minute)
	for _, p := range late.Points {
		p.At = p.At.Add(time.Hour)
		c.Points = append(c.Points, p)
	}
	if svg := c.Draw(); strings.Count(svg, "M56 ") < 2 || strings.Count(lineOf(svg), "M") != 1 {
		t.Errorf("without a gap it is one line:\n%s", svg)
	}
	c.Gap = 10 * time.Minute
	if line := lineOf(c.Draw()); strings.Count(line, "M") != 2 || strings.Count(line, "L") != 2 {
		t.Errorf("with a gap there are two lines: %s", line)
	}
	// Many moments are brought together, and a gap between them stays one.
	long := curves(600, time.Minute)
	late = curves(600, time.Minute)
	for _, p := range late.Points {
		p.At = p.At.Add(100 * time.Hour)
		long.Points = append(long.Points, p)
	}
	long.Gap = 10 * time.Minute
	if line := lineOf(long.Draw()); strings.Count(line, "M") != 2 || strings.Count(line, "L") > 120 || strings.Count(line, "L") < 15 {
		t.Errorf("many moments: %s", line)
	}
}

func lineOf(svg string) string {
	_, rest, _ := strings.Cut(svg, `class="line" d="`)
	line, _, _ := strings.Cut(rest, `"`)
	return line
}

func TestLevelsBelowCurves(t *testing.T) {
	t.Parallel()
	c := curves(5, time.Hour)
	c.Names = []string{"green", "warn", "critical"}
	c.Spans = []chart.Span{{start(), 0}, {start().Add(time.Hour), 2}, {start().Add(2 * time.Hour), -1}, {start().Add(3 * time.Hour), 1}}
	svg := c.Draw()
	titles := wordsOf(t, svg, "title")
	want := []string{"green for 1 hour, from 0 seconds after the start", "critical for 1 hour, from 1 hour after the start", "warn for 1 hour, from 3 hours after the start"}
	for _, w := range want {
		if !strings.Contains(strings.Join(titles, "\n"), w) {
			t.Errorf("no %q in %q", w, titles)
		}
	}
	// The worse, the higher; nothing where the level is not known.
	for _, part := range []string{`class="band l0" x="56" y="154" width="88.5" height="6"`, `class="band l2" x="144.5" y="142" width="88.5" height="18"`, `class="band l1" x="321.5" y="148" width="88.5" height="12"`} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	if n := strings.Count(svg, `class="band`); n != 3 {
		t.Errorf("%d levels", n)
	}
}

func TestBandWithoutALevel(t *testing.T) {
	t.Parallel()
	b := chart.Band{Labels: labels(), Names: []string{"green", "warn"}, Start: start(), End: start().Add(4 * time.Hour), Spans: []chart.Span{{start(), 1}, {start().Add(time.Hour), -1}, {start().Add(3 * time.Hour), 0}}}
	got := wordsOf(t, b.Draw(), "title")[1:]
	if len(got) != 2 || !strings.HasPrefix(got[0], "warn for 1 hour") || !strings.HasPrefix(got[1], "green for 1 hour") {
		t.Errorf("%q", got)
	}
}

func TestAnyCurves(t *testing.T) {
	t.Parallel()
	moment := rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(n>>20, n&0xfffff) })
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -1, 0, 1e-320, math.MaxFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		c := chart.Curves{Labels: chart.Labels{Title: rapid.String().Draw(t, "title")}, Start: moment.Draw(t, "start"), Series: []string{"a", "b"}, Word: wording.Short, Names: []string{"x", "y"}, Gap: time.Duration(rapid.Int64().Draw(t, "gap"))}
		for range rapid.IntRange(0, 300).Draw(t, "n") {
			v := number.Draw(t, "v")
			c.Points = append(c.Points, chart.Moment{At: moment.Draw(t, "at"), Values: []float64{v, v, v}[:rapid.IntRange(0, 3).Draw(t, "values")]})
			c.Spans = append(c.Spans, chart.Span{From: moment.Draw(t, "at"), Level: rapid.IntRange(-1, 5).Draw(t, "level")})
		}
		svg := c.Draw()
		for _, s := range parse(t, svg) {
			for name, value := range s.attrs {
				if name != "id" && name != "class" && (strings.Contains(value, "NaN") || strings.Contains(value, "Inf")) || (name == "width" || name == "height") && strings.HasPrefix(value, "-") {
					t.Fatalf("%s %s=%q", s.name, name, value)
				}
			}
		}
		if len(svg) > 100_000 {
			t.Fatalf("%d bytes", len(svg))
		}
	})
}
