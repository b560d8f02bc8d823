package ending

import (
	"fmt"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
)

// Facts are what is known about a run that ends.
type Facts struct {
	Cause      string // as in the run ledger
	Reason     killswitch.Reason
	Detail     string
	Errors     bool // too many errors in a row
	Goals      pursuit.State
	Iterations int
	Active     time.Duration // wall clock of the run and of those that it continues
	Outcomes   ledger.Outcomes
	Saved      bool // the state is on disk
}

// Causes that are no kill-switches, as the run ledger names them.
const (
	CauseDone    = "work-done"
	CausePerson  = "needs-person"
	CauseManual  = "manual-fallback"
	CauseGivenUp = "given-up"
	CauseKilled  = "killed"
	CauseError   = "error"
)

// Of describes the end of a run.
func Of(f Facts) ledger.Termination {
	t := ledger.Termination{
		Iterations: f.Iterations, TimeElapsed: Elapsed(f.Active), Outcomes: f.Outcomes, Deliverables: deliverables(f.Goals), CheckpointSaved: f.Saved,
	}
	t.Status, t.Reason, t.Guard = classify(f)
	if p := f.Goals.Progress(); p.Known {
		t.Progress = fmt.Sprintf("%.0f%% complete", p.Percent)
	}
	for _, g := range f.Goals.Goals {
		t.Partial = t.Partial || g.Status == ledger.GoalPartial || g.Status == ledger.GoalAchieved && t.Status != ledger.Completed ||
			g.Status != ledger.GoalAchieved && len(g.Assessments) > 0 && g.Assessments[len(g.Assessments)-1].GoalAchieved == "PARTIAL"
	}
	t.Summary = summary(f, t)
	t.Resumable = t.Status != ledger.Completed && f.Saved && f.Cause != CauseManual
	if g := f.Goals.Asked(); g != nil && g.Question != nil {
		t.Question, t.Options, t.AwaitingUserInput = g.Question.Text, g.Question.Options, true
		t.Suggestions = g.Question.Options
	}
	t.NextSteps = nextSteps(f, t)
	return t
}

// classify returns status, reason and guardrail.
func classify(f Facts) (status, reason, guard string) {
	switch f.Reason {
	case killswitch.UserAbort:
		return ledger.Interrupted, "user_stop", ledger.GuardInterrupt
	case killswitch.MaxSessionsReached:
		return ledger.Stopped, "max_iterations", ledger.GuardIterations
	case killswitch.MaxHoursExceeded:
		return ledger.Stopped, "timeout", ledger.GuardTimeout
	case killswitch.TokenBudgetExceeded:
		return ledger.Stopped, "cost_limit", ledger.GuardCost
	case killswitch.LowConfidence:
		return ledger.Paused, "low_confidence", ""
	case killswitch.FailedWave:
		if f.Errors {
			return ledger.Stopped, "error_threshold", ledger.GuardErrors
		}
	}
	if f.Reason != "" {
		return ledger.Stopped, strings.ReplaceAll(string(f.Reason), "-", "_"), ""
	}
	switch f.Cause {
	case CauseDone:
		return ledger.Completed, "goal_achieved", ""
	case CausePerson:
		return ledger.Paused, askedFor(f.Goals), ""
	case CauseManual:
		return ledger.Paused, "low_confidence", ""
	case CauseKilled:
		return ledger.Interrupted, "killed", ""
	case CauseGivenUp:
		return ledger.Stopped, "given_up", ""
	}
	return ledger.Stopped, "error", ""
}

func askedFor(s pursuit.State) string {
	if g := s.Asked(); g != nil && g.Question != nil && g.Question.Reason != "" {
		return g.Question.Reason
	}
	return "question"
}

// summary is one sentence.
func summary(f Facts, t ledger.Termination) string {
	switch {
	case t.Status == ledger.Completed && len(f.Goals.Goals) == 1:
		return "Reached: " + f.Goals.Goals[0].Text + unproven(f.Goals, t)
	case t.Status == ledger.Completed:
		return fmt.Sprintf("Reached all %d goals%s", len(f.Goals.Goals), unproven(f.Goals, t))
	case t.Status == ledger.Paused:
		return fmt.Sprintf("Waits for a person after %d sessions: %s", f.Iterations, f.Detail)
	case t.Status == ledger.Interrupted:
		return fmt.Sprintf("Ended at session %d: %s", f.Iterations, f.Detail)
	default:
		return fmt.Sprintf("Stopped after %d sessions: %s", f.Iterations, f.Detail)
	}
}

// unproven says that nothing but words stands behind a completion.
func unproven(s pursuit.State, t ledger.Termination) string {
	for _, g := range s.Goals {
		if len(g.Proof) == 0 {
			return " (no check proves it; --verify and --expect-file would)"
		}
	}
	for _, d := range t.Deliverables {
		if !d.OK {
			return " (not proved: " + d.Name + ")"
		}
	}
	return ""
}

func deliverables(s pursuit.State) []ledger.Deliverable {
	out := []ledger.Deliverable{}
	for _, g := range s.Goals {
		out = append(out, g.Proof...)
	}
	return out
}

func nextSteps(f Facts, t ledger.Termination) []string {
	var out []string
	for _, g := range f.Goals.Goals {
		if g.Status != ledger.GoalAchieved {
			out = append(out, g.First...)
			out = append(out, g.Steps...)
		}
	}
	switch {
	case t.AwaitingUserInput:
		out = append(out, "answer with 'autopilot answer TEXT'")
	case t.Resumable && t.Guard == ledger.GuardTimeout:
		out = append(out, "'autopilot resume --max-hours H' goes on with a higher limit")
	case t.Resumable && t.Guard == ledger.GuardIterations:
		out = append(out, "'autopilot resume --max-sessions N' goes on with a higher limit")
	case t.Resumable && t.Guard == ledger.GuardCost:
		out = append(out, "'autopilot resume --max-tokens N' or '--max-cost-usd X' goes on with a higher limit")
	case t.Resumable:
		out = append(out, "'autopilot resume' goes on")
	}
	return out
}

// Elapsed writes a time as people say it: 42s, 7m, 1h 23m.
func Elapsed(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
}

// Text is the end of a run for a person.
func Text(t ledger.Termination) string {
	var b strings.Builder
	guard := ""
	if t.Guard != "" {
		guard = " (guardrail " + t.Guard + ")"
	}
	fmt.Fprintf(&b, "  status      %s, %s%s: %s\n", t.Status, t.Reason, guard, t.Summary)
	for _, d := range t.Deliverables {
		mark := "FAILS"
		if d.OK {
			mark = "holds"
		}
		fmt.Fprintf(&b, "  check       %s %s: %s\n", d.Name, mark, d.Proof)
	}
	if t.Question != "" {
		fmt.Fprintf(&b, "  question    %s\n", t.Question)
		for i, o := range t.Options {
			fmt.Fprintf(&b, "              %c) %s\n", 'A'+i, o)
		}
	}
	return b.String()
}
