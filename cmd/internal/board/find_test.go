package board_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/metrics/samples"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/hook"
	"autopilot/sessions/outcome"
	"autopilot/supervisor"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/track"
)

func TestFind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.project("app")
	at := func(minutes int) time.Time { return w.at.Add(time.Duration(minutes) * time.Minute) }
	ref, folder := w.run(app, 3, func(s *supervisor.State) {
		s.Iteration, s.Carried.Iterations = 4, 2
		s.Record.TotalTokensUsed, s.Record.TotalCostUSD = 600, 6
		s.Record.Endings = []ledger.Ending{
			{SessionID: uuidOf(1), Ending: "completed", Tokens: 100, CostUSD: 1, Record: "own"},
			{SessionID: "plugin-says-so", Ending: "failed", Cause: "why", Tokens: 200, CostUSD: 2, Record: "plugin"},
			{SessionID: "no-folder", Ending: "completed", Tokens: 300, CostUSD: 3, Record: "own"},
		}
		s.Record.Caps = []ledger.Cap{{SessionID: "no-folder", At: ledger.Stamp(at(-60)), Tier: "warn", Cap: 2, Signal: "ram"}}
		s.Current = &supervisor.Current{SessionID: uuidOf(4), Mode: "deep", Work: "goal-1", StartedAt: at(-10), Conversation: uuidOf(1)}
		s.Waiting = &supervisor.Waiting{Until: at(30), Why: "the limit"}
		s.Pursuit = pursuit.State{Interval: 1, Goals: []pursuit.Goal{{
			Text: "make it work", Status: ledger.GoalOpen, Milestones: []reflector.Milestone{{Text: "first", Done: true}, {Text: "second"}},
			Series: reflector.Series{Percent: 40}, Points: []pursuit.Point{{Sessions: 2, Active: time.Hour, Percent: 40}}, Totals: reflector.Totals{Sessions: 2, Elapsed: time.Hour},
			Assessments: []reflector.Assessment{{Reasoning: "it goes on"}},
		}}}
	})
	usage := func(tokens int64, cost float64) outcome.Usage {
		return outcome.Usage{Input: tokens, CacheRead: 99999, CostUSD: cost}
	}
	w.session(folder, uuidOf(1), func(r *sessions.Result) {
		r.Usage, r.Files, r.Commits = usage(100, 1), []string{"a", "b"}, []string{"c"}
		r.Report = json.RawMessage(`{"summary":"did it"}`)
		r.Caps = hook.CapState{Tier: "green", Cap: 4, Changes: []hook.Change{{At: at(-90), Tier: "green", Cap: 4}}}
	})
	w.session(folder, uuidOf(0), func(r *sessions.Result) { r.Usage, r.StartedAt, r.Model = usage(7, 2), at(-200), "another" })
	w.session(folder, uuidOf(2), func(r *sessions.Result) { r.Usage, r.Ending, r.Model = usage(200, 2), "failed", "big" })
	w.json(sessions.ProgressPath(supervisor.SessionFolder(folder, sessions.ID(uuidOf(4)))), sessions.Result{
		ID: sessions.ID(uuidOf(4)), Ending: "crashed", Usage: usage(50, 0.5), Caps: hook.CapState{Tier: "critical", Cap: 0, Changes: []hook.Change{{At: at(-5), Tier: "critical"}}},
	})
	w.lines(filepath.Join(app.Path, ".orchestrator/metrics/sessions.jsonl"),
		ledger.Session{SessionID: "no-folder", AutopilotRunID: ref.Run, StartedAt: ledger.Stamp(at(-70)), SessionType: "feature", Model: "small", Commits: []string{"x"}, Summary: "from the ledger"},
		ledger.Session{SessionID: "no-folder", AutopilotRunID: "another", Model: "wrong"})
	w.lines(filepath.Join(folder, "activity.jsonl"),
		map[string]any{"msg": "session started", "session_id": uuidOf(1), "mode": "feature"}, map[string]any{"msg": "session started", "session_id": uuidOf(2), "mode": "deep"})
	w.lines(filepath.Join(folder, "reflections.jsonl"),
		pursuit.Record{At: at(-100), Iteration: 1, Assessment: &reflector.Assessment{PercentComplete: 10}}, pursuit.Record{At: at(-80), Iteration: 2, Error: "no"},
		pursuit.Record{At: at(-60), Iteration: 2, Assessment: &reflector.Assessment{PercentComplete: 40}})
	for n := range 1200 {
		w.check(samples.Append(folder, samples.Sample{At: at(n), Tier: "green", AvailableGB: ptr(float64(n))}))
	}
	_, err := episode.Open(filepath.Join(app.Dir, "episodes"), episode.Options{}).Append(episode.Episode{RunID: ref.Run, Task: "t", Success: true, Reward: 0.5})
	w.check(err)

	r, err := board.Find(t.Context(), w.options(), ref)
	w.check(err)
	r.Sessions[0].Started, r.Sessions[0].Ended, r.Sessions[1].Started, r.Sessions[1].Ended = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	want(t, "sessions", r.Sessions, []board.Session{
		{Number: 1, ID: uuidOf(1), Mode: "feature", Model: "m", Ending: "completed", Tier: "green", Cap: ptr(4), Tokens: 100, CostUSD: 1, Files: 2, Commits: 1, Summary: "did it"},
		{Number: 2, ID: "plugin-says-so", Talk: uuidOf(2), Mode: "deep", Model: "big", Ending: "failed", Cause: "why", Tokens: 200, CostUSD: 2},
		{Number: 3, ID: "no-folder", Work: "feature", Model: "small", Started: at(-70), Ending: "completed", Tier: "warn", Cap: ptr(2), Tokens: 300, CostUSD: 3, Commits: 1, Summary: "from the ledger"},
	})
	want(t, "the one that runs", r.Current, &board.Session{
		Number: 6, ID: uuidOf(4), Talk: uuidOf(1), Mode: "deep", Work: "goal-1", Started: at(-10), Tier: "critical", Cap: ptr(0), Tokens: 50, CostUSD: 0.5,
	})
	w.json(sessions.ProgressPath(supervisor.SessionFolder(folder, sessions.ID(uuidOf(4)))), sessions.Result{ID: sessions.ID(uuidOf(3)), Usage: usage(50, 0.5)})
	if late, err := board.Find(t.Context(), w.options(), ref); err != nil || late.Current.Tokens != 0 {
		t.Errorf("what another session has used is its own: %+v, %v", late.Current, err)
	}
	want(t, "caps", r.Caps, []board.Cap{{At: at(-60), Tier: "warn", Cap: 2, Signal: "ram"}, {At: at(-5), Tier: "critical"}})
	want(t, "progress", r.Progress, board.Progress{
		Percent: ptr(40.0), Velocity: 20, PerHour: 40, Sessions: 3, Left: 90 * time.Minute, Last: "it goes on",
		Milestones: []board.Milestone{{Text: "first", Done: true}, {Text: "second"}},
		Points:     []board.Point{{At: at(-100), Session: 1, Percent: 10}, {At: at(-60), Session: 2, Percent: 40}},
	})
	if n := len(r.Samples); n != 1000 || *r.Samples[0].AvailableGB != 0 || *r.Samples[n-1].AvailableGB != 1199 {
		t.Errorf("%d samples", n)
	}
	if r.Waiting == nil || r.Waiting.Why != "the limit" || r.Mode != "fixed" || r.MaxHours != 8 || r.Tokens != 650 || *r.Reward != 0.5 || r.Folder != folder || r.Dir != app.Path || r.Iteration != 6 {
		t.Errorf("the rest: %+v", r)
	}
}

func TestFindTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	step := func(n int, progress float64) episode.Step {
		return episode.Step{At: w.at.Add(time.Duration(n-4) * time.Hour), Iteration: n, Progress: progress}
	}
	ref, _ := w.run(w.project("app"), 4, func(s *supervisor.State) {
		s.Tasks = &track.State{Steps: []episode.Step{step(1, 0.1), step(2, 0.2), step(3, 0.4), step(4, 0.7)}}
	})
	r, err := board.Find(t.Context(), w.options(), ref)
	w.check(err)
	p := r.Progress
	if *p.Percent != 70 || len(p.Points) != 4 || p.Points[3].Percent != 70 || fmt.Sprintf("%.3f %.3f", p.Velocity, p.PerHour) != "20.000 20.000" || p.Sessions != 2 || p.Left.Round(time.Second) != 90*time.Minute {
		t.Errorf("got %+v, %v percent", p, *p.Percent)
	}
}

func TestFindInTheLedgerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.project("app")
	rec := w.line("gone", 40, func(r *ledger.Run) {
		r.Endings = []ledger.Ending{{SessionID: "s", Ending: "completed", Tokens: 5}}
		r.Goals = []ledger.Goal{{Text: "one", Status: ledger.GoalAchieved}, {Text: "two", Status: ledger.GoalOpen, Percent: 50}}
	})
	nearly := w.line("nearly", 30, func(r *ledger.Run) {
		r.Goals, r.Reflections = []ledger.Goal{{Status: ledger.GoalOpen, Percent: 100}}, &ledger.Reflections{Count: 1}
	})
	w.lines(ledgerOf(app), nearly, rec, w.line("another", 39, nil))
	w.lines(filepath.Join(app.Path, ".orchestrator/metrics/sessions.jsonl"), ledger.Session{SessionID: "s", AutopilotRunID: "gone", Model: "m"})
	o := w.options()
	r, err := board.Find(t.Context(), o, board.Ref{Project: slug(app), Run: "gone"})
	w.check(err)
	if len(r.Sessions) != 1 || r.Sessions[0].Model != "m" || *r.Progress.Percent != 75 || r.Summary != "all is done" || r.Folder != "" || r.Resumable == "" || len(r.Goals) != 2 {
		t.Errorf("got %+v", r)
	}
	if r, err := board.Find(t.Context(), o, board.Ref{Project: slug(app), Run: "nearly"}); err != nil || *r.Percent != 99 {
		t.Errorf("a goal that is not reached: %+v %v", r.Percent, err)
	}
	if events, at, err := board.Tail(o, r, board.Cursor{}); events != nil || at != (board.Cursor{}) || err != nil {
		t.Errorf("its events: %v %v %v", events, at, err)
	}
}

func TestFindWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.project("app")
	ref, folder := w.ended(app, 1, nil)
	w.text(filepath.Join(w.dir, "state/secret/state.json"), "{}")
	o := w.options()
	for _, bad := range []board.Ref{
		{},
		{Project: slug(app)},
		{Project: slug(app), Run: "no"},
		{Project: "no", Run: ref.Run},
		{Project: slug(app), Run: "../../../secret"},
		{Project: "../projects/" + slug(app), Run: ref.Run},
		{Project: slug(app), Run: "."},
		{Project: slug(app), Run: "../runs/" + ref.Run},
	} {
		if _, err := board.Find(t.Context(), o, bad); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	w.check(os.WriteFile(filepath.Join(folder, "state.json"), []byte("{"), 0o600))
	if r, err := board.Find(t.Context(), o, ref); err != nil || r.State != "unreadable" || len(r.Problems) != 1 {
		t.Errorf("broken: %v %v %q", err, r.State, r.Problems)
	}
}
