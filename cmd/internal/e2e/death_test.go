//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/sessions"
	"autopilot/sessions/messagesapi"
	"autopilot/supervisor/pursuit"
)

// inBash starts a run and waits until its session runs the long command.
func (l *lab) inBash(args ...string) *started {
	l.t.Helper()
	s := l.start(append([]string{"make the tests pass", "--allowed-tools", "Bash"}, args...)...)
	eventually(l.t, "the session runs a command", func() bool { return l.exists("mark-begun") })
	return s
}

func TestE2ESignalsDuringATool(t *testing.T) {
	cases := []struct {
		name    string
		signals []syscall.Signal
		code    int
	}{
		{"interrupt", []syscall.Signal{syscall.SIGINT}, 130},
		{"terminate", []syscall.Signal{syscall.SIGTERM}, 143},
		{"twice", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				l := newLab(t, claude, working(bash(longCommand)))
				s := l.inBash()
				for _, sig := range c.signals {
					s.signal(sig)
				}
				r := l.check(l.finish(s), want{code: c.code, killSwitch: "user-abort", endings: "cancelled"})
				if rec := l.oneSession(); rec.Ending != "cancelled" || rec.Status != ledger.StatusAbandoned || rec.SessionID != r.Sessions[0] || rec.TotalFilesChanged != 0 {
					t.Errorf("session record = %+v", rec)
				}
				if r.TotalTokensUsed != 120 {
					t.Errorf("%d tokens, want the 120 of the answer before the signal", r.TotalTokensUsed)
				}
			})
		}
	})
}

// The signal comes while the model is asked, in the second session.
func TestE2EInterruptDuringARequest(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case sessionNumber(r) == 2:
				return messagesapi.Hang()
			case r.Step == 1:
				return bash("echo hello")
			default:
				return reportMore("one")
			}
		}, nil))
		s := l.start("make the tests pass", "--allowed-tools", "Bash")
		if _, err := l.api.Wait(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		s.signal(syscall.SIGINT)
		l.check(l.finish(s), want{code: 130, killSwitch: "user-abort", endings: "completed cancelled", completed: 1})
	})
}

// Somebody else interrupts claude itself, not the supervisor.
func TestE2EClaudeIsInterruptedOrKilled(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		for _, c := range []struct {
			name string
			sig  syscall.Signal
			want want
		}{
			{"interrupt", syscall.SIGINT, want{code: 130, killSwitch: "user-abort", endings: "cancelled"}},
			{"kill", syscall.SIGKILL, want{code: 3, killSwitch: "failed-wave", endings: "crashed"}},
		} {
			t.Run(c.name, func(t *testing.T) {
				l := newLab(t, claude, working(bash(longCommand)))
				s := l.inBash()
				for _, p := range l.named("claude") {
					_ = syscall.Kill(p.PID, c.sig)
				}
				l.check(l.finish(s), c.want)
			})
		}
	})
}

// supervisor is the process that supervises the run that is on. The one that was
// started only guards it.
func (l *lab) supervisor() int {
	l.t.Helper()
	if v := l.status(); v.Running && v.PID > 0 {
		return v.PID
	}
	l.t.Fatal("no run is on")
	return 0
}

// status is what 'autopilot status' says.
type status struct {
	Running   bool             `json:"running"`
	RunID     string           `json:"run_id"`
	PID       int              `json:"pid"`
	Iteration int              `json:"iteration"`
	Progress  pursuit.Progress `json:"progress"`
	Resumable *bool            `json:"resumable"`
	Record    *ledger.Run      `json:"record"`
}

func (l *lab) status() status {
	l.t.Helper()
	var v status
	e := l.finish(l.command("status", "--json"))
	if err := json.Unmarshal([]byte(e.stdout), &v); err != nil {
		l.t.Fatalf("%v in %q", err, e.stdout)
	}
	return v
}

// inBashForAWhile is inBash, until what the session has used is on disk.
func (l *lab) inBashForAWhile(args ...string) *started {
	l.t.Helper()
	s := l.inBash(append([]string{"--probe-interval", "1s"}, args...)...)
	eventually(l.t, "what the session has used is on disk", func() bool {
		var so sessions.Result
		data, err := os.ReadFile(filepath.Join(filepath.Dir(l.stateFile("settings.json")), "progress.json"))
		return err == nil && json.Unmarshal(data, &so) == nil && so.Usage.Output > 0
	})
	return s
}

func TestE2ESupervisorIsKilled(t *testing.T) {
	for _, c := range []struct {
		name             string
		guard, supervise bool // which of the two is killed
		start            func(*lab, ...string) *started
		cause, ending    string
		tokens           int64
	}{
		{"supervisor", false, true, (*lab).inBashForAWhile, "killed", "crashed", 120},
		{"guard", true, false, (*lab).inBash, "user-abort", "cancelled", 120},
		{"both", true, true, (*lab).inBash, "killed", "crashed", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, claude string) {
				command := "(setsid sleep 301 &); " + longCommand
				if !c.guard || !c.supervise {
					command = "(env -i setsid sleep 301 &); " + command // found only as a child
				}
				l := newLab(t, claude, working(bash("%s", command)))
				s := c.start(l)
				requests, supervisor := len(l.api.Requests()), l.supervisor()
				if c.guard {
					s.signal(syscall.SIGKILL)
				}
				if c.supervise {
					_ = syscall.Kill(supervisor, syscall.SIGKILL)
				}
				if e := l.finish(s); e.code == 0 {
					t.Error("exit code 0 for a run that was killed")
				}
				if c.guard && c.supervise {
					l.status() // nobody else is there to see to the rest
				}
				eventually(t, "nothing of the killed run lives", func() bool { return len(l.processes()) == 0 })

				v, r, rec := l.status(), l.oneRun(), l.oneSession()
				if v.Running || v.Record == nil || v.Record.ExitCause != c.cause {
					t.Errorf("status = %+v, want that the run ended as %s", v, c.cause)
				}
				if r.ExitCause != c.cause || endingsOf(r) != c.ending || r.IterationsCompleted != 0 || r.TotalTokensUsed != c.tokens {
					t.Errorf("run record = %+v", r)
				}
				if rec.Recovered != c.supervise || rec.AutopilotRunID != r.AutopilotRunID || rec.SessionID != r.Sessions[0] || rec.Ending != c.ending {
					t.Errorf("session record = %+v", rec)
				}
				if n := len(l.api.Requests()); n != requests {
					t.Errorf("the API got %d requests after the death", n-requests)
				}
			})
		})
	}
}

// Two runs of the same minute on the same branch in two repositories have the
// same id. The end of one must not be the end of the other.
func TestE2ERunsOfOtherRepositoriesAreLeftAlone(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		for attempt := 1; ; attempt++ {
			a, b := newLab(t, claude, working(bash(longCommand))), newLab(t, claude, working(bash(longCommand)))
			for _, l := range []*lab{a, b} {
				l.git("branch", "-m", "main")
			}
			sa, sb := a.inBash(), b.inBash()
			if a.status().RunID != b.status().RunID {
				if attempt == 3 {
					t.Fatalf("no two runs of the same minute in %d attempts", attempt)
				}
				for _, s := range []*started{sa, sb} {
					s.signal(syscall.SIGINT)
				}
				a.finish(sa)
				b.finish(sb)
				continue
			}
			supervisor := a.supervisor()
			sa.signal(syscall.SIGKILL)
			_ = syscall.Kill(supervisor, syscall.SIGKILL)
			a.finish(sa)
			a.status()
			eventually(t, "nothing of the killed run lives", func() bool { return len(a.processes()) == 0 })
			if len(b.named("claude")) == 0 || len(b.named("sleep")) == 0 {
				t.Error("the end of one run ended the session of another repository")
			}
			sb.signal(syscall.SIGINT)
			b.check(b.finish(sb), want{code: 130, killSwitch: "user-abort", endings: "cancelled"})
			return
		}
	})
}

// What a session leaves behind is gone before the next one starts: with and
// without a session of its own, with a cleared environment, with children.
func TestE2ELeftoversOfASession(t *testing.T) {
	const five = "(setsid sleep 302 &); (nohup sleep 302 >/dev/null 2>&1 &); (env -i setsid sleep 302 &); " +
		"(setsid sh -c 'env -i sleep 302 & env -i sleep 302' &); echo left"
	eachVersion(t, func(t *testing.T, claude string) {
		var l *lab
		sleeping := func(n int) func() bool { return func() bool { return len(l.named("sleep")) == n } }
		l = newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case sessionNumber(r) == 1 && r.Step == 1:
				return bash(five)
			case sessionNumber(r) == 1:
				if !comesTrue(sleeping(5)) {
					t.Errorf("the first session left %d processes behind, want 5 for this to show anything", len(l.named("sleep")))
				}
				return reportMore("one")
			case r.Step == 1:
				if !sleeping(0)() {
					t.Errorf("%d processes of the first session live in the second", len(l.named("sleep")))
				}
				return bash("echo hello")
			default:
				return reportDone("two")
			}
		}, nil))
		e := l.run("make the tests pass", "--allowed-tools", "Bash")
		l.check(e, want{cause: "work-done", endings: "completed completed", completed: 2})
		if !strings.Contains(e.stderr, "processes that the session left behind were ended") {
			t.Error("the log does not speak of what was ended")
		}
	})
}

// An MCP server that ignores every request to end, in a session that ends by
// itself, one that is interrupted, and one whose supervisor is killed.
func TestE2EStubbornMCPServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for _, c := range []string{"ends", "interrupted", "killed"} {
			t.Run(c, func(t *testing.T) {
				command := longCommand
				if c == "ends" {
					command = "echo hello"
				}
				l := newLab(t, claude, working(bash("%s", command)))
				mark := l.path("mark-server")
				l.write(".mcp.json", fmt.Sprintf(`{"mcpServers":{"stubborn":{"command":%q,"args":[],"env":{%q:%q}}}}`, self, mcpVar, mark))
				l.commit("server")
				var s *started
				if c == "ends" {
					s = l.start("make the tests pass", "--allowed-tools", "Bash")
				} else {
					s = l.inBash()
				}
				eventually(t, "the server is connected", func() bool { return l.exists("mark-server") })
				switch c {
				case "interrupted":
					s.signal(syscall.SIGINT)
					l.check(l.finish(s), want{code: 130, killSwitch: "user-abort", endings: "cancelled"})
				case "killed":
					_ = syscall.Kill(l.supervisor(), syscall.SIGKILL)
					l.finish(s)
					eventually(t, "nothing of the killed run lives", func() bool { return len(l.processes()) == 0 })
				default:
					l.check(l.finish(s), want{cause: "work-done", endings: "completed", completed: 1})
				}
			})
		}
	})
}

// A tool that takes for ever is ended when its own clock or the session's is over,
// though newer versions of the CLI print a heartbeat meanwhile.
func TestE2EToolStall(t *testing.T) {
	clocks := map[string][]string{
		"tool-stall-timeout=4s": {"--stall-timeout", "2s", "--tool-stall-timeout", "4s"},
		"session-timeout 4s":    {"--session-timeout", "4s"},
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for detail, flags := range clocks {
			t.Run(flags[0][2:], func(t *testing.T) {
				l := newLab(t, claude, working(bash(longCommand)))
				e := l.run(append([]string{"make the tests pass", "--allowed-tools", "Bash"}, flags...)...)
				r := l.check(e, want{code: 3, killSwitch: "stall-timeout", endings: "hung"})
				if !strings.Contains(deref(r.KillSwitchDetail), detail) {
					t.Errorf("detail = %q, want %q in it", deref(r.KillSwitchDetail), detail)
				}
			})
		}
	})
}

// A tool that works is not a hang, however silent the stream is.
func TestE2EBusyToolIsNoStall(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		// Eight seconds of processor time, whatever the machine's speed.
		busy := `while :; do n=0; while [ $n -lt 20000 ]; do n=$((n+1)); done; [ $(ps -o times= -p $$) -ge 8 ] && break; done; echo worked`
		l := newLab(t, claude, working(bash("%s", busy)))
		e := l.run("make the tests pass", "--allowed-tools", "Bash", "--stall-timeout", "4s", "--tool-stall-timeout", "4s")
		l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
	})
}
