package chart_test

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/wording"
)

func start() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// shapes are the elements of a drawing in order, each with its attributes and words.
type shape struct {
	name  string
	attrs map[string]string
	words string
}

func parse(t rapid.TB, svg string) []shape {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	var out []shape
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			s := shape{name: e.Name.Local, attrs: map[string]string{}}
			for _, a := range e.Attr {
				s.attrs[a.Name.Local] = a.Value
			}
			out = append(out, s)
		case xml.CharData:
			out[len(out)-1].words += string(e)
		}
	}
}

func wordsOf(t rapid.TB, svg, element string) []string {
	t.Helper()
	var out []string
	for _, s := range parse(t, svg) {
		if s.name == element {
			out = append(out, s.words)
		}
	}
	return out
}

func labels() chart.Labels {
	return chart.Labels{ID: "x", Title: "a <title>", Desc: `"said" & done`, X: "session", Y: "tokens"}
}

func columns(n int, merge chart.Merge) chart.Columns {
	c := chart.Columns{Labels: labels(), One: "session", Marked: "broke", Series: []string{"in", "out"}, Merge: merge, Word: wording.Short}
	for i := range n {
		c.Bars = append(c.Bars, chart.Column{Number: i + 1, Values: []float64{float64(i), 1000}, Mark: i == 1})
	}
	return c
}

func TestNothingToDraw(t *testing.T) {
	t.Parallel()
	for name, svg := range map[string]string{
		"no columns": columns(0, chart.Mean).Draw(), "no points": chart.Line{Labels: labels()}.Draw(), "no spans": chart.Band{Labels: labels(), Names: []string{"a"}}.Draw(),
		"no time": chart.Band{Labels: labels(), Names: []string{"a"}, Start: start(), End: start(), Spans: []chart.Span{{From: start()}}}.Draw(),
	} {
		if svg != "" {
			t.Errorf("%s: %s", name, svg)
		}
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()
	svg := columns(3, chart.Mean).Draw()
	got := wordsOf(t, svg, "title")
	want := []string{"a <title>", "session 1: in 0, out 1k", "session 2: in 1, out 1k, broke", "session 3: in 2, out 1k"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
	if d := wordsOf(t, svg, "desc"); len(d) != 1 || d[0] != `"said" & done` {
		t.Errorf("described as %q", d)
	}
	// 1,002 on an axis to 1,500 is at 160-130*1002/1500, of which 2 are of the other series.
	for _, part := range []string{`class="s1" x="331" y="73.2" width="40" height="86.7"`, `>1.5k</text>`, `class="red"`, `>tokens</text>`, `>session</text>`} {
		if !strings.Contains(svg, part) {
			t.Errorf("no %s in\n%s", part, svg)
		}
	}
	if n := strings.Count(svg, `class="red"`); n != 1 {
		t.Errorf("%d crosses, want 1", n)
	}
}

func TestColumnsAreBroughtTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n     int
		merge chart.Merge
		words string // of the first column
		drawn int
	}{
		{120, chart.Mean, "session 1: in 0, out 1k", 120},
		{121, chart.Mean, "session 1 to 2, mean: in 0.5, out 1k, broke", 61},
		{1000, chart.Mean, "session 1 to 9, mean: in 4, out 1k, broke", 112},
		{1000, chart.Last, "session 1 to 9, last: in 8, out 1k, broke", 112},
	} {
		titles := wordsOf(t, columns(c.n, c.merge).Draw(), "title")[1:]
		if len(titles) != c.drawn || titles[0] != c.words {
			t.Errorf("%d: %d columns, the first %q, want %d and %q", c.n, len(titles), titles[0], c.drawn, c.words)
		}
	}
}

func points(n int, at func(i int) time.Time) chart.Line {
	l := chart.Line{Labels: labels(), One: "session", Start: start()}
	for i := range n {
		l.Points = append(l.Points, chart.Point{At: at(i), Number: i, Value: 100 * float64(i) / float64(max(n-1, 1))})
	}
	return l
}

func TestLine(t *testing.T) {
	t.Parallel()
	hourly := func(i int) time.Time { return start().Add(time.Duration(i) * time.Hour) }
	for _, c := range []struct {
		name, path, unit string
		line             chart.Line
	}{
		{"over hours", "M56 160H174V116.7H292V73.3H410V30", "hours since the start", points(4, hourly)},
		{"without times", "M56 160H233V95H410V30", "sessions", points(3, func(int) time.Time { return time.Time{} })},
		{"all at once", "M56 160H410V30", "sessions", points(2, func(int) time.Time { return start() })},
		{"one", "M56 160", "sessions", points(1, func(int) time.Time { return time.Time{} })},
		{"seconds", "M56 160H410V30", "seconds since the start", points(2, func(i int) time.Time { return start().Add(time.Duration(i) * time.Minute) })},
		{"days", "M56 160H410V30", "days since the start", points(2, func(i int) time.Time { return start().Add(time.Duration(i) * 100 * time.Hour) })},
	} {
		svg := c.line.Draw()
		if !strings.Contains(svg, `d="`+c.path+`"`) || !strings.Contains(svg, ">"+c.unit+"<") {
			t.Errorf("%s: want %s over %s in\n%s", c.name, c.path, c.unit, svg)
		}
	}
	long := points(1000, hourly).Draw()
	if n := strings.Count(long, "V"); n > 260 || !strings.Contains(long, "V30\"") {
		t.Errorf("a line of %d steps, or one that does not end where it ended", n)
	}
}

func TestBand(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return start().Add(time.Duration(minutes) * time.Minute) }
	b := chart.Band{
		Labels: labels(), Names: []string{"green", "warn", "critical"}, Start: start(), End: at(240),
		Spans: []chart.Span{{at(0), 0}, {at(60), 2}, {at(90), 2}, {at(120), 1}, {at(500), 0}},
	}
	got := wordsOf(t, b.Draw(), "title")[1:]
	want := []string{
		"green for 1 hour, from 0 seconds after the start", "critical for 1 hour, from 1 hour after the start",
		"warn for 2 hours, from 2 hours after the start", "green for 0 seconds, from 4 hours after the start",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if svg := b.Draw(); !strings.Contains(svg, `class="l2" x="144.5" y="30" width="88.5" height="43.3"`) {
		t.Errorf("the worst level is not on top of the second quarter:\n%s", svg)
	}
	b.Spans, b.End = nil, start().Add(14_000*time.Second)
	for i := range 2000 { // every seventh of a moment is the worst, which must not get lost
		level := 0
		if i%7 == 0 {
			level = 2
		}
		b.Spans = append(b.Spans, chart.Span{start().Add(time.Duration(i) * 7 * time.Second), level})
	}
	if got := wordsOf(t, b.Draw(), "title")[1:]; len(got) != 1 || !strings.HasPrefix(got[0], "critical for") {
		t.Errorf("%d bands, the first %s", len(got), got[0])
	}
}

func TestAnyNumbers(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e6), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -1, 0, 1e-320, math.MaxFloat64}))
	moment := rapid.Map(rapid.Int64(), func(n int64) time.Time { return time.Unix(n>>20, n&0xfffff) })
	rapid.Check(t, func(t *rapid.T) {
		c := chart.Columns{Labels: chart.Labels{Title: rapid.String().Draw(t, "title")}, Series: []string{"a", "b"}, Merge: chart.Mean, Word: wording.Short}
		l := chart.Line{Start: moment.Draw(t, "start")}
		b := chart.Band{Start: moment.Draw(t, "start"), End: moment.Draw(t, "end"), Names: []string{"a", "b"}}
		for range rapid.IntRange(1, 300).Draw(t, "n") {
			v := number.Draw(t, "v")
			c.Bars = append(c.Bars, chart.Column{Number: rapid.Int().Draw(t, "number"), Values: []float64{v, v, v}[:rapid.IntRange(0, 3).Draw(t, "values")]})
			l.Points = append(l.Points, chart.Point{At: moment.Draw(t, "at"), Number: rapid.Int().Draw(t, "number"), Value: v})
			b.Spans = append(b.Spans, chart.Span{From: moment.Draw(t, "at"), Level: rapid.IntRange(-1, 5).Draw(t, "level")})
		}
		for _, svg := range []string{c.Draw(), l.Draw(), b.Draw()} {
			for _, s := range parse(t, svg) {
				for name, value := range s.attrs {
					if name != "id" && name != "class" && name != "d" && strings.Contains(value, "NaN") || strings.Contains(value, "Inf") || (name == "width" || name == "height") && strings.HasPrefix(value, "-") {
						t.Fatalf("%s %s=%q", s.name, name, value)
					}
				}
			}
			if len(svg) > 100_000 {
				t.Fatalf("%d bytes", len(svg))
			}
		}
	})
}
