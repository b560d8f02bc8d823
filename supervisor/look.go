package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/tally"
)

// ruleAtLimit is the rule of a goal that ends because no session is left.
const ruleAtLimit = "partial-at-limit"

// lookBack looks back at the goal when that is due and decides whether the run goes
// on with it, with the next one, or ends.
func (l *loop) lookBack(ctx context.Context) (event, error) {
	at := l.occasion()
	if why := l.file.Pursuit.Due(at); why != reflector.NotDue {
		if stopped, err := l.reflect(ctx, at, why); stopped || err != nil {
			return hit, err
		}
	}
	if l.file.Pursuit.Current() == nil {
		l.stop = l.goalsOver()
		return hit, nil
	}
	l.checkpoint()
	return clear, nil
}

// checkpoint hands out a copy of the state.
func (l *loop) checkpoint() {
	if l.Checkpoint == nil {
		return
	}
	if err := l.Checkpoint(l.file); err != nil {
		l.Log.Warn("the copy of the run's state could not be written", "err", err.Error())
	}
}

// occasion is the moment after the session that was just recorded.
func (l *loop) occasion() pursuit.Occasion {
	at := pursuit.Occasion{
		Iteration: l.iteration(), Session: string(l.spec.Conversation()),
		Left: reflector.Left{Sessions: max(0, l.Limits.MaxSessions-l.iteration()), Time: l.timeLeft(), Tokens: -1},
	}
	if l.Limits.MaxTokens > 0 {
		at.Left.Tokens = max(0, l.Limits.MaxTokens-l.with(l.spent()).Tokens)
	}
	if l.file.Tasks == nil && l.result.Ending == outcome.Completed {
		at.Claim = l.claim()
	}
	return at
}

// claim is what the session says when it says that its goal is reached. Where a promise
// is asked for, nothing else is a claim.
func (l *loop) claim() string {
	rep, words := l.report(), ""
	if rep != nil {
		words = rep.Summary
	}
	switch {
	case rep != nil && rep.NeedsPerson != "":
		return ""
	case l.Promise != "":
		if !prompt.Promised(l.result.WholeAnswer(l.spec.Folder), l.Promise) {
			return ""
		}
	case rep == nil || !rep.SaysDone():
		return ""
	}
	return cmp.Or(words, "(without a summary)")
}

func (l *loop) timeLeft() time.Duration {
	left := time.Duration(l.Limits.MaxHours*float64(time.Hour)) - l.active()
	if !l.Until.IsZero() {
		left = min(left, time.Until(l.Until.Round(0)))
	}
	return max(0, left)
}

// reflect makes one reflection. It waits when the reflector is under a limit of
// the API, and reports whether the run is to end instead.
func (l *loop) reflect(ctx context.Context, at pursuit.Occasion, why reflector.Trigger) (stopped bool, err error) {
	o := l.Pursuit
	o.Check, o.Reflector = l.file.Tasks.With(o.Check), l.file.Tasks.Reflector(o.Reflector)
	var until time.Time
	o.Retry = func(err error) bool {
		later, ok := errors.AsType[*reflector.LaterError](err)
		if !ok || later.At.IsZero() {
			return false
		}
		now := time.Now().Round(0)
		until = wakeAt(now, later.At, l.Waits, l.wait.NextBackOff())
		return until.Sub(now) < l.timeLeft()
	}
	for {
		rec, err := l.file.Pursuit.Reflect(ctx, o, at, why)
		l.spend(rec.Usage)
		if err == nil {
			return false, l.reflected(rec)
		}
		l.file.Pursuit.Tally.Tokens += budgeted(rec.Usage)
		l.file.Pursuit.Tally.CostUSD += rec.Usage.CostUSD
		if ctx.Err() != nil {
			l.stop = aborted(ctx, " while looking back")
			return true, nil
		}
		if stopped, err := l.waitUntil(ctx, until, "reflection: "+logs.Redact(err.Error())); stopped || err != nil {
			return true, err
		}
	}
}

// spend counts what was spent beside the sessions.
func (l *loop) spend(u reflector.Usage) {
	r := &l.file.Record
	r.Tokens = r.Tokens.Add(ledger.Tokens{Input: u.Input, Output: u.Output, CacheCreation: u.CacheCreation, CacheRead: u.CacheRead})
	r.TotalTokensUsed += budgeted(u)
	r.TotalCostUSD = tally.Dollars(r.TotalCostUSD + u.CostUSD)
	l.tell(time.Time{}, false)
}

func budgeted(u reflector.Usage) int64 { return u.Input + u.Output + u.CacheCreation }

// reflected writes a reflection down, in the state first: what it led to and what
// it cost must not be lost, a line of its journal may.
func (l *loop) reflected(rec pursuit.Record) error {
	l.decision = rec.Decision
	l.wait.Reset()
	recordGoals(&l.file)
	args := []any{
		"act", "reflection", "iter", rec.Iteration, "goal", rec.Goal, "trigger", string(rec.Trigger), "reflector", rec.Reflector,
		"action", string(rec.Decision.Action), "rule", rec.Decision.Rule, "reason", rec.Decision.Reason,
	}
	if a := rec.Assessment; a != nil {
		args = append(args, "goal_achieved", string(a.GoalAchieved), "progress", string(a.Progress), "percent_complete", a.PercentComplete,
			"recommendation", string(a.Recommendation), "reasoning", a.Reasoning)
	}
	l.Log.Info("reflection", args...)
	for _, c := range rec.Checks {
		if !c.OK {
			l.Log.Warn("a check fails", "check", c.Name(), "detail", c.Detail)
		}
	}
	for _, c := range rec.SetAside {
		l.Log.Warn("a check that only follows from the words of the goal was set aside", "check", c)
	}
	if rec.Error != "" {
		l.Log.Warn("the reflection came to nothing; the fixed limits hold", "reflector", rec.Reflector, "err", rec.Error)
	}
	if err := l.save(); err != nil || l.Reflections == nil {
		return err
	}
	if err := l.Reflections(rec); err != nil {
		return fmt.Errorf("record reflection: %w", err)
	}
	return nil
}

// recordGoals brings the goals in the run's record up to date.
func recordGoals(s *State) {
	s.Record.Goals = s.Pursuit.Records()
	if t := s.Pursuit.Tally; t.Count > 0 {
		s.Record.Reflections = &t
	}
}

// goalsOver ends a run in which no goal is open any more.
func (l *loop) goalsOver() *stopping {
	s := &l.file.Pursuit
	if g := s.Asked(); g != nil {
		return &stopping{cause: CausePerson, detail: g.Question.Text, code: ExitPerson}
	}
	for _, g := range s.Goals {
		if g.Status == ledger.GoalAchieved {
			continue
		}
		if h := killswitch.CheckBefore(l.Limits, l.soFar()); h != nil && l.decision.Rule == ruleAtLimit {
			return stopFor(h)
		}
		why := ""
		if n := len(g.Assessments); n > 0 {
			why = g.Assessments[n-1].Reasoning
		}
		return &stopping{cause: CauseGivenUp, detail: cmp.Or(why, "a reflection finds that going on is of no use"), code: ExitFailures}
	}
	return &stopping{cause: CauseWorkDone, detail: "nothing is left to do", code: ExitWanted}
}

// askedBy pauses the current goal when the session has a question that only a
// person can answer.
func askedBy(s *State, r sessions.Result) bool {
	g, rep := s.Pursuit.Current(), reportOf(r)
	if g == nil || rep == nil || rep.NeedsPerson == "" {
		return false
	}
	g.Ask(pursuit.Question{Text: rep.NeedsPerson, Options: rep.NextSteps, Reason: "question", At: r.EndedAt, Session: string(r.Conversation())})
	return true
}

// patience is how many sessions in a row may end with calls that wait for a person before
// the run waits as well: one of them may have found other work.
const patience = 2

// asked reports whether a person is needed: the session has a question, or it came back
// to calls that are held.
func (l *loop) asked() bool {
	if _, own := l.Source.(Keeper); own {
		return false
	}
	held := l.held()
	if askedBy(&l.file, l.result) {
		return true
	}
	g := l.file.Pursuit.Current()
	if len(held) == 0 || g == nil || l.claim() != "" {
		l.file.HeldInRow = 0
		return false
	}
	if l.file.HeldInRow++; l.file.HeldInRow < patience {
		return false
	}
	l.file.HeldInRow = 0
	g.Ask(pursuit.Question{
		Text:    "these calls wait for approval: " + strings.Join(held, "; "),
		Options: []string{"autopilot approve ID, then autopilot resume", "autopilot deny ID --because TEXT, then autopilot resume"},
		Reason:  "human_gate", At: l.result.EndedAt, Session: string(l.result.Conversation()),
	})
	return true
}

// held are the calls of the session that wait for a person.
func (l *loop) held() []string {
	if l.Held == nil {
		return nil
	}
	held := l.Held(string(l.result.ID))
	for _, h := range held {
		l.Log.Warn("a call waits for a person", "act", "gate", "detail", h)
	}
	return held
}

// objective is what the next session of the current goal is told.
func (l *loop) objective() prompt.Objective {
	o := prompt.Objective{Iteration: l.iteration() + 1, MaxSessions: l.Limits.MaxSessions}
	g := l.file.Pursuit.Current()
	if g == nil {
		return o
	}
	o.Learned = l.recall(g)
	o.Goal, o.Criteria, o.First, o.Steps, o.Past = g.Wording(), g.Criteria, g.First, g.Steps, g.Past
	for _, m := range g.Milestones {
		if !m.Done {
			o.Milestones = append(o.Milestones, m.Text)
		}
	}
	if g.Answer != "" {
		o.Answer, o.Question = g.Answer, g.Asked
	}
	return o
}

// follow hands a session that is recorded to the goal it worked for.
func follow(s *State, r sessions.Result) {
	x := reflector.Session{
		Iteration: s.Carried.Iterations + s.Iteration, Ending: string(r.Ending), Worked: r.Ending == outcome.Completed, Files: len(r.Files), Commits: len(r.Commits),
		Calls: r.ToolUses, Duration: r.Worked, CostUSD: r.Usage.CostUSD,
	}
	rep := reportOf(r)
	if rep != nil {
		x.Summary, x.Completed, x.CarriedOver, x.NextSteps = rep.Summary, rep.Completed, rep.CarriedOver, rep.NextSteps
	}
	var calls []reflector.Call
	for _, c := range r.Calls {
		calls = append(calls, reflector.Call{Iteration: x.Iteration, Tool: c.Tool, Brief: c.Brief, Failed: c.Failed, Same: c.Same})
	}
	s.Pursuit.Session(x, calls, prompt.Past{Iteration: x.Iteration, Ending: x.Ending, Report: rep}, pursuit.Used{Tokens: tally.Tokens(r).Budgeted(), Tools: r.Tools})
}
