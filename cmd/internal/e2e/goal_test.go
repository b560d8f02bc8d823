//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions/messagesapi"

	"github.com/google/go-cmp/cmp"
)

func TestE2EThreeGoalSessions(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var l *lab
		l = newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			n := sessionNumber(r)
			switch r.Step {
			case 1:
				return write(l.path(fmt.Sprintf("part%d.txt", n)), "done\n")
			case 2:
				return bash("git add -A && git commit -q -m 'part %d'", n)
			default:
				return reportMore(fmt.Sprintf("part %d", n))
			}
		}, nil))
		e := l.run("write the parts", "--max-sessions", "3", "--allowed-tools", "Bash(git *)")
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed completed completed", completed: 3})
		if r.TotalTokensUsed != 3*3*120 || r.TotalCostUSD <= 0 {
			t.Errorf("tokens %d, cost %f, want those of nine answers", r.TotalTokensUsed, r.TotalCostUSD)
		}
		if diff := cmp.Diff("part 3\npart 2\npart 1\nstart", l.git("log", "--format=%s")); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		all := l.sessions()
		if len(all) != 3 {
			t.Fatalf("%d session records, want 3", len(all))
		}
		for i, s := range all {
			if s.AutopilotRunID != r.AutopilotRunID || s.SessionID != r.Sessions[i] || s.TotalFilesChanged != 1 || len(s.Commits) != 1 ||
				s.Effectiveness == nil || s.Effectiveness.PlannedIssues != 1 || s.Summary != fmt.Sprintf("did part %d", i+1) {
				t.Errorf("session %d = %+v", i+1, s)
			}
		}
		if n := len(l.mainRequests()); n != 9 {
			t.Errorf("the API got %d requests, want 9", n)
		}
	})
}

// The simplest of goals: one session, one look back, and a file that proves it.
func TestE2EGoalSimple(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return judged(working(write(l.path("README.md"), "# A project\n\nIt is described here.\n")), finds(verdict(100, reflector.Good)))
		})
		e := l.run("Create a README.md file with project description", "--mode", "continuous", "--max-sessions", "3", "--reflector", "claude")
		r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		end := r.Termination
		if end.Status != ledger.Completed || end.Reason != "goal_achieved" || end.Iterations != 1 || end.Progress != "100% complete" || end.Resumable {
			t.Errorf("the run ended as %+v, want a goal achieved in one session", end)
		}
		if d := end.Deliverables; len(d) != 1 || d[0].Name != "README.md" || !d[0].OK || !strings.Contains(d[0].Proof, "35 bytes") {
			t.Errorf("deliverables = %+v, want README.md with its size as a proof", d)
		}
		if n, main, looks := len(l.api.Requests()), len(l.mainRequests()), len(l.looks()); n != 4 || main != 2 || looks != 1 {
			t.Errorf("the API got %d requests, %d for the work and %d to look back; want 4, 2 and 1", n, main, looks)
		}
		if s := l.oneSession(); s.SessionID != r.Sessions[0] || s.TotalFilesChanged != 1 {
			t.Errorf("session record = %+v", s)
		}
	})
}

// A goal of several sessions. The third says that it is done while the check of the
// person fails; the fourth hears of that.
func TestE2EGoalWithAFalseStop(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		asked, answer := make(chan struct{}), make(chan struct{})
		tell := sync.OnceFunc(func() { close(asked) })
		work := func(l *lab, r messagesapi.Request) messagesapi.Reply {
			n := sessionNumber(r)
			switch {
			case r.Step == 1 && n == 4:
				tell()
				select {
				case <-answer:
				case <-t.Context().Done():
				}
				fallthrough
			case r.Step == 1:
				return write(l.path(fmt.Sprintf("part%d.txt", n)), "done\n")
			case n < 3:
				return reportMore(fmt.Sprintf("part %d", n))
			default:
				return reportDone(fmt.Sprintf("part %d", n))
			}
		}
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return judged(talk(func(r messagesapi.Request) messagesapi.Reply { return work(l, r) }, nil),
				finds(verdict(20, reflector.Slow)), finds(verdict(50, reflector.Slow)), finds(verdict(75, reflector.Good)), finds(verdict(100, reflector.Good)))
		})
		l.write("check.sh", "test -e part4.txt && exit 0\necho part4.txt is missing\nexit 1\n")
		l.commit("check")
		s := l.start("Refactor the authentication module to use JWT tokens", "--mode", "continuous", "--max-sessions", "8", "--reflect-every", "1", "--reflector", "claude", "--verify", "sh check.sh")
		select {
		case <-asked:
		case <-time.After(patience):
			t.Fatal("there is no fourth session")
		}
		if v := l.status(); !v.Running || v.Iteration != 4 || v.Progress.Percent != 75 || v.Progress.Velocity != 25 || v.Progress.Sessions != 1 || v.Progress.Left <= 0 ||
			v.Progress.PerHour <= 0 || len(v.Progress.Points) != 3 || v.Progress.Last != "It is at 75." {
			t.Errorf("status = %+v, want session 4, 75 %%, 25 %% a session, one session left", v)
		}
		close(answer)
		r := l.check(l.finish(s), want{cause: "work-done", endings: "completed completed completed completed", completed: 4})
		for _, q := range l.mainRequests() {
			told := strings.Contains(q.UserTexts()[0], "sh check.sh: exit status 1") && strings.Contains(q.UserTexts()[0], "part4.txt is missing")
			if told != (sessionNumber(q) == 4) {
				t.Errorf("session %d is told of the failing check: %v; want that for the fourth alone: %s", sessionNumber(q), told, q.UserTexts()[0])
			}
		}
		if g := r.Goals[0]; g.Status != ledger.GoalAchieved || g.FalseStops != 1 || g.Percent != 100 || len(g.Deliverables) != 1 || !g.Deliverables[0].OK {
			t.Errorf("goal = %+v, want it achieved after one false stop, and proved", g)
		}
		if x := r.Reflections; x == nil || x.Count != 4 || x.By["claude"] != 4 || x.Failed != 0 || x.Judged != 3 {
			t.Errorf("reflections = %+v, want four, three of them judged by the next", x)
		}
		if n := len(l.mainRequests()); n != 8 {
			t.Errorf("the API got %d requests for the work, want 8", n)
		}
	})
}

// A goal without an end is refused before anything is asked, or replaced by one
// that names a file. The first session of that claims the file without writing it.
func TestE2EGoalAmbiguous(t *testing.T) {
	const vague = "learn how to run a business"
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLabFor(t, claude, func(l *lab) messagesapi.Script {
			return talk(func(r messagesapi.Request) messagesapi.Reply {
				switch {
				case r.Step > 1:
					return reportDone("the guide")
				case sessionNumber(r) == 1:
					return bash("ls")
				default:
					return write(l.path("docs/run-business.md"), "# A guide\n")
				}
			}, nil)
		})
		e := l.run(vague)
		if e.code != 4 || !strings.Contains(e.stderr, "Write docs/run-business.md") || len(l.api.Requests()) != 0 {
			t.Errorf("exit code %d and %d requests, want 4 and none, and a suggestion", e.code, len(l.api.Requests()))
		}
		e = l.run(vague, "--auto-refine-goals", "--allowed-tools", "Bash")
		r := l.check(e, want{cause: "work-done", endings: "completed completed", completed: 2})
		first := l.mainRequests()[0].UserTexts()[0]
		if !strings.Contains(first, "Write docs/run-business.md, a 5-page guide") || strings.Contains(first, vague) || !strings.Contains(e.stderr, "replaced") {
			t.Errorf("the first session is told %q, want the refined goal", first)
		}
		if g := r.Goals[0]; g.FalseStops != 1 || len(g.Deliverables) != 1 || g.Deliverables[0].Name != "docs/run-business.md" || !g.Deliverables[0].OK {
			t.Errorf("goal = %+v, want one false stop and the guide as its proof", g)
		}
		if n := len(l.api.Requests()); n != 4 {
			t.Errorf("the API got %d requests, want 4", n)
		}
	})
}

// The same call fails again and again. The run waits for a person, whose answer
// goes into the conversation that was stuck. From then on the check alone decides.
func TestE2EGoalStuckAndAnswered(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		work := func(r messagesapi.Request) messagesapi.Reply {
			answered := strings.Contains(r.LastUserText(), "use the container")
			switch {
			case answered && r.Step == 1:
				return bash("touch container.txt; sh check.sh")
			case answered:
				return reportDone("the tests pass")
			case r.Step <= 2:
				return bash("sh check.sh")
			default:
				return reportMore("a look at the tests")
			}
		}
		stuck := verdict(30, reflector.Stuck)
		stuck.LoopDetected, stuck.NextSteps = true, []string{"install it as root", "use the container", "skip these tests"}
		l := newLab(t, claude, judged(talk(work, nil), finds(stuck)))
		l.write("check.sh", "test -e container.txt && exit 0\necho module jwt is missing\nexit 1\n")
		l.commit("check")
		e := l.run("Fix the failing tests in test_auth.py", "--mode", "continuous", "--max-sessions", "5", "--reflect-every", "10", "--reflector", "claude", "--verify", "sh check.sh", "--allowed-tools", "Bash")
		first := l.check(e, want{code: 4, cause: "needs-person", endings: "completed completed", completed: 2})
		v := l.status()
		if end := v.Record.Termination; end.Status != ledger.Paused || end.Reason != "stuck" || !end.AwaitingUserInput || end.Question == "" || cmp.Diff(stuck.NextSteps, end.Options) != "" || v.Resumable == nil || !*v.Resumable {
			t.Errorf("the run ended as %+v, want a question with three options", end)
		}
		if text := l.finish(l.command("status")).stdout; !strings.Contains(text, "B) use the container") {
			t.Errorf("status = %q, want the options with their letters", text)
		}
		before := l.mainRequests()

		r := l.continued(l.finish(l.command("answer", "B", "--allow-nested", "--reflect-every", "0")), want{cause: "work-done", endings: "completed", completed: 1}, first)
		after := l.mainRequests()[len(before):]
		if len(after) != 2 || after[0].Session != before[len(before)-1].Session || after[0].Session == before[0].Session {
			t.Fatalf("%d requests after the answer, want 2 in the second session's conversation", len(after))
		}
		text := strings.Join(after[0].UserTexts(), "\n")
		if !strings.Contains(text, "Work towards this goal") || !strings.Contains(after[0].LastUserText(), "use the container") || !strings.Contains(string(after[0].Body), "module jwt is missing") {
			t.Errorf("the conversation goes on as %q, want the first prompt, what failed, and the answer", text)
		}
		if end := r.Termination; end.Status != ledger.Completed || end.Iterations != 3 || len(end.Deliverables) != 1 || !end.Deliverables[0].OK {
			t.Errorf("the run ended as %+v, want a proved end after three sessions", end)
		}
	})
}

// write is an answer that writes a file.
func write(path, text string) messagesapi.Reply {
	return messagesapi.ToolUse("Write", map[string]any{"file_path": path, "content": text})
}
