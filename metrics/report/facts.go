package report

import (
	"time"

	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
	"autopilot/metrics/samples"
)

// Facts are what a report is made from. Only Run is needed; what is empty is not told.
// Texts may be raw: the report takes out secrets, cuts and escapes.
type Facts struct {
	Version   string    // of this program
	Generated time.Time // when the report is made
	// Zone is the time zone in which times are written; nil is UTC.
	Zone *time.Location

	Run ledger.Run
	// Open is set while the run is on; the report then says so, and how it ended is not
	// told.
	Open bool
	// Wanted is what was asked for, when it is more than the goals in Run.
	Wanted string
	// Hint says what helps against the reason for which the run ended.
	Hint string
	// ToDo are things that a person has to do now, beside those that follow from the
	// rest of the facts. They come first.
	ToDo []string

	Sessions    []SessionFacts // in the order in which they ran
	Progress    []Point        // in the order of time
	Items       []Item         // of the queue, in its order
	Gates       []Gate
	Tests       []TestRun // in the order of time
	Publishing  Publishing
	Breakers    []Breaker
	Reflections []Reflection // in the order of time
	Samples     []samples.Sample
	Reward      *float64 // of the run's episode, 0..1; nil when there is none

	// Estimate is what the run was expected to take; nil takes Run.Forecast.
	Estimate *ledger.Forecast
	// Measured is what it took; nil takes what Run says.
	Measured *forecast.Truth
}

// SessionFacts are one session. What is zero is not known.
type SessionFacts struct {
	Number  int // from 1
	ID      string
	Type    string // kind of session or mode
	Item    string // of the queue, for which it worked
	Model   string
	Started time.Time
	Ended   time.Time
	Ending  string // such as completed, failed, limited, crashed
	Cause   string
	Tokens  ledger.Tokens
	CostUSD float64

	Caps      []ledger.Cap // tier and cap over time, with what was refused
	FileCount int          // of changed files; 0 takes the length of Files
	Files     []string
	Commits   []string // hashes or first lines
	Summary   string   // of its report
	NextSteps []string
	Denials   []string // what it wanted to do and was not allowed to
	Refused   int      // number of those; 0 takes the length of Denials
}

// Point is how far the work was at a moment.
type Point struct {
	At      time.Time
	Session int     // sessions that were over, from 0
	Percent float64 // 0..100
}

// Standings of an item, as the queue writes them. Others are shown as they are.
const (
	ItemWaiting    = "waiting"
	ItemInProgress = "in-progress"
	ItemNeedsHuman = "needs-human"
	ItemFailed     = "failed"
	ItemSkipped    = "skipped"
	ItemDone       = "done"
)

// Item is one piece of work of the queue.
type Item struct {
	ID       string
	Title    string
	Status   string
	Why      string // it is not waiting, in progress or done
	Sessions int    // that were spent on it
	// Command helps the item on, such as one that puts it back; empty when none does.
	Command string
}

// Standings of a gate. Others are shown as they are.
const (
	GatePending  = "pending"
	GateApproved = "approved"
	GateUsed     = "used" // approved, and done since
	GateDenied   = "denied"
	GateExpired  = "expired" // nobody answered in time, which is a no
)

// Gate is something that a session may do only when a person agrees.
type Gate struct {
	ID       string
	Subject  string // what was to be done
	Rule     string // that asks for a person
	Status   string
	By       string // who answered
	Because  string
	Asked    time.Time
	Answered time.Time
	Until    time.Time // when a pending one expires
	// Command answers it; empty when none does. One that has expired and still has a
	// command waits for a person like a pending one.
	Command string
}

// Waits reports whether an answer is still of use.
func (g Gate) Waits() bool {
	return g.Status == GatePending || g.Status == GateExpired && g.Command != ""
}

// TestRun is one run of the test gate.
type TestRun struct {
	At       time.Time
	Session  int // after which it was; 0 when none
	Passed   int
	Failed   int
	Skipped  int
	Coverage *float64 // of lines, 0..100; nil when not measured
	Summary  string
	// Broken is set when the run failed without counting a failed test, such as when
	// the tests do not compile.
	Broken bool
}

// Red reports whether the run refused the work.
func (t TestRun) Red() bool { return t.Broken || t.Failed > 0 }

// Publishing is what was told to others.
type Publishing struct {
	Sent    int
	Pending int // kept until the target takes it
	Refused int // that its target will not take before a person has mended something
	Entries []Entry
}

// Entry is one subject at one target.
type Entry struct {
	Target  string
	Subject string
	State   string // sent, pending or refused
	URL     string // where a person can see it; shown as text
	Why     string // it was not sent
	At      time.Time
}

// Breaker is the breaker in front of a service. States are closed, open and half-open.
type Breaker struct {
	Name     string
	State    string
	Failures int // in a row
	Why      string
	RetryAt  time.Time // zero when closed
}

// Reflection is one look back at the work.
type Reflection struct {
	At        time.Time
	Session   int
	Reflector string
	Trigger   string
	Percent   *float64 // 0..100
	Progress  string
	Decision  string
	Reasoning string
	Error     string // it came to nothing
}

// Markdown returns the report as Markdown (CommonMark with tables), without raw HTML.
func Markdown(f Facts) []byte { return compose(f).Markdown() }

// HTML returns the report as one page. The error is a mistake in this package, never
// one of the facts.
func HTML(f Facts) ([]byte, error) { return compose(f).HTML() }
