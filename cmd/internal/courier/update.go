package courier

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"autopilot/cmd/internal/night"
	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/supervisor"
	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/outbox"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/work"
)

const longest = 16 << 10 // bytes of a body

// writer keeps updates for targets.
type writer struct {
	targets []publish.Target
	outbox  outbox.Outbox
	runID   string
}

func (w writer) put(u publish.Update) error {
	origin, err := w.outbox.Origin()
	if err != nil { // the folder is all that is known, and cannot be written
		sum := sha256.Sum256([]byte(w.outbox.Dir))
		origin = hex.EncodeToString(sum[:6])
	}
	u.Project, u.RunID, u.At, u.Title, u.Body = origin, w.runID, time.Now(), logs.Redact(u.Title), cut(logs.Redact(u.Body))
	var bad []error
	for _, t := range w.targets {
		if err := w.outbox.Put(t, u); err != nil {
			bad = append(bad, fmt.Errorf("tell %s: %w", t, err))
		}
	}
	return errors.Join(bad...)
}

// Late keeps the last update of a run that could not tell of its end itself, for the
// targets that are set. It delivers nothing: the next run does, or a person.
func Late(n night.Night, s supervisor.State) error {
	s.Finished = true
	u := ofRun(s)
	if s.Record.ExitCause == "" { // nobody has looked yet how it ended
		u.State = publish.Failed
	}
	return writer{targets: n.Cfg.Night.Sync, outbox: n.Outbox, runID: s.Record.AutopilotRunID}.put(u)
}

func cut(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest-len("…")], "") + "…"
}

// ofRun is the standing of a run.
func ofRun(s supervisor.State) publish.Update {
	u := publish.Update{Subject: "run/" + s.Record.AutopilotRunID, Title: "autopilot run", State: publish.Running, Percent: percent(s), Final: s.Finished, Body: runBody(s)}
	if len(s.Pursuit.Goals) > 0 {
		u.Title = s.Pursuit.Goals[0].Text
	}
	if s.Finished {
		u.State = stateOf(s.Record)
	}
	return u
}

func percent(s supervisor.State) int {
	if c := s.Record.Coordinator; c != nil && len(c.Stories) > 0 {
		return 100 * c.CompletedCount / len(c.Stories)
	}
	if s.Tasks != nil {
		return s.Tasks.Percent
	}
	return int(s.Pursuit.Progress().Percent)
}

// stateOf is how a run ended: its exit code alone does not tell whether the work is done.
func stateOf(r ledger.Run) publish.State {
	t := r.Termination
	switch {
	case t != nil && t.Status == ledger.Completed && r.ExitCode == supervisor.ExitWanted:
		return publish.Done
	case r.ExitCode == supervisor.ExitPerson:
		return publish.NeedsHuman
	}
	switch r.ExitCode {
	case supervisor.ExitWanted, supervisor.ExitBudget, supervisor.ExitResources, supervisor.ExitInterrupt:
		return publish.Stopped
	}
	return publish.Failed
}

func runBody(s supervisor.State) string {
	var b strings.Builder
	r := s.Record
	if c := r.Coordinator; c != nil {
		fmt.Fprintf(&b, "%d of %d stories are done, %d tokens, $%.2f.\n", c.CompletedCount, len(c.Stories), c.CohortTokens, c.CohortCostUSD)
	} else {
		fmt.Fprintf(&b, "%s, %d tokens, $%.2f.\n", sessions(s.Carried.Iterations+s.Iteration), s.Carried.Spent.Tokens+r.TotalTokensUsed,
			s.Carried.Spent.CostUSD+r.TotalCostUSD)
	}
	if t := s.Tasks; t != nil && t.Total > 0 {
		fmt.Fprintf(&b, "\n%d of %d are over", t.Completed, t.Total)
		if t.Failed > 0 {
			fmt.Fprintf(&b, ", %d of them failed", t.Failed)
		}
		b.WriteString(".")
		if len(t.Open) > 0 {
			b.WriteString(" Still open:\n")
		}
		b.WriteString("\n")
		for _, open := range t.Open {
			fmt.Fprintf(&b, "- %s\n", open)
		}
	}
	if t := r.Termination; s.Finished && t != nil {
		fmt.Fprintf(&b, "\n**%s** (%s)\n\n", strings.ReplaceAll(t.Summary, "*", ""), r.ExitCause)
		for _, n := range t.NextSteps {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return b.String()
}

func sessions(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// ofItem is the standing of an item of the queue.
func ofItem(s work.Standing) publish.Update {
	u := publish.Update{Subject: "item/" + s.Item.ID, Title: s.Item.Short(), State: publish.Running, Percent: s.Percent, Final: s.Final}
	switch s.Item.Status {
	case queue.Done:
		u.State = publish.Done
	case queue.NeedsHuman:
		u.State = publish.NeedsHuman
	case queue.Failed:
		u.State = publish.Failed
	case queue.Skipped:
		u.State = publish.Stopped
	}
	if s.Total > 0 {
		u.Body = fmt.Sprintf("%d of %d tasks are over, after %s.\n\n", s.Done, s.Total, sessions(s.Item.Sessions))
	}
	u.Body += s.Detail
	return u
}
