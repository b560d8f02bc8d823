package report

import (
	"fmt"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

// Bounds of what is shown, in runes and in pieces. Together they keep a page under a
// megabyte, and JSON under one and a half, whatever it is made from.
const (
	maxBrief = 24
	maxName  = 80
	maxShort = 160
	maxLong  = 500
	maxGoal  = 1000

	maxRows    = 100
	maxFew     = 40
	maxDetails = 30
	maxEach    = 5 // of a session's steps, denials, files, commits
	maxToDo    = 25
)

// writer turns facts into words.
type writer struct {
	Facts

	zone  *time.Location
	total totals
}

// totals are sums over all sessions, or what the record of the run says.
type totals struct {
	sessions, completed int
	tokens              ledger.Tokens
	budgeted            int64
	cost                float64
	files, commits      int
	denials             int
	start, end          time.Time
}

func newWriter(f Facts) writer {
	w := writer{Facts: f, zone: f.Zone}
	if w.zone == nil {
		w.zone = time.UTC
	}
	w.total = w.sum()
	return w
}

func compose(f Facts) sheet.Sheet {
	w := newWriter(f)
	m := sheet.Sheet{Title: w.title(), Tiles: w.tiles(), Figures: w.figures(), FootTitle: "About the run", Foot: w.foot(), DetailsTitle: "Sessions in full"}
	m.State, m.Ending = w.state()
	m.Lead = []sheet.Section{
		{Title: "Wanted", Lines: sheet.Lines(w.wanted())},
		{Title: "How it ended", Lines: sheet.Lines(w.ended(m.Ending))},
		{Title: "Done", Lines: sheet.Lines(w.done())},
		{Title: "For a person to do now", Lines: w.toDo(), Now: true},
	}
	for _, p := range []sheet.Part{w.items(), w.goals(), w.gates(), w.checks(), w.tests(), w.sessions(), w.estimate(), w.publishing(), w.breakers(), w.reflections()} {
		if len(p.Rows) > 0 {
			m.Parts = append(m.Parts, p)
		}
	}
	m.Details, m.Left = w.details()
	return m
}

func (w writer) sum() totals {
	r := w.Run
	t := totals{tokens: r.Tokens, budgeted: r.TotalTokensUsed, cost: r.TotalCostUSD, start: time.Time(r.StartedAt), end: time.Time(r.CompletedAt)}
	t.sessions = max(len(w.Sessions), len(r.Sessions), r.IterationsCompleted)
	t.completed = min(max(r.IterationsCompleted, 0), t.sessions)
	var tokens ledger.Tokens
	cost, completed := 0.0, 0
	for _, s := range w.Sessions {
		tokens = tokens.Add(sound(s.Tokens))
		cost += amount(s.CostUSD)
		t.files += fileCount(s)
		t.commits += len(s.Commits)
		t.denials += denialCount(s)
		if s.Ending == endingCompleted {
			completed++
		}
		if !s.Started.IsZero() && (t.start.IsZero() || s.Started.Before(t.start)) {
			t.start = s.Started
		}
		if s.Ended.After(t.end) {
			t.end = s.Ended
		}
	}
	if t.tokens == (ledger.Tokens{}) {
		t.tokens = tokens
	}
	t.tokens = sound(t.tokens)
	if t.budgeted <= 0 {
		t.budgeted = t.tokens.Budgeted()
	}
	if !(amount(t.cost) > 0) {
		t.cost = cost
	}
	t.cost = amount(t.cost)
	t.completed = max(t.completed, completed)
	return t
}

const endingCompleted = "completed"

// sound is a count of tokens that can be.
func sound(t ledger.Tokens) ledger.Tokens {
	const most = 1 << 50
	one := func(n int64) int64 { return min(max(n, 0), most) }
	return ledger.Tokens{Input: one(t.Input), Output: one(t.Output), CacheCreation: one(t.CacheCreation), CacheRead: one(t.CacheRead)}
}

func amount(v float64) float64 { return wording.Amount(v) }
func bounded(n int) int        { return wording.Bounded(n) }

func fileCount(s SessionFacts) int   { return bounded(max(s.FileCount, len(s.Files))) }
func denialCount(s SessionFacts) int { return bounded(max(s.Refused, len(s.Denials))) }

func brief(s string) string { return wording.Line(s, maxBrief) }
func name(s string) string  { return wording.Line(s, maxName) }
func short(s string) string { return wording.Line(s, maxShort) }
func long(s string) string  { return wording.Line(s, maxLong) }

// or is the first of two texts that says something.
func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// when writes a moment.
func (w writer) when(t time.Time) string {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return wording.None
	}
	return t.In(w.zone).Format("2006-01-02 15:04")
}

// at writes a moment of the run: without the day it began on.
func (w writer) at(t time.Time) string {
	full := w.when(t)
	if day, hour, ok := strings.Cut(full, " "); ok && !w.total.start.IsZero() && strings.HasPrefix(w.when(w.total.start), day) {
		return hour
	}
	return full
}

func (w writer) zoneName() string {
	at := w.Generated
	if at.IsZero() {
		at = w.total.start
	}
	return wording.Line(at.In(w.zone).Format("MST"), maxName)
}

// elapsed is the wall clock of the run, in seconds.
func (w writer) elapsed() float64 {
	if w.Run.DurationSeconds > 0 {
		return float64(w.Run.DurationSeconds)
	}
	end := w.total.end
	if w.Open && w.Generated.After(end) {
		end = w.Generated
	}
	if w.total.start.IsZero() || !end.After(w.total.start) {
		return 0
	}
	return end.Sub(w.total.start).Seconds()
}

func (w writer) title() string {
	id := name(w.Run.AutopilotRunID)
	if id == "" {
		return "Report of a run"
	}
	return "Report of run " + id
}

func (w writer) tiles() []sheet.Tile {
	out := []sheet.Tile{{Name: "Sessions", Value: wording.Number(int64(w.total.sessions))}}
	if s := w.elapsed(); s > 0 {
		out = append(out, sheet.Tile{Name: "Time", Value: wording.Seconds(s)})
	}
	out = append(out, sheet.Tile{Name: "Tokens, without cache reads", Value: wording.Number(w.total.budgeted)}, sheet.Tile{Name: "Cost", Value: wording.Dollars(w.total.cost)})
	if p, ok := w.percent(); ok {
		out = append(out, sheet.Tile{Name: "Progress", Value: p})
	}
	if v, ok := plot.Velocity(w.looks()); ok {
		out = append(out, sheet.Tile{Name: "Velocity, in a session", Value: plot.VelocityWords(v)})
	}
	if r := w.Reward; r != nil && *r >= 0 && *r <= 1 {
		out = append(out, sheet.Tile{Name: "Reward, 0 to 1", Value: fmt.Sprintf("%.2f", *r)})
	}
	if n := len(w.Tests); n > 0 {
		t := w.Tests[n-1]
		out = append(out, sheet.Tile{Name: "Tests at the end", Value: testWords(t)})
	}
	return out
}

// percent is how far the work was at the end.
func (w writer) percent() (string, bool) {
	for i := len(w.Progress) - 1; i >= 0; i-- {
		if p := wording.Percent(w.Progress[i].Percent); p != wording.None {
			return p, true
		}
	}
	return "", false
}

func (w writer) foot() []sheet.Tile {
	r := w.Run
	var out []sheet.Tile
	add := func(what, value string) {
		if value != "" && value != wording.None {
			out = append(out, sheet.Tile{Name: what, Value: value})
		}
	}
	add("Run", name(r.AutopilotRunID))
	add("Continues run", name(r.ResumedFrom))
	add("Began", w.when(w.total.start))
	add("Ended", w.when(time.Time(r.CompletedAt)))
	if r.WaitedSeconds > 0 {
		add("Of that waiting for a limit", wording.Seconds(float64(r.WaitedSeconds)))
	}
	add("Source of work", name(r.Source))
	add("Mode", name(r.Mode))
	add("Limits", limits(r))
	add("Input tokens", counted(w.total.tokens.Input))
	add("Output tokens", counted(w.total.tokens.Output))
	add("Cache writes", counted(w.total.tokens.CacheCreation))
	add("Cache reads", counted(w.total.tokens.CacheRead))
	if r.HostClass != nil {
		add("Machine", name(*r.HostClass))
	}
	for _, t := range w.machine() {
		add(t.Name, t.Value)
	}
	add("Claude Code", name(r.ClaudeVersion))
	add("autopilot", or(name(w.Version), name(r.Version)))
	add("Report made", w.when(w.Generated))
	add("Times are in", w.zoneName())
	return out
}

// machine is what the drawing of the machine shows, in words.
func (w writer) machine() []sheet.Tile {
	var out []sheet.Tile
	m := plot.Of(w.Samples)
	if m.LeastGB != nil {
		out = append(out, sheet.Tile{Name: "Memory available", Value: m.Range()})
	}
	if m.SwapGB != nil {
		out = append(out, sheet.Tile{Name: "Swap in use, at most", Value: plot.GB(*m.SwapGB) + " GB"})
	}
	if m.Worst != "" {
		out = append(out, sheet.Tile{Name: "Worst tier", Value: m.Worst + ", in " + wording.Percent(100*m.Share) + " of the samples"})
	}
	if m.Peers != nil {
		out = append(out, sheet.Tile{Name: "Other Claude Code sessions, at most", Value: wording.Number(int64(*m.Peers))})
	}
	if slept := max(float64(w.Run.SleptSeconds), m.SleptFor.Seconds()); slept >= 1 {
		out = append(out, sheet.Tile{Name: "Machine asleep", Value: wording.Seconds(slept)})
	}
	return out
}

func limits(r ledger.Run) string {
	var out []string
	if r.MaxSessions > 0 {
		out = append(out, wording.Count(r.MaxSessions, "session"))
	}
	if r.MaxHours > 0 && r.MaxHours < 1e6 {
		out = append(out, fmt.Sprintf("%.4g hours", r.MaxHours))
	}
	return strings.Join(out, ", ")
}

// counted is a count that says something.
func counted(n int64) string {
	if n <= 0 {
		return ""
	}
	return wording.Number(n)
}
