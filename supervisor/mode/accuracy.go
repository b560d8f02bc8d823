package mode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
)

const (
	accuracyType       = "mode-selector-accuracy"
	accuracyConfidence = 0.5
	accuracyDays       = 30
	learningSchema     = 1
	maxSessionID       = 200 // bytes
)

// Accuracy is which mode was recommended for a session and which it then had.
type Accuracy struct {
	Recommended Mode    // empty when nothing was recommended
	Chosen      Mode    // the session's
	Session     string  // id of the session, as its record in the ledger has it
	Run         string  // id of the run, empty for none
	Confidence  float64 // of the recommendation, 0 to 1
}

// accuracy is a learning in the form that session-orchestrator reads.
type accuracy struct {
	ID             string       `json:"id"`
	Type           string       `json:"type"`
	Subject        string       `json:"subject"`
	Insight        string       `json:"insight"`
	Evidence       string       `json:"evidence"`
	Confidence     float64      `json:"confidence"`
	SourceSession  string       `json:"source_session"`
	CreatedAt      ledger.Stamp `json:"created_at"`
	ExpiresAt      ledger.Stamp `json:"expires_at"`
	SchemaVersion  int          `json:"schema_version"`
	Scope          string       `json:"scope"`
	HostClass      *string      `json:"host_class"`
	Anonymized     bool         `json:"anonymized"`
	AutopilotRunID string       `json:"autopilot_run_id,omitempty"`
}

// RecordAccuracy appends one learning of type mode-selector-accuracy to .orchestrator/metrics/learnings.jsonl below repo,
// from which session-orchestrator learns how good its recommendations are. Its confidence is 0.5, and it expires in 30
// days. Nothing is written where nothing was recommended, and where the folder is missing: the repository is not
// session-orchestrator's then.
//
// Others write to the file, too, and none of them takes a lock. Sessions append single lines: what they learned at their
// end, what their agents proposed, and the choice of mode of a session that a person began. Now and then a command that
// gathers, prunes or moves old learnings reads the whole file and puts a new one in its place. So the line is added in
// one write at the end, behind a newline where another program was stopped in the middle of its own, nothing that stands
// there is changed or cut off, and a file that takes the place of the old one is noticed up to the moment of the write.
// What is appended while such a command is between its reading and its rename goes with the old file; nobody who only
// appends can prevent that.
//
// The id is made from the subject and the session, so one session has one such learning: if the end of the file holds
// the id, nothing is written and there is no error, and a caller that crashed may call again.
//
// A mode that is not known and a session without a proper id are refused. The other errors are those of the journal.
func RecordAccuracy(repo string, a Accuracy, now time.Time) error {
	if a.Recommended == "" {
		return nil
	}
	if err := a.check(); err != nil {
		return fmt.Errorf("record accuracy: %w", err)
	}
	name := filepath.Join(repo, filepath.FromSlash(learningsFile))
	switch info, err := os.Stat(filepath.Dir(name)); {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return nil
	case err != nil:
		return fmt.Errorf("record accuracy: %w", err)
	}
	learning := a.learning(now)
	line, err := json.Marshal(learning)
	if err != nil {
		return fmt.Errorf("record accuracy: %w", err)
	}
	w, err := journal.Open(name, journal.Options{Foreign: true})
	if err != nil {
		return fmt.Errorf("record accuracy: %w", err)
	}
	_, err = w.AppendUnless(line, func(line []byte) bool {
		f, err := parseFields(line)
		return err == nil && f.text("id") == learning.ID
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("record accuracy: %w", err)
	}
	return nil
}

func (a Accuracy) check() error {
	for _, m := range []Mode{a.Recommended, a.Chosen} {
		if !known(m) {
			return fmt.Errorf("mode %.60q is unknown", m)
		}
	}
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r) }
	if a.Session == "" || len(a.Session) > maxSessionID || strings.ContainsFunc(a.Session, odd) {
		return fmt.Errorf("%.60q is no id of a session", a.Session)
	}
	return nil
}

func (a Accuracy) learning(now time.Time) accuracy {
	subject := fmt.Sprintf("%s-selected-vs-%s", a.Recommended, a.Chosen)
	insight := fmt.Sprintf("The unattended run did the recommended %s session.", a.Recommended)
	if a.Recommended != a.Chosen {
		insight = fmt.Sprintf("A %s session was done although %s was recommended.", a.Chosen, a.Recommended)
	}
	return accuracy{
		ID: accuracyType + "-" + subject + "-" + a.Session, Type: accuracyType, Subject: subject, Insight: insight,
		Evidence:   fmt.Sprintf("session %s: recommended %s with confidence %.2f, done %s", a.Session, a.Recommended, a.Confidence, a.Chosen),
		Confidence: accuracyConfidence, SourceSession: a.Session,
		CreatedAt: ledger.Stamp(now), ExpiresAt: ledger.Stamp(now.Add(accuracyDays * 24 * time.Hour)),
		SchemaVersion: learningSchema, Scope: "local", AutopilotRunID: a.Run,
	}
}
