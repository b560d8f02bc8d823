package runs

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

// A whole run: subtasks with a commit and without, a pause, the end.
func TestReportOfAWholeRun(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	when := time.Date(2025, 10, 7, 16, 0, 0, 0, time.UTC)
	happens := func(a tdd.Activity) {
		happen(&st, when, a)
		st.Outbox[len(st.Outbox)-1].Message = a.Message
	}
	st.Outbox = nil
	happens(tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.2", Phase: "green", Attempt: 3, Passed: new(1), Failed: new(2), Error: "2 tests fail\x1b[31m\u202e", Status: "failed"})
	happens(tdd.Activity{Event: tdd.EventPaused, SubtaskID: "1.2", Phase: "green", Attempt: 3, Message: "3 of 3 attempts"})
	happens(tdd.Activity{Event: tdd.EventResumed, SubtaskID: "1.2", Phase: "green"})
	happens(tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.3", Phase: "green", Passed: new(3), Failed: new(1), Skipped: new(2)})
	happens(tdd.Activity{Event: tdd.EventTestRun, SubtaskID: "1.3", Phase: "green", Passed: new(4), Failed: new(0), Skipped: new(2)})
	st.Status, st.CurrentPhase, st.CurrentSubtask, st.EndTime = tdd.Completed, tdd.Complete, "", when
	st.CompletedSubtasks, st.PendingSubtasks, st.Implemented = []string{"1.1", "1.2", "1.3", "1.4"}, nil, []string{"1.4"}
	st.Red, st.Green = nil, nil
	st.Final = &tdd.Run{Coverage: tdd.Coverage{Functions: new(70.0)}, Measured: &tdd.Measured{Results: tdd.Results{Passed: 20, Total: 20}, Counted: true, OK: true, Coverage: tdd.Coverage{Lines: new(95.0)}}}
	if err := s.Save(st); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(st.RunID)
	if err != nil {
		t.Fatal(err)
	}
	want := `run        first-steps__task-1__2025-10-07T14-30-00-000Z
task       1 Preflight & flags (tag first-steps)
branch     first-steps-1
status     completed
started    2025-10-07T14:30:00Z
duration   1h 30m
commits    1
baseline   0 failed, 12 passed
subtask    1.1 done, attempts 2, 2m 55s: Skeleton
  red      3 failed, 0 passed, 1 broken
  green    0 failed, 15 passed, 1 skipped (reported)
  commit   a1b2c3d4e5a1b2c3d4e5a1b2c3d4e5a1b2c3d4e5 feat(cli): lay out the commands (task 1.1)
subtask    1.2 done, attempts 1: Detect
subtask    1.3 done: Wire
  green    0 failed, 4 passed, 2 skipped (reported)
subtask    1.4 already-implemented: Docs
final      0 failed, 20 passed
coverage   lines 95%, functions 70%
refused    2025-10-07T14:31:00Z 1.1 red attempt 1: no test fails, and one has to
refused    2025-10-07T16:00:00Z 1.2 green attempt 3: 2 tests fail[31m
paused     2025-10-07T16:00:00Z 1.2 green attempt 3: 3 of 3 attempts
resumed    2025-10-07T16:00:00Z 1.2 green:
`
	if d := cmp.Diff(want, r.Text()); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
}

func TestReportText(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	st.Outbox = nil
	st.TaskTitle = "one\ntwo\x1b]0;title\x07\u2028three\u009b " + strings.Repeat("long ", 1000)
	st.Why, st.Branch, st.Subtasks[0].Title = "a\r\nb", "x\x00y", "\xff\n\n"
	st.Commits[0].Subject = "feat\nnot a line"
	if err := s.Save(st); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(st.RunID)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Text()
	for _, c := range text {
		if c != '\n' && (unicode.IsControl(c) || c == '\u2028' || unicode.Is(unicode.Bidi_Control, c)) {
			t.Errorf("%q is in the text", c)
		}
	}
	if got, want := strings.Count(text, "\n"), 19; got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, text)
	}
	if len(text) > 4000 {
		t.Errorf("%d bytes", len(text))
	}
	if got := read(t, s.file(st.RunID, commitsName)); got != st.Head+" feat not a line\n" {
		t.Errorf("commits.txt is %q", got)
	}
}

// Lists in JSON are never null, in a run that has just begun.
func TestJSONOfAnEmptyRun(t *testing.T) {
	t.Parallel()
	s := Store{Dir: t.TempDir()}
	now := time.Date(2025, 10, 7, 14, 30, 0, 0, time.FixedZone("", 3600))
	st := first(ID("dev", "1", now), now)
	st.Subtasks, st.PendingSubtasks, st.CompletedSubtasks, st.Commits = nil, nil, nil, nil
	if err := s.Create(st); err != nil {
		t.Fatal(err)
	}
	r, err := s.Report(st.RunID)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"subtasks":[],`) || !strings.Contains(string(data), `"incidents":[],`) {
		t.Errorf("report = %s, %v", data, err)
	}
	want := `{
  "runId": "dev__task-1__2025-10-07T13-30-00-000Z",
  "projectRoot": "/home/me/app",
  "taskId": "1",
  "tag": "dev",
  "branch": "",
  "startTime": "2025-10-07T13:30:00Z",
  "endTime": null,
  "status": "in-progress",
  "currentPhase": "preflight",
  "currentSubtask": "",
  "subtasksCompleted": [],
  "subtasksFailed": [],
  "totalCommits": 0
}
`
	if d := cmp.Diff(want, read(t, s.file(st.RunID, manifestName))); d != "" {
		t.Errorf("manifest (-want +got):\n%s", d)
	}
}

func TestReportWithoutAnything(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	for _, name := range []string{stateName, manifestName, activityName} {
		if err := os.Remove(s.file(st.RunID, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Report(st.RunID); !errors.As(err, new(*BrokenError)) {
		t.Errorf("Report = %v", err)
	}
}

func TestPutResults(t *testing.T) {
	t.Parallel()
	s, st := saved(t)
	odd := s.resultsFile(st.RunID, "subtask-a/../../b-red")
	if strings.Count(odd, string(os.PathSeparator)) != strings.Count(s.resultsFile(st.RunID, "x"), string(os.PathSeparator)) || strings.Contains(odd, "..") {
		t.Errorf("results are in %s", odd)
	}
	big := tdd.Run{Measured: &tdd.Measured{
		Results: tdd.Results{Passed: 12345678901, Total: 1}, Output: strings.Repeat("é", 150_000) + "the end", Failing: make([]string, 5000),
	}}
	for i := range big.Measured.Failing {
		big.Measured.Failing[i] = "name of a test"
	}
	if err := s.PutResults(st.RunID, "subtask-a/../../b-red", big); err != nil {
		t.Fatal(err)
	}
	var got tdd.Run
	data := read(t, odd)
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	m := got.Measured
	if len(data) > 2*resultBytes || len(data) < 10_000 || !strings.HasSuffix(m.Output, "éthe end") || strings.Contains(m.Output, "\uFFFD") || m.Passed != 12345678901 || len(m.Failing) == 0 {
		t.Errorf("%d bytes, %d failing, output ends in %q", len(data), len(m.Failing), m.Output[max(0, len(m.Output)-10):])
	}
	if err := s.PutResults(st.RunID, "x", func() {}); err == nil {
		t.Error("what has no JSON form was put")
	}
	wide := map[string]int{}
	for i := range 4000 {
		wide[strings.Repeat("k", 80)+time.Duration(i).String()] = i
	}
	if err := s.PutResults(st.RunID, "x", wide); err == nil {
		t.Error("what cannot be shortened was put")
	}
	if _, err := os.Stat(s.resultsFile(st.RunID, "x")); err == nil {
		t.Error("there is a file of it")
	}
}
