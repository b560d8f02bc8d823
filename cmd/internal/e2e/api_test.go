//go:build e2e

package e2e

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"autopilot/sessions/messagesapi"
)

// resumed reports whether the conversation goes on after a wait.
func resumed(r messagesapi.Request) bool {
	return strings.Contains(r.LastUserText(), "cut short by a limit")
}

// sameConversation asserts that all requests of the main conversation belong to
// one conversation, and that the last one still knows its beginning.
func (l *lab) sameConversation(requests []messagesapi.Request) {
	l.t.Helper()
	for _, r := range requests {
		if r.Session == "" || r.Session != requests[0].Session {
			l.t.Errorf("request %d has session id %q, the first has %q", r.Number, r.Session, requests[0].Session)
		}
	}
	texts := strings.Join(requests[len(requests)-1].UserTexts(), "\n")
	if !strings.Contains(texts, "Work towards this goal") || !strings.Contains(texts, "cut short by a limit") {
		l.t.Errorf("the resumed conversation is %q, want the first prompt and the one to go on", texts)
	}
}

// The usage limit comes in the middle of the first session. The second session
// does the same work without a limit, to compare what was counted.
func TestE2EUsageLimitIsWaitedFor(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case r.Turn == 1:
				return bash("echo hello > part%d.txt", sessionNumber(r))
			case sessionNumber(r) == 1 && !resumed(r):
				now := time.Now()
				return messagesapi.UsageLimit(messagesapi.Window{Claim: "five_hour", Reset: now.Add(5 * time.Second), Utilization: 1}, now)
			default:
				return reportMore("a part")
			}
		}, nil))
		l.withToken()
		e := l.run("make the tests pass", "--max-sessions", "2", "--limit-margin", "0s", "--allowed-tools", "Bash")
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed completed", completed: 2})
		if r.WaitedSeconds < 1 {
			t.Errorf("waited %d s, want the time until the reset", r.WaitedSeconds)
		}
		if a, b := r.Endings[0], r.Endings[1]; a.Tokens != 240 || b.Tokens != 240 || !near(a.CostUSD, b.CostUSD) || !near(r.TotalCostUSD, a.CostUSD+b.CostUSD) {
			t.Errorf("endings = %+v, total %f: the limited session is to count as much as the other", r.Endings, r.TotalCostUSD)
		}
		if all := l.sessions(); len(all) != 2 || all[0].Processes != 2 || all[1].Processes != 1 || all[0].TotalFilesChanged != 1 {
			t.Errorf("sessions = %+v, want two processes, then one", all)
		}
		main := l.mainRequests()
		if len(main) != 5 {
			t.Fatalf("the API got %d requests, want 5", len(main))
		}
		l.sameConversation(main[:3])
		if main[3].Session == main[0].Session {
			t.Error("the second session went on with the first one's conversation")
		}
	})
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A refusal that will pass, without a time at which it does, in the middle of a
// session.
func TestE2EOverloadIsWaitedFor(t *testing.T) {
	cases := []struct {
		name    string
		refusal messagesapi.Reply
		token   bool
	}{
		{"529", messagesapi.Overloaded(), false},
		{"429", messagesapi.RateLimited(0, true), true},
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
					switch {
					case r.Turn == 1:
						return bash("echo hello")
					case !resumed(r):
						return c.refusal
					default:
						return reportDone("it")
					}
				}, nil))
				if c.token {
					l.withToken()
				}
				l.set("CLAUDE_CODE_MAX_RETRIES", "1")
				e := l.run("make the tests pass", "--backoff-initial", "100ms", "--allowed-tools", "Bash")
				r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
				if s := l.oneSession(); s.Processes != 2 || r.TotalTokensUsed != 240 {
					t.Errorf("%d processes, %d tokens; want 2 and 240", s.Processes, r.TotalTokensUsed)
				}
				l.sameConversation(l.mainRequests())
			})
		}
	})
}

// The limit comes while a sub-agent works: it fails, and so does the main
// conversation's next request. After the wait the work is done again and well, so
// that this is no failed wave.
func TestE2EUsageLimitDuringASubAgent(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		limit := func() messagesapi.Reply {
			now := time.Now()
			return messagesapi.UsageLimit(messagesapi.Window{Claim: "five_hour", Reset: now.Add(2 * time.Second), Utilization: 1}, now)
		}
		var over atomic.Bool
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			if resumed(r) {
				over.Store(true)
			}
			switch {
			case r.Turn > 1 && !over.Load():
				return limit()
			case r.Step == 1:
				return agents("one")
			default:
				return reportDone("it")
			}
		}, func(messagesapi.Request) messagesapi.Reply {
			if !over.Load() {
				return limit()
			}
			return messagesapi.Text("the report of a sub-agent")
		}))
		l.withToken()
		l.roomForAgents()
		l.check(l.run("make the tests pass", "--limit-margin", "0s"), want{cause: "work-done", endings: "completed", completed: 1})
	})
}

// While a run waits for the API there is nothing to end but the waiting itself.
func TestE2ELeavingTheWait(t *testing.T) {
	cases := []struct {
		name  string
		leave func(*lab, *started)
		want  want
	}{
		{"interrupt", func(_ *lab, s *started) { s.signal(syscall.SIGINT) }, want{code: 130, killSwitch: "user-abort", endings: "limited"}},
		{"stop", func(l *lab, _ *started) { l.finish(l.command("stop")) }, want{code: 0, killSwitch: "user-abort", endings: "limited"}},
		{"kill", func(l *lab, _ *started) { _ = syscall.Kill(l.supervisor(), syscall.SIGKILL) }, want{code: 137, cause: "killed", endings: "limited"}},
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
					if r.Turn == 1 {
						return bash("echo hello")
					}
					now := time.Now()
					return messagesapi.UsageLimit(messagesapi.Window{Claim: "five_hour", Reset: now.Add(time.Hour), Utilization: 1}, now)
				}, nil))
				l.withToken()
				s := l.start("make the tests pass", "--allowed-tools", "Bash")
				eventually(t, "the run waits", func() bool { return strings.Contains(l.activity(), "waiting for the API") })
				c.leave(l, s)
				r := l.check(l.finish(s), c.want)
				if rec := l.oneSession(); rec.Ending != "limited" || r.TotalTokensUsed != 120 {
					t.Errorf("session ended as %s with %d tokens, want limited with 120", rec.Ending, r.TotalTokensUsed)
				}
			})
		}
	})
}

// The very first request is refused, so that there is no answer in the
// conversation yet when it is taken up again.
func TestE2EOverloadAtTheFirstRequest(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case !resumed(r):
				return messagesapi.Overloaded()
			case r.Step == 1:
				return bash("echo hello")
			default:
				return reportDone("it")
			}
		}, nil))
		l.set("CLAUDE_CODE_MAX_RETRIES", "1")
		e := l.run("make the tests pass", "--backoff-initial", "100ms", "--allowed-tools", "Bash")
		l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		l.sameConversation(l.mainRequests())
	})
}

// Nobody is at home for longer than the run may take.
func TestE2ELimitBeyondTheRun(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, func(messagesapi.Request) messagesapi.Reply {
			now := time.Now()
			return messagesapi.UsageLimit(messagesapi.Window{Claim: "seven_day", Reset: now.Add(48 * time.Hour), Utilization: 1}, now)
		})
		l.withToken()
		l.check(l.run("make the tests pass"), want{killSwitch: "max-hours-exceeded", endings: "limited"})
		if n := len(l.api.Requests()); n != 1 {
			t.Errorf("the API got %d requests, want 1", n)
		}
	})
}

func TestE2ERefusedCredentials(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		t.Run("key", func(t *testing.T) {
			l := newLab(t, claude, messagesapi.Always(messagesapi.Unauthorized()))
			l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "auth"})
			if n := len(l.api.Requests()); n > 2 {
				t.Errorf("the API got %d requests, want 1 or 2", n)
			}
		})
		t.Run("token", func(t *testing.T) {
			l := newLab(t, claude, messagesapi.Always(messagesapi.Unauthorized()))
			l.withToken()
			l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "auth"})
			if n := len(l.api.Requests()); n > 3 {
				t.Errorf("the API got %d requests, want 1 to 3", n)
			}
		})
	})
}

func TestE2ENoCredit(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, messagesapi.Always(messagesapi.CreditTooLow()))
		l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "credit"})
	})
}

func TestE2EUnknownModel(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, messagesapi.Always(messagesapi.APIError(404, "not_found_error", "model: nonsense", nil)))
		l.check(l.run("make the tests pass", "--model", "nonsense"), want{code: 3, killSwitch: "failed-wave", endings: "failed"})
		if got := l.api.Requests()[0].Model; got != "nonsense" {
			t.Errorf("asked for model %q, want nonsense", got)
		}
	})
}

func TestE2EHang(t *testing.T) {
	replies := map[string]messagesapi.Reply{
		"no-answer":     messagesapi.Hang(),
		"in-mid-stream": messagesapi.Text("some words of a longer answer").Chunked(4).StallAfter(5),
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for name, reply := range replies {
			t.Run(name, func(t *testing.T) {
				l := newLab(t, claude, messagesapi.Always(reply))
				l.check(l.run("make the tests pass", "--stall-timeout", "3s"), want{code: 3, killSwitch: "stall-timeout", endings: "hung"})
				if r := l.oneRun(); r.StallRecoveryCount != 1 {
					t.Errorf("stall_recovery_count = %d, want 1", r.StallRecoveryCount)
				}
			})
		}
	})
}

// The connection breaks in the middle of an answer, once.
func TestE2EResetInMidStream(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var broken atomic.Bool
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case r.Turn == 1:
				return bash("echo hello")
			case broken.CompareAndSwap(false, true):
				return messagesapi.Text("a text that does not come to its end").Chunked(4).ResetAfter(6)
			default:
				return reportDone("it")
			}
		}, nil))
		l.check(l.run("make the tests pass", "--allowed-tools", "Bash"), want{cause: "work-done", endings: "completed", completed: 1})
		if s := l.oneSession(); s.Processes != 1 {
			t.Errorf("%d processes, want 1", s.Processes)
		}
		if n := len(l.mainRequests()); n != 3 {
			t.Errorf("the API got %d requests, want 3", n)
		}
	})
}
