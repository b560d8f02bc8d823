package digest

import (
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/samples"
)

// Facts are what a digest is made from. What is empty is not told. Texts may be raw.
type Facts struct {
	Version   string    // of this program
	Generated time.Time // when the digest is made
	Zone      *time.Location
	Since     time.Time // from which on runs have ended
	// Repository is what the digest is about; empty for all of the machine.
	Repository string

	Runs     []Run    // that have ended, in the order in which they did
	Open     []Open   // that are on
	Needs    []Need   // what waits for a person now
	Problems []string // what could not be read
}

// Run is one run that has ended. What is zero is not known.
type Run struct {
	Repository string // short name
	Record     ledger.Run
	Sessions   []report.SessionFacts // in the order in which they ran; none of a run that coordinated others
	Progress   []report.Point        // in the order of time
	Tests      []report.TestRun      // in the order of time
	Items      []report.Item         // of the queue, or stories
	TasksDone  int
	Tasks      int
	Samples    []samples.Sample
	Reward     *float64 // of its episode, 0..1
	Continued  bool     // another run goes on with it
}

// Open is a run that is on.
type Open struct {
	Repository string
	ID         string
	Words      string // how it stands
}

// Kinds of needs, in the order in which they are told.
const (
	Question = "question" // that a run has asked; an answer continues it
	Gate     = "gate"     // a held call
	Item     = "item"     // of the queue that was put aside
	Merge    = "merge"    // a branch with work that is done
	Resume   = "resume"   // a run that stopped half-way
)

// Need is something that waits for a person.
type Need struct {
	Kind       string
	Repository string
	Text       string
	Command    string
	At         time.Time // since when
	Until      time.Time // after which it is too late; zero for never
}

// Markdown returns the digest as Markdown (CommonMark with tables), without raw HTML.
func Markdown(f Facts) []byte { return compose(f).Markdown() }

// HTML returns the digest as one page. The error is a mistake in this package, never one of
// the facts.
func HTML(f Facts) ([]byte, error) { return compose(f).HTML() }

// JSON returns the digest as a Document, indented, with a final newline. The error is a
// mistake in this package, never one of the facts.
func JSON(f Facts) ([]byte, error) { return report.Encode(NewDocument(f)) }
