package report

import (
	"time"

	"autopilot/metrics/ledger"
)

// GoalEntry is a goal.
type GoalEntry struct {
	Text       string   `json:"text"`
	Status     string   `json:"status"`
	Percent    *float64 `json:"percent"`
	Sessions   int      `json:"sessions"`
	FalseStops int      `json:"false_stops"` // times it was said to be reached while a check failed
}

// ItemEntry is a piece of work of the queue, or a story.
type ItemEntry struct {
	ID       string `json:"id"`
	Title    string `json:"title,omitempty"`
	Status   string `json:"status"`
	Why      string `json:"why,omitempty"`
	Sessions int    `json:"sessions"`
	Command  string `json:"command,omitempty"`
}

// GateEntry is a call that needed a person.
type GateEntry struct {
	ID         string  `json:"id"`
	Subject    string  `json:"subject"`
	Rule       string  `json:"rule,omitempty"`
	Status     string  `json:"status"`
	By         string  `json:"by,omitempty"`
	Because    string  `json:"because,omitempty"`
	AskedAt    *string `json:"asked_at"`
	AnsweredAt *string `json:"answered_at"`
	Until      *string `json:"until"`
	Command    string  `json:"command,omitempty"`
}

// CheckEntry is what was looked at as proof.
type CheckEntry struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Proof string `json:"proof,omitempty"`
}

// TestEntry is a run of the test gate.
type TestEntry struct {
	At       *string  `json:"at"`
	Session  int      `json:"session"` // after which it was; 0 when none
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Skipped  int      `json:"skipped"`
	Red      bool     `json:"red"`
	Coverage *float64 `json:"coverage_percent"`
	Summary  string   `json:"summary,omitempty"`
}

// SessionEntry is one session.
type SessionEntry struct {
	Number    int      `json:"number"` // from 1
	ID        string   `json:"session_id"`
	Kind      string   `json:"kind,omitempty"`
	For       string   `json:"for,omitempty"` // item or story
	Model     string   `json:"model,omitempty"`
	StartedAt *string  `json:"started_at"`
	EndedAt   *string  `json:"ended_at"`
	Ending    string   `json:"ending"`
	Cause     string   `json:"cause,omitempty"`
	Tokens    Tokens   `json:"tokens"`
	CostUSD   float64  `json:"cost_usd"`
	FileCount int      `json:"files_changed"`
	Files     []string `json:"files"`   // the first ones
	Commits   []string `json:"commits"` // the first ones
	Summary   string   `json:"summary,omitempty"`
	NextSteps []string `json:"next_steps"`
	Refused   int      `json:"calls_refused"`
	Tier      string   `json:"tier,omitempty"` // that held at its end
	Agents    *int     `json:"agents_limit"`   // likewise
}

// ProgressEntry is how far the work was at a moment.
type ProgressEntry struct {
	At      *string  `json:"at"`
	Session int      `json:"session"`
	Percent *float64 `json:"percent"`
}

// PublishingEntry is what was told to others.
type PublishingEntry struct {
	Sent    int              `json:"sent"`
	Pending int              `json:"pending"`
	Refused int              `json:"refused"`
	Entries []PublishedEntry `json:"entries"`
}

// PublishedEntry is one subject at one target.
type PublishedEntry struct {
	Target  string  `json:"target"`
	Subject string  `json:"subject"`
	State   string  `json:"state"`
	URL     string  `json:"url,omitempty"`
	Why     string  `json:"why,omitempty"`
	At      *string `json:"at"`
}

// BreakerEntry is the breaker in front of a service.
type BreakerEntry struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Failures int     `json:"failures_in_a_row"`
	Why      string  `json:"why,omitempty"`
	RetryAt  *string `json:"retry_at"`
}

// ReflectionEntry is one look back at the work.
type ReflectionEntry struct {
	At        *string  `json:"at"`
	Session   int      `json:"session"`
	Reflector string   `json:"reflector,omitempty"`
	Trigger   string   `json:"trigger,omitempty"`
	Percent   *float64 `json:"percent"`
	Progress  string   `json:"progress,omitempty"`
	Decision  string   `json:"decision,omitempty"`
	Reasoning string   `json:"reasoning,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// maxPoints is how many points of the progress are told.
const maxPoints = 240

// lists fills in the lists.
func (w writer) lists(d *Document) {
	last := func(int) bool { return false }
	goals := w.Run.Goals
	d.Goals = list(d, told{"goals", len(goals), maxFew}, func(i int) bool { return goals[i].Status != ledger.GoalAchieved }, func(i int) GoalEntry {
		g := goals[i]
		return GoalEntry{short(g.Text), name(g.Status), Between(&g.Percent, 100), bounded(g.Iterations), bounded(g.FalseStops)}
	})
	d.Items = list(d, told{"items", len(w.Items), maxRows}, func(i int) bool { return w.Items[i].Status != ItemDone && w.Items[i].Status != ItemWaiting }, func(i int) ItemEntry {
		it := w.Items[i]
		return ItemEntry{name(it.ID), short(it.Title), name(it.Status), short(it.Why), bounded(it.Sessions), short(it.Command)}
	})
	d.Gates = list(d, told{"gates", len(w.Gates), maxFew}, func(i int) bool { return w.Gates[i].Waits() }, func(i int) GateEntry {
		g := w.Gates[i]
		return GateEntry{name(g.ID), short(g.Subject), name(g.Rule), name(g.Status), name(g.By), short(g.Because), Stamp(g.Asked), Stamp(g.Answered), Stamp(g.Until), short(g.Command)}
	})
	var checks []ledger.Deliverable
	if w.Run.Termination != nil {
		checks = w.Run.Termination.Deliverables
	}
	d.Checks = list(d, told{"checks", len(checks), maxFew}, func(i int) bool { return !checks[i].OK }, func(i int) CheckEntry {
		return CheckEntry{short(checks[i].Name), checks[i].OK, short(checks[i].Proof)}
	})
	d.Tests = list(d, told{"tests", len(w.Tests), maxFew}, func(i int) bool { return w.Tests[i].Red() }, func(i int) TestEntry {
		t := w.Tests[i]
		return TestEntry{Stamp(t.At), bounded(t.Session), bounded(t.Passed), bounded(t.Failed), bounded(t.Skipped), t.Red(), Between(t.Coverage, 100), short(t.Summary)}
	})
	d.Sessions = list(d, told{"sessions", len(w.Sessions), maxRows}, func(i int) bool { return trouble(w.Sessions[i]) }, func(i int) SessionEntry { return sessionEntry(w.Sessions[i]) })
	d.Progress = list(d, told{"progress", len(w.Progress), maxPoints}, last, func(i int) ProgressEntry {
		p := w.Progress[i]
		return ProgressEntry{Stamp(p.At), bounded(p.Session), Between(&p.Percent, 100)}
	})
	pub := w.Publishing.Entries
	d.Publishing.Entries = list(d, told{"publishing.entries", len(pub), maxFew}, func(i int) bool { return pub[i].State != "sent" }, func(i int) PublishedEntry {
		e := pub[i]
		return PublishedEntry{name(e.Target), name(e.Subject), name(e.State), short(e.URL), short(e.Why), Stamp(e.At)}
	})
	d.Breakers = list(d, told{"breakers", len(w.Breakers), maxFew}, func(i int) bool { return w.Breakers[i].State == "open" }, func(i int) BreakerEntry {
		b := w.Breakers[i]
		return BreakerEntry{name(b.Name), name(b.State), bounded(b.Failures), short(b.Why), Stamp(b.RetryAt)}
	})
	d.Reflections = list(d, told{"reflections", len(w.Reflections), maxDetails}, last, func(i int) ReflectionEntry {
		r := w.Reflections[i]
		return ReflectionEntry{
			Stamp(r.At), bounded(r.Session), name(r.Reflector), name(r.Trigger), Between(r.Percent, 100), name(r.Progress), name(r.Decision), long(r.Reasoning), short(r.Error),
		}
	})
}

func sessionEntry(s SessionFacts) SessionEntry {
	e := SessionEntry{
		Number: bounded(s.Number), ID: name(s.ID), Kind: name(s.Type), For: name(s.Item), Model: name(s.Model), StartedAt: Stamp(s.Started), EndedAt: Stamp(s.Ended),
		Ending: name(s.Ending), Cause: short(s.Cause), Tokens: Tokens(sound(s.Tokens)), CostUSD: amount(s.CostUSD), FileCount: fileCount(s), Files: texts(s.Files), Commits: texts(s.Commits),
		Summary: long(s.Summary), NextSteps: texts(s.NextSteps), Refused: denialCount(s),
	}
	var at time.Time
	for _, c := range s.Caps { // the last one holds at the end
		if t := time.Time(c.At); !t.Before(at) {
			at, e.Tier, e.Agents = t, brief(c.Tier), new(bounded(c.Cap))
		}
	}
	return e
}
