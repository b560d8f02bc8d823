//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/sessions/messagesapi"
)

// continued asserts how the last run ended, that it continues the one before it,
// that those before are recorded once, and that each session is.
func (l *lab) continued(e ended, w want, before ...ledger.Run) ledger.Run {
	l.t.Helper()
	runs := l.runs()
	if len(runs) != len(before)+1 {
		l.t.Fatalf("%d run records, want %d", len(runs), len(before)+1)
	}
	var got, want []string
	for i, run := range runs {
		if i < len(before) && run.AutopilotRunID != before[i].AutopilotRunID || i > 0 && run.ResumedFrom != runs[i-1].AutopilotRunID {
			l.t.Errorf("record %d is of run %s, which continues %q; want a chain in its order", i+1, run.AutopilotRunID, run.ResumedFrom)
		}
		for _, id := range run.Sessions {
			want = append(want, run.AutopilotRunID+" "+id)
		}
	}
	for _, s := range l.sessions() {
		got = append(got, s.AutopilotRunID+" "+s.SessionID)
	}
	if !slices.Equal(got, want) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		l.t.Errorf("session records of %q, want each of %q once", got, want)
	}
	return l.checkRun(e, runs[len(runs)-1], w)
}

// cutShort is a session whose command is cut short, as often as it is told to go on
// until the file mark-end is there.
func (l *lab) cutShort(r messagesapi.Request) messagesapi.Reply {
	switch {
	case r.Step > 1:
		return reportMore("a part")
	case !l.exists("mark-end"):
		return bash("echo begun >> mark-runs; %s", longCommand)
	default:
		return bash("echo hello > part.txt")
	}
}

// resume continues the last run, of which the limit leaves nothing, so that it is
// refused once.
func (l *lab) resume(usedUp string) *started {
	l.t.Helper()
	if e := l.finish(l.command("resume", "--allow-nested", usedUp)); e.code != 2 || !strings.Contains(e.stderr, "is used up") {
		l.t.Errorf("resume %s: exit code %d, want 2 because the limit is used up", usedUp, e.code)
	}
	if v := l.status(); v.Resumable == nil || !*v.Resumable || v.Record.Termination.Status != ledger.Interrupted {
		l.t.Errorf("status = %+v, want an interrupted run that can be continued", v.Record.Termination)
	}
	return l.command("resume", "--allow-nested")
}

// A run is interrupted in the middle of a command. What continues it goes on with
// the conversation, and its supervisor is killed in the middle of another command.
// What continues that ends well. No command is run again by us, and what was used
// stays used.
func TestE2EResume(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script { return talk(l.cutShort, nil) })
		s := l.inBash("--max-sessions", "3")
		s.signal(syscall.SIGINT)
		first := l.check(l.finish(s), want{code: 130, killSwitch: "user-abort", endings: "cancelled"})

		s = l.resume("--max-tokens=120")
		eventually(t, "the conversation that goes on runs a command", func() bool { return strings.Count(l.contents("mark-runs"), "begun") == 2 })
		_ = syscall.Kill(l.supervisor(), syscall.SIGKILL)
		second := l.continued(l.finish(s), want{code: 137, cause: "killed", endings: "crashed"}, first)

		l.write("mark-end", "")
		r := l.continued(l.finish(l.resume("--max-sessions=2")), want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1}, first, second)
		main := l.mainRequests()
		if len(main) != 4 {
			t.Fatalf("%d requests for the work, want 4", len(main))
		}
		for i, q := range main[1:] {
			if texts := q.UserTexts(); q.Session != main[0].Session || !strings.Contains(texts[0], "Work towards this goal") || !strings.Contains(q.LastUserText(), "cut short when the run was stopped") {
				t.Errorf("request %d belongs to conversation %s and tells %q; want the first prompt and the one to go on, in %s", i+2, q.Session, texts, main[0].Session)
			}
		}
		if runs, part := l.contents("mark-runs"), l.contents("part.txt"); runs != "begun\nbegun\n" || part != "hello\n" {
			t.Errorf("commands that were cut short ran as %q, the last wrote %q; want each once", runs, part)
		}
		if end := r.Termination; end.Iterations != 3 || end.Outcomes != (ledger.Outcomes{Successes: 1, Failures: 2}) {
			t.Errorf("the run ended as %+v, want the third of three sessions", end)
		}
		// Nobody is there to count what a session has used when its supervisor is killed at once.
		if first.TotalTokensUsed != 120 || second.TotalTokensUsed != 0 || r.TotalTokensUsed != 240 {
			t.Errorf("%d, %d and %d tokens, want those of one answer, none and two", first.TotalTokensUsed, second.TotalTokensUsed, r.TotalTokensUsed)
		}
		// On a busy machine the CLI does not always say what an interrupted session has cost.
		if first.TotalCostUSD > 0 && !near(r.TotalCostUSD, 2*first.TotalCostUSD) {
			t.Errorf("$%f for two answers, want twice the $%f of one", r.TotalCostUSD, first.TotalCostUSD)
		}
	})
}

// The conversation that could go on is not there any more.
func TestE2EResumeWithoutTheConversation(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script { return talk(l.cutShort, nil) })
		s := l.inBash("--max-sessions", "2")
		s.signal(syscall.SIGINT)
		first := l.check(l.finish(s), want{code: 130, killSwitch: "user-abort", endings: "cancelled"})
		kept, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", first.Sessions[0]+".jsonl"))
		if err != nil || len(kept) != 1 {
			t.Fatalf("transcripts %q, want one (%v)", kept, err)
		}
		if err := os.Remove(kept[0]); err != nil {
			t.Fatal(err)
		}
		l.write("mark-end", "")
		e := l.finish(l.command("resume", "--allow-nested"))
		l.continued(e, want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1}, first)
		if !strings.Contains(e.stderr, "a new one is opened") {
			t.Error("the log does not say that the conversation is lost")
		}
		main := l.mainRequests()
		if len(main) != 3 || main[1].Session == main[0].Session {
			t.Fatalf("%d requests for the work, want 3 in two conversations", len(main))
		}
		if text := main[1].LastUserText(); len(main[1].UserTexts()) != 1 || !strings.Contains(text, "This is session 2 of at most 2") || !strings.Contains(text, "Session 1 (cancelled)") {
			t.Errorf("the new conversation begins with %q, want the goal and what came before", text)
		}
	})
}
