package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/logs"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/shares"
	"autopilot/supervisor/source"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
)

const (
	meanOf        = 3                // sessions whose mean is the expectation of the next
	freshSnapshot = time.Second      // a probe younger than this is not repeated
	shortest      = 20 * time.Second // before the end of its time in which no session is begun
)

// loop is one run at work.
type loop struct {
	Options
	state   state
	file    State // what is on disk about the run
	started time.Time
	stop    *stopping
	failure error // what kept a session from being run
	manual  string

	snapshot   probe.Snapshot
	snapshotAt time.Time
	assignment source.Assignment
	spec       sessions.Spec
	result     sessions.Result
	facts      killswitch.After
	decision   reflector.Decision // of the last reflection
	offset     int64              // of the session ledger when the session started
	used       map[string]bool
	records    []ledger.Session // that this run has appended
	recalled   map[string][]string
	wait       *backoff.ExponentialBackOff
}

// stopping is the decision to end the run.
type stopping struct {
	cause  Cause
	reason killswitch.Reason // empty when it is none of the ten
	detail string
	code   int

	timeOver bool // it was to be over by now
}

func stopFor(h *killswitch.Hit) *stopping {
	return &stopping{cause: Cause(h.Reason), reason: h.Reason, detail: h.Detail, code: exitCode(Cause(h.Reason))}
}

// Run runs the loop to its end and returns how it ended. The error is for what
// kept the run from being written down; the outcome is valid then as well.
func Run(ctx context.Context, o Options) (Outcome, error) {
	if o.Company == nil {
		o.Company = shares.Alone{}
	}
	l := &loop{Options: o, state: checking, started: time.Now(), used: map[string]bool{}, recalled: map[string][]string{}, wait: newBackoff(o.Waits)}
	l.begin(ctx)
	if err := l.save(); err != nil {
		return Outcome{Record: l.file.Record}, err
	}
	steps := map[state]func(context.Context) (event, error){
		checking: l.check, selecting: l.choose, running: l.run, waiting: l.waitForLimit,
		recording: l.record, judging: l.judge, looking: l.lookBack, finishing: l.finish,
	}
	var failure error
	if err := errors.Join(l.markPrevious(), l.analyse(ctx)); err != nil {
		failure = err
		l.fail(err)
		l.state = finishing
	}
	for l.state != finished {
		ev, err := steps[l.state](ctx)
		if err != nil {
			if l.state == finishing {
				return l.outcome(), errors.Join(failure, err)
			}
			failure = err
			l.fail(err)
			l.state = finishing
			continue
		}
		to, err := next(l.state, ev)
		if err != nil {
			return l.outcome(), err
		}
		l.state = to
		l.live(sessions.Progress{})
	}
	return l.outcome(), errors.Join(l.failure, failure)
}

// begin takes the first look at the machine and starts the run's record.
func (l *loop) begin(ctx context.Context) {
	verdict := string(l.look(ctx, 0).Tier)
	profile := l.useMode(l.Mode)
	l.file = NewState(l.Options, l.started, verdict)
	l.file.Pursuit = pursuit.Begin(l.Goals, profile.Interval)
	l.Log.Info("run started", "run_id", l.RunID, "source", l.Source.Name(), "mode", l.Mode, "tier", verdict)
	if l.Announce != nil {
		l.Announce()
	}
	if l.Previous != nil {
		l.carryOn(*l.Previous)
	}
	recordGoals(&l.file)
}

// analyse has a closer look taken at the goals. The run is on disk by then, so
// that it can be seen and stopped meanwhile.
func (l *loop) analyse(ctx context.Context) error {
	if l.Analyse == nil || l.Previous != nil {
		return nil
	}
	goals, usage := l.Analyse(ctx)
	l.file.Pursuit = pursuit.Begin(goals, l.file.Pursuit.Interval)
	l.spend(usage)
	recordGoals(&l.file)
	return l.save()
}

// useMode takes over what a mode stands for.
func (l *loop) useMode(mode string) Profile {
	p := Profile{Limits: l.Limits}
	if l.Profile != nil {
		p = l.Profile(mode)
	}
	l.Limits, l.Mode = p.Limits, mode
	return p
}

// changeMode takes over a mode that a person asked for while the run is on.
func (l *loop) changeMode() {
	if l.ModeRequested == nil {
		return
	}
	mode := l.ModeRequested()
	if mode == "" || mode == l.Mode {
		return
	}
	l.Log.Info("the mode is changed", "act", "mode", "from", l.Mode, "to", mode)
	p := l.useMode(mode)
	l.file.Mode, l.file.Record.Mode = mode, mode
	l.file.Record.MaxSessions, l.file.Record.MaxHours = p.Limits.MaxSessions, p.Limits.MaxHours
	l.file.Pursuit.SetInterval(p.Interval)
}

// iteration is the number of sessions that are over, those of earlier runs that
// this one continues included.
func (l *loop) iteration() int { return l.file.Carried.Iterations + l.file.Iteration }

// active is the wall clock of the run and of those that it continues.
func (l *loop) active() time.Duration {
	return l.file.Carried.Active + time.Since(l.started.Round(0))
}

// look probes the machine, unless that was done a moment ago.
func (l *loop) look(ctx context.Context, planned int) tier.Judgement {
	if now := time.Now(); now.Sub(l.snapshotAt) > freshSnapshot {
		l.snapshot, l.snapshotAt = l.Probe(ctx), now
	}
	return tier.Judge(l.snapshot.Signals, planned)
}

// soFar is what the run and those that it continues have used up.
func (l *loop) soFar() killswitch.Before {
	return killswitch.Before{
		Completed: l.file.Carried.Completed + l.file.Record.IterationsCompleted, Sessions: l.iteration(),
		Elapsed: l.active(), Spent: l.with(l.spent()), Mean: mean(l.file.Costs),
	}
}

// check asks the kill-switches whether another session may start, and waits while those
// want none that the run shares something with.
func (l *loop) check(ctx context.Context) (event, error) {
	for {
		if ev, err := l.mayStart(ctx); ev == hit || err != nil {
			return ev, err
		}
		if waited, err := l.await(ctx); !waited || err != nil {
			return clear, err
		}
		if l.stop != nil {
			return hit, nil
		}
	}
}

// mayStart asks the kill-switches. No session may start when no goal is open, as in a run
// that was killed when its goals were reached.
func (l *loop) mayStart(ctx context.Context) (event, error) {
	if l.file.Pursuit.Current() == nil {
		l.stop = l.goalsOver()
		return hit, nil
	}
	l.changeMode()
	if l.file.Tasks == nil {
		l.advance(ctx, nil)
		if l.stop = l.track(ctx); l.stop != nil {
			return hit, nil
		}
	}
	j := l.look(ctx, l.AgentsFor(""))
	facts := l.soFar()
	facts.Verdict, facts.Peers = string(j.Tier), l.snapshot.Peers
	if facts.Abort = l.StopRequested(); facts.Abort == "" && ctx.Err() != nil {
		l.stop = aborted(ctx, "")
		return hit, nil
	}
	if l.stop = l.late(); facts.Abort == "" && l.stop != nil {
		return hit, nil
	}
	h := killswitch.CheckBefore(l.Limits, facts)
	if h == nil {
		return clear, nil
	}
	if l.stop = stopFor(h); h.Reason == killswitch.UserAbort {
		l.stop.code = ExitWanted
	}
	return hit, nil
}

// aborted is the end of a run whose context was ended from outside, and what it did then.
func aborted(ctx context.Context, meanwhile string) *stopping {
	cause := context.Cause(ctx)
	s := stopFor(&killswitch.Hit{Reason: killswitch.UserAbort, Detail: fmt.Sprint(cause) + meanwhile})
	if i, ok := errors.AsType[Interrupted](cause); ok {
		s.code = 128 + int(i.Signal)
	}
	if over, ok := errors.AsType[TimeOver](cause); ok {
		s = stopFor(&killswitch.Hit{Reason: over.Reason(), Detail: over.Error() + meanwhile})
		s.timeOver = true
	}
	return s
}

// late is the end of a run in whose time no session fits any more, or nil.
func (l *loop) late() *stopping {
	if l.Until.IsZero() || time.Now().Round(0).Before(l.Until.Add(-shortest)) {
		return nil
	}
	s := stopFor(&killswitch.Hit{Reason: killswitch.MaxHoursExceeded, Detail: "its time is over at " + l.Until.Format(time.RFC3339)})
	s.timeOver = true
	return s
}

func (l *loop) spent() killswitch.Spend {
	c := l.file.Carried.Spent
	return killswitch.Spend{Tokens: c.Tokens + l.file.Record.TotalTokensUsed, CostUSD: c.CostUSD + l.file.Record.TotalCostUSD}
}

// mean is the expectation of the next session, or nil before the first.
func mean(costs []killswitch.Spend) *killswitch.Spend {
	if len(costs) == 0 {
		return nil
	}
	var m killswitch.Spend
	for _, c := range costs {
		m.Tokens += c.Tokens
		m.CostUSD += c.CostUSD
	}
	m.Tokens /= int64(len(costs))
	m.CostUSD /= float64(len(costs))
	return &m
}

// choose asks the source of work for an assignment and checks how sure it is.
func (l *loop) choose(ctx context.Context) (event, error) {
	iteration := l.file.Iteration + 1
	if g := l.file.Pursuit.Current(); g != nil && g.Base == "" && l.Head != nil {
		g.Base = l.Head(ctx)
	}
	l.assignment = l.Source.Next(l.request())
	for _, w := range l.assignment.Warnings {
		l.Log.Warn("signal not usable", "detail", w)
	}
	a := l.assignment
	if h := killswitch.CheckConfidence(l.Limits, a.Mode, a.Confidence); h != nil {
		detail := h.Detail + "; " + a.Rationale
		if len(a.Missing) > 0 {
			detail += fmt.Sprintf("; missing signals: %v", a.Missing)
		}
		l.stop = &stopping{cause: Cause(h.Reason), reason: h.Reason, detail: detail, code: ExitPerson}
		if l.iteration() == 0 {
			l.stop.cause, l.stop.reason, l.manual = CauseManual, "", a.Manual
		}
		return hit, nil
	}
	return assigned, l.prepare(ctx, iteration)
}

// prepare names the session in the run's state before it starts.
func (l *loop) prepare(ctx context.Context, iteration int) error {
	planned := l.AgentsFor(l.assignment.Mode)
	s := l.Session
	s.ID = sessions.ID(uuid.NewString())
	s.RunID, s.Folder = l.RunID, SessionFolder(l.Folder, s.ID)
	s.Steps, s.Schema, s.Notice = l.assignment.Steps, l.assignment.Schema, l.assignment.Notice
	if _, steps := l.Source.(Advancer); l.file.Iteration > 0 && !steps { // else the repository is not as the last session left it
		last := l.result
		s.Previous = &last
	}
	s.Cap = capOf(l.look(ctx, planned))
	wanted := l.assignment.Mode
	s.Judge = func(ctx context.Context) hook.Change {
		return capOf(tier.Judge(l.Probe(ctx).Signals, l.AgentsFor(wanted)))
	}
	if l.Limits.MaxCostUSD > 0 {
		s.BudgetUSD = l.part()
		l.Company.Used(shares.Use{Spent: l.spent(), Sessions: l.iteration(), Reserved: s.BudgetUSD})
	}
	l.offset = journal.Size(l.Ledgers.SessionsPath())
	if l.assignment.Records {
		started := time.Now()
		s.Satisfied = func() bool { _, ok := l.find(s.ID, started); return ok }
	}
	l.continues(&s)
	if l.Equip != nil {
		if err := l.Equip(&s); err != nil {
			return err
		}
	}
	l.spec = s
	l.file.Iteration = iteration
	l.file.Current = &Current{
		SessionID: string(s.ID), Mode: l.assignment.Mode, SessionType: l.assignment.SessionType,
		StartedAt: time.Now(), LedgerOffset: l.offset, Records: l.assignment.Records, Conversation: string(s.ConversationID),
		Work: l.assignment.Work,
	}
	if s.Continue != nil {
		l.file.Current.NextStep = s.Continue.NextStep
	}
	if err := l.save(); err != nil {
		l.file.Current, l.file.Iteration = nil, iteration-1 // it was not started
		return err
	}
	return nil
}

func capOf(j tier.Judgement) hook.Change {
	return hook.Change{At: time.Now(), Cap: j.Cap, Tier: string(j.Tier), Signal: string(j.Signal)}
}

// run runs the session, or goes on with one that waited.
func (l *loop) run(ctx context.Context) (event, error) {
	what := "session started"
	if l.spec.Continue != nil {
		what = "session continued"
	}
	l.Log.Info(what, "iteration", l.iteration(), "session_id", string(l.spec.ID), "mode", l.assignment.Mode,
		"confidence", l.assignment.Confidence, "tier", l.spec.Cap.Tier, "cap", l.spec.Cap.Cap, "signal", l.spec.Cap.Signal)
	res, err := l.Options.Run(ctx, l.spec, l.beat)
	l.result = res
	if err != nil {
		l.broken(fmt.Errorf("run session %s: %w", l.spec.ID, err))
		return ended, nil
	}
	if res.Swept > 0 {
		l.Log.Warn("processes that the session left behind were ended", "count", res.Swept)
	}
	if res.Ending.Waits() && !l.over(ctx) {
		return limited, nil
	}
	return ended, nil
}

// broken makes a result of a session that could not be run, so that it is recorded
// as what it was, and ends the run.
func (l *loop) broken(err error) {
	now := time.Now()
	r := &l.result
	if r.ID != l.spec.ID {
		*r = sessions.Result{ID: l.spec.ID, RunID: l.RunID, StartedAt: now}
	}
	r.Ending, r.Cause, r.EndedAt = outcome.Failed, logs.Redact(err.Error()), now
	l.failure = err
	l.stop = &stopping{cause: CauseError, detail: r.Cause, code: ExitError}
}

func (l *loop) beat(p sessions.Progress) {
	switch {
	case p.Note != "" && p.Warn:
		l.Log.Warn(p.Note, "session_id", string(l.spec.ID))
	case p.Note != "":
		l.Log.Info(p.Note, "session_id", string(l.spec.ID))
	}
	l.live(p)
}

func (l *loop) live(p sessions.Progress) {
	if l.Live == nil {
		return
	}
	if p.Cap.Tier == "" {
		p.Cap = l.spec.Cap
	}
	st := Status{
		State: string(l.state), Iteration: l.iteration(), Limits: l.Limits, Started: l.started, Mode: l.assignment.Mode,
		Tier: p.Cap.Tier, Cap: p.Cap.Cap, Spent: l.spent(), Session: p, Progress: l.file.Pursuit.Progress(),
	}
	if l.file.Waiting != nil {
		st.WaitUntil = l.file.Waiting.Until
	}
	l.Live(st)
}

// judge asks the kill-switches whether the session went well enough to go on.
func (l *loop) judge(ctx context.Context) (event, error) {
	if l.stop != nil || ctx.Err() != nil {
		l.lastLook(ctx)
	} else if s := l.afterSession(ctx); s != nil {
		l.stop = s
	}
	if l.stop != nil {
		return hit, nil
	}
	if l.stop = l.verdict(ctx); l.stop != nil {
		return hit, nil
	}
	return clear, nil
}

func (l *loop) verdict(ctx context.Context) *stopping {
	r := l.result
	switch {
	case r.Ending == outcome.Cancelled:
		if ctx.Err() != nil {
			return aborted(ctx, "")
		}
		return stopFor(&killswitch.Hit{Reason: killswitch.UserAbort, Detail: "session " + r.Cause})
	case r.Budget && l.Company.Others().Among > 1 && l.part() > 0: // it was only a part of what is left
		l.facts.Broken = ""
		l.Log.Warn("the session used up its part of the budget", "budget_usd", l.spec.BudgetUSD)
		return nil
	case r.Budget:
		return stopFor(&killswitch.Hit{
			Reason: killswitch.TokenBudgetExceeded,
			Detail: fmt.Sprintf("the session used up the rest of the budget: cumulative_cost_usd=%.4f, max-cost-usd=%.4f", l.with(l.spent()).CostUSD, l.Limits.MaxCostUSD),
		})
	}
	if l.facts.Error() == "" {
		l.file.Errors = nil
	} else {
		l.file.Errors = append(l.file.Errors, errorKind(r))
	}
	l.facts.Errors = l.file.Errors
	keeper, keeps := l.Source.(Keeper)
	if l.asked() || keeps && keeper.Kept() {
		l.facts.Carryover = nil // what is blocked by a question is not left undone
	}
	if h := killswitch.CheckAfter(l.Limits, l.facts); h != nil {
		return stopFor(h)
	}
	if why := l.facts.Error(); why != "" {
		l.Log.Warn("the session went wrong; the run goes on", "detail", why, "errors_in_row", len(l.file.Errors), "max", l.Limits.MaxErrors)
	}
	return nil
}

// errorKind names what went wrong with a session.
func errorKind(r sessions.Result) string {
	if r.Ending == outcome.Completed {
		return "failed agents"
	}
	return string(r.Ending)
}

// report is what the session said about itself, or nil.
func (l *loop) report() *prompt.Report { return reportOf(l.result) }

func reportOf(r sessions.Result) *prompt.Report {
	if len(r.Report) == 0 {
		return nil
	}
	rep, err := prompt.ParseReport(r.Report)
	if err != nil {
		return nil
	}
	return &rep
}

// fail notes that the run cannot go on for a reason of its own.
func (l *loop) fail(err error) {
	l.stop = &stopping{cause: CauseError, detail: err.Error(), code: ExitError}
	if l.file.Current != nil {
		l.Log.Error("session is not recorded yet; the next start tries again", "session_id", l.file.Current.SessionID)
	}
}
