package rules

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"autopilot/reflector"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
)

const (
	shareFacts = 0.7 // of the percentage; words have the rest
	unreached  = 99  // percent at most without YES
	maxSteps   = 20
	maxStep    = 300 // runes
)

// Reflector judges by rules. The zero value is ready.
type Reflector struct{}

// Name is "rules".
func (Reflector) Name() string { return "rules" }

// Reflect returns what Assess does. It asks nobody, so there is no error, no usage
// and no attempt.
func (Reflector) Reflect(_ context.Context, in reflector.Input) (reflector.Reflection, error) {
	return reflector.Reflection{Assessment: Assess(in)}, nil
}

// Assess judges by the rules of this package.
func Assess(in reflector.Input) reflector.Assessment {
	f := gather(in)
	a := reflector.Assessment{GoalAchieved: f.achieved(), LoopDetected: in.Loop != ""}
	a.PercentComplete = f.percent(a.GoalAchieved)
	progress, stuck := f.progress(a)
	a.Progress, a.Recommendation = progress, recommendation(a.GoalAchieved, progress)
	a.Reasoning = f.reasoning(stuck)
	a.NextSteps = f.nextSteps()
	for i, m := range in.Milestones {
		if m.Done {
			a.MilestonesDone = append(a.MilestonesDone, i+1)
		}
	}
	return a
}

// facts is what the rules read, taken from the input.
type facts struct {
	reflector.Input
	holding, given  int                // checks
	reached         int                // milestones
	last            *reflector.Session // nil without any
	report          *reflector.Session // with the last report; nil without any
	before          *reflector.Assessment
	effect          bool // of any session
	somethingIsDone bool // by some report
}

func gather(in reflector.Input) facts {
	f := facts{Input: in, effect: in.Totals.Files+in.Totals.Commits > 0}
	for _, c := range in.Checks {
		if c.OK {
			f.holding++
		}
		if c.Given {
			f.given++
		}
	}
	for _, m := range in.Milestones {
		if m.Done {
			f.reached++
		}
	}
	for i := range in.Sessions {
		s := &in.Sessions[i]
		f.last = s
		if reported(*s) > 0 {
			f.report = s
		}
		f.effect = f.effect || s.Effect()
		f.somethingIsDone = f.somethingIsDone || len(s.Completed) > 0
	}
	if n := len(in.Earlier); n > 0 {
		f.before = &in.Earlier[n-1]
	}
	return f
}

// reported is the number of items in a session's report.
func reported(s reflector.Session) int {
	return len(s.Completed) + len(s.CarriedOver) + len(s.NextSteps)
}

func (f facts) achieved() reflector.Achieved {
	passed := f.holding == len(f.Checks)
	claimed := strings.TrimSpace(f.Claim) != "" && (len(f.Checks) > 0 || f.effect)
	proven := f.given > 0 && f.effect && (f.last == nil || len(f.last.CarriedOver) == 0)
	switch {
	case passed && (claimed || proven):
		return reflector.Yes
	case f.reached > 0, f.effect && (f.holding > 0 || f.somethingIsDone):
		return reflector.Partial
	}
	return reflector.No
}

func (f facts) percent(achieved reflector.Achieved) float64 {
	if achieved == reflector.Yes {
		return 100
	}
	parts := len(f.Checks) + len(f.Milestones)
	share, words := 0.0, 0.0
	if parts > 0 {
		share = float64(f.holding+f.reached) / float64(parts)
	}
	if f.report != nil {
		words = float64(len(f.report.Completed)) / float64(reported(*f.report))
	}
	percent := 100 * (shareFacts*share + (1-shareFacts)*words)
	switch {
	case f.report == nil:
		percent = 100 * share
	case parts == 0:
		percent = 100 * words
	}
	if f.before != nil && (f.report == nil || parts == 0) {
		percent = max(percent, f.before.PercentComplete)
	}
	return min(math.Round(percent), unreached)
}

// progress says how it goes and, when it does not, why.
func (f facts) progress(a reflector.Assessment) (reflector.Progress, string) {
	switch n := len(f.Sessions); {
	case a.GoalAchieved == reflector.Yes:
		return reflector.Good, ""
	case f.Idle() >= 2:
		return reflector.Stuck, "The last " + count(f.Idle(), "session") + " left nothing behind."
	case n >= 2 && failed(f.Sessions[n-1]) && failed(f.Sessions[n-2]) && f.Sessions[n-1].Ending == f.Sessions[n-2].Ending:
		return reflector.Stuck, "The last two sessions ended in the same failure: " + oneLine(f.last.Ending, maxStep) + "."
	case a.LoopDetected && (f.last == nil || !f.last.Effect()):
		return reflector.Stuck, "The same tool calls come again and again without effect: " + oneLine(f.Loop, maxStep) + "."
	case f.before != nil && a.PercentComplete <= f.before.PercentComplete:
		return reflector.Slow, ""
	}
	return reflector.Good, ""
}

// failed reports whether a session ended in a failure that says something about
// the work.
func failed(s reflector.Session) bool {
	e := outcome.Ending(s.Ending)
	return !s.Worked && e != "" && !e.Waits() && e != outcome.Cancelled
}

func recommendation(achieved reflector.Achieved, p reflector.Progress) reflector.Recommendation {
	switch {
	case achieved == reflector.Yes:
		return reflector.Stop
	case p == reflector.Stuck:
		return reflector.AskUser
	}
	return reflector.Continue
}

func (f facts) nextSteps() []string {
	list := f.FailedChecks()
	if f.report != nil {
		list = append(append(list, f.report.CarriedOver...), f.report.NextSteps...)
	}
	out, seen := []string{}, map[string]bool{}
	for _, s := range list {
		if s = oneLine(s, maxStep); s != "" && !seen[s] && len(out) < maxSteps {
			out, seen[s] = append(out, s), true
		}
	}
	return out
}

func oneLine(s string, n int) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	return prompt.Cut(strings.Join(strings.Fields(s), " "), n)
}
