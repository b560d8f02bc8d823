package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/wording"
)

func (w writer) figures() []figure {
	var out []figure
	for _, f := range []struct{ caption, svg string }{
		{"Progress", w.progressChart()},
		{"Tokens per session", w.tokenChart()},
		{"Cost per session", w.costChart()},
		{"Room on the machine", w.tierChart()},
		{"Tests", w.testChart()},
	} {
		if f.svg != "" {
			out = append(out, figure{f.caption, template.HTML(f.svg)})
		}
	}
	return out
}

func (w writer) progressChart() string {
	c := chart.Line{One: "session", Start: w.total.start, Labels: chart.Labels{ID: "progress", Title: "Progress", Y: "percent complete"}}
	for _, p := range w.Progress {
		if wording.Percent(p.Percent) != wording.None {
			c.Points = append(c.Points, chart.Point{At: p.At, Number: p.Session, Value: p.Percent})
		}
	}
	if n := len(c.Points); n > 0 {
		c.Desc = fmt.Sprintf("How far the work was, as a line by steps: %s at the first of %s, %s at the last.",
			wording.Percent(c.Points[0].Value), wording.Count(n, "look"), wording.Percent(c.Points[n-1].Value))
	}
	return c.Draw()
}

// bars are the sessions as columns.
func (w writer) bars(values func(SessionFacts) []float64) []chart.Column {
	var out []chart.Column
	for _, s := range w.Sessions {
		out = append(out, chart.Column{Number: bounded(s.Number), Values: values(s), Mark: s.Ending != endingCompleted})
	}
	return out
}

const marked = "did not complete"

func (w writer) tokenChart() string {
	if w.total.tokens.Budgeted() == 0 {
		return ""
	}
	return chart.Columns{
		Labels: chart.Labels{ID: "tokens", Title: "Tokens per session", X: "session", Y: "tokens", Desc: fmt.Sprintf(
			"A column for each session or group of sessions, input below, output above it, cache writes on top; reads of the cache are left out. %s in %s. A cross stands over sessions that did not complete.",
			wording.Number(w.total.tokens.Budgeted()), wording.Count(w.total.sessions, "session"))},
		One: "session", Marked: marked, Series: []string{"input", "output", "cache writes"}, Merge: chart.Mean, Word: wording.Short,
		Bars: w.bars(func(s SessionFacts) []float64 {
			t := sound(s.Tokens)
			return []float64{float64(t.Input), float64(t.Output), float64(t.CacheCreation)}
		}),
	}.Draw()
}

func (w writer) costChart() string {
	if w.total.cost == 0 {
		return ""
	}
	return chart.Columns{
		Labels: chart.Labels{ID: "cost", Title: "Cost per session", X: "session", Y: "US dollars", Desc: fmt.Sprintf(
			"A column for each session or group of sessions. %s in all. A cross stands over sessions that did not complete.", wording.Dollars(w.total.cost))},
		One: "session", Marked: marked, Series: []string{"cost"}, Merge: chart.Mean, Word: wording.Dollars,
		Bars: w.bars(func(s SessionFacts) []float64 { return []float64{s.CostUSD} }),
	}.Draw()
}

// tiers are the tiers by name, from the one with most room.
func tiers() []string { return []string{"green", "warn", "degraded", "critical"} }

func (w writer) tierChart() string {
	var caps []ledger.Cap
	for _, s := range w.Sessions {
		caps = append(caps, s.Caps...)
	}
	if len(caps) == 0 {
		caps = slices.Clone(w.Run.Caps)
	}
	slices.SortStableFunc(caps, func(a, b ledger.Cap) int { return cmp.Compare(time.Time(a.At).UnixNano(), time.Time(b.At).UnixNano()) })
	c := chart.Band{
		Labels: chart.Labels{ID: "tiers", Title: "Room on the machine", Y: "tier"}, Names: tiers(), Start: w.total.start, End: w.total.end,
	}
	if w.Open && w.Generated.After(c.End) {
		c.End = w.Generated
	}
	worst, changes := 0, 0
	for _, x := range caps {
		if level := slices.Index(c.Names, x.Tier); level >= 0 && !time.Time(x.At).IsZero() {
			if n := len(c.Spans); n > 0 && c.Spans[n-1].Level != level {
				changes++
			}
			c.Spans = append(c.Spans, chart.Span{From: time.Time(x.At), Level: level})
			worst = max(worst, level)
		}
	}
	c.Desc = fmt.Sprintf("The tier of the machine over time, from green with all of its room to critical with none. It changed %s; the worst was %s.",
		wording.Count(changes, "time"), c.Names[worst])
	return c.Draw()
}

func (w writer) testChart() string {
	if len(w.Tests) == 0 {
		return ""
	}
	c := chart.Columns{
		Labels: chart.Labels{ID: "testruns", Title: "Tests", X: "run of the tests", Y: "tests", Desc: fmt.Sprintf(
			"A column for each run of the tests or the last of a group of them, passed below, failed above it, skipped on top. %s; at the end %s. A cross stands over red runs.",
			wording.Count(len(w.Tests), "run"), testWords(w.Tests[len(w.Tests)-1]))},
		One: "run", Marked: "red", Series: []string{"passed", "failed", "skipped"}, Merge: chart.Last, Word: wording.Rounded,
	}
	for i, t := range w.Tests {
		c.Bars = append(c.Bars, chart.Column{
			Number: i + 1, Mark: t.Red(), Values: []float64{float64(bounded(t.Passed)), float64(bounded(t.Failed)), float64(bounded(t.Skipped))},
		})
	}
	return c.Draw()
}
