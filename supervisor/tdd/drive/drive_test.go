package drive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/source"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/drive"
)

// walker is a workflow that answers as it is told and notes what it was asked.
type walker struct {
	next      []tdd.Next // one for each step that is taken; the last stays
	judged    tdd.Judged
	commitErr error
	finalErr  error
	tries     int  // refusals that counted
	free      bool // refusals do not count
	held      int  // how often another process is at work
	calls     []string
	completed tdd.CompleteRequest
}

func (w *walker) step() tdd.Next {
	if len(w.next) > 1 {
		w.next = w.next[1:]
	}
	return w.next[0]
}

func (w *walker) standing(context.Context) (tdd.Standing, error) {
	return tdd.Standing{Status: tdd.InProgress, AttemptNumber: 1 + w.tries}, nil
}

func (w *walker) Next(context.Context) (tdd.Next, error) { return w.next[0], nil }

func (w *walker) Complete(_ context.Context, r tdd.CompleteRequest) (tdd.Judged, error) {
	w.calls = append(w.calls, "complete")
	w.completed = r
	j := w.judged
	if j.Validated {
		j.NextAction = w.step()
	} else {
		j.NextAction = w.next[0]
	}
	return j, nil
}

func (w *walker) Commit(context.Context, tdd.CommitRequest) (tdd.Committed, error) {
	if w.held > 0 {
		w.held--
		return tdd.Committed{}, fmt.Errorf("lock: %w", &statedir.HeldError{Holder: statedir.Holder{PID: 7}})
	}
	w.calls = append(w.calls, "commit")
	if w.commitErr != nil || w.next[0].Action != tdd.ActionCommit {
		err := w.commitErr
		if !w.free {
			w.tries++
		}
		if w.next[0].Action == tdd.ActionFinalize {
			err = &tdd.Refusal{Kind: tdd.Refused, Message: tdd.NothingToCommit}
		}
		return tdd.Committed{}, err
	}
	return tdd.Committed{Message: "feat: x\n\nbody", NextAction: w.step()}, nil
}

func (w *walker) Finalize(context.Context, tdd.FinalizeRequest) (tdd.Finalized, error) {
	w.calls = append(w.calls, "finalize")
	if w.finalErr != nil {
		w.tries++
		return tdd.Finalized{}, w.finalErr
	}
	w.step()
	return tdd.Finalized{Completed: true}, nil
}

func at(action string) tdd.Next {
	return tdd.Next{Action: action, Subtask: &tdd.Work{ID: "1.1", Title: "Add", Attempt: 1, MaxAttempts: 3}, Context: &tdd.Context{Branch: "b", TestCommand: "make test"}}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	done := &sessions.Result{Ending: outcome.Completed}
	cut := &sessions.Result{Ending: outcome.Failed}
	asks := &sessions.Result{Ending: outcome.Completed, Report: json.RawMessage(`{"needs_person":"which?"}`)}
	refused := &tdd.Refusal{Kind: tdd.Refused, Message: "no"}
	for _, tt := range []struct {
		name    string
		w       walker
		res     *sessions.Result
		calls   []string
		trial   bool
		blocked bool
		person  bool
		resumed bool // the run goes on where an earlier one ended
		other   bool // the step of the session was taken by somebody else
	}{
		{name: "before the first session", w: walker{next: []tdd.Next{at("red")}}},
		{name: "a commit that a kill has left", w: walker{next: []tdd.Next{at("commit"), at("red")}}, calls: []string{"commit"}},
		{name: "red is done", w: walker{next: []tdd.Next{at("red"), at("green")}, judged: tdd.Judged{Validated: true}}, res: done, calls: []string{"complete"}},
		{name: "red is not done", w: walker{next: []tdd.Next{at("red"), at("green")}}, res: done, calls: []string{"complete"}},
		{name: "green is committed at once", w: walker{next: []tdd.Next{at("green"), at("commit"), at("red")}, judged: tdd.Judged{Validated: true}}, res: done, calls: []string{"complete", "commit"}},
		{
			name: "the last one is finalized at once", res: done, calls: []string{"complete", "commit", "commit", "finalize"},
			w: walker{next: []tdd.Next{at("green"), at("commit"), at("finalize"), at("complete")}, judged: tdd.Judged{Validated: true}},
		},
		{name: "a session that was cut short costs no attempt", w: walker{next: []tdd.Next{at("green"), at("commit")}}, res: cut, calls: []string{"complete"}, trial: true},
		{name: "neither does one that asks", w: walker{next: []tdd.Next{at("green"), at("commit")}}, res: asks, calls: []string{"complete"}, trial: true},
		{name: "a hook says no", w: walker{next: []tdd.Next{at("commit")}, commitErr: refused}, res: done, calls: []string{"commit"}},
		{name: "on another branch", w: walker{next: []tdd.Next{at("commit")}, commitErr: refused, free: true}, res: done, calls: []string{"commit"}, person: true},
		{name: "git is gone", w: walker{next: []tdd.Next{at("commit")}, commitErr: errors.New("git is not in PATH")}, res: done, calls: []string{"commit"}, blocked: true},
		{name: "the suite fails", w: walker{next: []tdd.Next{at("finalize")}, finalErr: refused}, res: done, calls: []string{"commit", "finalize"}},
		{name: "what an earlier run has left is looked at", w: walker{next: []tdd.Next{at("green"), at("commit"), at("red")}, judged: tdd.Judged{Validated: true}}, resumed: true, calls: []string{"complete", "commit"}, trial: true},
		{name: "a person was quicker", w: walker{next: []tdd.Next{at("red"), at("commit")}}, res: done, other: true},
		{name: "paused", w: walker{next: []tdd.Next{at("paused")}}, res: done},
	} {
		s := &drive.Source{Walker: &tt.w, Standing: tt.w.standing, Resumed: tt.resumed}
		if s.Track(t.Context()); tt.res != nil {
			if s.Next(source.Request{}); tt.other {
				tt.w.next[0].Action = "green" // a person has taken the step meanwhile
			}
		}
		s.Advance(t.Context(), tt.res, slog.New(slog.DiscardHandler))
		if diff := cmp.Diff(tt.calls, tt.w.calls); diff != "" || tt.w.completed.Trial != tt.trial {
			t.Errorf("%s: trial %v, calls (-want +got):\n%s", tt.name, tt.w.completed.Trial, diff)
		}
		if got := s.Track(t.Context()); (got.Blocked != "") != tt.blocked || (got.Person != "") != tt.person {
			t.Errorf("%s: blocked by %q, a person for %q; want that: %v, %v", tt.name, got.Blocked, got.Person, tt.blocked, tt.person)
		}
	}
}

// TestAnotherProcessIsWaitedFor is a person who is at work on the run in another shell.
func TestAnotherProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &walker{next: []tdd.Next{at("commit"), at("red")}, held: 3}
		s := &drive.Source{Walker: w, Standing: w.standing}
		s.Advance(t.Context(), nil, slog.New(slog.DiscardHandler))
		if len(w.calls) != 1 || s.Track(t.Context()).Blocked != "" {
			t.Errorf("calls %v, blocked by %q", w.calls, s.Track(t.Context()).Blocked)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		w.next, w.held, w.calls = []tdd.Next{at("commit")}, 1000, nil
		s.Advance(ctx, nil, slog.New(slog.DiscardHandler))
		if got := s.Track(t.Context()).Blocked; !strings.Contains(got, "wait for another process") || len(w.calls) != 0 {
			t.Errorf("when the run is to end meanwhile: %q, calls %v", got, w.calls)
		}
	})
}

func TestTrack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		st   tdd.Standing
		want source.Track
	}{
		{
			"in the middle",
			tdd.Standing{TaskID: "1", TaskTitle: "All", Status: tdd.InProgress, CurrentPhase: tdd.Green, Progress: tdd.Progress{Completed: []string{"1.1"}, Current: "1.2", Remaining: []string{"1.3"}}},
			source.Track{Open: []string{"1.2 (green)", "1.3"}, Moves: 5000},
		},
		{"at the end of the subtasks", tdd.Standing{TaskID: "1", TaskTitle: "All", Status: tdd.InProgress, CurrentPhase: tdd.Finalize, Progress: tdd.Progress{Completed: []string{"1.1", "1.2"}}}, source.Track{Moves: 9000}},
		{
			"paused",
			tdd.Standing{RunID: "r", TaskID: "1", TaskTitle: "All", Status: tdd.OnHold, Why: "3 of 3", CurrentPhase: tdd.Red, Progress: tdd.Progress{Current: "1.1"}},
			source.Track{Open: []string{"1.1 (red)"}, Person: "test-driven run r is paused: 3 of 3"},
		},
		{
			"aborted",
			tdd.Standing{RunID: "r", TaskID: "1", TaskTitle: "All", Status: tdd.Aborted, CurrentPhase: tdd.Red, Progress: tdd.Progress{Current: "1.1"}},
			source.Track{Open: []string{"1.1 (red)"}, Blocked: "test-driven run r was aborted"},
		},
		{"complete", tdd.Standing{TaskID: "1", TaskTitle: "All", Status: tdd.Completed, CurrentPhase: tdd.Complete, Progress: tdd.Progress{Completed: []string{"1.1"}}}, source.Track{Moves: 6000}},
	} {
		s := &drive.Source{Walker: &walker{next: []tdd.Next{at("red")}}, Standing: func(context.Context) (tdd.Standing, error) { return tt.st, nil }}
		got := s.Track(t.Context())
		all := len(tt.st.Progress.Completed) + len(tt.st.Progress.Remaining) + 1
		if tt.st.Progress.Current != "" {
			all++
		}
		done := len(tt.st.Progress.Completed)
		if tt.st.Status == tdd.Completed {
			done = all
		}
		tt.want.Names = []string{"task 1, test by test: All"}
		tt.want.Total, tt.want.Completed, tt.want.Percent = all, done, 100*done/all
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told is the prompt of the session for a step.
func told(t *testing.T, s *drive.Source, n tdd.Next) (string, source.Assignment) {
	t.Helper()
	s.Preview = func() (tdd.Next, []tdd.Subtask, error) { return n, []tdd.Subtask{{ID: "1.1", Title: "Add"}}, nil }
	s.Track(t.Context())
	a := s.Next(source.Request{Objective: prompt.Objective{Answer: "blue", Question: "which?", First: []string{"make lint"}}})
	if len(a.Steps) != 1 || a.Confidence != 1 || a.Mode != "tdd" {
		t.Fatalf("assignment %+v", a)
	}
	return a.Steps[0].Prompt, a
}

// TestPrompt is the order in which a prompt is put together: the project's rules, its
// generator of tests in the red step alone, the task, the instruction.
func TestPrompt(t *testing.T) {
	t.Parallel()
	repo, templates := t.TempDir(), t.TempDir()
	write(t, repo, ".cursor/rules/git_workflow.mdc", "RULES OF GIT\n")
	write(t, repo, ".cursor/rules/test_workflow.mdc", "RULES OF TESTS\n")
	write(t, repo, ".claude/agents/surgical-test-generator.md", "THE GENERATOR\n")
	write(t, templates, "green.md", "OUR OWN WAY for {id} {title} on {branch} with {testCommand}")
	s := &drive.Source{Repo: repo, Rules: drive.RuleFiles(), Generator: drive.GeneratorFile, Templates: templates}
	n := at("red")
	n.Subtask.Description, n.Subtask.TestStrategy, n.Context.LastRefusal = "adds", "unit tests", "it was too easy"
	n.Context.FailingTests = slices.Repeat([]string{"t"}, 50)
	text, _ := told(t, s, n)
	place := -1
	for _, want := range []string{
		"RULES OF GIT", "RULES OF TESTS", "THE GENERATOR", "<TASK CONTEXT>", "Subtask 1.1: Add", "Description: adds", "Test strategy: unit tests",
		"Test command: make test", "and 10 more", "The last attempt was refused: it was too easy", "<INSTRUCTION>", "RED: write tests for subtask 1.1", "Do not commit", "blue", "make lint",
	} {
		i := strings.Index(text, want)
		if i <= place {
			t.Errorf("%q is at %d, behind %d in\n%s", want, i, place, text)
		}
		place = i
	}
	green, _ := told(t, s, at("green"))
	if strings.Contains(green, "THE GENERATOR") || !strings.Contains(green, "OUR OWN WAY for 1.1 Add on b with make test") || !strings.Contains(green, "Do not commit") || strings.Contains(green, "GREEN: write") {
		t.Errorf("green with a template:\n%s", green)
	}
	for action, want := range map[string]string{"commit": "COMMIT: the commit of subtask 1.1", "finalize": "FINALIZE: every subtask"} {
		if text, _ := told(t, s, at(action)); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", action, want, text)
		}
	}
}

// TestRulesAreFilesOfTheProject leaves out what is no regular file inside of it, and
// bounds what is.
func TestRulesAreFilesOfTheProject(t *testing.T) {
	t.Parallel()
	repo, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "SECRET")
	write(t, repo, ".cursor/rules/test_workflow.mdc", strings.Repeat("x", 1<<20))
	if err := os.Symlink(filepath.Join(outside, "secret"), filepath.Join(repo, ".cursor", "rules", "git_workflow.mdc")); err != nil {
		t.Fatal(err)
	}
	s := &drive.Source{Repo: repo, Rules: drive.RuleFiles()}
	text, _ := told(t, s, at("green"))
	if strings.Contains(text, "SECRET") || len(text) > 40<<10 {
		t.Errorf("a prompt of %d bytes, with the secret: %v", len(text), strings.Contains(text, "SECRET"))
	}
}

// TestBelieved is a project without a test command: the session reports numbers.
func TestBelieved(t *testing.T) {
	t.Parallel()
	w := &walker{next: []tdd.Next{at("green"), at("commit"), at("red")}, judged: tdd.Judged{Validated: true, Warning: "hm"}}
	s := &drive.Source{Walker: w, Believe: true, Standing: w.standing}
	_, a := told(t, s, at("green"))
	s.Preview = nil
	s.Track(t.Context())
	s.Next(source.Request{})
	var schema struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(a.Schema), &schema); err != nil || !slices.Contains(schema.Required, "tests") || schema.Properties["tests"] == nil || schema.Properties["summary"] == nil {
		t.Errorf("schema %s (%v)", a.Schema, err)
	}
	if !strings.Contains(a.Steps[0].Prompt, "put the numbers of that run into your report") {
		t.Error("the session is not told to report numbers")
	}
	var log bytes.Buffer
	res := &sessions.Result{Ending: outcome.Completed, Report: json.RawMessage(`{"tests":{"passed":3,"failed":0,"skipped":1},"coverage":91.5}`)}
	s.Advance(t.Context(), res, slog.New(slog.NewTextHandler(&log, nil)))
	if r := w.completed.Results; r == nil || *r != (tdd.Results{Passed: 3, Skipped: 1, Total: 4}) || w.completed.Coverage.Lines == nil || *w.completed.Coverage.Lines != 91.5 {
		t.Errorf("reported %+v", w.completed)
	}
	if !strings.Contains(log.String(), "level=WARN msg=hm") {
		t.Errorf("the warning is not in the log: %s", log.String())
	}
	w.next, w.calls = []tdd.Next{at("green")}, nil
	s.Track(t.Context())
	s.Next(source.Request{})
	s.Advance(t.Context(), &sessions.Result{Ending: outcome.Failed}, slog.New(slog.DiscardHandler))
	if w.calls != nil {
		t.Errorf("without a report of a session that was cut short: %v", w.calls)
	}
	s.Advance(t.Context(), &sessions.Result{Ending: outcome.Completed}, slog.New(slog.DiscardHandler))
	if r := w.completed.Results; r == nil || r.Check() == nil {
		t.Errorf("a session without a report counts as %+v, want numbers that are refused", r)
	}
}
