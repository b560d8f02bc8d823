package report

import (
	"encoding/json"
	"fmt"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

// SchemaVersion is the version of the JSON form. It goes up when a field changes its meaning
// or goes away; fields may be added under the same version.
const SchemaVersion = 1

// Kinds of documents.
const (
	KindRun    = "run"
	KindDigest = "digest"
)

// Document is the report of one run as JSON. Times are RFC 3339 in UTC with milliseconds;
// null stands for what is not known. Percentages are 0 to 100, shares 0 to 1. Texts are as
// in the other forms: without secrets, cut, on one line. Of long lists the telling part is
// there; left_out says how many of each are not.
type Document struct {
	SchemaVersion int     `json:"schema_version"`
	Kind          string  `json:"kind"` // run
	GeneratedAt   *string `json:"generated_at"`
	Version       string  `json:"autopilot_version"`

	RunID       string  `json:"run_id"`
	ResumedFrom string  `json:"resumed_from,omitempty"`
	Mode        string  `json:"mode,omitempty"`
	Source      string  `json:"source,omitempty"`
	Open        bool    `json:"open"`        // the run is on
	State       string  `json:"state"`       // good, limit, person, bad or open
	StateWords  string  `json:"state_words"` // in English
	Cause       string  `json:"cause,omitempty"`
	KillSwitch  string  `json:"kill_switch,omitempty"`
	ExitCode    int     `json:"exit_code"`
	Summary     string  `json:"summary,omitempty"`
	Question    string  `json:"question,omitempty"` // that a person is asked
	StartedAt   *string `json:"started_at"`
	EndedAt     *string `json:"ended_at"`
	Elapsed     float64 `json:"elapsed_seconds"` // wall clock
	Waited      int64   `json:"waited_seconds"`  // of it, for limits of the API
	Slept       int64   `json:"slept_seconds"`   // of it, the machine was asleep
	MaxSessions int     `json:"max_sessions"`
	MaxHours    float64 `json:"max_hours"`

	Wanted []string `json:"wanted"`
	Done   []string `json:"done"`  // in English
	ToDo   []ToDo   `json:"to_do"` // by a person, the most pressing first

	Totals   Totals   `json:"totals"`
	Percent  *float64 `json:"progress_percent"`
	Velocity *float64 `json:"velocity_percent_per_session"`
	Reward   *float64 `json:"reward"` // 0..1
	Machine  *Room    `json:"machine"`

	Goals       []GoalEntry       `json:"goals"`
	Items       []ItemEntry       `json:"items"`
	Gates       []GateEntry       `json:"gates"`
	Checks      []CheckEntry      `json:"checks"`
	Tests       []TestEntry       `json:"tests"`
	Sessions    []SessionEntry    `json:"sessions"`
	Progress    []ProgressEntry   `json:"progress"`
	Estimate    *ledger.Forecast  `json:"estimate"`
	Publishing  PublishingEntry   `json:"publishing"`
	Breakers    []BreakerEntry    `json:"breakers"`
	Reflections []ReflectionEntry `json:"reflections"`
	LeftOut     map[string]int    `json:"left_out"` // by the name of the list
}

// ToDo is something that a person has to do.
type ToDo struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
}

// Totals are sums over sessions.
type Totals struct {
	Sessions  int     `json:"sessions"`
	Completed int     `json:"sessions_completed"`
	Budgeted  int64   `json:"tokens_budgeted"` // without cache reads
	Tokens    Tokens  `json:"tokens"`
	CostUSD   float64 `json:"cost_usd"`
	Files     int     `json:"files_changed"` // by sessions, one that two have changed counts twice
	Commits   int     `json:"commits"`
	Refused   int     `json:"calls_refused"`
}

// Tokens are tokens by kind.
type Tokens struct {
	Input         int64 `json:"input"`
	Output        int64 `json:"output"`
	CacheCreation int64 `json:"cache_creation"`
	CacheRead     int64 `json:"cache_read"`
}

// Room is how the machine was. GB are 2^30 bytes.
type Room struct {
	Samples    int      `json:"samples"`
	LeastGB    *float64 `json:"ram_available_least_gb"`
	MostGB     *float64 `json:"ram_available_most_gb"`
	SwapGB     *float64 `json:"swap_used_most_gb"`
	Peers      *int     `json:"peers_most"`
	WorstTier  string   `json:"tier_worst,omitempty"`
	WorstShare float64  `json:"tier_worst_share"` // of the samples, 0..1
}

// RoomOf is a summary of samples, or nil without any.
func RoomOf(m plot.Machine) *Room {
	if m.Samples == 0 {
		return nil
	}
	return &Room{m.Samples, m.LeastGB, m.MostGB, m.SwapGB, m.Peers, m.Worst, m.Share}
}

// JSON returns the report as JSON, indented, with a final newline. The error is a mistake in
// this package, never one of the facts.
func JSON(f Facts) ([]byte, error) { return Encode(NewDocument(f)) }

// Encode writes a document.
func Encode(document any) ([]byte, error) {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("internal error: encode the report: %w", err)
	}
	return append(data, '\n'), nil
}

// NewDocument is the report of a run for JSON.
func NewDocument(f Facts) Document {
	w := newWriter(f)
	r, t := w.Run, w.total
	d := Document{
		SchemaVersion: SchemaVersion, Kind: KindRun, GeneratedAt: Stamp(w.Generated), Version: name(w.Version),
		RunID: name(r.AutopilotRunID), ResumedFrom: name(r.ResumedFrom), Mode: name(r.Mode), Source: name(r.Source), Open: w.Open,
		Cause: name(r.ExitCause), ExitCode: r.ExitCode, StartedAt: Stamp(t.start), Elapsed: amount(w.elapsed()),
		Waited: atLeast0(r.WaitedSeconds), Slept: atLeast0(r.SleptSeconds), MaxSessions: bounded(r.MaxSessions), MaxHours: amount(r.MaxHours),
		Wanted: filled(w.wanted()), Done: filled(w.done()), ToDo: []ToDo{},
		Totals: Totals{
			Sessions: t.sessions, Completed: t.completed, Budgeted: atLeast0(t.budgeted), Tokens: Tokens(t.tokens), CostUSD: t.cost, Files: bounded(t.files), Commits: bounded(t.commits), Refused: bounded(t.denials),
		},
		Reward: Between(w.Reward, 1), Machine: RoomOf(plot.Of(w.Samples)), LeftOut: map[string]int{},
		Publishing: PublishingEntry{Sent: bounded(w.Publishing.Sent), Pending: bounded(w.Publishing.Pending), Refused: bounded(w.Publishing.Refused)},
	}
	d.State, d.StateWords = w.state()
	if !w.Open {
		d.EndedAt = Stamp(time.Time(r.CompletedAt))
	}
	if r.KillSwitch != nil {
		d.KillSwitch = name(*r.KillSwitch)
	}
	if r.Termination != nil && !w.Open {
		d.Summary = long(r.Termination.Summary)
		if r.Termination.AwaitingUserInput {
			d.Question = long(r.Termination.Question)
		}
	}
	for _, l := range w.toDo() {
		d.ToDo = append(d.ToDo, ToDo(l))
	}
	for i := len(w.Progress) - 1; i >= 0 && d.Percent == nil; i-- {
		d.Percent = Between(&w.Progress[i].Percent, 100)
	}
	if v, ok := plot.Velocity(w.looks()); ok {
		d.Velocity = &v
	}
	if e := w.Estimate; e != nil || r.Forecast != nil {
		if e == nil {
			e = r.Forecast
		}
		d.Estimate = soundForecast(*e)
	}
	w.lists(&d)
	return d
}

// told is a list of which some entries are told.
type told struct {
	name    string
	n, most int
}

// list makes the entries of a list, those that matter first of all, and notes the others.
func list[T any](d *Document, l told, matters func(int) bool, one func(int) T) []T {
	out := []T{}
	for _, i := range sheet.Choose(l.n, l.most, matters) {
		out = append(out, one(i))
	}
	if left := l.n - len(out); left > 0 {
		d.LeftOut[l.name] = left
	}
	return out
}

// Stamp is a moment as JSON, or nil when it is not known.
func Stamp(t time.Time) *string {
	if t.IsZero() || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

// Between is a number from 0 to most, or nil.
func Between(v *float64, most float64) *float64 {
	if v == nil || !(*v >= 0 && *v <= most) {
		return nil
	}
	return new(*v)
}

func atLeast0(n int64) int64 { return max(n, 0) }

// filled is a list that is not null.
func filled(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// soundForecast is a forecast without numbers that JSON does not have.
func soundForecast(f ledger.Forecast) *ledger.Forecast {
	one := func(r ledger.Range) ledger.Range {
		return ledger.Range{Low: amount(r.Low), Likely: amount(r.Likely), High: amount(r.High)}
	}
	return &ledger.Forecast{Runs: bounded(f.Runs), Sessions: one(f.Sessions), Seconds: one(f.Seconds), Tokens: one(f.Tokens), CostUSD: one(f.CostUSD)}
}

// texts are the first of some texts.
func texts(list []string) []string {
	out := []string{}
	for _, s := range list[:min(len(list), maxEach)] {
		if s = wording.Line(s, maxName); s != "" {
			out = append(out, s)
		}
	}
	return out
}
