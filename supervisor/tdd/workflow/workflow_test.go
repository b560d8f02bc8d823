package workflow_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/workflow"
)

// tested is a workflow whose project has a test command that prints TAP: one test for
// each file *.t.
func tested(t *testing.T) (workflow.Workflow, string) {
	t.Helper()
	dir := project(t)
	put(t, dir, "run-tests", `n=0 bad=0
for f in *.t; do [ -e "$f" ] || continue; n=$((n+1)); if sh "$f"; then echo "ok $n - $f"; else echo "not ok $n - $f"; bad=1; fi; done
echo "1..$n"; echo ran >> left-by-tests; exit $bad
`)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "tests")
	w, err := at(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	w.Settings.TestCommand, w.Settings.TestRunner, w.Settings.TestPattern = "sh run-tests", "tap", "*.t"
	return w, dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, w workflow.Workflow) tdd.Started {
	t.Helper()
	s, err := w.Start(t.Context(), tdd.StartRequest{TaskID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// step completes the current step and wants it to be done.
func step(t *testing.T, w workflow.Workflow) tdd.Judged {
	t.Helper()
	j, err := w.Complete(t.Context(), tdd.CompleteRequest{})
	if err != nil || !j.Validated {
		t.Fatalf("complete: %+v, %v", j, err)
	}
	return j
}

func refusal(t *testing.T, err error, kind tdd.Kind, words string) {
	t.Helper()
	r, ok := errors.AsType[*tdd.Refusal](err)
	if !ok || r.Kind != kind || !strings.Contains(r.Message, words) {
		t.Errorf("got %v (%+v), want a refusal (%s) with %q", err, r, kind, words)
	}
}

// TestWhatTestsLeaveIsNotCommitted is a test command that writes into the work tree.
func TestWhatTestsLeaveIsNotCommitted(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	start(t, w)
	put(t, dir, "a.t", "test -e a\n")
	step(t, w)
	put(t, dir, "a", "x")
	if err := os.Mkdir(filepath.Join(dir, "__pycache__"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "__pycache__/a.pyc", "x")
	step(t, w)
	c, err := w.Commit(t.Context(), tdd.CommitRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{".taskmaster/tasks/tasks.json", "a", "a.t"}; !slices.Equal(c.Files, want) {
		t.Errorf("committed %v, want %v", c.Files, want)
	}
	if got := git(t, dir, "show", "--format=", "--name-only", "HEAD"); got != ".taskmaster/tasks/tasks.json\na\na.t" {
		t.Errorf("the commit has %q", got)
	}
}

// TestLargeFilesAreNamed refuses what looks like something that was built.
func TestLargeFilesAreNamed(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	start(t, w)
	put(t, dir, "a.t", "test -e a\n")
	step(t, w)
	put(t, dir, "a", "x")
	if err := os.WriteFile(filepath.Join(dir, "program"), bytes.Repeat([]byte("x"), 6<<20), 0o755); err != nil {
		t.Fatal(err)
	}
	step(t, w)
	_, err := w.Commit(t.Context(), tdd.CommitRequest{})
	refusal(t, err, tdd.Refused, "too large to be committed unasked: program (6 MB)")
	n, err := w.Next(t.Context())
	if err != nil || n.Subtask.Attempt != 2 || !strings.Contains(n.Context.LastRefusal, "too large") {
		t.Errorf("next is %+v, %v; want a second attempt that is told why", n, err)
	}
	if _, err := w.Commit(t.Context(), tdd.CommitRequest{Files: []string{"a", "a.t"}}); err != nil {
		t.Errorf("with the files named: %v", err)
	}
}

// TestWhatAPersonShouldKnow is a step that is done in a way that is worth a look.
func TestWhatAPersonShouldKnow(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	start(t, w)
	put(t, dir, "a.t", "test -e a\n")
	put(t, dir, "early", "x")
	if got := step(t, w).Warning; !strings.Contains(got, "changed in the red phase, and no test: early") {
		t.Errorf("code in the red phase: %q", got)
	}
	put(t, dir, "a.t", "true\n")
	put(t, dir, "a", "x")
	if got := step(t, w).Warning; got != "tests of the red phase were changed in the green phase: a.t" {
		t.Errorf("a test that was changed: %q", got)
	}
}

// TestConfirm asks a person, goes on when that is wanted, and refuses where nobody is.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		confirm func(context.Context, string) (bool, error)
		sure    bool
		clean   bool // the setting
		want    bool
	}{
		{name: "nobody to ask", clean: true},
		{name: "no", clean: true, confirm: func(context.Context, string) (bool, error) { return false, nil }},
		{name: "yes", clean: true, confirm: func(context.Context, string) (bool, error) { return true, nil }, want: true},
		{name: "told not to ask", clean: true, sure: true, want: true},
		{name: "not wanted by the settings", want: true},
	} {
		w, dir := tested(t)
		w.Settings.RequireClean = tt.clean
		var asked []string
		if tt.confirm != nil {
			w.Confirm = func(ctx context.Context, q string) (bool, error) {
				asked = append(asked, q)
				return tt.confirm(ctx, q)
			}
		}
		put(t, dir, "mine", "x")
		_, err := w.Start(t.Context(), tdd.StartRequest{TaskID: "1", NoConfirm: tt.sure})
		if (err == nil) != tt.want || len(asked) != map[bool]int{true: 1}[tt.confirm != nil] {
			t.Errorf("%s: %v, asked %q", tt.name, err, asked)
		}
		if err != nil {
			refusal(t, err, tdd.Invalid, "working tree is not clean")
			if got := git(t, dir, "branch", "--format=%(refname:short)"); got != "main" {
				t.Errorf("%s: branches %q", tt.name, got)
			}
			if _, err := w.Standing(t.Context()); err == nil {
				t.Errorf("%s: there is a run", tt.name)
			}
		}
	}
}

// TestStartIsUndone fails behind the branch, which is made by then: the tag cannot be
// switched.
func TestStartIsUndone(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	put(t, dir, ".taskmaster/state.json", "{broken")
	if _, err := w.Start(t.Context(), tdd.StartRequest{TaskID: "1", Tag: "master"}); err == nil || !strings.Contains(err.Error(), "state.json") {
		t.Fatalf("started with a broken state.json: %v", err)
	}
	if got := git(t, dir, "branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("branches %q", got)
	}
	if _, err := w.Standing(t.Context()); err == nil {
		t.Error("there is a run")
	}
}

// TestNextFollowsTheFile is a person who changes what a subtask says while it is worked
// on.
func TestNextFollowsTheFile(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	start(t, w)
	n, err := w.Next(t.Context())
	if err != nil || n.Subtask.Title != "A" || n.Subtask.Description != "" {
		t.Fatalf("next is %+v, %v", n.Subtask, err)
	}
	put(t, dir, ".taskmaster/tasks/tasks.json", strings.Replace(fourParts, `"title": "A"`, `"title": "A, but better", "description": "so"`, 1))
	if n, err = w.Next(t.Context()); err != nil || n.Subtask.Title != "A, but better" || n.Subtask.Description != "so" {
		t.Errorf("next is %+v, %v; want what the file says now", n.Subtask, err)
	}
	put(t, dir, ".taskmaster/tasks/tasks.json", "{broken")
	if n, err = w.Next(t.Context()); err != nil || n.Subtask.Title != "A" {
		t.Errorf("with a broken file next is %+v, %v; want what was known", n.Subtask, err)
	}
}

// TestABrokenTaskFileStopsTheCommit writes nothing into a task file that somebody else has changed
// to something that cannot be understood, and loses nothing.
func TestABrokenTaskFileStopsTheCommit(t *testing.T) {
	t.Parallel()
	w, dir := tested(t)
	start(t, w)
	put(t, dir, "a.t", "test -e a\n")
	step(t, w)
	put(t, dir, "a", "x")
	step(t, w)
	put(t, dir, ".taskmaster/tasks/tasks.json", "{broken")
	head := git(t, dir, "rev-parse", "HEAD")
	if _, err := w.Commit(t.Context(), tdd.CommitRequest{}); err == nil || !strings.Contains(err.Error(), "tasks.json") {
		t.Errorf("commit: %v", err)
	}
	if got := git(t, dir, "rev-parse", "HEAD"); got != head {
		t.Error("something was committed")
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".taskmaster/tasks/tasks.json")); err != nil || string(data) != "{broken" {
		t.Errorf("the file is %q, %v", data, err)
	}
	put(t, dir, ".taskmaster/tasks/tasks.json", fourParts)
	if _, err := w.Commit(t.Context(), tdd.CommitRequest{}); err != nil {
		t.Errorf("when it is mended: %v", err)
	}
}
