package pursuit

import (
	"context"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/reflector"
	"autopilot/reflector/loops"
	"autopilot/supervisor/gate"
)

// Options are what following goals needs of the world.
type Options struct {
	Reflector reflector.Reflector
	Matrix    reflector.Matrix
	// Check makes the checks of a goal.
	Check func(context.Context, []gate.Check) []gate.Result
	// Diff says in short what changed since a commit.
	Diff func(ctx context.Context, from string) string
	// Lessons are what earlier runs teach the reflector, a line each.
	Lessons []string
	// Retry reports whether a reflection that came to nothing is to be made again
	// later instead of being given up, because the API has a limit.
	Retry func(error) bool
}

// Occasion is the moment after a session.
type Occasion struct {
	Iteration int
	Session   string // its conversation
	Claim     string // what it says, when it says that nothing is left to do
	Left      reflector.Left
}

// Rules of decisions that are made without an assessment.
const (
	RuleClaim   = "claim"         // the session says it is done, and no check says otherwise
	RuleRefuted = "claim-refuted" // it says so, and a check fails
	RuleFixed   = "fixed-limits"  // the limits of the run decide
)

// Record is one reflection as it is written down.
type Record struct {
	At         time.Time             `json:"at"`
	Iteration  int                   `json:"iteration"`
	Goal       int                   `json:"goal"` // number, from 1
	Trigger    reflector.Trigger     `json:"trigger"`
	Reflector  string                `json:"reflector,omitempty"` // empty when none was asked
	Model      string                `json:"model,omitempty"`
	Attempts   int                   `json:"attempts,omitempty"`
	Assessment *reflector.Assessment `json:"assessment,omitempty"`
	Decision   reflector.Decision    `json:"decision"`
	Checks     []gate.Result         `json:"checks,omitempty"`
	Loop       *loops.Finding        `json:"loop,omitempty"`
	FalseStop  bool                  `json:"false_stop,omitempty"` // said to be reached while a check failed
	SetAside   []string              `json:"set_aside,omitempty"`  // derived checks that failed and were not believed
	Error      string                `json:"error,omitempty"`
	Usage      reflector.Usage       `json:"usage"`
	TookMS     int64                 `json:"took_ms"`
}

// Due says whether something is to be looked at after the last session. Nothing is
// when that session worked for another goal than the one that is current now.
func (s *State) Due(at Occasion) reflector.Trigger {
	g := s.Current()
	if g == nil || g.Since == 0 {
		return reflector.NotDue
	}
	in := reflector.Input{Sessions: g.Sessions}
	return reflector.Due(reflector.Moment{
		Since: g.Since, Interval: g.Series.Interval, Claimed: at.Claim != "", LoopSeen: g.repeats(),
		Idle: min(in.Idle(), g.Since), Left: at.Left.Sessions,
	})
}

// repeats reports whether tool calls repeat and have done so since the last
// reflection. An older repetition has been looked at.
func (g *Goal) repeats() bool {
	f, since := loops.Find(g.Calls), last(g.Sessions, g.Since)
	return f != nil && (len(since) == 0 || f.Iteration >= since[0].Iteration)
}

// Reflect looks back at the current goal, which there must be, and changes its state
// accordingly. The error is that of a context that ended, or one that Retry wants to
// have tried again; nothing has changed then, and only the usage in the record counts.
func (s *State) Reflect(ctx context.Context, o Options, at Occasion, why reflector.Trigger) (Record, error) {
	g := s.Current()
	begun := time.Now()
	rec := Record{At: begun, Iteration: at.Iteration, Goal: s.number(g), Trigger: why, Loop: loops.Find(g.Calls)}
	rec.Checks = o.Check(ctx, g.Checks)
	if err := ctx.Err(); err != nil {
		return rec, err
	}
	in := g.input(at, why, rec)
	in.Lessons = o.Lessons
	if o.Diff != nil {
		in.Diff = o.Diff(ctx, g.Base)
	}
	failed, setAside := g.failing(rec.Checks)
	asked := o.Reflector != nil && s.Interval > 0
	if asked {
		r, err := o.Reflector.Reflect(ctx, in)
		rec.Reflector, rec.Model, rec.Attempts, rec.Usage = o.Reflector.Name(), r.Model, r.Attempts, r.Usage
		if err != nil && (ctx.Err() != nil || o.Retry != nil && o.Retry(err)) {
			return rec, err
		}
		s.spent(rec)
		if err != nil {
			rec.Error = logs.Redact(err.Error())
			s.Tally.Failed++
			g.Series.Failed++
			asked = false
		} else {
			rec.Assessment = redacted(r.Assessment)
		}
	}
	g.Proof, rec.SetAside = gate.Deliverables(rec.Checks), setAside
	if asked {
		rec.Decision = s.decide(g, *rec.Assessment, in, failed, o.Matrix)
	} else {
		rec.Decision = withoutAssessment(at.Claim != "", failed)
	}
	saidDone := at.Claim != "" || asked && rec.Assessment.GoalAchieved == reflector.Yes
	if saidDone && len(failed) > 0 {
		rec.FalseStop = true
		g.falseStop(rec.Checks)
	}
	g.follow(rec, at, failed)
	g.Since = 0
	for i := range rec.Checks {
		rec.Checks[i].Command = logs.Redact(rec.Checks[i].Command)
	}
	rec.TookMS = time.Since(begun).Milliseconds()
	return rec, nil
}

func (s *State) number(g *Goal) int {
	for i := range s.Goals {
		if &s.Goals[i] == g {
			return i + 1
		}
	}
	return 0
}

// spent counts what a reflection cost.
func (s *State) spent(rec Record) {
	if s.Tally.By == nil {
		s.Tally.By = map[string]int{}
	}
	s.Tally.Count++
	s.Tally.By[rec.Reflector]++
	s.Tally.Tokens += rec.Usage.Input + rec.Usage.Output + rec.Usage.CacheCreation
	s.Tally.CostUSD += rec.Usage.CostUSD
}

// decide applies the matrix and remembers the assessment.
func (s *State) decide(g *Goal, a reflector.Assessment, in reflector.Input, failed []string, m reflector.Matrix) reflector.Decision {
	s.judgeLast(g, a)
	g.Series = g.Series.After(a, s.Interval)
	g.Assessments = last(append(g.Assessments, a), keptAssessments)
	g.Points = last(append(g.Points, Point{Sessions: g.Totals.Sessions, Active: g.Totals.Elapsed, Percent: a.PercentComplete}), keptPoints)
	for _, n := range a.MilestonesDone {
		if n <= len(g.Milestones) {
			g.Milestones[n-1].Done = true
		}
	}
	velocity, _ := g.velocity()
	return reflector.Decide(a, reflector.Context{
		Slow: g.Series.Slow, Stuck: g.Series.Stuck, LoopSeen: in.Loop != "", Idle: in.Idle(),
		AtLimit: in.Left.Sessions == 0, FailedChecks: failed, Velocity: velocity, PerSession: g.perSession(),
	}, m)
}

// withoutAssessment is the decision when nobody was asked or no answer could be
// had: checks and limits decide.
func withoutAssessment(claimed bool, failed []string) reflector.Decision {
	d := reflector.Decision{Action: reflector.ActionContinue, Reason: "The limits of the run decide", Rule: RuleFixed}
	switch {
	case claimed && len(failed) == 0:
		d.Action, d.Reason, d.Rule, d.Graceful = reflector.ActionStop, "The session says that nothing is left to do, and no check says otherwise", RuleClaim, true
	case claimed:
		d.Reason, d.Rule, d.Guidance = "The session says that nothing is left to do, and checks fail", RuleRefuted, failed
	}
	return d
}

// input is what a reflection on the goal looks at.
func (g *Goal) input(at Occasion, why reflector.Trigger, rec Record) reflector.Input {
	in := reflector.Input{
		Goal: g.Text, Criteria: g.Criteria, Milestones: g.Milestones, Why: why, Sessions: g.Sessions, Calls: g.Calls,
		Totals: g.Totals, Claim: at.Claim, Earlier: g.Assessments, Left: at.Left,
	}
	for _, c := range rec.Checks {
		if !c.OK && !c.Given && g.Unproven >= trustDerived {
			continue // set aside
		}
		in.Checks = append(in.Checks, reflector.Check{Name: c.Name(), OK: c.OK, Detail: c.Detail, Given: c.Given})
	}
	if rec.Loop != nil {
		in.Loop = rec.Loop.Words
	}
	return in
}

// failing returns the checks that do not hold, in words. Derived ones are set
// aside when they have stood against the goal too often.
func (g *Goal) failing(results []gate.Result) (failed, setAside []string) {
	for _, r := range results {
		words := r.Name() + ": " + r.Detail
		switch {
		case r.OK:
		case !r.Given && g.Unproven >= trustDerived:
			setAside = append(setAside, words)
		default:
			failed = append(failed, words)
		}
	}
	return failed, setAside
}

// Prove takes over what checks say that were made because the goal seems to be
// reached, and returns those that stand against it, in words. Each time some do is a
// false stop.
func (g *Goal) Prove(results []gate.Result) (failed []string) {
	g.Proof = gate.Deliverables(results)
	if failed, _ = g.failing(results); len(failed) > 0 {
		g.falseStop(results)
	}
	return failed
}

// falseStop counts that the goal was said to be reached while checks fail.
func (g *Goal) falseStop(results []gate.Result) {
	g.FalseStops++
	for _, r := range results {
		if !r.OK && r.Given {
			return
		}
	}
	g.Unproven++
}

// redacted is an assessment without secrets. One that quotes what a session reported
// may hold some.
func redacted(a reflector.Assessment) *reflector.Assessment {
	a.Reasoning, a.NextSteps = logs.Redact(a.Reasoning), allRedacted(a.NextSteps)
	return &a
}

func allRedacted(list []string) []string {
	out := []string{}
	for _, s := range list {
		out = append(out, logs.Redact(s))
	}
	return out
}

// follow changes the goal as the decision says.
func (g *Goal) follow(rec Record, at Occasion, failed []string) {
	d := rec.Decision
	if rec.Assessment != nil {
		g.Steps = rec.Assessment.NextSteps
	}
	if rec.FalseStop && !d.Graceful {
		g.First = failed
	}
	switch d.Action {
	case reflector.ActionStop:
		switch {
		case d.Graceful:
			g.Status, g.Series.Percent = ledger.GoalAchieved, 100
			for i := range g.Milestones {
				g.Milestones[i].Done = true
			}
		case d.Partial:
			g.Status = ledger.GoalPartial
		default:
			g.Status = ledger.GoalGivenUp
		}
	case reflector.ActionAsk:
		g.Ask(Question{Text: asking(rec), Options: g.Steps, Reason: askReason(rec), At: rec.At, Session: at.Session})
	}
}

// asking is the question that a reflection leads to. The reason of a rule alone says
// nothing about the goal, so what the reflection has seen follows it.
func asking(rec Record) string {
	why, a := rec.Decision.Reason, rec.Assessment
	switch {
	case a == nil || a.Reasoning == "":
		return why
	case a.Reasoning != why:
		return why + ": " + a.Reasoning
	case a.Progress == reflector.Stuck:
		return "Stuck: " + why
	}
	return why
}

// Ask pauses the goal until a person has answered. The question is kept without
// secrets.
func (g *Goal) Ask(q Question) {
	q.Text, q.Options = logs.Redact(q.Text), allRedacted(q.Options)
	g.Status, g.Question = ledger.GoalPaused, &q
}

// Resume takes up a goal again that is paused, partial or given up, with a person's
// answer or without. An answer replaces what the last reflection proposed.
func (g *Goal) Resume(answer string) {
	g.Asked = ""
	if g.Question != nil {
		g.Asked = g.Question.Text
	}
	if answer != "" {
		g.Steps = nil
	}
	g.Status, g.Answer, g.Question = ledger.GoalOpen, answer, nil
	g.Series.Slow, g.Series.Stuck = 0, 0
	g.Calls = nil // what repeated before the answer does not count after it
}

// askReason is the reason of a pause as termination objects name it.
func askReason(rec Record) string {
	switch stuck := rec.Assessment != nil && rec.Assessment.Progress == reflector.Stuck; {
	case rec.Decision.Refinement:
		return "too_slow"
	case rec.Decision.Rule == "asked" && !stuck:
		return "question"
	}
	return "stuck"
}
