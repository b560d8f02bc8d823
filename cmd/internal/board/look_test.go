package board_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/peer"
	"autopilot/probe/proctree"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
	"autopilot/sessions/outcome"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
	sharedtask "autopilot/supervisor/story/shared"
)

// short is a row in few words.
func short(rows []board.Row) []string {
	out := []string{}
	for _, r := range rows {
		reward := "-"
		if r.Reward != nil {
			reward = fmt.Sprint(*r.Reward)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s %s", filepath.Base(r.Repo), r.Kind, r.State, r.Ref.Run, r.Cause, reward)))
	}
	return out
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

// line is the line of the ledger of a run that ended some hours before.
func (w world) line(id string, hours int, change func(*ledger.Run)) ledger.Run {
	at := w.at.Add(-time.Duration(hours) * time.Hour)
	r := ledger.Run{
		AutopilotRunID: id, StartedAt: ledger.Stamp(at), CompletedAt: ledger.Stamp(at.Add(time.Hour)), ExitCause: "work-done", Source: "goal",
		Termination: &ledger.Termination{Status: ledger.Completed, Summary: "all is done"},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func ledgerOf(p statedir.Project) string {
	return filepath.Join(p.Path, ".orchestrator/metrics/autopilot.jsonl")
}

func TestLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, lib := w.project("app"), w.project("lib")
	old, folder := w.ended(app, 50, nil)
	paused, _ := w.ended(lib, 30, func(s *supervisor.State) {
		s.Record.Termination.Status, s.Record.ExitCause = ledger.Paused, "person"
	})
	on, _ := w.run(app, 2, func(s *supervisor.State) { s.Iteration, s.Current = 3, &supervisor.Current{SessionID: uuidOf(1)} })
	w.json(filepath.Join(folder, "setup.json"), job.Setup{Version: 1, Flags: []config.Value{{Key: "metrics-dir", Raw: []string{"elsewhere"}}}})
	_, leaving := w.ended(lib, 31, nil)
	w.check(os.Rename(leaving, filepath.Join(filepath.Dir(leaving), ".gc-"+filepath.Base(leaving))))
	// A record of what has a folder, of what is on, of what has none, and of a story.
	w.lines(ledgerOf(app), w.line(old.Run, 50, nil), w.line(on.Run, 2, nil), w.line("gone", 40, nil), w.line("boss", 20, func(r *ledger.Run) {
		r.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind, CohortTokens: 70}
	}), w.line("of-story", 21, func(r *ledger.Run) { r.ParentRunID = ptr("boss") }), w.line("orphan", 22, func(r *ledger.Run) { r.ParentRunID = ptr("of-another-place") }),
		w.line("dry", 1, func(r *ledger.Run) { r.DryRun = true }))
	w.text(ledgerOf(app), "no JSON\n\n{\"autopilot_run_id\":7}\n{\"torn")
	w.lines(filepath.Join(app.Path, "elsewhere/autopilot.jsonl"), w.line("there", 60, nil))
	for _, run := range []string{"gone", "there"} {
		_, err := episode.Open(filepath.Join(app.Dir, "episodes"), episode.Options{}).Append(episode.Episode{RunID: run, Task: "t", Source: "goal", Status: "completed", Success: true, Reward: 0.75})
		w.check(err)
	}

	o := w.options()
	got := board.Look(t.Context(), o)
	want(t, "on", short(got.Active), []string{"app run running " + on.Run + "  -"})
	past := []string{
		"app cohort done boss work-done -", "app run done orphan work-done -", "lib run needs a person " + paused.Run + " person -",
		"app run done gone work-done 0.75", "app run stopped " + old.Run + " max-sessions-reached -", "app run done there work-done 0.75",
	}
	want(t, "over", short(got.Past), past)
	want(t, "problems", got.Problems, []string{})
	if r := got.Active[0]; r.Goal != "make it work" || r.Source != "goal" || r.AgeSeconds != 2*3600 || r.Ref.Project != slug(app) {
		t.Errorf("the row of what is on: %+v", r)
	}
	if r := got.Past[0]; r.Tokens != 70 || r.AgeSeconds != 20*3600 || !r.Ended.Equal(w.at.Add(-19*time.Hour)) || r.Repo != app.Path {
		t.Errorf("the row of what is over: %+v", r)
	}
	o.Past = 2
	if got := board.Look(t.Context(), o); len(got.Past) != 2 || got.Past[1].RunID != "orphan" {
		t.Errorf("the two latest: %v", short(got.Past))
	}
	o.Past = 0
	if got := board.Look(t.Context(), o); len(got.Past) != 0 || got.Past == nil {
		t.Errorf("none: %v", got.Past)
	}
}

// last is the folder of the run that was started last in a project.
func (w world) last(name string) string {
	p := w.project(name)
	id, err := supervisor.LastRun(p)
	w.check(err)
	return p.RunDir(id)
}

func TestLookAtNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := board.Look(t.Context(), w.options())
	if got.Active == nil || got.Past == nil || got.Questions == nil || got.Problems == nil || len(got.Problems) > 0 || !got.At.Equal(w.at) {
		t.Errorf("an empty machine: %+v", got)
	}
	if got := board.Look(t.Context(), board.Options{Root: "state"}); len(got.Problems) == 0 {
		t.Error("a root that is not absolute is no problem")
	}
}

// TestWhatCannotBeReadHidesNothing has a broken file of each kind.
func TestWhatCannotBeReadHidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad, good := w.project("bad"), w.project("good")
	_, folder := w.ended(bad, 5, nil)
	w.check(os.WriteFile(filepath.Join(folder, "state.json"), []byte("{"), 0o600))
	_, folder = w.run(bad, 4, nil)
	w.check(os.WriteFile(filepath.Join(folder, "state.json"), []byte("{"), 0o600))
	w.text(filepath.Join(bad.Dir, "queue.json"), "{")
	w.text(filepath.Join(bad.Dir, "gates/g-abcdef.012345678901.json"), "{")
	w.check(os.MkdirAll(ledgerOf(bad), 0o700))
	w.text(filepath.Join(w.dir, "state/projects/broken/project.json"), "{")
	on, _ := w.run(good, 1, nil)
	done, _ := w.ended(good, 9, nil)
	got := board.Look(t.Context(), w.options())
	want(t, "on", short(got.Active), []string{"bad run unreadable " + filepath.Base(folder) + "  -", "good run starting " + on.Run + "  -"})
	want(t, "over", short(got.Past), []string{"good run stopped " + done.Run + " max-sessions-reached -"})
	for _, part := range []string{"broken/project.json", "queue.json", "g-abcdef", "autopilot.jsonl", "/state.json"} {
		if !strings.Contains(strings.Join(got.Problems, "\n"), part) {
			t.Errorf("nothing is said of %s in %q", part, got.Problems)
		}
	}
}

// TestCleanTexts has agents and strangers write what they want.
func TestCleanTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const evil = "a\x1b]0;title\x07b \x1b[31mred\x9b2J \u202eback sk-ant-api03-abcdefgh12345678 \xff"
	app := w.project("app")
	ref, folder := w.ended(app, 1, func(s *supervisor.State) {
		s.Record.Goal, s.Record.ExitCause, s.Record.Source, s.Mode = evil, evil, evil, evil
		s.Record.KillSwitchDetail, s.Record.Termination.Summary = ptr(evil), evil
		s.Record.Endings = []ledger.Ending{{SessionID: uuidOf(1), Ending: evil, Cause: evil}}
		s.Record.Caps = []ledger.Cap{{SessionID: uuidOf(1), Tier: evil, Signal: evil}}
		s.Pursuit = pursuit.State{Goals: []pursuit.Goal{{
			Text: evil, Status: ledger.GoalPaused, Question: &pursuit.Question{Text: evil, Options: []string{evil}},
			Milestones: []reflector.Milestone{{Text: evil}},
		}}}
	})
	w.session(folder, uuidOf(1), func(r *sessions.Result) { r.Model, r.Cause = evil, evil })
	w.lines(ledgerOf(app), w.line("gone", 3, func(r *ledger.Run) { r.Goal, r.ExitCause = evil, evil }))
	o := w.options()
	look := board.Look(t.Context(), o)
	run, err := board.Find(t.Context(), o, ref)
	w.check(err)
	if len(look.Past) != 2 || len(look.Questions) != 1 || len(run.Sessions) != 1 || len(run.Needs) != 1 {
		t.Fatalf("got %v, %+v", short(look.Past), run)
	}
	text := fmt.Sprintf("%+v %+v", look, run)
	for _, part := range []string{"\x1b", "\x07", "\u009b", "\u202e", "abcdefgh12345678", "\xff", "title"} {
		if strings.Contains(text, part) {
			t.Errorf("%q is in %q", part, text)
		}
	}
	if !strings.Contains(run.Summary, "red") || run.Needs[0].Options[0][:3] != "A) " {
		t.Errorf("the rest is to stay: %+v", run)
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(w.project("app"), 1, nil)
	w.settle(0)
	o := w.options()
	asked := 0
	o.Peers = func(context.Context) ([]peer.Session, error) {
		asked++
		return []peer.Session{{PID: 1 << 29, CWD: "/srv", Cmdline: "claude\x1b[2J"}}, nil
	}
	for range 5 {
		got := board.Look(t.Context(), o)
		if len(got.Active) != 2 || got.Active[1].Kind != fleet.KindPeer || got.Active[1].Note != "claude" || got.Active[1].Ref != (board.Ref{}) {
			t.Fatalf("got %+v", got.Active)
		}
		bare := o
		bare.Peers = nil
		if got := board.Look(t.Context(), bare); len(got.Active) != 1 {
			t.Fatalf("without peers: %v", short(got.Active))
		}
	}
	if asked != 1 {
		t.Errorf("the processes were listed %d times, want once in some seconds", asked)
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, asks, old, quiet := w.project("app"), w.project("asks"), w.project("old"), w.project("quiet")
	ref, _ := w.ended(app, 2, nil)
	question := &pursuit.Question{Text: "which colour?", Options: []string{"red", "blue"}, At: w.at.Add(-time.Hour)}
	asked, _ := w.ended(asks, 24*30, func(s *supervisor.State) {
		s.Pursuit = pursuit.State{Goals: []pursuit.Goal{{Text: "paint", Status: ledger.GoalPaused, Question: question}}}
	})
	w.ended(old, 24*8+1, nil) // too long ago to be gone on with
	w.ended(quiet, 3, func(s *supervisor.State) { s.ResumedBy = "another" })
	w.ended(quiet, 2, func(s *supervisor.State) { s.Record.Termination.Status = ledger.Completed })
	desk := approval.Desk{Dir: filepath.Join(app.Dir, "gates"), Key: filepath.Join(w.dir, "state/gates.key"), Timeout: time.Hour}
	hold := func(command, run string, at time.Time) approval.Gate {
		v, err := desk.Hold(rule.Call{Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`), Dir: app.Path}, []rule.Finding{{Rule: "deploy", Why: "it deploys"}}, approval.Who{RunID: run}, at, approval.Look{})
		w.check(err)
		return v.Gate
	}
	held := hold("make deploy", ref.Run, w.at.Add(-time.Minute))
	late := hold("make later", "of-a-story", w.at.Add(-3*time.Hour))
	hold("make ancient", ref.Run, w.at.Add(-26*time.Hour))
	decided := hold("make no", ref.Run, w.at)
	_, err := desk.Deny(decided.ID, "me", "no", w.at)
	w.check(err)
	w.check(queue.Store{Path: filepath.Join(app.Dir, "queue.json")}.Update(func(q *queue.Queue) error {
		for _, title := range []string{"one", "two"} {
			if _, err := q.Add(queue.Item{Kind: queue.Goal, Title: title}, w.at); err != nil {
				return err
			}
		}
		if err := q.Begin("goal-1", ref.Run, w.at); err != nil {
			return err
		}
		return q.Ask("goal-1", "it has a question", w.at)
	}))
	o := w.options()
	short := func(needs []board.Need) []string {
		out := []string{}
		for _, n := range needs {
			out = append(out, fmt.Sprintf("%s %s %s: %s (%s) %s %q", n.Kind, filepath.Base(n.Repo), n.Ref.Run, n.Text, n.Why, n.Command, n.Options))
		}
		return out
	}
	wants := []string{
		"gate app : " + late.Tool + ": " + late.Subject + " (deploy: it deploys) autopilot approve " + late.ID + " []",
		"gate app " + ref.Run + ": " + held.Tool + ": " + held.Subject + " (deploy: it deploys) autopilot approve " + held.ID + " []",
		"answer asks " + asked.Run + `: which colour? (paint) autopilot answer TEXT ["A) red" "B) blue"]`,
		"retry app " + ref.Run + ": one (it has a question) autopilot queue retry goal-1 []",
		"resume app " + ref.Run + ": make it work (it came to a limit) autopilot resume " + ref.Run + " []",
	}
	got := board.Look(t.Context(), o).Questions
	want(t, "needs", short(got), wants)
	if !got[1].Until.Equal(held.ExpiresAt) || !got[1].At.Equal(held.AskedAt) || !got[2].At.Equal(question.At) {
		t.Errorf("times: %+v", got)
	}
	_, err = desk.Approve(held.ID, "me", w.at)
	w.check(err)
	want(t, "after the approval", short(board.Look(t.Context(), o).Questions), append(wants[:1:1], wants[2:]...))
	r, err := board.Find(t.Context(), o, asked)
	w.check(err)
	want(t, "of one run", short(r.Needs), wants[2:3])
}

func TestCohort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, tree, shared := w.project("app"), w.project("trees/login"), w.project("folder/b")
	boss, folder := w.run(app, 3, nil)
	login, _ := w.run(tree, 2, func(s *supervisor.State) { s.Record.ParentRunID, s.Record.Goal = ptr(boss.Run), "the login" })
	// A story without a tree of its own has the id of its cohort.
	same, _ := w.run(shared, 3, func(s *supervisor.State) {
		s.Record.ParentRunID, s.Record.Goal, s.Record.Endings = ptr(boss.Run), "in one tree", []ledger.Ending{{SessionID: "s"}}
	})
	w.lines(filepath.Join(app.Path, ".orchestrator/metrics/sessions.jsonl"), ledger.Session{SessionID: "s", AutopilotRunID: same.Run, Model: "of the story"})
	member := func(id string, status story.Status, run, tree, folder string) story.Member {
		m := story.Member{Story: story.Story{ID: id, Kind: story.Goal, Title: "title of " + id}, Status: status, Worktree: tree, Folder: folder}
		if run != "" {
			m.Runs = []string{run}
		}
		return m
	}
	members := []story.Member{
		member("login", story.Running, login.Run, tree.Path, w.dir+"/nothing"), member("b", story.Running, same.Run, app.Path, shared.Path),
		member("later", story.Waiting, "", "", ""),
	}
	w.json(filepath.Join(folder, story.File), story.Cohort{Version: story.Version, RunID: boss.Run, StartedAt: w.at.Add(-3 * time.Hour), Members: members})
	o := w.options()
	got := board.Look(t.Context(), o).Active
	refs := []board.Ref{}
	goals := []string{}
	for _, r := range got {
		refs, goals = append(refs, r.Ref), append(goals, r.Goal)
	}
	want(t, "whose they are", refs, []board.Ref{boss, login, same, {}})
	want(t, "what they are for", goals, []string{"make it work", "the login", "in one tree", ""})
	r, err := board.Find(t.Context(), o, boss)
	w.check(err)
	if r.Kind != fleet.KindCohort || len(r.Stories) != 3 || r.Stories[1].Ref != same {
		t.Errorf("the cohort: %s with %v", r.Kind, short(r.Stories))
	}
	st, err := board.Find(t.Context(), o, login)
	w.check(err)
	if st.Kind != fleet.KindStory || st.Story != "login" || st.Dir != tree.Path {
		t.Errorf("the story: %+v", st.Row)
	}
	task := sharedtask.Task{Cohort: boss.Run, Story: "b", Folder: shared.Path, Coordinator: sharedtask.Process{PID: 1}, Main: app.Path, Worktree: app.Path, Isolation: string(story.None), Metrics: "/srv/m", MaxHours: 1}
	w.check(sharedtask.SaveTask(shared.Path, task))
	st, err = board.Find(t.Context(), o, same)
	w.check(err)
	if st.Dir != app.Path || len(st.Sessions) != 1 || st.Sessions[0].Model != "of the story" {
		t.Errorf("the story in one tree: %s, %+v", st.Dir, st.Sessions)
	}
}

func TestCohortThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, tree := w.project("app"), w.project("trees/login")
	child, _ := w.ended(tree, 2, func(s *supervisor.State) { s.Record.ParentRunID = ptr("main-2026-03-02-0400-autopilot") })
	boss, folder := w.ended(app, 3, func(s *supervisor.State) {
		s.Record.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind, CohortTokens: 70, CohortCostUSD: 1.5}
		s.Record.Termination.Status = ledger.Paused
	})
	w.json(filepath.Join(folder, story.File), story.Cohort{Version: story.Version, Members: []story.Member{
		{Story: story.Story{ID: "login", Title: "the login"}, Status: story.Person, Why: "which colour?", Worktree: tree.Path, Runs: []string{child.Run}, Spent: killswitch.Spend{Tokens: 70}},
		{Story: story.Story{ID: "logout"}, Status: story.Done},
		{Story: story.Story{ID: "answered"}, Status: story.Person, Why: "when?", Answer: "now"},
	}})
	o := w.options()
	look := board.Look(t.Context(), o)
	want(t, "over", short(look.Past), []string{"app cohort needs a person " + boss.Run + " max-sessions-reached -"})
	if n := look.Questions; len(n) != 2 || n[0].Kind != board.NeedAnswer || n[0].ID != "login" || n[0].Text != "which colour?" || n[0].Command != "autopilot answer login TEXT" || n[1].Kind != board.NeedResume {
		t.Errorf("needs: %+v", n)
	}
	r, err := board.Find(t.Context(), o, boss)
	w.check(err)
	states := []string{}
	for _, s := range r.Stories {
		states = append(states, fmt.Sprintf("%s %s %s", s.Story, s.State, s.Ref.Run))
	}
	want(t, "stories", states, []string{"login needs a person " + child.Run, "logout done ", "answered needs a person "})
}

// TestCacheTellsTheTruth changes what is there in many ways, and wants of a cache what one
// would see without.
func TestCacheTellsTheTruth(t *testing.T) {
	t.Parallel()
	for name, settled := range map[string]bool{"a while ago": true, "just now": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cacheTellsTheTruth(t, settled)
		})
	}
}

func cacheTellsTheTruth(t *testing.T, settled bool) {
	w := newWorld(t)
	app := w.project("app")
	on, folder := w.run(app, 1, nil)
	done, _ := w.ended(app, 5, nil)
	o := w.options()
	state := func(change func(*supervisor.State)) func() {
		return func() {
			s, err := supervisor.LoadState(folder)
			w.check(err)
			change(&s)
			w.json(filepath.Join(folder, "state.json"), s)
		}
	}
	var later world
	late, lateFolder := w.run(w.project("late"), 8, nil)
	lateMark := filepath.Join(filepath.Dir(filepath.Dir(lateFolder)), "open", late.Run)
	w.check(os.Rename(lateMark, filepath.Join(w.dir, "mark")))
	desk := approval.Desk{Dir: filepath.Join(app.Dir, "gates"), Key: filepath.Join(w.dir, "state/gates.key")}
	held := ""
	sleeper := exec.Command("sleep", "600")
	w.check(sleeper.Start())
	defer func() { _ = sleeper.Process.Kill() }()
	steps := []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"another supervisor", func() {
			w.run(w.project("dies"), 3, func(s *supervisor.State) {
				s.PID = sleeper.Process.Pid
				s.Start, _ = proctree.StartOf(s.PID)
			})
		}},
		{"nothing again", func() {}},
		{"it dies", func() {
			w.check(sleeper.Process.Kill())
			_ = sleeper.Wait() // by a signal
		}},
		{"a run whose mark alone is missing", func() {
			w.check(os.Remove(filepath.Join(w.project("dies").Dir, "open", filepath.Base(w.last("dies")))))
		}},
		{"a session starts", state(func(s *supervisor.State) { s.Iteration, s.Current = 1, &supervisor.Current{SessionID: uuidOf(1)} })},
		{"it says how far it is", func() {
			w.json(sessions.ProgressPath(supervisor.SessionFolder(folder, sessions.ID(uuidOf(1)))), sessions.Result{ID: sessions.ID(uuidOf(1)), Usage: outcome.Usage{Input: 7}})
		}},
		{"it says so in a file of the future", func() { w.inPlace(folder, 1) }},
		{"and again, without a trace", func() { w.inPlace(folder, 2) }},
		{"it ends", state(func(s *supervisor.State) {
			s.Current = nil
			s.Record.Endings = append(s.Record.Endings, ledger.Ending{SessionID: uuidOf(1), Ending: "completed"})
		})},
		{"its result", func() { w.session(folder, uuidOf(1), nil) }},
		{"a stop", func() { w.check(supervisor.RequestStop(folder, "me", w.at)) }},
		{"a line of the ledger", func() { w.lines(ledgerOf(app), w.line("gone", 40, nil)) }},
		{"another one", func() { w.lines(ledgerOf(app), w.line("gone-2", 39, nil)) }},
		{"half a line", func() { w.text(ledgerOf(app), `{"autopilot_run_id":"half",`) }},
		{"its end", func() { w.text(ledgerOf(app), `"started_at":"2026-01-01T00:00:00Z"}`+"\n") }},
		{"another ledger in its place", func() {
			w.check(os.Remove(ledgerOf(app)))
			w.lines(ledgerOf(app), w.line("fresh", 41, nil), w.line("gone-2", 39, nil), w.line("more", 38, nil), w.line("and-more", 37, nil))
		}},
		{"another file with the same end", func() {
			data, err := os.ReadFile(ledgerOf(app))
			w.check(err)
			w.check(os.Rename(ledgerOf(app), ledgerOf(app)+".old"))
			w.check(os.WriteFile(ledgerOf(app), []byte(strings.Replace(string(data), "more", "less", 1)+"{}\n"), 0o600))
		}},
		{"another text in the same file", func() {
			data, err := os.ReadFile(ledgerOf(app))
			w.check(err)
			w.check(os.WriteFile(ledgerOf(app), []byte(strings.ReplaceAll(string(data), "fresh", "other")), 0o600))
		}},
		{"another end in the same file, and more of it", func() {
			data, err := os.ReadFile(ledgerOf(app))
			w.check(err)
			text := strings.Replace(string(data), "and-more", "its-more", 1)
			text = text[:len(text)-4] + " }}\n" + strings.Repeat("{}\n", 9)
			w.check(os.WriteFile(ledgerOf(app), []byte(text), 0o600))
		}},
		{"a cut ledger", func() { w.check(os.Truncate(ledgerOf(app), 0)) }},
		{"an episode", func() {
			_, err := episode.Open(filepath.Join(app.Dir, "episodes"), episode.Options{}).Append(episode.Episode{RunID: done.Run, Task: "t", Success: true, Reward: 0.5})
			w.check(err)
		}},
		{"another project", func() { later = w; later.run(w.project("later"), 2, nil) }},
		{"the run ends", func() {
			state(func(s *supervisor.State) {
				s.Finished = true
				s.Record.CompletedAt, s.Record.Termination = ledger.Stamp(w.at), &ledger.Termination{Status: ledger.Stopped, Resumable: true}
			})()
			w.check(supervisor.Close(app, on.Run))
		}},
		{"another begins", func() { w.run(app, 0, nil) }},
		{"it continues the first", func() { w.check(supervisor.MarkResumed(folder, "another")) }},
		{"a mark that comes late", func() { w.check(os.Rename(filepath.Join(w.dir, "mark"), lateMark)) }},
		{"a call is held", func() { held = hold(desk, w) }},
		{"it is approved", func() {
			_, err := desk.Approve(held, "me", w.at)
			w.check(err)
		}},
		{"by a key that is another now", func() { w.check(os.WriteFile(desk.Key, make([]byte, 32), 0o600)) }},
		{"its folder is removed", func() { w.check(os.RemoveAll(folder)) }},
		{"an ended one is looked at by another record", func() { w.lines(ledgerOf(w.project("later")), w.line("later-1", 70, nil)) }},
		{"a project is removed", func() { w.check(os.RemoveAll(filepath.Join(w.dir, "state/projects", filepath.Base(app.Dir)))) }},
	}
	for i, step := range steps {
		step.do()
		if settled {
			w.settle(i)
		}
		for range 3 {
			bare := o
			bare.Cache = nil
			want(t, step.name, board.Look(t.Context(), o), board.Look(t.Context(), bare))
			a, errA := board.Find(t.Context(), o, on)
			b, errB := board.Find(t.Context(), bare, on)
			want(t, step.name+": the run", a, b)
			want(t, step.name+": the error", fmt.Sprint(errA), fmt.Sprint(errB))
		}
		if t.Failed() {
			return
		}
	}
}

// inPlace writes what a session has used into the file that is there, at a time that is
// always the same.
func (w world) inPlace(folder string, tokens int64) {
	data, err := json.Marshal(sessions.Result{ID: sessions.ID(uuidOf(1)), Usage: outcome.Usage{Input: tokens}})
	w.check(err)
	path := sessions.ProgressPath(supervisor.SessionFolder(folder, sessions.ID(uuidOf(1))))
	w.check(os.WriteFile(path, data, 0o600))
	future := time.Date(2126, 1, 1, 0, 0, 0, 1, time.UTC)
	w.check(os.Chtimes(path, future, future))
}

func hold(desk approval.Desk, w world) string {
	v, err := desk.Hold(rule.Call{Tool: "Bash", Input: []byte(`{"command":"x"}`), Dir: w.dir}, []rule.Finding{{Rule: "r"}}, approval.Who{}, w.at, approval.Look{})
	w.check(err)
	return v.Gate.ID
}

// TestTogether has many look at once, with one cache, while the run goes on.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.project("app")
	ref, folder := w.run(app, 1, func(s *supervisor.State) { s.Current = &supervisor.Current{SessionID: uuidOf(1)} })
	w.ended(app, 5, nil)
	o := w.options()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if got := board.Look(t.Context(), o); len(got.Active) != 1 || len(got.Past) != 1 {
					t.Errorf("got %v and %v", short(got.Active), short(got.Past))
				}
				r, err := board.Find(t.Context(), o, ref)
				if err != nil {
					t.Error(err)
				}
				if _, _, err := board.Tail(o, r, board.Cursor{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 20 {
		w.text(filepath.Join(folder, "activity.jsonl"), fmt.Sprintf(`{"time":"2026-03-02T06:00:00Z","level":"INFO","msg":"line %d"}`+"\n", n))
		s, err := supervisor.LoadState(folder)
		w.check(err)
		w.json(filepath.Join(folder, "state.json"), s)
	}
	wg.Wait()
}
