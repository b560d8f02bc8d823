//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"autopilot/sessions/messagesapi"
)

func TestE2EAnswerOfFiveMegabytes(t *testing.T) {
	const size = 5 << 20
	line := "A line of an answer — with é, 漢字 and 🙂.\n"
	text := strings.Repeat(line, size/len(line)+1) + "The end."
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			if r.Turn == 1 {
				return bash("echo hello")
			}
			return messagesapi.Text(text)
		}, nil))
		e := l.run("make the tests pass", "--max-sessions", "1", "--allowed-tools", "Bash")
		l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1})
		got, err := os.ReadFile(l.stateFile("answer.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, []byte(text)) {
			t.Errorf("the kept answer has %d bytes and differs from the %d that were sent", len(got), len(text))
		}
	})
}

// A command that the model puts into the background ends after the turn: the
// process goes on with another turn and prints another init and another result.
func TestE2EBackgroundCommand(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var l *lab
		l = newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case r.Turn == 1:
				input := bashInput("until [ -e mark-first ]; do sleep 0.1; done; echo from the background")
				input["run_in_background"] = true
				return messagesapi.ToolUse("Bash", input)
			case r.Turn == 2:
				l.write("mark-first", "")
				return reportMore("the first turn")
			case strings.Contains(string(r.Body), "task-notification"):
				return reportDone("the last turn")
			default:
				return messagesapi.Text("waiting")
			}
		}, nil))
		l.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "0")
		l.check(l.run("make the tests pass", "--allowed-tools", "Bash"), want{cause: "work-done", endings: "completed", completed: 1})
		if s := l.oneSession(); s.Processes != 1 || s.Summary != "did the last turn" {
			t.Errorf("%d processes, summary %q; want one process and the report of the last turn", s.Processes, s.Summary)
		}
	})
}

// The same with two sub-agents, which end after the turn that started them. Some
// of the results that follow are empty.
func TestE2EBackgroundAgents(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		const words = "the report of a sub-agent"
		var l *lab
		l = newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			switch {
			case r.Turn == 1:
				input := map[string]any{"description": "work", "prompt": "you are a sub-agent", "subagent_type": "general-purpose", "run_in_background": true}
				return messagesapi.Blocks(messagesapi.ToolBlock("Agent", input), messagesapi.ToolBlock("Agent", input))
			case strings.Count(string(r.Body), words) < 2:
				return reportMore("the first turn")
			default:
				return reportDone("the last turn")
			}
		}, func(messagesapi.Request) messagesapi.Reply {
			if !comesTrue(func() bool { return len(l.mainRequests()) > 1 }) {
				t.Error("the main conversation waits for its sub-agents")
			}
			return messagesapi.Text(words)
		}))
		l.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "0")
		l.roomForAgents()
		l.check(l.run("make the tests pass"), want{cause: "work-done", endings: "completed", completed: 1})
		s := l.oneSession()
		if s.Processes != 1 || s.Summary != "did the last turn" || s.AgentSummary.Complete != 2 {
			t.Errorf("%d processes, summary %q, agents %+v; want one process, the report of the last turn, two agents", s.Processes, s.Summary, s.AgentSummary)
		}
	})
}

// A Stop hook that never lets go is overridden by the CLI after some turns, which
// then prints a success with an empty answer.
func TestE2EStopHookThatAlwaysBlocks(t *testing.T) {
	replies := map[string]messagesapi.Script{
		"words": messagesapi.Always(messagesapi.Text("I am done")),
		"tool": func(r messagesapi.Request) messagesapi.Reply {
			if r.Turn == 1 {
				return bash("echo hello")
			}
			return messagesapi.Text("I am done")
		},
	}
	eachVersion(t, func(t *testing.T, claude string) {
		for name, main := range replies {
			t.Run(name, func(t *testing.T) {
				l := newLab(t, claude, talk(main, nil))
				l.write(".claude/settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo '{\"decision\":\"block\",\"reason\":\"not yet\"}'"}]}]}}`)
				l.commit("settings")
				l.check(l.run("make the tests pass", "--allowed-tools", "Bash"), want{code: 3, killSwitch: "failed-wave", endings: "no-work"})
			})
		}
	})
}

// Nothing is said and nothing is done, or something is done and nothing is said.
func TestE2EEmptyAnswer(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		t.Run("nothing-done", func(t *testing.T) {
			l := newLab(t, claude, messagesapi.Always(messagesapi.Text("")))
			l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "no-work"})
		})
		t.Run("file-changed", func(t *testing.T) {
			l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
				if r.Turn == 1 {
					return bash("echo hello > part.txt")
				}
				return messagesapi.Text("")
			}, nil))
			l.check(l.run("make the tests pass", "--allowed-tools", "Bash"), want{code: 3, killSwitch: "failed-wave", endings: "failed"})
			if s := l.oneSession(); s.TotalFilesChanged != 1 {
				t.Errorf("%d files changed, want 1", s.TotalFilesChanged)
			}
		})
	})
}

// A report without a single tool call is only words.
func TestE2EReportWithoutWork(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(messagesapi.Always(reportDone("nothing at all")), nil))
		l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "no-work"})
	})
}

func TestE2EBudgetOfASession(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(bash("echo hello")))
		r := l.check(l.run("make the tests pass", "--max-cost-usd", "0.0001", "--allowed-tools", "Bash"), want{code: 6, killSwitch: "token-budget-exceeded", endings: "failed"})
		if n := len(l.mainRequests()); n != 1 || r.TotalTokensUsed != 120 || r.TotalCostUSD <= 0.0001 {
			t.Errorf("%d requests, %d tokens, $%f; want 1, 120 and more than the budget", n, r.TotalTokensUsed, r.TotalCostUSD)
		}
	})
}

// A process that stays after its work, here for a command in the background, is
// ended when its grace is over, and the work counts.
func TestE2ELingeringProcess(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(func(r messagesapi.Request) messagesapi.Reply {
			if r.Turn > 1 {
				return reportDone("it")
			}
			input := bashInput(longCommand)
			input["run_in_background"] = true
			return messagesapi.ToolUse("Bash", input)
		}, nil))
		l.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "0")
		e := l.run("make the tests pass", "--allowed-tools", "Bash", "--exit-grace", "2s")
		l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		if !strings.Contains(e.stderr, "did not exit within 2s") {
			t.Error("the log does not say that the process had to be ended")
		}
	})
}

// What follows -- reaches the CLI: here a limit of its own, which ends the session.
func TestE2EArgumentsForClaude(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(bash("echo hello")))
		e := l.run("make the tests pass", "--allowed-tools", "Bash", "--", "--max-turns", "1")
		r := l.check(e, want{code: 3, killSwitch: "failed-wave", endings: "failed"})
		if !strings.Contains(r.Endings[0].Cause, "error_max_turns") {
			t.Errorf("cause = %q, want the CLI's own limit", r.Endings[0].Cause)
		}
	})
}

// What is left of a budget does not suffice for a session like those before.
func TestE2EBudgetOfARun(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, talk(messagesapi.InSteps(bash("echo hello"), reportMore("a part")), nil))
		r := l.check(l.run("make the tests pass", "--max-tokens", "500", "--allowed-tools", "Bash"), want{code: 6, killSwitch: "token-budget-exceeded", endings: "completed completed", completed: 2})
		if r.TotalTokensUsed != 480 {
			t.Errorf("%d tokens, want 480", r.TotalTokensUsed)
		}
	})
}
