package tdd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/tdd"
)

func at(sec int) time.Time { return time.Date(2025, 10, 7, 14, 30, sec, 0, time.UTC) }

func begun(n, attempts int) tdd.State {
	var subs []tdd.Subtask
	for i := range n {
		subs = append(subs, tdd.Subtask{ID: fmt.Sprintf("1.%d", i+1), Title: fmt.Sprintf("part %d", i+1)})
	}
	return tdd.Begin(tdd.Start{RunID: "r", TaskID: "1", TaskTitle: "all", Tag: "t", Subtasks: subs, MaxAttempts: attempts, BaseCommit: "c0", Now: at(0)})
}

func started(t *testing.T, n, attempts int) tdd.State {
	t.Helper()
	s := begun(n, attempts)
	if err := s.Checked(at(1), map[string]bool{"git": true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Branched(at(2), "t/task-1", "master", true); err != nil {
		t.Fatal(err)
	}
	return s
}

func step(sec, failed, passed int) tdd.Step {
	r := tdd.Results{Failed: failed, Passed: passed, Total: failed + passed}
	return tdd.Step{Verdict: tdd.Verdict{Valid: true, Message: "fine"}, Run: tdd.Run{At: at(sec), Reported: &r, Files: []string{"a_test.go", "a.go"}}, Lines: "+58,-0", Now: at(sec)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWholeRun walks one task with two subtasks and looks at every event.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	s := started(t, 2, 3)
	must(t, s.Accept(step(10, 3, 0)))
	if s.CurrentPhase != tdd.Green || s.NextAction.Type != "implement" || s.NextAction.Context.TestFile != "a_test.go" {
		t.Fatalf("after red: %s, %+v", s.CurrentPhase, s.NextAction)
	}
	refused := step(11, 1, 2)
	refused.Verdict = tdd.Verdict{Message: "1 still failing"}
	paused, err := s.Refuse(refused)
	if paused || err != nil || s.AttemptNumber != 2 || s.CurrentPhase != tdd.Green {
		t.Fatalf("a first refusal: paused %v, %v, attempt %d at %s", paused, err, s.AttemptNumber, s.CurrentPhase)
	}
	must(t, s.Accept(step(12, 0, 3)))
	must(t, s.Promise(at(13), tdd.Pending{Subtask: "1.1", Parent: "c0", Subject: "feat: a", Mark: "m"}))
	must(t, s.Fulfil(at(14), "c1"))
	if s.CurrentSubtask != "1.2" || s.CurrentPhase != tdd.Red || s.AttemptNumber != 1 || s.Red != nil {
		t.Fatalf("after the first commit: %+v", s)
	}
	must(t, s.Accept(step(20, 1, 3)))
	must(t, s.Accept(step(21, 0, 4)))
	must(t, s.Promise(at(22), tdd.Pending{Subtask: "1.2", Parent: "c1", Subject: "feat: b", Mark: "m2"}))
	must(t, s.Fulfil(at(23), "c2"))
	if s.CurrentPhase != tdd.Finalize || s.CurrentSubtask != "" {
		t.Fatalf("after the last commit: at %s of %q", s.CurrentPhase, s.CurrentSubtask)
	}
	must(t, s.Finish(tdd.Step{Verdict: tdd.Verdict{Valid: true}, Now: at(30)}))
	if s.Status != tdd.Completed || s.CanResume || s.NextAction.Type != "none" {
		t.Errorf("at the end: %s, can resume %v, next %+v", s.Status, s.CanResume, s.NextAction)
	}
	var got []string
	for i, a := range s.Outbox {
		if a.Seq != int64(i+1) || a.RunID != "r" || a.TS.IsZero() {
			t.Errorf("event %d: %+v", i, a)
		}
		got = append(got, a.Event)
	}
	want := []string{
		"phase:start", "phase:complete", "phase:start", "branch:created", "tag:switched", "phase:complete", "phase:start", "subtask:start",
		"test:run", "test:generated", "phase:transition", "test:run", "test:run", "code:modified", "phase:transition", "commit:created", "subtask:complete", "phase:transition", "subtask:start",
		"test:run", "test:generated", "phase:transition", "test:run", "code:modified", "phase:transition", "commit:created", "subtask:complete", "phase:complete", "phase:start",
		"phase:complete", "phase:start", "phase:complete",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	run := s.Outbox[11] // the refused one
	if run.Status != "failed" || run.Attempt != 1 || *run.Passed != 2 || *run.Failed != 1 || run.Error == "" {
		t.Errorf("the refused report is logged as %+v", run)
	}
	st := s.Standing(at(59))
	if st.Commits != 2 || st.Duration != "30s" || !slices.Equal(st.Progress.Completed, []string{"1.1", "1.2"}) || len(st.Progress.Remaining) != 0 {
		t.Errorf("standing %+v", st)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := started(t, 1, 2)
	must(t, s.Accept(step(10, 1, 0)))
	no := step(11, 1, 0)
	no.Verdict = tdd.Verdict{Message: "still red"}
	if paused, err := s.Refuse(no); paused || err != nil {
		t.Fatal("paused at the first of two", err)
	}
	if paused, err := s.Refuse(no); !paused || err != nil {
		t.Fatal("not paused at the second of two", err)
	}
	if s.Status != tdd.OnHold || !s.CanResume || !strings.Contains(s.Why, "2 of 2 attempts at green of subtask 1.1") || !strings.Contains(s.Why, "still red") {
		t.Errorf("paused: %s, %q", s.Status, s.Why)
	}
	if last := s.Outbox[len(s.Outbox)-1]; last.Event != tdd.EventPaused || last.Attempt != 2 || last.MaxAttempts != 2 {
		t.Errorf("last event %+v", last)
	}
	if err := s.Accept(step(12, 0, 1)); err == nil {
		t.Error("a paused run goes on")
	}
	must(t, s.Resume(at(20)))
	if s.Status != tdd.InProgress || s.AttemptNumber != 1 || s.CurrentPhase != tdd.Green || s.Attempts["1.1"] != 3 {
		t.Errorf("resumed: %s, attempt %d at %s, %d in all", s.Status, s.AttemptNumber, s.CurrentPhase, s.Attempts["1.1"])
	}
	must(t, s.Accept(step(21, 0, 1)))
}

// TestRunIsAsItsModel compares random walks with a plain model of the workflow.
func TestRunIsAsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n, most := rapid.IntRange(1, 4).Draw(rt, "subtasks"), rapid.IntRange(1, 3).Draw(rt, "attempts")
		s := begun(n, most)
		m := model{left: n, most: most, try: 1, at: "preflight", status: "in-progress"}
		for i := range rapid.IntRange(1, 60).Draw(rt, "steps") {
			seq := s.Seq
			op := rapid.SampledFrom([]string{"checked", "branched", "accept", "implemented", "refuse", "reopen", "commit", "finish", "resume", "abort"}).Draw(rt, "op")
			got, want := m.apply(&s, op, i) == nil, m.do(op)
			if got != want {
				rt.Fatalf("%s at %s (%s): allowed %v, the model says %v", op, s.CurrentPhase, s.Status, got, want)
			}
			if !got && s.Seq != seq {
				rt.Fatalf("%s was refused and has logged something", op)
			}
			if string(s.CurrentPhase) != m.at || string(s.Status) != m.status || s.AttemptNumber != m.try || len(s.CompletedSubtasks) != m.done || len(s.Commits) != m.commits {
				rt.Fatalf("after %s: %s %s, attempt %d, %d done, %d commits; the model has %+v", op, s.CurrentPhase, s.Status, s.AttemptNumber, len(s.CompletedSubtasks), len(s.Commits), m)
			}
			consistent(rt, s, n)
		}
	})
}

// consistent is what holds in every state.
func consistent(rt *rapid.T, s tdd.State, n int) {
	if len(s.CompletedSubtasks)+len(s.PendingSubtasks) != n {
		rt.Fatalf("%v and %v are not all %d subtasks", s.CompletedSubtasks, s.PendingSubtasks, n)
	}
	inLoop := s.CurrentPhase.Phase() == tdd.LoopPhase
	if inLoop != (s.CurrentSubtask != "") || inLoop && s.PendingSubtasks[0] != s.CurrentSubtask {
		rt.Fatalf("at %s the current subtask is %q of %v", s.CurrentPhase, s.CurrentSubtask, s.PendingSubtasks)
	}
	for i, a := range s.Outbox {
		if a.Seq != int64(i+1) {
			rt.Fatalf("event %d has number %d", i+1, a.Seq)
		}
	}
	if s.CanResume == s.Status.Over() {
		rt.Fatalf("%s: can resume %v", s.Status, s.CanResume)
	}
}

// model is the workflow in other words.
type model struct {
	left, done, commits, most, try int
	at, status                     string
}

// do reports whether op is allowed and does it.
func (m *model) do(op string) bool {
	active := m.status == "in-progress"
	over := m.status == "completed" || m.status == "aborted"
	go1 := func(to string) bool { m.at, m.try = to, 1; return true }
	switch {
	case op == "abort":
		if !over {
			m.status = "aborted"
		}
		return true
	case op == "resume" && !over:
		if m.status == "paused" {
			m.try = 1
		}
		m.status = "in-progress"
		return true
	case !active:
		return false
	case op == "checked" && m.at == "preflight":
		return go1("branch-setup")
	case op == "branched" && m.at == "branch-setup":
		return go1("red")
	case op == "accept" && m.at == "red":
		return go1("green")
	case op == "accept" && m.at == "green", op == "implemented" && m.at == "red", op == "implemented" && m.at == "green":
		return go1("commit")
	case op == "reopen" && m.at == "commit":
		return go1("green")
	case op == "refuse" && (m.at == "red" || m.at == "green" || m.at == "commit" || m.at == "finalize"):
		if m.try >= m.most {
			m.status = "paused"
		} else {
			m.try++
		}
		return true
	case op == "commit" && m.at == "commit":
		m.done, m.left, m.commits = m.done+1, m.left-1, m.commits+1
		if m.left == 0 {
			return go1("finalize")
		}
		return go1("red")
	case op == "commit" && m.at == "finalize":
		m.commits++
		return true
	case op == "finish" && m.at == "finalize":
		m.status = "completed"
		return go1("complete")
	}
	return false
}

// apply does op to the real thing.
func (m *model) apply(s *tdd.State, op string, i int) error {
	now := at(i)
	st := step(i, 1, 1)
	switch op {
	case "checked":
		return s.Checked(now, nil)
	case "branched":
		return s.Branched(now, "b", "", true)
	case "accept":
		return s.Accept(st)
	case "implemented":
		st.Verdict.Implemented = true
		return s.Accept(st)
	case "refuse":
		st.Verdict = tdd.Verdict{Message: "no"}
		_, err := s.Refuse(st)
		return err
	case "reopen":
		return s.Reopen(now, "changed")
	case "commit":
		if err := s.Promise(now, tdd.Pending{Subtask: s.CurrentSubtask}); err != nil {
			return err
		}
		return s.Fulfil(now, fmt.Sprint("c", i))
	case "finish":
		return s.Finish(st)
	case "resume":
		return s.Resume(now)
	default:
		s.Abort(now)
		return nil
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s", 330 * time.Second: "5m 30s", time.Hour: "1h", 25*time.Hour + time.Second: "25h 1s", -time.Second: "0s",
	} {
		if got := tdd.Clock(d); got != want {
			t.Errorf("Clock(%v) = %q, want %q", d, got, want)
		}
	}
}
