package digest

import (
	"time"

	"autopilot/metrics/report"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/sheet"
)

// Document is the digest as JSON, in the manner of report.Document: times are RFC 3339 in
// UTC, null is what is not known, lists are bounded and left_out says by how much.
type Document struct {
	SchemaVersion int     `json:"schema_version"`
	Kind          string  `json:"kind"` // digest
	GeneratedAt   *string `json:"generated_at"`
	Version       string  `json:"autopilot_version"`
	Since         *string `json:"since"`
	Repository    *string `json:"repository"` // null for all of the machine
	State         string  `json:"state"`      // good, limit, person, bad or open: the worst of what there is
	StateWords    string  `json:"state_words"`

	Totals  Totals         `json:"totals"`
	States  map[string]int `json:"runs_by_state"`
	Causes  map[string]int `json:"runs_by_cause"` // the most frequent ones
	Machine *report.Room   `json:"machine"`

	Runs     []RunEntry     `json:"runs"` // in the order in which they ended
	Needs    []NeedEntry    `json:"needs"`
	Days     []DayEntry     `json:"days"`
	Open     []OpenEntry    `json:"open"`
	Problems []string       `json:"problems"`
	LeftOut  map[string]int `json:"left_out"`
}

// Totals are sums over all runs.
type Totals struct {
	Runs           int           `json:"runs"`
	Sessions       int           `json:"sessions"`
	Completed      int           `json:"sessions_completed"`
	Seconds        float64       `json:"elapsed_seconds"` // of all runs together
	Waited         int64         `json:"waited_seconds"`
	Slept          int64         `json:"slept_seconds"`
	Budgeted       int64         `json:"tokens_budgeted"` // without cache reads
	Tokens         report.Tokens `json:"tokens"`
	CostUSD        float64       `json:"cost_usd"`
	CostPerDay     *float64      `json:"cost_usd_per_day"` // null for less than a day
	Files          int           `json:"files_changed"`
	Commits        int           `json:"commits"`
	Goals          int64         `json:"goals"`
	GoalsReached   int64         `json:"goals_reached"`
	FalseStops     int64         `json:"false_stops"`
	Items          int           `json:"items"`
	ItemsDone      int           `json:"items_done"`
	Tasks          int           `json:"tasks"`
	TasksDone      int           `json:"tasks_done"`
	Checks         int           `json:"checks"`
	ChecksHold     int           `json:"checks_held"`
	RunsWithTests  int           `json:"runs_with_tests"`
	RunsTestsGreen int           `json:"runs_with_tests_green"`
}

// RunEntry is one run.
type RunEntry struct {
	Number      int      `json:"number"` // from 1
	Repository  string   `json:"repository"`
	RunID       string   `json:"run_id"`
	ParentRunID string   `json:"parent_run_id,omitempty"` // of a story
	ResumedFrom string   `json:"resumed_from,omitempty"`
	Continued   bool     `json:"continued"`   // a later run goes on with it
	Coordinates bool     `json:"coordinates"` // its sessions are those of its stories' runs
	State       string   `json:"state"`
	StateWords  string   `json:"state_words"`
	Cause       string   `json:"cause"`
	ExitCode    int      `json:"exit_code"`
	Summary     string   `json:"summary,omitempty"`
	StartedAt   *string  `json:"started_at"`
	EndedAt     *string  `json:"ended_at"`
	Seconds     float64  `json:"elapsed_seconds"`
	Sessions    int      `json:"sessions"`
	Completed   int      `json:"sessions_completed"`
	Budgeted    int64    `json:"tokens_budgeted"`
	CostUSD     float64  `json:"cost_usd"`
	Files       int      `json:"files_changed"`
	Commits     int      `json:"commits"`
	Goals       int      `json:"goals"`
	Reached     int      `json:"goals_reached"`
	Items       int      `json:"items"`
	ItemsDone   int      `json:"items_done"`
	Percent     *float64 `json:"progress_percent"`
	Velocity    *float64 `json:"velocity_percent_per_session"`
	Reward      *float64 `json:"reward"`
	TestsGreen  *bool    `json:"tests_green"` // at its end; null without tests
}

// NeedEntry is something that waits for a person.
type NeedEntry struct {
	Kind       string  `json:"kind"` // question, gate, item, merge or resume
	Repository string  `json:"repository"`
	Text       string  `json:"text"`
	Command    string  `json:"command,omitempty"`
	Since      *string `json:"since"`
	Until      *string `json:"until"`
}

// DayEntry is what the runs that ended on a day have taken.
type DayEntry struct {
	Day      string  `json:"day"` // in the time zone of the machine
	Runs     int     `json:"runs"`
	Sessions int     `json:"sessions"`
	Budgeted int64   `json:"tokens_budgeted"`
	CostUSD  float64 `json:"cost_usd"`
}

// OpenEntry is a run that is on.
type OpenEntry struct {
	Repository string `json:"repository"`
	RunID      string `json:"run_id"`
	State      string `json:"state"`
}

// maxListed is how many entries a list has. Each is of bounded size.
const maxListed = 200

// NewDocument is the digest for JSON.
func NewDocument(f Facts) Document {
	w := newWriter(f)
	t := w.total
	d := Document{
		SchemaVersion: report.SchemaVersion, Kind: report.KindDigest, GeneratedAt: report.Stamp(w.Generated), Version: name(w.Version), Since: report.Stamp(w.Since),
		Totals: Totals{
			Runs: t.runs, Sessions: t.sessions, Completed: t.completed, Seconds: t.seconds, Waited: t.waited, Slept: t.slept, Budgeted: t.tokens, Tokens: report.Tokens(t.kinds), CostUSD: t.cost,
			Files: t.files, Commits: t.commits, Goals: t.goals, GoalsReached: t.goalsDone, FalseStops: t.falseStops, Items: t.pieces, ItemsDone: t.piecesDone, Tasks: t.tasks, TasksDone: t.tasksDone,
			Checks: t.checks, ChecksHold: t.checksHold, RunsWithTests: t.tested, RunsTestsGreen: t.green,
		},
		States: map[string]int{}, Causes: map[string]int{}, Machine: report.RoomOf(plot.Of(w.samples())), LeftOut: map[string]int{}, Problems: []string{},
	}
	d.State, d.StateWords = w.state()
	if w.Repository != "" {
		d.Repository = new(name(w.Repository))
	}
	if v, ok := w.perDay(); ok {
		d.Totals.CostPerDay = &v
	}
	for _, class := range []string{sheet.Good, sheet.Limit, sheet.Person, sheet.Bad, sheet.Open} {
		d.States[class] = t.classes[class]
	}
	for _, cause := range byCount(t.causes)[:min(len(t.causes), maxFew)] {
		d.Causes[cause] = t.causes[cause]
	}
	w.lists(&d)
	return d
}

// pick makes the entries of a list out of those of n that are told.
func pick[T any](d *Document, called string, n int, matters func(int) bool, one func(int) T) []T {
	out := []T{}
	for _, i := range sheet.Choose(n, maxListed, matters) {
		out = append(out, one(i))
	}
	if left := n - len(out); left > 0 {
		d.LeftOut[called] = left
	}
	return out
}

func (w writer) lists(d *Document) {
	last := func(int) bool { return false }
	d.Runs = pick(d, "runs", len(w.runs), func(i int) bool { return w.runs[i].troubled() }, func(i int) RunEntry { return w.runs[i].entry() })
	needs := w.needs()
	d.Needs = pick(d, "needs", len(needs), func(i int) bool { return i < maxListed }, func(i int) NeedEntry {
		n := needs[i]
		return NeedEntry{name(n.Kind), name(n.Repository), short(n.Text), long(n.Command), report.Stamp(n.At), report.Stamp(n.Until)}
	})
	d.Days = pick(d, "days", len(w.days), last, func(i int) DayEntry {
		x := w.days[i]
		return DayEntry{x.name, x.runs, x.sessions, x.tokens, x.cost}
	})
	d.Open = pick(d, "open", len(w.Open), last, func(i int) OpenEntry {
		o := w.Open[i]
		return OpenEntry{name(o.Repository), name(o.ID), short(o.Words)}
	})
	d.Problems = pick(d, "problems", len(w.Problems), last, func(i int) string { return short(w.Problems[i]) })
}

func (c counted) entry() RunEntry {
	rec := c.Record
	e := RunEntry{
		Number: c.number, Repository: name(c.Repository), RunID: name(rec.AutopilotRunID), ResumedFrom: name(rec.ResumedFrom), Continued: c.Continued, Coordinates: c.coordinates,
		State: c.class, StateWords: c.words, Cause: c.cause, ExitCode: rec.ExitCode, StartedAt: report.Stamp(time.Time(rec.StartedAt)), EndedAt: report.Stamp(time.Time(rec.CompletedAt)), Seconds: c.seconds,
		Sessions: c.sessions, Completed: c.completed, Budgeted: c.tokens, CostUSD: c.cost, Files: c.files, Commits: c.commits, Goals: c.goals, Reached: c.goalsDone, Items: c.pieces, ItemsDone: c.piecesDone,
		Percent: c.percent, Velocity: c.velocity, Reward: report.Between(c.Reward, 1),
	}
	if rec.ParentRunID != nil {
		e.ParentRunID = name(*rec.ParentRunID)
	}
	if rec.Termination != nil {
		e.Summary = long(rec.Termination.Summary)
	}
	if n := len(c.Tests); n > 0 {
		e.TestsGreen = new(!c.Tests[n-1].Red())
	}
	return e
}
