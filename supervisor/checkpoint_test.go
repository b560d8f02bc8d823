package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
)

const reflectionsFile = "reflections.jsonl"

// saga is a run that is killed and continued some times.
type saga struct {
	plays    []play    // by iteration, over all of its runs
	opinions []opinion // likewise
	interval int
	goals    int
	limits   killswitch.Limits
	kills    []death // of each run
}

// death is the moment at which a run is killed; one that has no such moment ends by
// itself.
type death struct {
	moment string
	nth    int // from 0
}

func drawSaga(rt *rapid.T) saga {
	s := saga{
		interval: rapid.SampledFrom([]int{1, 1, 2, 3, 0}).Draw(rt, "interval"), goals: rapid.IntRange(1, 2).Draw(rt, "goals"),
		limits: killswitch.Limits{
			MaxSessions: rapid.IntRange(2, 6).Draw(rt, "max sessions"), MaxHours: 4, MaxTokens: rapid.SampledFrom([]int64{0, 0, 900}).Draw(rt, "max tokens"),
			PeerAbort: 6, CarryoverThreshold: 0.5, ConfidenceThreshold: 0.85, MaxErrors: 3,
		},
	}
	kinds := []play{work(0), work(0), work(0), work(0).with(func(r *sessions.Result) { r.Files = nil }), claims(0), ends(outcome.Crashed, 0), ends(outcome.Overloaded, 0), asks("which one?")}
	says := []opinion{
		goesWell(), goesWell(), says(reflector.No, reflector.Slow, 30, reflector.Continue), says(reflector.Yes, reflector.Good, 100, reflector.Continue),
		says(reflector.No, reflector.Stuck, 5, reflector.Stop), says(reflector.No, reflector.Slow, 30, reflector.AskUser),
		{err: errors.New("cannot be reached")},
	}
	for range 8 {
		p := rapid.SampledFrom(kinds).Draw(rt, "session")
		p.lasts = time.Duration(rapid.IntRange(0, 40).Draw(rt, "minutes")) * time.Minute
		p.result.Usage = outcome.Usage{Input: rapid.Int64Range(0, 200).Draw(rt, "tokens"), CostUSD: float64(rapid.IntRange(0, 400).Draw(rt, "cost")) / 1000}
		s.plays = append(s.plays, p)
		s.opinions = append(s.opinions, rapid.SampledFrom(says).Draw(rt, "opinion").spending(rapid.Int64Range(20, 200).Draw(rt, "tokens"), 0.125))
	}
	for range rapid.IntRange(1, 2).Draw(rt, "kills") {
		moment := rapid.SampledFrom([]string{
			"live selecting", "live running", "session begins", "session works", "session ended", "live recording", "live judging", "live looking",
			"reflector asked", "reflector answers", "reflection is to be written", "reflection is written", "live checking", "live finishing", "live finished",
		}).Draw(rt, "moment")
		s.kills = append(s.kills, death{moment, rapid.IntRange(0, 2).Draw(rt, "nth")})
	}
	return s
}

// scene is one run of a saga.
type scene struct {
	*world
	saga    saga
	problem error // what was wrong when a session was about to begin
}

// set makes the options of a run of the saga.
func (sc *scene) set() {
	w := sc.world
	w.opts.Limits, w.opts.Run, w.opts.Ledgers = sc.saga.limits, w.session, w.ledgers
	f := w.looks(sc.saga.interval, goesWell())
	w.opts.Goals = []pursuit.Goal{{Text: "the first"}, {Text: "the second"}}[:sc.saga.goals]
	w.opts.Source = fakeSource{"goal", func(r source.Request) source.Assignment {
		n := r.Objective.Iteration
		sc.problem = errors.Join(sc.problem, sc.wrongStart(n))
		w.plays, w.calls = []play{nth(sc.saga.plays, n-1), work(time.Minute)}, nil // the second serves a session that was overloaded
		f.opinions, f.asked = []opinion{nth(sc.saga.opinions, n-1)}, nil
		return assignment("feature", 1)
	}}
	folder := w.opts.Folder
	w.opts.Reflections = func(r pursuit.Record) error {
		w.at("reflection is to be written")
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		file, err := os.OpenFile(filepath.Join(folder, reflectionsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = file.Write(append(data, '\n'))
		err = errors.Join(err, file.Close())
		w.at("reflection is written")
		return err
	}
}

// killedAt plays a run, and returns what is on disk at one of its moments.
func (sc *scene) killedAt(t *testing.T, k death, pictures string) (*scene, error) {
	n := 0
	sc.at = func(moment string) {
		if moment != k.moment {
			return
		}
		if n == k.nth {
			sc.copyFiles(pictures)
		}
		n++
	}
	if _, err := sc.try(t.Context()); err != nil || sc.problem != nil {
		return nil, errors.Join(err, sc.problem)
	}
	if n <= k.nth {
		return sc, nil
	}
	c := &scene{world: copied(t, sc.world, pictures), saga: sc.saga}
	opts := sc.opts
	opts.Folder = c.opts.Folder
	opts.Ledgers, c.opts = c.ledgers, opts
	if s, err := LoadState(c.opts.Folder); err == nil && !s.Finished {
		c.killed()
	}
	return c, nil
}

// TestKilledAndContinued plays runs that are killed at any moment and continued: all
// that was recorded stays, is counted once, and is not done again.
func TestKilledAndContinued(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSaga(rt)
		var problem error
		bubble(t, func(t *testing.T) { problem = s.play(t) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

// play returns what is wrong, or nothing.
func (s saga) play(t *testing.T) error {
	sc := &scene{world: newWorld(t), saga: s}
	for i, kill := range append(slices.Clone(s.kills), death{}) {
		sc.set()
		next, err := sc.killedAt(t, kill, t.TempDir())
		if err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
		sc = next
		for range 2 {
			sc.recover()
		}
		if err := sc.wrongChain(); err != nil {
			return fmt.Errorf("run %d: %w", i, err)
		}
		st, err := LoadState(sc.opts.Folder)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was killed before it had begun, and the one before it can be continued
		}
		if err != nil {
			return err
		}
		if why := NotResumable(st); why != "" {
			if st.Record.Termination == nil || st.Record.Termination.Status != ledger.Completed {
				return fmt.Errorf("run %d ended as %+v and cannot be continued: %s", i, st.Record.Termination, why)
			}
			return nil
		}
		if err := sc.goOn("an answer"); err != nil {
			return sc.mustRefuse(st, err)
		}
	}
	return nil
}

// mustRefuse says why a run was refused that a limit would not have stopped.
func (sc *scene) mustRefuse(s State, err error) error {
	c, l := s.Used(), sc.opts.Limits
	m := mean(s.Costs)
	if c.Iterations >= l.MaxSessions || l.MaxTokens > 0 && (c.Spent.Tokens >= l.MaxTokens || m != nil && l.MaxTokens-c.Spent.Tokens < m.Tokens) || c.Active >= 4*time.Hour {
		return nil
	}
	return fmt.Errorf("it is not continued: %w", err)
}

// total is what the ledgers of a chain of runs say.
type total struct {
	sessions, completed, failed int
	tokens                      int64
}

// wrongChain holds the records and states of all runs of a saga against each other.
func (sc *scene) wrongChain() error {
	sessionsOf, all := map[string]total{}, total{}
	seen := map[string]bool{}
	for _, r := range sc.sessionRecords() {
		if seen[r.SessionID] {
			return fmt.Errorf("session %s is recorded twice", r.SessionID)
		}
		seen[r.SessionID] = true
		s := sessionsOf[r.AutopilotRunID]
		s.sessions++
		s.tokens += *r.TokenInput + *r.TokenOutput
		if r.Ending == string(outcome.Completed) {
			s.completed++
		} else {
			s.failed++
		}
		sessionsOf[r.AutopilotRunID] = s
	}
	reflected := map[string]bool{}
	var before *State
	for _, rec := range sc.runRecords() {
		s, err := LoadState(sc.project.RunDir(rec.AutopilotRunID))
		if err != nil {
			return err
		}
		own := sessionsOf[rec.AutopilotRunID]
		if err := sc.wrongRun(rec, s, own, reflected); err != nil {
			return fmt.Errorf("%s: %w", rec.AutopilotRunID, err)
		}
		all.sessions, all.completed, all.failed, all.tokens = all.sessions+own.sessions, all.completed+own.completed, all.failed+own.failed, all.tokens+own.tokens
		if err := wrongSums(rec, s, all); err != nil {
			return fmt.Errorf("%s: %w", rec.AutopilotRunID, err)
		}
		if before != nil {
			if rec.ResumedFrom != before.Record.AutopilotRunID || before.ResumedBy != rec.AutopilotRunID && before.ResumedBy != "" {
				return fmt.Errorf("%s continues %q, which %q continues", rec.AutopilotRunID, rec.ResumedFrom, before.ResumedBy)
			}
		}
		before = &s
	}
	return nil
}

// wrongStart says why no session may begin: it is not the one behind those that are
// recorded, or what they and the reflections have used leaves nothing.
func (sc *scene) wrongStart(iteration int) error {
	records, used := sc.sessionRecords(), int64(0)
	for _, r := range records {
		used += *r.TokenInput + *r.TokenOutput
	}
	for _, r := range sc.reflections() {
		used += budgeted(r.Usage)
	}
	if max := sc.saga.limits.MaxTokens; iteration != len(records)+1 || max > 0 && used >= max {
		return fmt.Errorf("session %d begins, %d are recorded; %d tokens are used", iteration, len(records), used)
	}
	return nil
}

// reflections are those of all runs.
func (sc *scene) reflections() []pursuit.Record {
	var all []pursuit.Record
	paths, err := filepath.Glob(filepath.Join(sc.project.RunsDir(), "*", reflectionsFile))
	if err != nil {
		sc.t.Fatal(err)
	}
	for _, p := range paths {
		all = append(all, lines[pursuit.Record](sc.t, p)...)
	}
	return all
}

// wrongRun compares the record of a run with the ledgers.
func (sc *scene) wrongRun(rec ledger.Run, s State, own total, reflected map[string]bool) error {
	var tally ledger.Reflections
	if rec.Reflections != nil {
		tally = *rec.Reflections
	}
	written := 0
	path := filepath.Join(sc.project.RunDir(rec.AutopilotRunID), reflectionsFile)
	if _, err := os.Stat(path); err == nil {
		for _, r := range lines[pursuit.Record](sc.t, path) {
			if key := fmt.Sprint(r.Goal, " ", r.Iteration); reflected[key] {
				return fmt.Errorf("the reflection on goal and iteration %s was made twice", key)
			} else {
				reflected[key] = true
			}
			if r.Reflector != "" {
				written++
			}
		}
	}
	switch {
	case !s.Finished || s.Current != nil || s.Waiting != nil || rec.Termination == nil:
		return fmt.Errorf("state %+v", s)
	case len(rec.Sessions) != own.sessions || len(rec.Endings) != own.sessions || rec.IterationsCompleted != own.completed || s.Iteration != own.sessions:
		return fmt.Errorf("%d sessions, %d completed, iteration %d; the ledger has %+v", len(rec.Sessions), rec.IterationsCompleted, s.Iteration, own)
	case s.Outcomes != ledger.Outcomes{Successes: own.completed, Failures: own.failed}:
		return fmt.Errorf("outcomes %+v, the ledger has %+v", s.Outcomes, own)
	case rec.TotalTokensUsed != own.tokens+tally.Tokens:
		return fmt.Errorf("%d tokens, the ledger has %d and the reflections %d", rec.TotalTokensUsed, own.tokens, tally.Tokens)
	case tally.Count != written && tally.Count != written+1:
		return fmt.Errorf("%d reflections are counted, %d are written down", tally.Count, written)
	}
	return nil
}

// wrongSums compares what a run says of itself and of those before it.
func wrongSums(rec ledger.Run, s State, all total) error {
	sessions, tokens, iterations := 0, int64(0), 0
	for i, g := range s.Pursuit.Goals {
		sessions, tokens = sessions+g.Totals.Sessions, tokens+g.Totals.Tokens
		iterations += rec.Goals[i].Iterations
		if rec.Goals[i].Status != g.Status && s.ResumedBy == "" {
			return fmt.Errorf("goal %d is %s in the record and %s in the state", i, rec.Goals[i].Status, g.Status)
		}
	}
	tm := rec.Termination
	switch {
	case sessions != all.sessions || iterations != all.sessions || tm.Iterations != all.sessions:
		return fmt.Errorf("%d sessions of the goals, %d in the record, %d at the end; the ledger has %d", sessions, iterations, tm.Iterations, all.sessions)
	case tokens != all.tokens:
		return fmt.Errorf("%d tokens of the goals, the ledger has %d", tokens, all.tokens)
	case tm.Outcomes != ledger.Outcomes{Successes: all.completed, Failures: all.failed}:
		return fmt.Errorf("outcomes %+v, the ledger has %+v", tm.Outcomes, all)
	case all.sessions > rec.MaxSessions:
		return fmt.Errorf("%d sessions of at most %d", all.sessions, rec.MaxSessions)
	case (rec.ExitCause == string(CauseKilled)) != (tm.Reason == "killed") || tm.Reason == "killed" && (tm.Status != ledger.Interrupted || !tm.Resumable || !strings.Contains(tm.Summary, "killed")):
		return fmt.Errorf("cause %s with %+v", rec.ExitCause, tm)
	case strings.Count(fmt.Sprint(rec.Endings), "crashed") < len(rec.Sessions)-rec.IterationsCompleted-1:
		return fmt.Errorf("endings %+v", rec.Endings)
	}
	return nil
}
