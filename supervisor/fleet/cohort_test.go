package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

// short is a row in few words.
func short(rows []fleet.Row) []string {
	var out []string
	for _, r := range rows {
		s := fmt.Sprintf("%s %s", r.Kind, r.State)
		if r.Story != "" {
			s = fmt.Sprintf("%s %s %s", r.Kind, r.Story, r.State)
		}
		if r.PID > 0 {
			s += " pid"
		}
		out = append(out, fmt.Sprintf("%s %d %d $%.2f %s", s, r.Iteration, r.Tokens, r.CostUSD, r.Note))
	}
	return out
}

func TestCohort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, tree := w.project("app"), w.project("trees/login")
	boss, bossFolder := w.run(app, "main", func(s *supervisor.State) { s.Iteration = 1 })
	self := func(m *story.Member) {
		m.PID = os.Getpid()
		m.Start, _ = proctree.StartOf(m.PID)
	}
	first, _ := w.run(tree, "login", func(s *supervisor.State) { s.Start++ }) // was killed, and continued by the next
	login, _ := w.run(tree, "login", func(s *supervisor.State) {
		s.Iteration, s.Current, s.Record.TotalTokensUsed, s.Record.TotalCostUSD = 2, &supervisor.Current{SessionID: "0b5e"}, 700, 0.5
		s.Record.ParentRunID = ptr(boss)
	})
	again := w.project("trees/again")
	killed, _ := w.run(again, "again", func(s *supervisor.State) { s.Start++; s.Iteration = 1 })
	if err := os.MkdirAll(tree.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tree.Path, filepath.Join(w.dir, "by-another-name")); err != nil {
		t.Fatal(err)
	}
	w.cohort(bossFolder,
		member("login", story.Running, func(m *story.Member) {
			self(m)
			m.Runs, m.Worktree, m.Branch = []string{first, login}, filepath.Join(w.dir, "by-another-name"), "story/login"
			m.Spent, m.Sessions, m.StartedAt = killswitch.Spend{Tokens: 100, CostUSD: 2}, 1, w.at.Add(-time.Minute)
		}),
		member("logout", story.Done, func(m *story.Member) {
			m.Runs, m.Spent, m.Sessions = []string{"logout-run"}, killswitch.Spend{Tokens: 50, CostUSD: 1}, 3
		}),
		member("next", story.Running, self),
		member("prepared", story.Running, nil),
		member("unstamped", story.Running, func(m *story.Member) { m.PID = 1 << 30 }),
		member("gone", story.Running, func(m *story.Member) { self(m); m.Start++; m.Runs = []string{"gone-run"} }),
		member("asks", story.Person, func(m *story.Member) { m.Why = "which colour?" }),
		member("broke", story.Failed, func(m *story.Member) { m.Why = "gave up" }),
		member("halted", story.Stopped, func(m *story.Member) { m.Why = "max-hours" }),
		member("never", story.Shut, func(m *story.Member) { m.Why = "broke failed" }),
		member("again", story.Waiting, func(m *story.Member) { m.Runs, m.Worktree = []string{killed}, again.Path }),
		member("later", story.Waiting, func(m *story.Member) { m.After = []string{"login", "next"} }),
	)
	rows := w.list(nil)
	want := []string{
		"cohort running pid 6 750 $3.00 5 running, 2 waiting, 1 done, 1 needs a person, 1 failed, 1 stopped, 1 shut",
		"story login running pid 2 700 $2.00 ",
		"story logout done 3 50 $1.00 ",
		"story next starting pid 0 0 $0.00 ",
		"story prepared starting 0 0 $0.00 its work tree is being made",
		"story unstamped starting 0 0 $0.00 ",
		"story gone ended-but-open 0 0 $0.00 its supervisor is gone",
		"story asks needs a person 0 0 $0.00 which colour?",
		"story broke failed 0 0 $0.00 gave up",
		"story halted stopped 0 0 $0.00 max-hours",
		"story never shut 0 0 $0.00 broke failed",
		"story again waiting 1 0 $0.00 ",
		"story later waiting 0 0 $0.00 after login, next",
	}
	if diff := cmp.Diff(want, short(rows)); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	if r := rows[0]; r.RunID != boss || r.Tier != "warn" || r.Cap == nil || *r.Cap != 4 || r.MaxSessions != 0 || r.Parent != "" {
		t.Errorf("the cohort: %+v", r)
	}
	if r := rows[1]; r.RunID != login || r.Parent != boss || r.Repo != app.Path || r.Branch != "story/login" || r.Worktree == "" || r.AgeSeconds != 60 {
		t.Errorf("the story: %+v", r)
	}
	if r := rows[2]; r.RunID != "logout-run" {
		t.Errorf("the story that is over: %+v", r)
	}
}

// TestStoriesInOneTree: without isolation the runs are in projects of the stories' folders.
func TestStoriesInOneTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.project("app")
	boss, folder := w.run(app, "main", nil)
	a, _ := w.run(w.project("folder/a"), "main", func(s *supervisor.State) { s.Iteration = 1 })
	b, _ := w.run(w.project("folder/b"), "main", func(s *supervisor.State) { s.Iteration = 2 })
	other, _ := w.run(w.project("another"), "main", nil)
	if boss != a || a != b || b != other {
		t.Fatal("ids are to be unique in a project only")
	}
	of := func(name string) func(*story.Member) {
		return func(m *story.Member) {
			m.Runs, m.Worktree, m.Folder = []string{a}, app.Path, filepath.Join(w.dir, "folder", name)
		}
	}
	w.cohort(folder, member("a", story.Running, of("a")), member("b", story.Running, of("b")))
	rows := w.list(nil)
	if len(rows) != 4 || rows[0].Repo != filepath.Join(w.dir, "another") || rows[0].Kind != fleet.KindRun {
		t.Fatalf("got %v", short(rows))
	}
	if rows[1].RunID != boss || rows[2].RunID != a || rows[2].Iteration != 1 || rows[3].Iteration != 2 || rows[2].Worktree != "" || rows[2].Repo != app.Path {
		t.Errorf("stories: %+v", rows[2:])
	}
}

// TestCohortThatContinuesAnother: a run is shown in one of the two.
func TestCohortThatContinuesAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, tree := w.project("app"), w.project("tree")
	_, before := w.run(app, "main", func(s *supervisor.State) { s.Start++ })
	_, after := w.run(app, "main", nil)
	id, _ := w.run(tree, "one", func(s *supervisor.State) {
		s.Iteration, s.Record.TotalTokensUsed, s.Current = 1, 5, &supervisor.Current{}
		s.Carried.Iterations, s.Carried.Spent = 3, killswitch.Spend{Tokens: 40, CostUSD: 2}
	})
	one := member("one", story.Running, func(m *story.Member) { m.Runs, m.Worktree = []string{"the-first", id}, tree.Path })
	w.cohort(before, one)
	w.cohort(after, one)
	want := []string{
		"cohort ended-but-open 0 0 $0.00 1 running; its supervisor is gone; the next start in its repository finishes it",
		"story one ended-but-open 0 0 $0.00 its supervisor is gone",
		"cohort running pid 4 45 $2.00 1 running",
		"story one running pid 4 45 $2.00 ",
	}
	if diff := cmp.Diff(want, short(w.list(nil))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Its name means the story that has a run; a request that cannot be written shows it.
	if err := os.Mkdir(filepath.Join(tree.RunDir(id), "stop.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", id} {
		got := fleet.Stop(t.Context(), w.options(), []string{name}, false, false)
		if len(got) != 1 || got[0].How == fleet.Refused || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), "stop.json") {
			t.Errorf("stop %s: %+v", name, got)
		}
	}
}

// TestStoryBeforeItsRunIsKnown: the coordinator learns the id of a run after it began.
func TestStoryBeforeItsRunIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, tree := w.project("app"), w.project("trees/one")
	boss, folder := w.run(app, "main", nil)
	id, runFolder := w.register(tree, "one")
	text, err := json.Marshal(w.state(id, func(s *supervisor.State) {
		s.Record.ParentRunID, s.Iteration, s.Current = ptr(boss), 4, &supervisor.Current{}
	}))
	if err != nil {
		t.Fatal(err)
	}
	path := named(t, "autopilot")
	a := beginArgs(t, path, []string{path}, partVar+"=guard", partVar+"_NEXT=supervisor", folderVar+"="+runFolder, stateVar+"="+string(text))
	guard, err := proctree.Read(proctree.Root, a.pid)
	if err != nil {
		t.Fatal(err)
	}
	start, _ := proctree.StartOf(guard.PPID)
	w.cohort(folder,
		member("zero", story.Waiting, nil),
		member("one", story.Running, func(m *story.Member) { m.PID, m.Start = guard.PPID, start }),
	)
	if diff := cmp.Diff([]string{"cohort running pid 4 0 $0.00 1 running, 1 waiting", "story zero waiting 0 0 $0.00 ", "story one running pid 4 0 $0.00 "}, short(w.list(nil))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Without a guard that is known it stands below its cohort as the run that it is.
	w.cohort(folder, member("one", story.Running, func(m *story.Member) { m.PID, m.Start = os.Getpid(), 1 }))
	if diff := cmp.Diff([]string{"cohort running pid 4 0 $0.00 1 running", "story one ended-but-open 0 0 $0.00 its supervisor is gone", "run running pid 4 0 $0.00 "}, short(w.list(nil))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestCohortStands(t *testing.T) {
	t.Parallel()
	asking := func(s *supervisor.State) { s.HeldInRow = 1 }
	tests := []struct {
		name  string
		story func(*supervisor.State)
		boss  func(*supervisor.State)
		stop  *story.Stop
		want  string
	}{
		{"at work", func(s *supervisor.State) { s.Current = &supervisor.Current{} }, nil, nil, "cohort running pid 0 0 $0.00 1 running, 1 done"},
		{"its only story asks", asking, nil, nil, "cohort needs a person pid 0 0 $0.00 1 running, 1 done"},
		{"it stops", asking, nil, &story.Stop{Reason: "signal", Detail: "told to end"}, "cohort stopping pid 0 0 $0.00 1 running, 1 done; told to end"},
		{"it was killed", asking, func(s *supervisor.State) { s.Start++ }, &story.Stop{Reason: "signal"}, "cohort ended-but-open 0 0 $0.00 1 running, 1 done; its supervisor is gone; the next start in its repository finishes it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			app := w.project("app")
			_, folder := w.run(app, "main", tt.boss)
			id, _ := w.run(app, "story", tt.story)
			w.cohort(folder, member("one", story.Running, func(m *story.Member) { m.Runs, m.Worktree = []string{id}, app.Path }), member("two", story.Done, nil))
			if tt.stop != nil {
				var c story.Cohort
				if err := statedir.LoadJSON(filepath.Join(folder, story.File), &c); err != nil {
					t.Fatal(err)
				}
				c.Stop = tt.stop
				w.write(filepath.Join(folder, story.File), c)
			}
			if got := short(w.list(nil)); got[0] != tt.want {
				t.Errorf("got  %s\nwant %s", got[0], tt.want)
			}
		})
	}
}

// TestCohortFileIsMissing: what says that it belongs to a run stands below it.
func TestCohortFileIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, _ := w.run(w.project("app"), "main", nil)
	w.run(w.project("trees/one"), "one", func(s *supervisor.State) { s.Record.ParentRunID = ptr(boss) })
	w.run(w.project("trees/two"), "two", func(s *supervisor.State) { s.Record.ParentRunID = ptr("of-another-machine") })
	w.run(w.project("zzz"), "main", func(s *supervisor.State) { s.Start++ }) // the same id, and it is gone
	var got []string
	for _, r := range w.list(nil) {
		got = append(got, filepath.Base(r.Repo)+" "+string(r.Kind)+" "+r.Parent)
	}
	if diff := cmp.Diff([]string{"app run ", "one run " + boss, "two run of-another-machine", "zzz run "}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
