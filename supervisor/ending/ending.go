package ending

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
)

const (
	maxGoal     = 300  // runes of a goal in the summary
	maxDetail   = 500  // runes of a line
	maxQuestion = 2500 // runes
	maxShown    = 6    // next steps on the screen
	letters     = 26   // options that can be chosen by a letter
)

// Facts are what is known about a run that ends.
type Facts struct {
	Cause      string // as in the run ledger
	Reason     killswitch.Reason
	Detail     string
	Errors     bool // too many errors in a row
	TimeOver   bool // it was to be over at a certain time
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
	CauseNoTasks = "no-tasks"
	CauseFailed  = "failed-tasks"
	CauseNoGain  = "no-progress"
	CauseKilled  = "killed"
	CauseError   = "error"
)

const reasonGivenUp = "given_up"

// Of describes the end of a run.
func Of(f Facts) ledger.Termination {
	t := ledger.Termination{
		Iterations: f.Iterations, TimeElapsed: Elapsed(f.Active), Outcomes: f.Outcomes, Deliverables: deliverables(f.Goals), CheckpointSaved: f.Saved,
	}
	t.Status, t.Reason, t.Guard = classify(f)
	if p := f.Goals.Progress(); p.Known {
		t.Progress = fmt.Sprintf("%.0f%% complete", p.Percent)
	}
	t.Partial = t.Status != ledger.Completed && slices.ContainsFunc(f.Goals.Goals, partly)
	t.Summary = summary(f, t)
	// A run that handed over before its first session has nothing to go on with.
	t.Resumable = t.Status != ledger.Completed && f.Saved && (f.Iterations > 0 || f.Cause != CauseManual)
	if g := f.Goals.Asked(); g != nil && g.Question != nil {
		t.Question, t.Options, t.AwaitingUserInput = g.Question.Text, g.Question.Options, true
		t.Suggestions = g.Question.Options
	}
	t.NextSteps = nextSteps(f, t)
	return t
}

// partly reports whether a goal is reached at least in part.
func partly(g pursuit.Goal) bool {
	n := len(g.Assessments)
	return g.Status == ledger.GoalPartial || g.Status == ledger.GoalAchieved || n > 0 && g.Assessments[n-1].GoalAchieved == reflector.Partial
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
		return ledger.Stopped, reasonGivenUp, ""
	case CauseNoTasks:
		return ledger.Completed, "no_tasks", ""
	case CauseFailed, CauseNoGain:
		return ledger.Stopped, strings.ReplaceAll(f.Cause, "-", "_"), ""
	}
	return ledger.Stopped, "error", ""
}

func askedFor(s pursuit.State) string {
	if g := s.Asked(); g != nil && g.Question != nil && g.Question.Reason != "" {
		return g.Question.Reason
	}
	return "question"
}

// summary is one line.
func summary(f Facts, t ledger.Termination) string {
	goals := f.Goals.Goals
	switch {
	case f.Cause == CauseNoTasks:
		return "There was nothing to do"
	case t.Status == ledger.Completed && len(goals) == 0:
		return "Reached: nothing is left to do"
	case t.Status == ledger.Completed && len(goals) == 1:
		return "Reached: " + oneLine(goals[0].Text, maxGoal) + unproven(goals)
	case t.Status == ledger.Completed:
		return fmt.Sprintf("Reached all %d goals%s", len(goals), unproven(goals))
	}
	words := "Stopped after " + count(f.Iterations, "session")
	switch {
	case t.Status == ledger.Interrupted && f.Iterations > 0:
		words = fmt.Sprintf("Ended at session %d", f.Iterations)
	case t.Status == ledger.Interrupted:
		words = "Ended before the first session"
	case t.Status == ledger.Paused && f.Iterations > 0:
		words = "Waits for a person after " + count(f.Iterations, "session")
	case t.Status == ledger.Paused:
		words = "Waits for a person before the first session"
	case f.Iterations == 0:
		words = "Stopped before the first session"
	}
	if t.Progress != "" {
		words += ", " + t.Progress
	}
	if f.Detail != "" {
		words += ": " + oneLine(f.Detail, maxDetail)
	}
	return words
}

// unproven says behind which goals of a completed run stands nothing but words, and
// which checks do not hold.
func unproven(goals []pursuit.Goal) string {
	var without, failing []string
	for i, g := range goals {
		if len(g.Proof) == 0 {
			without = append(without, strconv.Itoa(i+1))
		}
		for _, d := range g.Proof {
			if !d.OK {
				failing = append(failing, d.Name)
			}
		}
	}
	var parts []string
	switch {
	case len(without) == 0:
	case len(without) == len(goals):
		parts = append(parts, "no check proves it; --verify and --expect-file would")
	case len(without) == 1:
		parts = append(parts, "no check proves goal "+without[0]+"; --verify and --expect-file would")
	default:
		parts = append(parts, "no check proves goals "+strings.Join(without, ", ")+"; --verify and --expect-file would")
	}
	if len(failing) > 0 {
		parts = append(parts, "not proved: "+strings.Join(failing, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func oneLine(s string, n int) string { return prompt.Cut(strings.Join(strings.Fields(s), " "), n) }

func deliverables(s pursuit.State) []ledger.Deliverable {
	out := []ledger.Deliverable{}
	for _, g := range s.Goals {
		out = append(out, g.Proof...)
	}
	return out
}

// nextSteps are what fails, what the last reflections propose, and the commands with
// which a person goes on. What is proposed for a goal that waits for a person is in
// the options of its question.
func nextSteps(f Facts, t ledger.Termination) []string {
	var out []string
	open := false
	for _, g := range f.Goals.Goals {
		if g.Status == ledger.GoalAchieved {
			continue
		}
		open = open || g.Status == ledger.GoalOpen
		out = append(out, g.First...)
		if g.Question == nil {
			out = append(out, g.Steps...)
		}
	}
	if !t.Resumable {
		return out
	}
	if t.AwaitingUserInput {
		answer := "answer with 'autopilot answer TEXT'"
		if len(t.Options) > 0 {
			answer += ", or with the letter of an option"
		}
		out = append(out, answer)
	}
	switch {
	case t.Reason == reasonGivenUp && !t.AwaitingUserInput:
		out = append(out, "'autopilot resume' goes on all the same, 'autopilot answer TEXT' does so with your advice")
	case open || !t.AwaitingUserInput:
		guard := t.Guard
		if f.TimeOver {
			guard = "" // nothing has to be raised
		}
		out = append(out, goOn(guard))
	}
	return out
}

// goOn is the command that continues a run, with what a guardrail takes to do so.
func goOn(guard string) string {
	switch guard {
	case ledger.GuardTimeout:
		return "'autopilot resume --max-hours H' goes on with a higher limit"
	case ledger.GuardIterations:
		return "'autopilot resume --max-sessions N' goes on with a higher limit"
	case ledger.GuardCost:
		return "'autopilot resume --max-tokens N' or '--max-cost-usd X' goes on with a higher limit"
	}
	return "'autopilot resume' goes on"
}

// Elapsed writes a time as people say it: 42s, 7m, 1h 23m. Minutes and hours are
// whole ones that are over. Less than nothing, after a clock was set back, is 0s.
func Elapsed(d time.Duration) string {
	switch d = max(0, d.Round(time.Second)); {
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
		fmt.Fprintf(&b, "  question    %s\n", oneLine(t.Question, maxQuestion))
		for i, o := range t.Options {
			mark := "- "
			if i < letters {
				mark = string(rune('A'+i)) + ")"
			}
			fmt.Fprintf(&b, "              %s %s\n", mark, oneLine(o, maxDetail))
		}
	}
	for _, step := range shown(untold(t)) {
		fmt.Fprintf(&b, "  next        %s\n", step)
	}
	return b.String()
}

// untold are the next steps but for the checks that are told as failing already.
func untold(t ledger.Termination) []string {
	return slices.DeleteFunc(slices.Clone(t.NextSteps), func(step string) bool {
		return slices.ContainsFunc(t.Deliverables, func(d ledger.Deliverable) bool { return !d.OK && step == d.Name+": "+d.Proof })
	})
}

// shown are the next steps that fit on a screen: the first ones and the last, which
// is the command.
func shown(steps []string) []string {
	if len(steps) <= maxShown {
		return lines(steps)
	}
	out := append(lines(steps[:maxShown-1]), fmt.Sprintf("(%d more are in the record)", len(steps)-maxShown))
	return append(out, lines(steps[len(steps)-1:])...)
}

func lines(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, oneLine(s, maxDetail))
	}
	return out
}
