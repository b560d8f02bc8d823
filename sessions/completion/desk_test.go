package completion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

// TestWholeLife goes from enabling to the last task, with the log and the episode.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "cpb")
	got := must[Status](t)(d.with("s-1").Enable(t.Context(), noon()))
	want := Status{
		Enabled: true, SessionID: "s-1", MaxIterations: 50, TimeoutMinutes: 240, Tasks: task.Count{Completed: 1, Total: 3, Percent: 33}, TaskSources: task.Usual(),
		Others: []string{}, Remaining: got.Remaining, Broken: []task.Fault{},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got.Remaining) != 2 {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	dec := stop(t, d, "s-1", 1)
	if dec.Reason != "2/3 tasks remaining (iteration 1/50)" || !strings.Contains(dec.ContinueWith, "- task 2 (pending)\n") {
		t.Errorf("first stop: %+v", dec)
	}
	if dec := stop(t, d, "other", 1); dec.Reason != "Autopilot disabled" {
		t.Errorf("a session that is not enabled: %+v", dec)
	}
	checklist(t, d, "ccp")
	dec = must[Decision](t)(d.with("s-1").Stop(t.Context(), Turn{Now: at(2), GoesOn: true, Work: func(from int64, since time.Time) Work {
		if from != 0 || !since.Equal(noon()) {
			t.Errorf("work asked from %d since %v", from, since)
		}
		return Work{ToolsUsed: true, Tokens: 70, Offset: 900}
	}}))
	if dec.Reason != "1/3 tasks remaining (iteration 2/50)" {
		t.Errorf("second stop: %+v", dec)
	}
	if s := state(t, d, "s-1"); s.Offset != 900 || s.Tokens != 70 || s.Blocks != 1 || s.Best != 2 || s.History[1].Tokens != 70 {
		t.Errorf("state %+v", s)
	}
	checklist(t, d, "ccc")
	if dec := stop(t, d, "s-1", 30); dec.Reason != "All 3 tasks complete (2 iterations, reward: 0.70)" || dec.Outcome != AllComplete {
		t.Errorf("last stop: %+v", dec)
	}
	if dec := stop(t, d, "s-1", 31); dec.Reason != "Autopilot disabled" {
		t.Errorf("after the end: %+v", dec)
	}
	if diff := cmp.Diff([]string{"enabled", "re-engaging", "re-engaging", "all-tasks-complete"}, events(t, d)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	matches := must[[]episode.Match](t)(d.History("task", 0))
	if len(matches) != 1 || !matches[0].Success || matches[0].Task != "task 1, task 2, task 3" || len(matches[0].Steps) != 2 || math.Abs(matches[0].Reward-0.7) > 1e-9 {
		t.Errorf("episodes %+v", matches)
	}
	if l := must[episode.Learned](t)(d.Learn()); l.Episodes != 1 || l.Successes != 1 {
		t.Errorf("learned %+v", l)
	}
}

func TestEnableBinds(t *testing.T) {
	t.Parallel()
	me, parent := os.Getpid(), os.Getppid()
	t.Run("none lives", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		checklist(t, d, "p")
		living(t, d, "elsewhere", t.TempDir(), me)
		if st := must[Status](t)(d.Enable(t.Context(), noon())); !st.Waiting || !st.Enabled || st.SessionID != "" {
			t.Errorf("status %+v, want one that waits", st)
		}
		if dec := stop(t, d, "first", 1); dec.AllowStop {
			t.Errorf("the first session: %+v", dec)
		}
		if dec := stop(t, d, "second", 1); !dec.AllowStop {
			t.Errorf("the second session: %+v", dec)
		}
		if st := must[Status](t)(d.Status(t.Context(), at(2))); st.Waiting || st.SessionID != "first" || st.Iterations != 1 || st.ElapsedMS != 2*60000 {
			t.Errorf("status %+v, want that of the first session", st)
		}
	})
	t.Run("one lives", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		checklist(t, d, "p")
		must[Status](t)(d.Enable(t.Context(), noon())) // waits; the next command means the living one instead
		living(t, d, "here", filepath.Join(d.Place.Repo, "deep", "er"), me)
		living(t, d, "elsewhere", d.Place.Repo+"-2", parent)
		if st := must[Status](t)(d.Enable(t.Context(), noon())); st.Waiting || st.SessionID != "here" {
			t.Errorf("status %+v, want the living session", st)
		}
		if dec := stop(t, d, "other", 1); !dec.AllowStop {
			t.Errorf("another session: %+v", dec)
		}
	})
	t.Run("several live", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		living(t, d, "one", d.Place.Repo, me)
		living(t, d, "two", d.Place.Repo, parent)
		_, err := d.Enable(t.Context(), noon())
		if err == nil || !strings.Contains(err.Error(), "one") || !strings.Contains(err.Error(), "two") || !strings.Contains(hint(err), "--session ID") {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(d.Folder); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a refused command made the state folder: %v", err)
		}
		if st := must[Status](t)(d.with("two").Enable(t.Context(), noon())); st.SessionID != "two" {
			t.Errorf("status %+v", st)
		}
	})
	t.Run("over a link", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(d.Place.Repo, link); err != nil {
			t.Fatal(err)
		}
		living(t, d, "here", link, me)
		if st := must[Status](t)(d.Enable(t.Context(), noon())); st.SessionID != "here" {
			t.Errorf("status %+v", st)
		}
	})
}

// TestOneClaims has many sessions that have all seen that one is waited for.
func TestOneClaims(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	for round := range 3 {
		must[Status](t)(d.Enable(t.Context(), at(round)))
		var held atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				id := fmt.Sprintf("r%d-%d", round, i)
				s, err := d.with(id).take(State{SessionID: id}, at(round))
				if err != nil {
					t.Error(err)
				}
				if dec := stop(t, d, id, round); dec.AllowStop == s.Enabled {
					t.Errorf("session %s: taken %v, then %+v", id, s.Enabled, dec)
				}
				if s.Enabled {
					held.Add(1)
				} else if _, found, err := d.load(id); found || err != nil {
					t.Errorf("session %s came too late and has a state, %v", id, err)
				}
			})
		}
		wg.Wait()
		if n := held.Load(); n != 1 {
			t.Fatalf("%d sessions are held, want 1", n)
		}
		if p := state(t, d, ""); p.Enabled {
			t.Errorf("another one is still waited for: %+v", p)
		}
		must[Status](t)(d.Disable(t.Context(), at(round)))
	}
}

func TestClaimRefused(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.Enable(t.Context(), noon()))
	if dec := stop(t, d, "late", 240); !dec.AllowStop {
		t.Errorf("a session was claimed when the time was over: %+v", dec)
	}
	if st := must[Status](t)(d.Status(t.Context(), at(240))); st.Enabled || st.Waiting {
		t.Errorf("status %+v, want that nothing is waited for", st)
	}
	// A session whose state is broken leaves the place to the next one.
	write(t, d.path("odd"), "{")
	if dec, err := d.with("odd").Stop(t.Context(), Turn{Now: at(1)}); err == nil || !dec.AllowStop {
		t.Errorf("broken state: %+v, %v", dec, err)
	}
	if dec := stop(t, d, "next", 1); dec.AllowStop {
		t.Errorf("the next session is not held: %+v", dec)
	}
}

// TestNothingIsLost counts from many processes at once, each with a handle and a
// lock of its own.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Defaults.MaxIterations = MostIterations
	checklist(t, d, "p")
	ids := []string{"a", "b"}
	for _, id := range ids {
		must[Status](t)(d.with(id).Enable(t.Context(), noon()))
	}
	const each, rounds = 8, 2
	var wg sync.WaitGroup
	for i := range 2 * each {
		wg.Go(func() {
			for range rounds {
				id := ids[i%2]
				if _, err := d.with(id).Check(t.Context(), at(1)); err != nil {
					t.Error(err)
				}
				if _, err := d.Log(1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// Ten are granted and the eleventh is the end of a stall.
	for _, id := range ids {
		if s := state(t, d, id); s.Iterations != StallLimit || s.Enabled {
			t.Errorf("session %s: %+v", id, s)
		}
	}
	var engaged, ended int
	for _, e := range events(t, d) {
		switch e {
		case "re-engaging":
			engaged++
		case "stall-auto-disable":
			ended++
		}
	}
	if engaged != 2*StallLimit || ended != 2 {
		t.Errorf("%d and %d events were logged, want %d and 2", engaged, ended, 2*StallLimit)
	}
}

func TestTokensAreCountedOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	_, err := d.with("s").Stop(t.Context(), Turn{Now: at(1), Work: func(from int64, _ time.Time) Work {
		// Another hook of the same session is faster.
		must[Decision](t)(d.with("s").Stop(t.Context(), Turn{Now: at(1), Work: func(int64, time.Time) Work { return Work{Tokens: 5, Offset: 100} }}))
		return Work{Tokens: 5, Offset: 100}
	}})
	if s := state(t, d, "s"); err != nil || s.Tokens != 5 || s.Offset != 100 || s.Iterations != 2 {
		t.Errorf("state %+v, %v", s, err)
	}
}

func TestDisable(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.Disable(t.Context(), noon()))
	if _, err := os.Stat(d.Folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there was nothing to disable, and now there is a folder: %v", err)
	}
	must[Status](t)(d.Enable(t.Context(), noon()))
	if st := must[Status](t)(d.with("mine").Status(t.Context(), noon())); !st.Waiting {
		t.Errorf("a session that will be claimed: %+v", st)
	}
	if st := must[Status](t)(d.with("mine").Disable(t.Context(), at(1))); st.Enabled || st.Waiting {
		t.Errorf("disabled: %+v", st)
	}
	if dec := stop(t, d, "mine", 2); !dec.AllowStop {
		t.Errorf("held in spite of that: %+v", dec)
	}
	must[Status](t)(d.with("s").Enable(t.Context(), at(3)))
	stop(t, d, "s", 4)
	if st := must[Status](t)(d.Disable(t.Context(), at(5))); st.Enabled || st.SessionID != "s" || st.ElapsedMS != 0 {
		t.Errorf("disabled: %+v", st)
	}
	if dec := stop(t, d, "s", 6); !dec.AllowStop {
		t.Errorf("held in spite of that: %+v", dec)
	}
	last := must[[]Event](t)(d.Log(1))[0]
	if fmt.Sprintf("%v %v", last["event"], last["iterations"]) != "disabled 1" {
		t.Errorf("last event %v", last)
	}
	if n := len(must[[]episode.Match](t)(d.History("task", 0))); n > 0 {
		t.Errorf("%d episodes of what a person ended", n)
	}
}

func TestConfigure(t *testing.T) {
	t.Parallel()
	n := func(v int) *int { return &v }
	text := func(v string) *string { return &v }
	tokens := func(v int64) *int64 { return &v }
	for _, tt := range []struct {
		change Change
		err    string
	}{
		{Change{MaxIterations: n(0)}, "maxIterations 0 is out of range 1..1000"},
		{Change{MaxIterations: n(99999)}, "maxIterations 99999 is out of range 1..1000"},
		{Change{MaxIterations: n(1)}, ""},
		{Change{MaxIterations: n(1000)}, ""},
		{Change{TimeoutMinutes: n(-1)}, "timeoutMinutes -1 is out of range 1..1440"},
		{Change{TimeoutMinutes: n(1441)}, "timeoutMinutes 1441 is out of range 1..1440"},
		{Change{TimeoutMinutes: n(1440)}, ""},
		{Change{TaskSources: []string{}}, "no task source is named; there are " + strings.Join(task.Sources(), ", ")},
		{Change{TaskSources: []string{"x"}}, `unknown task source "x"; there are ` + strings.Join(task.Sources(), ", ")},
		{Change{TaskSources: []string{task.Markdown}}, ""},
		{Change{Criteria: text("")}, `completionCriteria "" is neither all-tasks-done nor all-tasks-succeeded`},
		{Change{Criteria: text(AllSucceeded)}, ""},
		{Change{MaxTokens: tokens(-1)}, "maxTokens -1 is out of range 0..9007199254740992"},
		{Change{MaxTokens: tokens(0), MaxIterations: n(7)}, ""},
	} {
		d := newDesk(t)
		before := must[Status](t)(d.with("s").Enable(t.Context(), noon()))
		got, err := d.Configure(tt.change, at(1))
		after := must[Status](t)(d.with("s").Status(t.Context(), noon()))
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%+v: %v, want %s", tt.change, err, tt.err)
			}
			if diff := cmp.Diff(before, after); diff != "" || len(events(t, d)) != 1 {
				t.Errorf("%+v changed something:\n%s", tt.change, diff)
			}
			continue
		}
		want := tt.change.on(Desk{}.settings(nil))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%+v: %v\n%s", tt.change, err, diff)
		}
		if diff := cmp.Diff(want, state(t, d, "s").Settings); diff != "" {
			t.Errorf("%+v: session (-want +got):\n%s", tt.change, diff)
		}
		must[Status](t)(d.with("t").Enable(t.Context(), at(2)))
		if diff := cmp.Diff(want, state(t, d, "t").Settings); diff != "" {
			t.Errorf("%+v: next session (-want +got):\n%s", tt.change, diff)
		}
	}
}

// TestSettingsMeet has three sources of settings: a person, the desk, the usual ones.
func TestSettingsMeet(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Defaults = Settings{MaxIterations: 7, TimeoutMinutes: 8}
	three, nine := 3, 9
	must[Settings](t)(d.Configure(Change{MaxIterations: &three}, noon()))
	must[Settings](t)(d.Configure(Change{TaskSources: []string{task.Markdown}}, noon()))
	d.Defaults.TimeoutMinutes, d.Defaults.MaxTokens = 88, 5 // changed in the configuration since
	st := must[Status](t)(d.Enable(t.Context(), noon()))
	if st.MaxIterations != 3 || st.TimeoutMinutes != 88 || !cmp.Equal(st.TaskSources, []string{task.Markdown}) {
		t.Errorf("status %+v", st)
	}
	must[Settings](t)(d.Configure(Change{TimeoutMinutes: &nine}, noon()))
	stop(t, d, "s", 1)
	if s := state(t, d, "s"); s.TimeoutMinutes != 9 || s.MaxTokens != 5 || s.Chosen != nil {
		t.Errorf("claimed %+v", s)
	}
	if p := state(t, d, ""); p.Enabled || p.Chosen == nil || *p.Chosen.TimeoutMinutes != 9 || *p.Chosen.MaxIterations != 3 {
		t.Errorf("what a person chose was lost: %+v", p)
	}
	if got, err := d.Configure(Change{}, noon()); err != nil || got.TimeoutMinutes != 9 {
		t.Errorf("no change: %+v, %v", got, err)
	}
	d.Defaults.Criteria = "odd"
	if _, err := d.with("t").Enable(t.Context(), noon()); err == nil {
		t.Error("settings that are out of range were enabled")
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.Reset(t.Context(), noon()))
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	for n := range 10 {
		stop(t, d, "s", n)
	}
	if st := must[Status](t)(d.Reset(t.Context(), at(100))); !st.Enabled || st.Iterations != 0 || st.ElapsedMS != 0 || st.Stalled != 0 {
		t.Errorf("status %+v", st)
	}
	if s := state(t, d, "s"); len(s.History) != 0 || s.Stalled != 0 || s.Progressed != 0 || s.StartTime != at(100).UnixMilli() {
		t.Errorf("state %+v", s)
	}
	if dec := stop(t, d, "s", 101); dec.AllowStop {
		t.Errorf("after the reset: %+v", dec)
	}
}

// TestEnableAgain ends a stall for good: what was counted before does not.
func TestEnableAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "cp")
	for range 2 {
		must[Status](t)(d.with("s").Enable(t.Context(), noon()))
		for n := range StallLimit {
			if dec := stop(t, d, "s", n); dec.AllowStop {
				t.Fatalf("stop %d: %+v", n, dec)
			}
		}
		if dec := stop(t, d, "s", 10); dec.Outcome != WithoutGain {
			t.Fatalf("last stop: %+v", dec)
		}
	}
	matches := must[[]episode.Match](t)(d.History("task", 5))
	if len(matches) != 2 || matches[0].Success || !strings.Contains(matches[0].Critique, "No progress in 10 iterations") {
		t.Errorf("episodes %+v", matches)
	}
	// The third time what was learned from them is in the prompt.
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	if s, dec := state(t, d, "s"), stop(t, d, "s", 1); len(s.Learned) == 0 || s.Confidence <= 0 || !strings.Contains(dec.ContinueWith, "Past patterns suggest: "+s.Learned[0]) {
		t.Errorf("learned %q with %v, prompt %q", s.Learned, s.Confidence, dec.ContinueWith)
	}
}

func TestLearningIsNoCondition(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(d *Desk){
		"none":   func(d *Desk) { d.Episodes = "" },
		"broken": func(d *Desk) { write(t, d.Episodes, "a file") },
	} {
		d := newDesk(t)
		change(&d)
		checklist(t, d, "p")
		must[Status](t)(d.with("s").Enable(t.Context(), noon()))
		if dec := stop(t, d, "s", 1); dec.AllowStop {
			t.Errorf("%s: %+v", name, dec)
		}
		checklist(t, d, "c")
		dec, err := d.with("s").Stop(t.Context(), Turn{Now: at(2)})
		if dec.Outcome != AllComplete || (err != nil) != (name == "broken") {
			t.Errorf("%s: %+v, %v", name, dec, err)
		}
	}
}

func TestCheckCommand(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "cp")
	if dec := must[Decision](t)(d.Check(t.Context(), noon())); dec.Reason != "Autopilot disabled" {
		t.Errorf("never enabled: %+v", dec)
	}
	must[Status](t)(d.Enable(t.Context(), noon())) // also while it waits
	for n := 1; n <= 9; n++ {
		if dec := must[Decision](t)(d.Check(t.Context(), at(n))); dec.Reason != fmt.Sprintf("1/2 tasks remaining (iteration %d/50)", n) {
			t.Errorf("check %d: %+v", n, dec)
		}
	}
	if s := state(t, d, ""); s.Blocks != 0 || s.Iterations != 9 {
		t.Errorf("state %+v", s)
	}
}

func TestDiscoveryThatIsNoAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "p")
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	dec, err := d.with("s").Stop(ended, Turn{Now: at(1)})
	if !dec.AllowStop || dec.Outcome != "" || err == nil || err.Error() != "discover tasks: too late" {
		t.Errorf("no time: %+v, %v", dec, err)
	}
	// A source that the hook does not ask may have tasks left.
	sources := Change{TaskSources: []string{task.FileChecklist, task.GitHubIssues}}
	must[Settings](t)(d.Configure(sources, noon()))
	checklist(t, d, "cc")
	d.Place.GH = func(context.Context, ...string) ([]byte, error) {
		t.Error("the network was asked while an agent waits")
		return []byte("[]"), nil
	}
	dec = stop(t, d, "s", 1)
	if !dec.AllowStop || dec.Outcome != "" || dec.Reason != "All 2 known tasks complete, but github-issues could not be asked; still enabled" || !state(t, d, "s").Enabled {
		t.Errorf("issues not asked: %+v", dec)
	}
	d.Place.GH = func(context.Context, ...string) ([]byte, error) { return nil, errors.New("no network") }
	if dec := must[Decision](t)(d.Check(t.Context(), at(2))); dec.Outcome != "" || !dec.AllowStop {
		t.Errorf("issues not answered: %+v", dec)
	}
	d.Place.GH = func(context.Context, ...string) ([]byte, error) { return []byte("[]"), nil }
	if dec := must[Decision](t)(d.Check(t.Context(), at(2))); dec.Outcome != AllComplete {
		t.Errorf("no issues: %+v", dec)
	}
}

// TestHalfWrittenTask has a list that cannot be read at the first look, while somebody
// writes it: here until the last source is asked.
func TestHalfWrittenTask(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Defaults.TaskSources = []string{task.SwarmTasks, task.FileChecklist, task.GitHubIssues}
	checklist(t, d, "cc")
	swarm := filepath.Join(d.Place.Repo, ".claude-flow", "swarm-tasks.json")
	must[Status](t)(d.with("s").Enable(t.Context(), noon()))
	write(t, swarm, `[{"id":"9","subject":"half`)
	looks := 0
	d.Place.GH = func(context.Context, ...string) ([]byte, error) {
		if looks++; looks == 1 {
			write(t, swarm, `[{"id":"9","subject":"half a task","status":"pending"}]`)
		}
		return []byte("[]"), nil
	}
	if dec := must[Decision](t)(d.Check(t.Context(), at(1))); dec.AllowStop || !strings.Contains(dec.ContinueWith, "half a task") || looks != 2 {
		t.Errorf("decision %+v after %d looks", dec, looks)
	}
	write(t, swarm, `{`)
	if dec := must[Decision](t)(d.Check(t.Context(), at(2))); !dec.AllowStop || dec.Outcome != "" || !state(t, d, "s").Enabled || !strings.Contains(dec.Reason, swarm) {
		t.Errorf("a file that stays broken: %+v; nobody knows that all is done", dec)
	}
	if st := must[Status](t)(d.Status(t.Context(), at(2))); len(st.Broken) != 1 || st.Broken[0].Path != swarm {
		t.Errorf("the status does not name it: %+v", st.Broken)
	}
	if e := must[[]Event](t)(d.Log(1))[0]; e["event"] != "unreadable" || e["path"] != swarm {
		t.Errorf("the last event is %v", e)
	}
	if n := len(must[[]episode.Match](t)(d.History("task", 0))); n > 0 {
		t.Errorf("%d episodes of work that may not be over", n)
	}
}

func TestProgressAndPrediction(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	write(t, filepath.Join(d.Place.Repo, ".claude-flow", "swarm-tasks.json"), `[{"id":"1","subject":"roof","status":"pending","blockedBy":["2"]},{"id":"2","subject":"walls","status":"pending"}]`)
	checklist(t, d, "cf")
	p := must[Progress](t)(d.Progress(t.Context()))
	counts := map[string]task.Count{}
	for name, s := range p.BySource {
		counts[name] = s.Count
		if s.Tasks == nil || len(s.Tasks) != s.Total {
			t.Errorf("%s: tasks %v", name, s.Tasks)
		}
	}
	want := map[string]task.Count{task.TeamTasks: {Percent: 100}, task.SwarmTasks: {Total: 2}, task.FileChecklist: {Completed: 2, Failed: 1, Total: 2, Percent: 100}}
	if diff := cmp.Diff(want, counts); diff != "" || p.Overall != (task.Count{Completed: 2, Failed: 1, Total: 4, Percent: 50}) {
		t.Errorf("overall %+v (-want +got):\n%s", p.Overall, diff)
	}
	if got := must[episode.Prediction](t)(d.Predict(t.Context())); got.Action != "Work on: walls" || got.Remaining != 1 {
		t.Errorf("prediction %+v", got)
	}
	c := must[ReEngagement](t)(d.Context(t.Context()))
	if c.CompletedTasks != 2 || c.TotalTasks != 4 || c.ProgressPercent != 50 || len(c.RemainingTasks) != 2 || c.RemainingTasks[0].Subject != "walls" {
		t.Errorf("context %+v", c)
	}
	for _, bad := range []struct {
		query string
		limit int
	}{{" ", 1}, {"x", -1}} {
		if _, err := d.History(bad.query, bad.limit); err == nil {
			t.Errorf("history %q, %d: no error", bad.query, bad.limit)
		}
	}
}

func TestOnlyOwnTeamTasks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for id, status := range map[string]string{"mine": "completed", "yours": "pending"} {
		write(t, filepath.Join(d.Place.Config, "tasks", id, "1.json"), fmt.Sprintf(`{"id":"1","subject":"of %s","status":%q,"blocks":[],"blockedBy":[]}`, id, status))
	}
	must[Status](t)(d.with("mine").Enable(t.Context(), noon()))
	if dec := stop(t, d, "mine", 1); dec.Outcome != AllComplete {
		t.Errorf("decision %+v", dec)
	}
}
