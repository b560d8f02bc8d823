package morning_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/morning"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/digest"
	"autopilot/metrics/samples"
	"autopilot/metrics/statedir"
	"autopilot/sessions/approval"
	"autopilot/sessions/approval/rule"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/source"
	"autopilot/supervisor/track"
)

func now() time.Time { return time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC) }

func ago(hours int) time.Time { return now().Add(-time.Duration(hours) * time.Hour) }

func ptr[T any](v T) *T { return &v }

// world is a machine with repositories.
type world struct {
	*testing.T
	dir string
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return world{t, dir}
}

func (w world) root() string { return filepath.Join(w.dir, "autopilot") }

func (w world) std() outside.Stdio {
	return outside.Stdio{Environ: []string{"HOME=" + w.dir, "XDG_STATE_HOME=" + w.dir, "XDG_CONFIG_HOME=" + w.dir}}
}

// place is a repository with its state folder.
func (w world) place(name string) (job.Place, statedir.Project) {
	w.Helper()
	top := filepath.Join(w.dir, name)
	if err := os.MkdirAll(top, 0o700); err != nil {
		w.Fatal(err)
	}
	cfg, err := config.Resolve()
	if err != nil {
		w.Fatal(err)
	}
	p := job.Place{Repo: repo.Repo{Top: top}, Cfg: cfg, State: w.root()}
	project, err := p.OpenProject()
	if err != nil {
		w.Fatal(err)
	}
	return p, project
}

func (w world) append(path string, rec any) {
	w.Helper()
	line, err := json.Marshal(rec)
	if err != nil {
		w.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		w.Fatal(err)
	}
}

// ended puts a run that has ended so many hours ago into the ledger of a place and into its
// state folder.
func (w world) ended(p job.Place, project statedir.Project, id string, hours int, change func(*ledger.Run, *supervisor.State)) {
	w.Helper()
	rec := ledger.Run{
		SchemaVersion: 1, AutopilotRunID: id, StartedAt: ledger.Stamp(ago(hours + 1)), CompletedAt: ledger.Stamp(ago(hours)), DurationSeconds: 3600, ExitCause: "max-sessions-reached",
		Source: "goal", Goal: "goal of " + id, TotalTokensUsed: 100, TotalCostUSD: 1, Sessions: []string{id + "-s1"}, IterationsCompleted: 1,
		Endings:     []ledger.Ending{{SessionID: id + "-s1", Ending: "completed", Tokens: 100}},
		Termination: &ledger.Termination{Status: ledger.Stopped, Summary: "Stopped after 1 session", Resumable: true},
	}
	st := supervisor.State{Version: supervisor.StateVersion, Finished: true}
	if change != nil {
		change(&rec, &st)
	}
	w.append(filepath.Join(p.MetricsDir(), ledger.RunsFile), rec)
	w.append(filepath.Join(p.MetricsDir(), ledger.SessionsFile), ledger.Session{
		SessionID: id + "-s1", AutopilotRunID: id, StartedAt: ledger.Stamp(ago(hours + 1)), CompletedAt: ledger.Stamp(ago(hours)), TotalFilesChanged: 2, Commits: []string{"c1"}, Ending: "completed",
		CostUSD: 0.9, TokenInput: ptr(int64(5090)), TokenOutput: ptr(int64(10)), Summary: "Some of it is done.",
	})
	st.Record = rec
	folder := project.RunDir(id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		w.Fatal(err)
	}
	if err := statedir.ReplaceJSON(filepath.Join(folder, "state.json"), st); err != nil {
		w.Fatal(err)
	}
}

func (w world) digest(p job.Place, hours int) digest.Facts {
	w.Helper()
	n, err := p.Night(false)
	if err != nil {
		w.Fatal(err)
	}
	return morning.DigestOf(p, n, ago(hours), now())
}

func ids(f digest.Facts) []string {
	var out []string
	for _, r := range f.Runs {
		out = append(out, r.Repository+" "+r.Record.AutopilotRunID)
	}
	return out
}

// needs are the kinds and commands of what waits for a person.
func needs(f digest.Facts) []string {
	var out []string
	for _, n := range f.Needs {
		out = append(out, n.Kind+": "+n.Command)
	}
	return out
}

func TestDigestOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, project := w.place("app")
	w.ended(p, project, "old", 40, nil)
	w.ended(p, project, "second", 2, func(_ *ledger.Run, s *supervisor.State) {
		s.Tasks = &track.State{Track: source.Track{}}
		s.Tasks.Completed, s.Tasks.Total = 3, 8
		s.Tasks.Steps = []episode.Step{{At: ago(3), Iteration: 0, Progress: 0}, {At: ago(2), Iteration: 1, Progress: 0.375}}
	})
	w.ended(p, project, "first", 10, nil) // the ledger is not in the order of time when stories write into it
	w.ended(p, project, "dry", 1, func(r *ledger.Run, _ *supervisor.State) { r.DryRun = true })
	w.append(filepath.Join(p.MetricsDir(), ledger.RunsFile), "no record")
	if err := samples.Append(project.RunDir("second"), samples.Sample{At: ago(2), Tier: "warn"}); err != nil {
		t.Fatal(err)
	}
	if _, err := episode.Open(job.EpisodesDir(project), episode.Options{}).Append(episode.Episode{RunID: "second", Task: "x", Success: true, Reward: 0.6, Status: "completed"}); err != nil {
		t.Fatal(err)
	}
	f := w.digest(p, 36)
	if diff := cmp.Diff([]string{"app first", "app second"}, ids(f)); diff != "" || len(f.Problems) > 0 || f.Repository != "app" {
		t.Fatalf("(-want +got):\n%s%v", diff, f.Problems)
	}
	r := f.Runs[1]
	if r.Tasks != 8 || r.TasksDone != 3 || len(r.Progress) != 2 || r.Progress[1].Percent != 37.5 || len(r.Samples) != 1 || r.Reward == nil || *r.Reward != 0.6 {
		t.Errorf("%+v", r)
	}
	if len(r.Sessions) != 1 || r.Sessions[0].Number != 1 || len(r.Sessions[0].Commits) != 1 || r.Sessions[0].Tokens.Input != 90 {
		t.Errorf("sessions %+v, want the 90 tokens that budgets count and not the cache reads", r.Sessions)
	}
	if f = w.digest(p, 1); len(f.Runs) != 0 || len(f.Problems) > 0 {
		t.Errorf("an hour without a run: %v %v", ids(f), f.Problems)
	}
	bare, _ := newWorld(t).place("never")
	if f = w.digest(bare, 36); len(f.Runs)+len(f.Needs)+len(f.Open)+len(f.Problems) != 0 {
		t.Errorf("a repository without anything: %+v", f)
	}
}

func TestWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, project := w.place("app")
	asks := func(r *ledger.Run, _ *supervisor.State) {
		r.Termination.Status, r.Termination.AwaitingUserInput, r.Termination.Question, r.ExitCode = ledger.Paused, true, "Which cloud?", 4
	}
	w.ended(p, project, "asks", 9, asks)
	w.ended(p, project, "continued", 8, asks)
	w.ended(p, project, "goes-on", 7, func(r *ledger.Run, _ *supervisor.State) {
		r.ResumedFrom, r.Termination.Status = "continued", ledger.Completed
	})
	nightly := func(r *ledger.Run, _ *supervisor.State) { r.Goal = "the same each night" }
	w.ended(p, project, "night-1", 6, nightly)
	w.ended(p, project, "night-2", 5, nightly)
	w.ended(p, project, "never-began", 4, func(r *ledger.Run, _ *supervisor.State) { r.Termination.Resumable = false })
	kept := filepath.Join(w.dir, "trees", "login")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	w.ended(p, project, "cohort", 3, func(r *ledger.Run, _ *supervisor.State) {
		r.Goal = "stories"
		r.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind, Stories: []ledger.Story{
			{ID: "login", Status: "done", Branch: "autopilot/login", Kept: "not merged", Worktree: kept},
			{ID: "merged", Status: "done", Branch: "autopilot/merged", Kept: "not merged", Worktree: filepath.Join(w.dir, "trees", "merged")},
			{ID: "search", Status: "person", Why: "which index?"},
		}}
	})
	n, err := p.Night(true)
	if err != nil {
		t.Fatal(err)
	}
	call := rule.Call{Tool: "Bash", Input: json.RawMessage(`{"command":"git push --force"}`), Dir: p.Repo.Top}
	if _, err := n.Gates.Hold(call, []rule.Finding{{Rule: "push", Why: "it cannot be undone", Part: "git push --force"}}, approval.Who{}, now().Add(-time.Minute), approval.Look{}); err != nil {
		t.Fatal(err)
	}
	gates, err := n.Gates.List(now())
	if err != nil || len(gates) != 1 {
		t.Fatalf("%v, %v", gates, err)
	}
	if err := n.Queue.Update(func(q *queue.Queue) error {
		q.Items = append(q.Items, queue.Item{ID: "0001-a", Kind: queue.Increment, Status: queue.Done}, queue.Item{ID: "0002-b", Kind: queue.Increment, Status: queue.NeedsHuman, Why: "which one?"}, queue.Item{ID: "0003-c", Kind: queue.Increment, Status: queue.Failed})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"gate: autopilot approve " + gates[0].ID, "item: autopilot queue retry 0002-b", "item: autopilot queue retry 0003-c", "question: autopilot answer asks TEXT",
		"resume: autopilot resume night-2", "merge: git merge autopilot/login", "question: autopilot answer search TEXT",
	}
	if diff := cmp.Diff(want, needs(w.digest(p, 36))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// What waits now does not depend on when a run ended.
	if diff := cmp.Diff(want[:3], needs(w.digest(p, 1))); diff != "" {
		t.Errorf("in an hour without a run (-want +got):\n%s", diff)
	}
}

func TestRunsThatAreOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, project := w.place("app")
	for _, branch := range []string{"starting", "gone", "finished"} {
		id, folder, err := supervisor.Register(project, branch, ago(1))
		if err != nil {
			t.Fatal(err)
		}
		if branch == "starting" {
			continue
		}
		st := supervisor.State{Version: supervisor.StateVersion, Finished: branch == "finished", Record: ledger.Run{AutopilotRunID: id}}
		if err := st.Save(folder); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, o := range w.digest(p, 1).Open {
		got = append(got, strings.SplitN(o.ID, "-", 2)[0]+": "+o.Words)
	}
	if diff := cmp.Diff([]string{"gone: its supervisor is gone; the next start or 'autopilot status' finishes it", "starting: is starting"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDigestOfAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app, appState := w.place("my app")
	web, webState := w.place("web")
	other, otherState := w.place(filepath.Join("deep", "web"))
	story, storyState := w.place("story")
	w.place("empty")
	w.ended(app, appState, "a", 5, nil)
	w.ended(web, webState, "b", 3, nil)
	w.ended(other, otherState, "c", 4, nil)
	// The project of a story: its records are its cohort's, and its queue is nobody else's.
	id, folder, err := supervisor.Register(storyState, "main", ago(3))
	if err != nil {
		t.Fatal(err)
	}
	st := supervisor.State{Version: supervisor.StateVersion, Finished: true, Record: ledger.Run{AutopilotRunID: id, ParentRunID: ptr("a")}}
	if err := st.Save(folder); err != nil {
		t.Fatal(err)
	}
	w.ended(story, storyState, "of a story", 2, nil)
	// A copy of a ledger, as in a work tree where it is versioned, tells nothing twice.
	copied, _ := w.place("copy")
	data, err := os.ReadFile(filepath.Join(app.MetricsDir(), ledger.RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} { // a run whose state is nowhere is told once as well
		data = append(data, fmt.Sprintf(`{"autopilot_run_id":"lost","started_at":"%s","completed_at":"%s","goal":"%s"}`+"\n", ago(9).Format(time.RFC3339), ago(8).Format(time.RFC3339), name)...)
	}
	for _, p := range []job.Place{copied, app} {
		if err := os.MkdirAll(p.MetricsDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.MetricsDir(), ledger.RunsFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.dir, "web", "autopilot.yaml"), []byte("what: ever\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := morning.DigestOfAll(t.Context(), w.std(), ago(36), now())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"copy lost", "my app a", w.dir + "/deep/web c", w.dir + "/web b"}
	if diff := cmp.Diff(want, ids(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], "web: its settings cannot be used") || f.Repository != "" {
		t.Errorf("%q %q", f.Problems, f.Repository)
	}
	commands := strings.Join(needs(f), "\n")
	for _, c := range []string{"resume: autopilot -C '" + w.dir + "/my app' resume a", "resume: autopilot -C " + w.dir + "/web resume b"} {
		if !strings.Contains(commands, c) {
			t.Errorf("no %q in\n%s", c, commands)
		}
	}
}

func TestCommandsNameTheirFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, project := w.place("my app; it's")
	w.ended(p, project, "a", 5, nil)
	f, err := morning.DigestOfAll(t.Context(), w.std(), ago(36), now())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`resume: autopilot -C '` + w.dir + `/my app; it'\''s' resume a`}
	if diff := cmp.Diff(want, needs(f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
