package stories

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/shared"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMendClosesRunsOfStories has a coordinator and a supervisor die together, when the
// supervisor had done its work: nothing is begun for the story again, so that whoever finds
// the coordinator dead has to close the supervisor's run.
func TestMendClosesRunsOfStories(t *testing.T) {
	for name, finished := range map[string]bool{"before its record was written": false, "before its mark was taken away": true} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			t.Setenv("HOME", base)
			top := filepath.Join(base, "repo")
			out, err := exec.Command("git", "init", "-q", top).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			tree, err := repo.Open(t.Context(), top)
			must(t, err)
			p := job.Place{Repo: tree, State: filepath.Join(base, "state")}
			ledgers, err := ledger.Open(filepath.Join(base, "metrics"))
			must(t, err)
			defer func() { must(t, ledgers.Close()) }()

			project, err := p.OpenProject()
			must(t, err)
			id, run, err := supervisor.Register(project, "autopilot/a", time.Now())
			must(t, err)
			st := dead(id)
			st.Record.ExitCause, st.Finished = ending.CauseDone, finished
			if finished {
				must(t, ledgers.AddRun(st.Record))
			}
			must(t, st.Save(run))

			folder := filepath.Join(base, "coordinator")
			m := story.Member{Story: story.Story{ID: "a"}, Status: story.Running, Folder: filepath.Join(folder, "stories", "a"), Worktree: top, Runs: []string{id}}
			must(t, os.MkdirAll(m.Folder, 0o700))
			must(t, shared.SaveSpend(m.Folder, shared.Spend{RunID: id, UpdatedAt: time.Now(), Sessions: 1}))
			must(t, queue.Store{Path: job.QueueOf(m.Folder)}.Update(func(q *queue.Queue) error {
				q.Next, q.Items = 2, []queue.Item{{ID: "goal-1", Kind: queue.Goal, Title: "a", AddedAt: time.Now(), Status: queue.Done}}
				return nil
			}))
			must(t, statedir.ReplaceJSON(filepath.Join(folder, story.File), story.Cohort{Version: story.Version, RunID: "c", Isolation: story.Worktree, Members: []story.Member{m}}))

			boss := dead("c")
			Mend(p, outside.Stdio{}, ledgers)(folder, &boss)

			if boss.Finished = true; supervisor.NotResumable(boss) != "" { // as its recovery leaves it
				t.Errorf("the cohort cannot be continued: %s", supervisor.NotResumable(boss))
			}
			if left, err := supervisor.OpenRuns(project); err != nil || len(left) > 0 {
				t.Errorf("still open: %v, %v", left, err)
			}
			if st, err := supervisor.LoadState(run); err != nil || !st.Finished {
				t.Errorf("the run is not finished: %v", err)
			}
			lines, err := os.ReadFile(filepath.Join(base, "metrics", ledger.RunsFile))
			if must(t, err); strings.Count(string(lines), "\n") != 1 || !strings.Contains(string(lines), id) {
				t.Errorf("records: %s", lines)
			}
			c, err := Load(folder)
			if must(t, err); c.Members[0].Status != story.Done {
				t.Errorf("the story is %s: %s", c.Members[0].Status, c.Members[0].Why)
			}
		})
	}
}

// dead is the state of a run whose process is gone.
func dead(id string) supervisor.State {
	st := supervisor.NewState(supervisor.Options{RunID: id, Source: job.Stories{}}, time.Now(), "")
	st.PID, st.Start, st.Token = 1<<30, 1, "nobody-"+id
	return st
}
