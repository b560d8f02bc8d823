package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

func (w writer) figures() []sheet.Figure {
	var out []sheet.Figure
	for _, f := range []struct{ caption, svg string }{
		{"Progress", w.progressChart()},
		{"Velocity", plot.Gained(w.looks())},
		{"Tokens per session", w.tokenChart()},
		{"Cost per session", w.costChart()},
		{"Room on the machine", w.tierChart()},
		{"Memory and tier", plot.Memory(w.Samples, w.total.start)},
		{"Tests", w.testChart()},
	} {
		if f.svg != "" {
			out = append(out, sheet.Figure{Caption: f.caption, SVG: template.HTML(f.svg)})
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

// sessionPlots are the sessions as they are drawn.
func (w writer) sessionPlots() []plot.Session {
	var out []plot.Session
	for _, s := range w.Sessions {
		out = append(out, plot.Session{Number: bounded(s.Number), Tokens: sound(s.Tokens), CostUSD: s.CostUSD, Completed: s.Ending == endingCompleted})
	}
	return out
}

func (w writer) tokenChart() string {
	return plot.Tokens(w.sessionPlots(), fmt.Sprintf("%s in %s.", wording.Number(w.total.tokens.Budgeted()), wording.Count(w.total.sessions, "session")))
}

func (w writer) costChart() string {
	return plot.Cost(w.sessionPlots(), wording.Dollars(w.total.cost)+" in all.")
}

// looks are how far the work was.
func (w writer) looks() []plot.Look {
	var out []plot.Look
	for _, p := range w.Progress {
		out = append(out, plot.Look{Session: bounded(p.Session), Percent: p.Percent})
	}
	return out
}

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
		Labels: chart.Labels{ID: "tiers", Title: "Room on the machine", Y: "tier"}, Names: plot.Tiers(), Start: w.total.start, End: w.total.end,
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
