//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/sessions/messagesapi"
)

// agents is an answer that starts sub-agents side by side.
func agents(names ...string) messagesapi.Reply {
	var blocks []messagesapi.Block
	for _, n := range names {
		blocks = append(blocks, messagesapi.ToolBlock("Agent", map[string]any{
			"description": n, "prompt": "you are sub-agent " + n, "subagent_type": "general-purpose",
		}))
	}
	return messagesapi.Blocks(blocks...)
}

// refusals counts the tool results by which the cap refused a sub-agent.
func (l *lab) refusals() int {
	n := 0
	for _, b := range l.toolResults() {
		if b.IsError && strings.Contains(b.Text, "autopilot") {
			n++
		}
	}
	return n
}

// agentsSeen is how many sub-agents asked the API.
func (l *lab) agentsSeen() int {
	ids := map[string]bool{}
	for _, r := range l.agentRequests() {
		ids[r.Agent] = true
	}
	return len(ids)
}

func refusedOf(r ledger.Run) int {
	n := 0
	for _, c := range r.Caps {
		n += c.Refused
	}
	return n
}

func TestE2ECapOfNoAgents(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(agents("one"), bash("echo done by myself")))
		r := l.check(l.run("make the tests pass", "--agents-per-wave", "0", "--allowed-tools", "Bash"), want{cause: "work-done", endings: "completed", completed: 1})
		if l.refusals() != 1 || l.agentsSeen() != 0 {
			t.Errorf("%d refusals were told and %d sub-agents asked the API, want 1 and 0", l.refusals(), l.agentsSeen())
		}
		if len(r.Caps) != 1 || r.Caps[0].Cap != 0 || r.Caps[0].Refused != 1 {
			t.Errorf("caps applied = %+v, want one of 0 that refused 1", r.Caps)
		}
		if s := l.oneSession(); s.TotalAgents != 0 {
			t.Errorf("the record counts %d sub-agents, want 0", s.TotalAgents)
		}
	})
}

// Six are asked for at once, then two more. The API answers the first four only
// when all of them have asked, so that they do run at the same time.
func TestE2ECapOfFourAgents(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		var l *lab
		together := func(messagesapi.Request) messagesapi.Reply {
			if _, err := l.api.Wait(t.Context(), 5); err != nil { // one of the main conversation
				t.Error(err)
			}
			return messagesapi.Text("the report of a sub-agent")
		}
		steps := messagesapi.InSteps(agents("1", "2", "3", "4", "5", "6"), agents("7", "8"), reportDone("all"))
		l = newLab(t, claude, talk(steps, together))
		l.roomForAgents()
		r := l.check(l.run("make the tests pass", "--agents-per-wave", "4"), want{cause: "work-done", endings: "completed", completed: 1})
		if l.refusals() != 2 || refusedOf(r) != 2 || l.agentsSeen() != 6 {
			t.Errorf("%d refusals were told, %d recorded, %d sub-agents asked the API; want 2, 2 and 6", l.refusals(), refusedOf(r), l.agentsSeen())
		}
		if s := l.oneSession(); s.TotalAgents != 6 || s.AgentSummary.Complete != 6 {
			t.Errorf("the record counts %d sub-agents, %+v; want 6, all complete", s.TotalAgents, s.AgentSummary)
		}
	})
}

// A repository must not be able to switch the cap off with a setting of its own.
func TestE2ECapWithHooksSwitchedOff(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		l := newLab(t, claude, working(agents("one"), bash("echo done by myself")))
		l.write(".claude/settings.json", `{"disableAllHooks":true}`)
		l.commit("settings")
		r := l.check(l.run("make the tests pass", "--agents-per-wave", "0", "--allowed-tools", "Bash"), want{cause: "work-done", endings: "completed", completed: 1})
		if l.refusals() != 1 || refusedOf(r) != 1 || l.agentsSeen() != 0 {
			t.Errorf("%d refusals were told, %d recorded, %d sub-agents asked the API; want 1, 1 and 0", l.refusals(), refusedOf(r), l.agentsSeen())
		}
	})
}

// A sub-agent that edits one file three times stops the run, and one that fails
// does as well.
func TestE2EAgentsInTrouble(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		t.Run("spiral", func(t *testing.T) {
			var l *lab
			l = newLab(t, claude, talk(messagesapi.InSteps(agents("one"), reportMore("one")), func(r messagesapi.Request) messagesapi.Reply {
				if r.Step > 3 {
					return messagesapi.Text("done")
				}
				return messagesapi.ToolUse("Write", map[string]any{"file_path": l.path("part.txt"), "content": fmt.Sprint(r.Step)})
			}))
			l.roomForAgents()
			l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "spiral", endings: "completed", completed: 1})
			if s := l.oneSession(); s.AgentSummary.Spiral != 1 || s.AgentSummary.Complete != 1 {
				t.Errorf("agents = %+v, want one complete and in a spiral", s.AgentSummary)
			}
		})
		t.Run("failed", func(t *testing.T) {
			bad := messagesapi.APIError(400, "invalid_request_error", "no", nil)
			l := newLab(t, claude, talk(messagesapi.InSteps(agents("one"), reportMore("one")), messagesapi.Always(bad)))
			l.roomForAgents()
			l.check(l.run("make the tests pass"), want{code: 3, killSwitch: "failed-wave", endings: "completed", completed: 1})
			if s := l.oneSession(); s.AgentSummary.Failed != 1 {
				t.Errorf("agents = %+v, want one failed", s.AgentSummary)
			}
		})
	})
}
