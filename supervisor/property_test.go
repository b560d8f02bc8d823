package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/probe"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/source"
)

// script is a run that was drawn: everything that the outside does.
type script struct {
	limits     killswitch.Limits
	plays      []play
	resets     []time.Duration // of a limit, by call; 0 is unknown
	confidence []float64
	peers      []int
	abort      time.Duration // 0 is never
	request    time.Duration
}

func drawScript(rt *rapid.T) script {
	s := script{limits: killswitch.Limits{
		MaxSessions: rapid.IntRange(1, 4).Draw(rt, "max sessions"), MaxHours: rapid.SampledFrom([]float64{0.5, 4, 24}).Draw(rt, "max hours"),
		MaxTokens: rapid.SampledFrom([]int64{0, 0, 500}).Draw(rt, "max tokens"), MaxCostUSD: rapid.SampledFrom([]float64{0, 0, 1}).Draw(rt, "max cost"),
		PeerAbort: 6, CarryoverThreshold: 0.5, ConfidenceThreshold: 0.85,
	}}
	endings := []outcome.Ending{
		outcome.Completed, outcome.Completed, outcome.Completed, outcome.Completed, outcome.Completed, outcome.Completed, outcome.Limited, outcome.Limited, outcome.Overloaded,
		outcome.Failed, outcome.Auth, outcome.Credit, outcome.Cancelled, outcome.Hung, outcome.Crashed, outcome.NoWork,
	}
	reports := []string{"", "", "", "", `{"planned":["a"],"completed":["a"],"next_steps":["b"]}`, `{"planned":["a"],"completed":["a"]}`, `{"needs_person":"?"}`, `{"planned":["a","b"],"carried_over":["a","b"],"next_steps":["a"]}`, `"x"`}
	for range rapid.IntRange(1, 12).Draw(rt, "calls") {
		p := ends(rapid.SampledFrom(endings).Draw(rt, "ending"), time.Duration(rapid.IntRange(0, 90).Draw(rt, "minutes"))*time.Minute)
		p.result.Usage = outcome.Usage{Input: rapid.Int64Range(0, 300).Draw(rt, "tokens"), CostUSD: float64(rapid.IntRange(0, 400).Draw(rt, "cost")) / 1000}
		p.result.Agents = outcome.Agents{Complete: 1, Failed: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(rt, "failed"), Spiral: rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(rt, "spiral")}
		p.result.Report = report(rapid.SampledFrom(reports).Draw(rt, "report"))
		p.result.Budget = p.result.Ending == outcome.Failed && rapid.Bool().Draw(rt, "budget")
		if rapid.IntRange(0, 30).Draw(rt, "start fails") == 0 {
			p.err = errors.New("it does not start")
		}
		s.plays = append(s.plays, p)
		s.resets = append(s.resets, time.Duration(rapid.SampledFrom([]int{0, 1, 30, 600}).Draw(rt, "reset"))*time.Minute)
		s.confidence = append(s.confidence, rapid.SampledFrom([]float64{1, 1, 1, 1, 1, 0.5}).Draw(rt, "confidence"))
		s.peers = append(s.peers, rapid.SampledFrom([]int{0, 0, 0, 0, 5, 9}).Draw(rt, "peers"))
	}
	if rapid.IntRange(0, 3).Draw(rt, "abort") == 0 {
		s.abort = time.Duration(rapid.IntRange(1, 300).Draw(rt, "abort after")) * time.Minute
	}
	if rapid.IntRange(0, 3).Draw(rt, "request") == 0 {
		s.request = time.Duration(rapid.IntRange(1, 300).Draw(rt, "request after")) * time.Minute
	}
	return s
}

// nth takes the element of a call, the last one for every further call.
func nth[T any](list []T, i int) T { return list[min(i, len(list)-1)] }

// TestAnyRun plays whatever can happen: the run ends, everything that ran is
// recorded once and in order, and only the ten names are kill-switches.
func TestAnyRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		var problem string
		bubble(t, func(t *testing.T) { problem = s.play(t) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

// play returns what is wrong, or nothing. A failure of the test itself is fatal.
func (s script) play(t *testing.T) string {
	w := newWorld(t, s.plays...)
	w.opts.Limits = s.limits
	for i := range w.plays {
		if p := &w.plays[i]; p.result.Ending == outcome.Limited && s.resets[i] > 0 {
			lasts, reset := p.lasts, s.resets[i]
			p.do = func(context.Context, sessions.Spec) { w.plays[i].result.ResetAt = time.Now().Add(lasts + reset) }
		}
	}
	asked := 0
	w.opts.Source = fakeSource{"goal", func(source.Request) source.Assignment {
		asked++
		return assignment("feature", nth(s.confidence, asked-1))
	}}
	probes := 0
	w.opts.Probe = func(context.Context) probe.Snapshot {
		probes++
		return snapshot(16, nth(s.peers, probes-1))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	begin := time.Now()
	if s.abort > 0 {
		timer := time.AfterFunc(s.abort, func() { cancel(Interrupted{syscall.SIGTERM}) })
		defer timer.Stop()
	}
	requested := func() bool { return s.request > 0 && time.Since(begin) >= s.request }
	w.opts.StopRequested = func() string {
		if requested() {
			return "stop was requested by me"
		}
		return ""
	}
	lateCall := ""
	run := w.opts.Run
	w.opts.Run = func(ctx context.Context, spec sessions.Spec, beat func(sessions.Progress)) (sessions.Result, error) {
		if requested() || s.abort > 0 && time.Since(begin) > s.abort { // at that very moment either may come first
			lateCall = fmt.Sprintf("a session was started %v after the beginning, when the run was to stop", time.Since(begin))
		}
		return run(ctx, spec, beat)
	}
	out, err := w.try(ctx)
	if err != nil {
		// Whatever could not be finished is by the next start.
		w.killed()
		w.recover()
		w.recover()
	}
	if lateCall != "" {
		return lateCall
	}
	return w.wrong(out, err)
}

// wrong says which rule the records of a run break.
func (w *world) wrong(out Outcome, err error) string {
	runs, records := w.runRecords(), w.sessionRecords()
	if len(runs) != 1 {
		return fmt.Sprintf("%d run records", len(runs))
	}
	rec := runs[0]
	var ids []string
	counted, tokens := 0, int64(0)
	for _, r := range records {
		ids = append(ids, r.SessionID)
		tokens += *r.TokenInput
		if r.Ending == string(outcome.Completed) {
			counted++
		}
	}
	switch ran := w.ids(); {
	case err == nil && !slices.Equal(ids, ran):
		return fmt.Sprintf("sessions %v are recorded, %v ran", ids, ran)
	case !slices.Equal(ids, rec.Sessions), len(rec.Endings) != len(ids):
		return fmt.Sprintf("the run names %v, and %d endings; recorded are %v", rec.Sessions, len(rec.Endings), ids)
	case rec.IterationsCompleted != counted, rec.IterationsCompleted > w.opts.Limits.MaxSessions:
		return fmt.Sprintf("%d iterations, %d sessions completed, at most %d", rec.IterationsCompleted, counted, w.opts.Limits.MaxSessions)
	case rec.TotalTokensUsed != tokens:
		return fmt.Sprintf("%d tokens, the sessions used %d", rec.TotalTokensUsed, tokens)
	case rec.KillSwitch != nil && !slices.Contains(killswitch.All(), killswitch.Reason(*rec.KillSwitch)):
		return fmt.Sprintf("kill switch %q is none of the ten", *rec.KillSwitch)
	case rec.KillSwitch != nil && *rec.KillSwitch != rec.ExitCause:
		return fmt.Sprintf("kill switch %s beside the cause %s", *rec.KillSwitch, rec.ExitCause)
	case rec.KillSwitch == nil && !slices.Contains([]Cause{CauseManual, CauseWorkDone, CausePerson, CauseError}, Cause(rec.ExitCause)):
		return fmt.Sprintf("no kill switch, and the cause %q", rec.ExitCause)
	case (err != nil) != (rec.ExitCause == string(CauseError)):
		return fmt.Sprintf("error %v beside the cause %s", err, rec.ExitCause)
	case rec.WaitedSeconds < 0, rec.WaitedSeconds > rec.DurationSeconds+1, rec.DryRun, rec.KillSwitchDetail == nil:
		return fmt.Sprintf("record %+v", rec)
	case err == nil && out.Record.ExitCause != rec.ExitCause:
		return fmt.Sprintf("the outcome says %s, the ledger %s", out.Record.ExitCause, rec.ExitCause)
	}
	for i, e := range rec.Endings[:max(0, len(rec.Endings)-1)] {
		if e.Ending != string(outcome.Completed) {
			return fmt.Sprintf("session %d ended as %s, and another followed", i, e.Ending)
		}
	}
	if st := w.state(); !st.Finished || st.Current != nil || st.Waiting != nil {
		return fmt.Sprintf("state %+v", st)
	}
	return ""
}
