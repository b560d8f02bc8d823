package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/sessions/repo"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/runs"
	"autopilot/supervisor/tdd/workflow"
)

// childVar has the test binary take one step of a run and end. Its value is the folder
// of the repository.
const childVar = "WORKFLOW_TEST_STEP_IN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		os.Exit(oneStep(dir))
	}
	os.Exit(m.Run())
}

// oneStep does what is next and exits with 10 when nothing is.
func oneStep(dir string) int {
	ctx := context.Background()
	w, err := at(ctx, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	n, err := w.Next(ctx)
	switch {
	case err != nil:
		if r, ok := errors.AsType[*tdd.Refusal](err); ok && strings.Contains(r.Message, "interrupted before its branch") {
			_, err = w.Resume(ctx, "")
		} else {
			_, err = w.Start(ctx, tdd.StartRequest{TaskID: "1"})
		}
	case n.Action == tdd.ActionRed:
		err = os.WriteFile(filepath.Join(dir, n.Subtask.ID+".t"), []byte("false\n"), 0o600)
		if err == nil {
			_, err = w.Complete(ctx, tdd.CompleteRequest{Phase: tdd.Red, SubtaskID: n.Subtask.ID, Results: &tdd.Results{Failed: 1, Total: 1}})
		}
	case n.Action == tdd.ActionGreen:
		err = os.WriteFile(filepath.Join(dir, n.Subtask.ID+".t"), []byte("true\n"), 0o600)
		if err == nil {
			_, err = w.Complete(ctx, tdd.CompleteRequest{Phase: tdd.Green, SubtaskID: n.Subtask.ID, Results: &tdd.Results{Passed: 1, Total: 1}})
		}
	case n.Action == tdd.ActionCommit:
		_, err = w.Commit(ctx, tdd.CommitRequest{SubtaskID: n.Subtask.ID})
	case n.Action == tdd.ActionFinalize:
		_, err = w.Finalize(ctx, tdd.FinalizeRequest{})
	default:
		return 10
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, n.Action, err)
		return 1
	}
	return 0
}

// at is the workflow of a test repository in which reports are believed.
func at(ctx context.Context, dir string) (workflow.Workflow, error) {
	r, err := repo.Open(ctx, dir)
	return workflow.Workflow{
		Repo: r, Store: runs.Store{Dir: dir + "-state"}, Environ: append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"),
		Settings: tdd.Settings{
			Enabled: true, RequireClean: true, CommitTemplate: "{type}({scope}): {msg} (task {taskId})", CommitType: "feat", MaxAttempts: 3,
			TestCommand: tdd.TestsNone, TestRunner: "auto", BranchPattern: "{tag}/task-{id}-{slug}", Remote: "origin",
		},
	}, err
}

const fourParts = `{"master": {"tasks": [{"id": 1, "title": "One", "status": "pending", "subtasks": [
  {"id": 1, "title": "A", "status": "pending"}, {"id": 2, "title": "B", "status": "pending"},
  {"id": 3, "title": "C", "status": "pending"}, {"id": 4, "title": "D", "status": "pending"}]}]}}
`

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// project is a repository with a task of four subtasks.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repo")
	if err := os.MkdirAll(filepath.Join(dir, ".taskmaster", "tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".taskmaster", "tasks", "tasks.json"), []byte(fourParts), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "config", "user.name", "test")
	git(t, dir, "config", "user.email", "test@example.org")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "start")
	return dir
}

// TestKilledAtAnyMoment kills the process that takes a step, at random moments, again
// and again. The run comes to its end all the same, with each commit made once, and
// nothing that was on record is lost.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	dir := project(t)
	longest := 60 * time.Millisecond // about what a commit takes
	kills, done := 0, false
	for i := 0; i < 400 && !done; i++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(rand.Int64N(int64(longest))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		exit, failed := errors.AsType[*exec.ExitError](err)
		switch {
		case !failed:
			longest = max(longest, 20*time.Millisecond)
		case exit.ExitCode() == 10:
			done = true
		case exit.ExitCode() == -1:
			kills++
			longest += 2 * time.Millisecond // so that every step is done in the end
		default:
			t.Fatalf("a step failed after %d kills: %s\n%s", kills, stderr.String(), git(t, dir, "status", "--porcelain", "-uall"))
		}
	}
	if !done || kills < 5 {
		t.Fatalf("done %v after %d kills", done, kills)
	}
	t.Logf("%d kills", kills)
	want := "chore(tasks): complete task 1 (task 1)\nfeat(4): d (task 1.4)\nfeat(3): c (task 1.3)\nfeat(2): b (task 1.2)\nfeat(1): a (task 1.1)\nstart"
	if got := git(t, dir, "log", "--format=%s"); strings.Count(got, "\n") != 5 || !subjects(got) {
		t.Errorf("commits:\n%s\nwant\n%s", got, want)
	}
	if got := git(t, dir, "status", "--porcelain"); got != "" {
		t.Errorf("the work tree is left with %q", got)
	}
	if got := git(t, dir, "log", "--format=%s", "main"); got != "start" {
		t.Errorf("main has %q", got)
	}
	inOrder(t, dir+"-state")
}

// subjects reports whether each subtask was committed once, in order.
func subjects(log string) bool {
	lines := strings.Split(log, "\n")
	for i, want := range []string{"(task 1)", "(task 1.4)", "(task 1.3)", "(task 1.2)", "(task 1.1)", "start"} {
		if !strings.HasSuffix(lines[i], want) {
			return false
		}
	}
	return true
}

// inOrder looks at the events of the only run: all are there, once, in order.
func inOrder(t *testing.T, state string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "runs", "*", "activity.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("activity logs: %v, %v", files, err)
	}
	commits := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for line := range strings.Lines(string(data)) {
			var a tdd.Activity
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatalf("%s: %v: %s", file, err, line)
			}
			if n++; a.Seq != n {
				t.Errorf("%s: event %d follows %d", file, a.Seq, n-1)
			}
			if a.Event == tdd.EventCommitCreated {
				commits[a.SubtaskID]++
			}
		}
	}
	for _, id := range []string{"1", "1.1", "1.2", "1.3", "1.4"} {
		if commits[id] != 1 {
			t.Errorf("%d events of the commit of %s, want 1", commits[id], id)
		}
	}
}
