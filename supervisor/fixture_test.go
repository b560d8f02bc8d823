package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
)

// play is one call of the function that runs a session.
type play struct {
	lasts  time.Duration
	result sessions.Result // only what the session itself decides
	err    error
	do     func(ctx context.Context, s sessions.Spec) // while it runs
}

// world is everything around a loop. The clock is that of a synctest bubble.
type world struct {
	t       testing.TB
	project statedir.Project
	metrics string
	ledgers *ledger.Ledgers
	opts    Options
	plays   []play // the last one serves every further call
	calls   []call
	started time.Time
	log     bytes.Buffer
	states  []string // as Live was told
	poke    chan struct{}
	kept    []pursuit.Record // reflections
	// at is called at every moment at which the outside is asked something.
	at func(moment string)
}

// call is one call of the function that runs a session.
type call struct {
	spec sessions.Spec
	at   time.Duration // since the start of the run
}

type fakeSource struct {
	name string
	next func(source.Request) source.Assignment
}

func (f fakeSource) Name() string                            { return f.name }
func (f fakeSource) Next(r source.Request) source.Assignment { return f.next(r) }
func sure(source.Request) source.Assignment                  { return assignment("feature", 1) }
func green(context.Context) probe.Snapshot                   { return snapshot(16, 0) }
func completed(lasts time.Duration) play                     { return ends(outcome.Completed, lasts) }

func ends(e outcome.Ending, lasts time.Duration) play {
	return play{lasts: lasts, result: sessions.Result{Ending: e, Cause: string(e), Opened: true}}
}
func (p play) with(change func(*sessions.Result)) play           { change(&p.result); return p }
func (p play) doing(f func(context.Context, sessions.Spec)) play { p.do = f; return p }

func assignment(mode string, confidence float64) source.Assignment {
	return source.Assignment{
		Mode: mode, SessionType: mode, Confidence: confidence, Rationale: "because", Missing: []string{"trend"},
		Steps: []sessions.Step{{Prompt: "do it"}}, Manual: "claude /session " + mode,
	}
}

func snapshot(ram float64, peers int) probe.Snapshot {
	swap := 0.0
	return probe.Snapshot{Signals: tier.Signals{RAMAvailableGB: &ram, SwapUsedGB: &swap, Peers: &peers}}
}

// newWorld makes a run that is registered and has not begun.
func newWorld(t testing.TB, plays ...play) *world {
	t.Helper()
	dir := t.TempDir()
	project, err := statedir.OpenProject(filepath.Join(dir, "state"), filepath.Join(dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, project: project, metrics: filepath.Join(dir, "metrics"), plays: plays, at: func(string) {}}
	w.reopen()
	t.Cleanup(func() { _ = w.ledgers.Close() })
	w.register()
	return w
}

func (w *world) reopen() {
	w.t.Helper()
	l, err := ledger.Open(w.metrics)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ledgers, w.opts.Ledgers = l, l
}

// register makes the options of another run.
func (w *world) register() {
	w.t.Helper()
	id, folder, err := Register(w.project, "main", time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	w.opts = Options{
		RunID: id, Version: "test", Branch: "main", Source: fakeSource{"goal", sure}, Ledgers: w.ledgers, Folder: folder,
		Limits:  killswitch.Limits{MaxSessions: 5, MaxHours: 4, PeerAbort: 6, CarryoverThreshold: 0.5, ConfidenceThreshold: 0.85},
		Waits:   Waits{Margin: time.Minute, Initial: 30 * time.Second, Max: 10 * time.Minute},
		Session: sessions.Spec{Token: "token-" + id}, AgentsFor: func(string) int { return 6 },
		Probe: green, Run: w.session, Log: slog.New(slog.NewTextHandler(&w.log, nil)),
		Live:          func(s Status) { w.states = append(w.states, s.State); w.at("live " + s.State) },
		StopRequested: func() string { return "" },
		Goals:         []pursuit.Goal{{Text: "the goal"}},
		Pursuit:       pursuit.Options{Check: func(context.Context, []gate.Check) []gate.Result { return nil }},
	}
}

// session is a fake of sessions.Run that writes the same files.
func (w *world) session(ctx context.Context, s sessions.Spec, beat func(sessions.Progress)) (sessions.Result, error) {
	p := w.plays[min(len(w.calls), len(w.plays)-1)]
	w.calls = append(w.calls, call{s, time.Since(w.started)})
	if p.err != nil {
		return sessions.Result{ID: s.ID, RunID: s.RunID, StartedAt: time.Now()}, p.err
	}
	res := p.result
	res.ID, res.Continued, res.RunID, res.StartedAt, res.Branch = s.ID, s.ConversationID, s.RunID, time.Now(), "main"
	res.Caps.Changes = append([]hook.Change{s.Cap}, p.result.Caps.Changes...)
	if c := s.Continue; c != nil && !c.StartedAt.IsZero() {
		res.StartedAt = c.StartedAt
	}
	w.at("session begins")
	beat(sessions.Progress{PID: 1, Cap: s.Cap, Note: "at work"})
	w.keep(sessions.ProgressPath(s.Folder), sessions.Result{
		ID: s.ID, Continued: s.ConversationID, Opened: res.Opened, RunID: s.RunID, StartedAt: res.StartedAt, EndedAt: time.Now(), Usage: outcome.Usage{Input: 5},
	})
	w.at("session works")
	if p.do != nil {
		p.do(ctx, s)
	}
	t := time.NewTimer(p.lasts)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		res.Ending, res.Cause = outcome.Cancelled, "ended on request"
	}
	res.EndedAt = time.Now()
	w.keep(sessions.ResultPath(s.Folder), res)
	w.at("session ended")
	return res, nil
}

func (w *world) keep(name string, res sessions.Result) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		w.t.Fatal(err)
	}
	data, err := json.Marshal(res)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// play runs the loop to its end, which must not be an error.
func (w *world) play(ctx context.Context) Outcome {
	w.t.Helper()
	out, err := w.try(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) try(ctx context.Context) (Outcome, error) {
	w.started = time.Now()
	return Run(ctx, w.opts)
}

// lines reads the records of a ledger.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	var all []T
	err := journal.Each(path, func(n int, line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, v)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w *world) runRecords() []ledger.Run {
	w.t.Helper()
	return lines[ledger.Run](w.t, filepath.Join(w.metrics, ledger.RunsFile))
}

func (w *world) sessionRecords() []ledger.Session {
	w.t.Helper()
	return lines[ledger.Session](w.t, filepath.Join(w.metrics, ledger.SessionsFile))
}

// record is the one run record there is.
func (w *world) record() ledger.Run {
	w.t.Helper()
	all := w.runRecords()
	if len(all) != 1 {
		w.t.Fatalf("%d run records, want one", len(all))
	}
	return all[0]
}

func (w *world) state() State {
	w.t.Helper()
	s, err := LoadState(w.opts.Folder)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// killed makes the run's state that of a supervisor which is no more.
func (w *world) killed() {
	w.t.Helper()
	kill(w.t, w.opts.Folder)
}

func kill(t testing.TB, folder string) {
	t.Helper()
	s, err := LoadState(folder)
	if err != nil {
		t.Fatal(err)
	}
	s.Start++ // the process with that id is another one now
	saveState(t, folder, s)
}

func saveState(t testing.TB, folder string, s State) {
	t.Helper()
	if err := statedir.ReplaceJSON(filepath.Join(folder, stateName), s); err != nil {
		t.Fatal(err)
	}
}

func (w *world) recover() []Recovered {
	w.t.Helper()
	done, err := Recover(w.project, w.ledgers, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return done
}

func (w *world) open() []string {
	w.t.Helper()
	ids, err := OpenRuns(w.project)
	if err != nil {
		w.t.Fatal(err)
	}
	return ids
}

// ids are those of the sessions that ran, in order, each once.
func (w *world) ids() []string {
	var ids []string
	for _, c := range w.calls {
		if id := string(c.spec.ID); len(ids) == 0 || ids[len(ids)-1] != id {
			ids = append(ids, id)
		}
	}
	return ids
}

// appendSession writes a line to the session ledger as another program does.
func (w *world) appendSession(fields map[string]any) {
	w.t.Helper()
	rec := map[string]any{
		"schema_version": 2, "session_type": "feature", "started_at": time.Now().UTC().Format(time.RFC3339), "completed_at": time.Now().UTC().Format(time.RFC3339),
		"total_waves": 0, "waves": []any{}, "total_agents": 0, "total_files_changed": 0,
		"agent_summary": map[string]any{"complete": 0, "partial": 0, "failed": 0, "spiral": 0},
	}
	for k, v := range fields {
		rec[k] = v
	}
	data, err := json.Marshal(rec)
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := os.OpenFile(w.ledgers.SessionsPath(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = f.Write(append(data, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func report(text string) json.RawMessage { return json.RawMessage(text) }

// planned is a report on so many items, of which so many are carried over.
func planned(items, carried int) json.RawMessage {
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]" }
	return report(fmt.Sprintf(`{"planned":%s,"completed":%s,"carried_over":%s,"summary":"s","next_steps":["more"],"needs_person":""}`, list(items), list(items-carried), list(carried)))
}

// bubble runs a test with a clock of its own, in which waiting takes no time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// process starts a real process that carries a variable.
func process(t *testing.T, env string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	cmd.Env = append(os.Environ(), env)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}
