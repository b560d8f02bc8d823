package digest

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"autopilot/metrics/report/chart"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/samples"
)

func (w writer) figures() []sheet.Figure {
	sessions := w.sessionPlots()
	begun, all := w.begun(), w.samples()
	var out []sheet.Figure
	for _, f := range []struct{ caption, svg string }{
		{"Progress of runs", w.progressChart()},
		{"Velocity of runs", w.velocityChart()},
		{"Tokens per session", plot.Tokens(sessions, "Sessions of all runs, one after the other.")},
		{"Cost per session", plot.Cost(sessions, "Sessions of all runs, one after the other; "+wording.Dollars(w.total.cost)+" in all.")},
		{"Room on the machine", w.tierChart(begun, all)},
		{"Memory and tier", plot.Memory(all, begun)},
		{"Reward over runs", w.rewardChart()},
	} {
		if f.svg != "" {
			out = append(out, sheet.Figure{Caption: f.caption, SVG: template.HTML(f.svg)})
		}
	}
	return out
}

// sessionPlots are the sessions of all runs in the order in which these ended.
func (w writer) sessionPlots() []plot.Session {
	var out []plot.Session
	for _, c := range w.runs {
		for _, s := range c.Sessions {
			t := s.Tokens
			t.Input, t.Output, t.CacheCreation = most(0, t.Input), most(0, t.Output), most(0, t.CacheCreation)
			out = append(out, plot.Session{Number: len(out) + 1, Tokens: t, CostUSD: wording.Amount(s.CostUSD), Completed: s.Ending == completed})
		}
	}
	return out
}

// overRuns draws a number of each run that has one.
func (w writer) overRuns(c chart.Columns, value func(counted) (float64, bool)) string {
	for _, r := range w.runs {
		if v, ok := value(r); ok {
			c.Bars = append(c.Bars, chart.Column{Number: r.number, Values: []float64{v}, Mark: r.class == sheet.Bad})
		}
	}
	c.One, c.Merge, c.Marked = "run", chart.Mean, "ended with failures"
	c.X = "run, by its number below"
	c.Desc += " A column for each run or group of runs of which it is known. A cross stands over runs that ended with failures."
	return c.Draw()
}

func (w writer) progressChart() string {
	return w.overRuns(chart.Columns{
		Labels: chart.Labels{ID: "progress", Title: "Progress of runs", Y: "percent complete", Desc: "How far the work of a run was at its end."}, Series: []string{"progress"}, Word: wording.Percent,
	}, func(c counted) (float64, bool) {
		if c.percent == nil {
			return 0, false
		}
		return *c.percent, true
	})
}

func (w writer) velocityChart() string {
	return w.overRuns(chart.Columns{
		Labels: chart.Labels{ID: "velocity", Title: "Velocity of runs", Y: "percent in a session", Desc: "How many percent of its work a run did in a session, in the mean; 0 for one that went back."}, Series: []string{"velocity"}, Word: wording.Percent,
	}, func(c counted) (float64, bool) {
		if c.velocity == nil {
			return 0, false
		}
		return max(*c.velocity, 0), true
	})
}

func (w writer) rewardChart() string {
	return w.overRuns(chart.Columns{
		Labels: chart.Labels{ID: "reward", Title: "Reward over runs", Y: "reward", Desc: "What a run is worth as an example: 0 for a failure, up to 1 for a success in few sessions and little time."}, Series: []string{"reward"},
		Word: func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	}, func(c counted) (float64, bool) {
		if c.Reward == nil || !(*c.Reward >= 0 && *c.Reward <= 1) {
			return 0, false
		}
		return *c.Reward, true
	})
}

// begun is when the first of the runs began.
func (w writer) begun() time.Time {
	var out time.Time
	for _, c := range w.runs {
		if t := time.Time(c.Record.StartedAt); sane(t) && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}

// samples are those of all runs in order. Runs at the same time have measured the same
// machine.
func (w writer) samples() []samples.Sample {
	var out []samples.Sample
	for _, c := range w.runs {
		out = append(out, c.Samples...)
	}
	slices.SortStableFunc(out, func(a, b samples.Sample) int { return a.At.Compare(b.At) })
	return out
}

// tierChart draws the tiers: those of samples, or where there are none those that sessions
// were capped by.
func (w writer) tierChart(begun time.Time, all []samples.Sample) string {
	c := chart.Band{Labels: chart.Labels{ID: "tiers", Title: "Room on the machine", Y: "tier"}, Names: plot.Tiers(), Start: begun, Spans: plot.Spans(all)}
	for _, r := range w.runs {
		if t := time.Time(r.Record.CompletedAt); t.After(c.End) {
			c.End = t
		}
	}
	if len(all) == 0 {
		c.Spans = w.capSpans()
	}
	worst := 0
	for _, s := range c.Spans {
		worst = max(worst, s.Level)
	}
	c.Desc = fmt.Sprintf("The tier of the machine over time, from green with all of its room to critical with none; nothing is drawn where it is not known. The worst was %s.", c.Names[worst])
	return c.Draw()
}

// capSpans are the tiers by which sessions were capped, each until the end of its session.
func (w writer) capSpans() []chart.Span {
	var out []chart.Span
	for _, r := range w.runs {
		for _, s := range r.Sessions {
			for _, x := range s.Caps {
				out = append(out, chart.Span{From: time.Time(x.At), Level: slices.Index(plot.Tiers(), x.Tier)})
			}
			if len(s.Caps) > 0 && s.Ended.After(time.Time(s.Caps[len(s.Caps)-1].At)) {
				out = append(out, chart.Span{From: s.Ended, Level: -1})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b chart.Span) int { return cmp.Compare(a.From.UnixNano(), b.From.UnixNano()) })
	return out
}

// machine is what the drawing of the machine shows, in words.
func (w writer) machine() []sheet.Tile {
	m := plot.Of(w.samples())
	var out []sheet.Tile
	if m.LeastGB != nil {
		out = append(out, sheet.Tile{Name: "Memory available", Value: m.Range()})
	}
	if m.SwapGB != nil {
		out = append(out, sheet.Tile{Name: "Swap in use, at most", Value: plot.GB(*m.SwapGB) + " GB"})
	}
	if m.Worst != "" {
		out = append(out, sheet.Tile{Name: "Worst tier", Value: m.Worst + ", in " + wording.Percent(100*m.Share) + " of the samples"})
	}
	return out
}
