package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/wording"
)

// figure is a drawing.
type figure struct {
	Caption string
	SVG     template.HTML // made by package chart, which escapes what it is given
}

func figures(all ...figure) []figure {
	return slices.DeleteFunc(all, func(f figure) bool { return f.SVG == "" })
}

func plots(r board.Run, v Viewer) []figure {
	return figures(
		figure{"Progress", progressPlot(r)},
		figure{"Velocity", velocityPlot(r)},
		figure{"Tokens per session", sessionPlot(r, chart.Labels{ID: "tokens", Title: "Tokens per session", Y: "tokens"}, wording.Short, func(s board.Session) float64 { return float64(s.Tokens) })},
		figure{"Cost per session", sessionPlot(r, chart.Labels{ID: "cost", Title: "Cost per session", Y: "US dollars"}, wording.Dollars, func(s board.Session) float64 { return s.CostUSD })},
		figure{"Room on the machine", tierPlot(r, v.Now)},
		figure{"Memory", memoryPlot(r)},
	)
}

func progressPlot(r board.Run) template.HTML {
	points := r.Progress.Points
	if len(points) == 0 {
		return ""
	}
	last := points[len(points)-1].Percent
	c := chart.Line{One: "session", Start: r.Started, Labels: chart.Labels{ID: "progress", Title: "Progress", Y: "percent complete", Desc: fmt.Sprintf(
		"How far the run was, as a line by steps: %s at the first of %s, %s at the last.", wording.Percent(points[0].Percent), wording.Count(len(points), "look"), wording.Percent(last))}}
	for _, p := range points {
		c.Points = append(c.Points, chart.Point{At: p.At, Number: p.Session, Value: p.Percent})
	}
	return template.HTML(c.Draw())
}

// velocityPlot shows what each look has found more than the one before.
func velocityPlot(r board.Run) template.HTML {
	if len(r.Progress.Points) < 2 {
		return ""
	}
	c := chart.Columns{
		Labels: chart.Labels{ID: "velocity", Title: "Velocity", X: "session", Y: "percent gained", Desc: "A column for each look, or group of looks, with what it found more than the one before. A cross stands over looks that found less."},
		One:    "session", Marked: "found less than before", Series: []string{"percent gained"}, Merge: chart.Mean, Word: wording.Percent,
	}
	before := 0.0
	for i, p := range r.Progress.Points {
		if i > 0 {
			c.Bars = append(c.Bars, chart.Column{Number: p.Session, Values: []float64{p.Percent - before}, Mark: p.Percent < before})
		}
		before = p.Percent
	}
	return template.HTML(c.Draw())
}

// sessionPlot shows one number of each session.
func sessionPlot(r board.Run, l chart.Labels, word func(float64) string, value func(board.Session) float64) template.HTML {
	l.X, l.Desc = "session", "A column for each session, or group of sessions. A cross stands over sessions that did not complete."
	c := chart.Columns{Labels: l, One: "session", Marked: "did not complete", Series: []string{l.Y}, Merge: chart.Mean, Word: word}
	for _, s := range r.Sessions {
		c.Bars = append(c.Bars, chart.Column{Number: s.Number, Values: []float64{value(s)}, Mark: s.Ending != "completed"})
	}
	return template.HTML(c.Draw())
}

func tierPlot(r board.Run, now time.Time) template.HTML {
	c := chart.Band{Labels: chart.Labels{
		ID: "tiers", Title: "Room on the machine", Y: "tier", Desc: "The tier of the machine over time, from green with all of its room to critical with none.",
	}, Names: []string{"green", "warn", "degraded", "critical"}, Start: r.Started, End: now}
	if !on(r.Row) && !r.Ended.IsZero() {
		c.End = r.Ended
	}
	c.End = c.End.Truncate(time.Minute).Add(time.Minute) // so that it is not drawn anew each second
	add := func(at time.Time, name string) {
		level := slices.Index(c.Names, name)
		if n := len(c.Spans); level >= 0 && (n == 0 || c.Spans[n-1].Level != level) {
			c.Spans = append(c.Spans, chart.Span{From: at, Level: level})
		}
	}
	if len(r.Samples) > 0 {
		for _, s := range r.Samples {
			add(s.At, s.Tier)
		}
	} else {
		for _, x := range r.Caps {
			add(x.At, x.Tier)
		}
	}
	return template.HTML(c.Draw())
}

func memoryPlot(r board.Run) template.HTML {
	c := chart.Curves{
		Labels: chart.Labels{ID: "memory", Title: "Memory", Y: "GB", Desc: "Memory that was available, as a line, and swap that was in use, as a dashed line, over time."},
		Start:  r.Started, Series: []string{"available", "swap in use"},
		Word: func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) },
	}
	for _, s := range r.Samples {
		if s.AvailableGB == nil {
			continue
		}
		swap := 0.0
		if s.SwapGB != nil {
			swap = *s.SwapGB
		}
		c.Points = append(c.Points, chart.Moment{At: s.At, Values: []float64{*s.AvailableGB, swap}})
	}
	return template.HTML(c.Draw())
}

// rewards shows how runs were rewarded, the oldest first.
func rewards(past []board.Row) figure {
	c := chart.Columns{
		Labels: chart.Labels{ID: "rewards", Title: "Reward over runs", X: "run, the latest on the right", Y: "reward", Desc: "A column for each run, or group of runs, with how well it did: from 0 to 1. A cross stands over runs that ended with failures."},
		One:    "run", Marked: "ended with failures", Series: []string{"reward"}, Merge: chart.Mean, Word: func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	}
	for i := range past {
		r := past[len(past)-1-i]
		if reward(r.Reward) != wording.None {
			c.Bars = append(c.Bars, chart.Column{Number: len(c.Bars) + 1, Values: []float64{*r.Reward}, Mark: endedAs(r).Class == bad})
		}
	}
	if len(c.Bars) < 2 {
		return figure{}
	}
	return figure{"Reward over runs", template.HTML(c.Draw())}
}
