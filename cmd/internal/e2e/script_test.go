//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"autopilot/reflector"
	"autopilot/sessions/messagesapi"
)

// talk answers the main conversation of a session by main and those of its
// sub-agents by sub. Small requests of the CLI's own, which offer no tools, get
// a word.
func talk(main, sub messagesapi.Script) messagesapi.Script {
	return func(r messagesapi.Request) messagesapi.Reply {
		switch {
		case len(r.Tools) == 0:
			return messagesapi.Text("ok")
		case r.IsSubAgent():
			return sub(r)
		default:
			return main(r)
		}
	}
}

// working is a session that gets the given answers and then reports that the
// work is done.
func working(replies ...messagesapi.Reply) messagesapi.Script {
	steps := messagesapi.InSteps(append(slices.Clone(replies), reportDone("all of it"))...)
	return talk(steps, messagesapi.Always(messagesapi.Text("the report of a sub-agent")))
}

// bash is an answer that runs a shell command.
func bash(format string, args ...any) messagesapi.Reply {
	return messagesapi.ToolUse("Bash", bashInput(fmt.Sprintf(format, args...)))
}

func bashInput(command string) map[string]any {
	return map[string]any{"command": command, "description": "run a command"}
}

// longCommand marks that it has begun and runs for minutes. A bare sleep would be
// refused by newer versions of the CLI.
const longCommand = "touch mark-begun; for i in 1; do sleep 300; done"

// reportDone is the report of a session after which nothing is left to do.
func reportDone(item string) messagesapi.Reply {
	return messagesapi.ToolUse("StructuredOutput", report([]string{item}, nil))
}

// reportMore is the report of a session after which something is left to do.
func reportMore(item string) messagesapi.Reply {
	return messagesapi.ToolUse("StructuredOutput", report([]string{item}, []string{"more"}))
}

func report(done, next []string) map[string]any {
	if next == nil {
		next = []string{}
	}
	return map[string]any{
		"planned": done, "completed": done, "carried_over": []string{}, "summary": "did " + strings.Join(done, ", "),
		"next_steps": next, "needs_person": "",
	}
}

// sessionNumber reads from the prompt which session of the run asks.
func sessionNumber(r messagesapi.Request) int {
	_, after, _ := strings.Cut(strings.Join(r.UserTexts(), "\n"), "This is session ")
	n := 0
	_, _ = fmt.Sscanf(after, "%d of", &n)
	return n
}

// mainRequests are the requests of main conversations of sessions that work.
func (l *lab) mainRequests() []messagesapi.Request {
	return slices.DeleteFunc(l.api.Requests(), func(r messagesapi.Request) bool { return r.IsSubAgent() || len(r.Tools) == 0 || topic(r) != "" })
}

// agentRequests are those of sub-agents.
func (l *lab) agentRequests() []messagesapi.Request {
	return slices.DeleteFunc(l.api.Requests(), func(r messagesapi.Request) bool { return !r.IsSubAgent() })
}

// toolResults are the results of all tool calls that the main conversations
// told the model, in the order in which they were told.
func (l *lab) toolResults() []messagesapi.Block {
	seen := map[string]bool{}
	var out []messagesapi.Block
	for _, r := range l.mainRequests() {
		for _, b := range r.LastToolResults() {
			if !seen[b.ID] {
				seen[b.ID] = true
				out = append(out, b)
			}
		}
	}
	return out
}

// What a claude that does no work is asked about.
const (
	aboutGoal = "goal" // what it means, before a run
	aboutWork = "work" // how far it is, after a session
)

// topic is what a claude that does no work is asked about. It is empty for every
// other request.
func topic(r messagesapi.Request) string {
	switch {
	case strings.Contains(r.System, "You read a goal of"):
		return aboutGoal
	case strings.Contains(r.System, "You judge how far a goal"):
		return aboutWork
	}
	return ""
}

// judged answers the looks back of a run by looks, each a conversation of its own,
// in their order; the last serves all that follow. What the goal means is told
// without adding anything. All other requests go to work.
func judged(work messagesapi.Script, looks ...messagesapi.Script) messagesapi.Script {
	var mu sync.Mutex
	var known []string
	return func(r messagesapi.Request) messagesapi.Reply {
		switch topic(r) {
		case aboutGoal:
			return messagesapi.ToolUse("StructuredOutput", map[string]any{
				"is_ambiguous": false, "issue": "", "suggestion": "", "success_criteria": []string{}, "milestones": []string{},
			})
		case aboutWork:
		default:
			return work(r)
		}
		mu.Lock()
		i := slices.Index(known, r.Session)
		if i < 0 {
			i, known = len(known), append(known, r.Session)
		}
		mu.Unlock()
		return looks[min(i, len(looks)-1)](r)
	}
}

// finds is a look back that comes to a verdict at once.
func finds(a reflector.Assessment) messagesapi.Script {
	return messagesapi.Always(messagesapi.ToolUse("StructuredOutput", a))
}

// verdict is an assessment of work that goes on, or is done at 100 percent.
func verdict(percent float64, p reflector.Progress) reflector.Assessment {
	a := reflector.Assessment{
		GoalAchieved: reflector.No, Progress: p, PercentComplete: percent, Recommendation: reflector.Continue,
		Reasoning: fmt.Sprintf("It is at %g.", percent), NextSteps: []string{"the next part"},
	}
	if percent == 100 {
		a.GoalAchieved, a.Recommendation, a.NextSteps = reflector.Yes, reflector.Stop, []string{}
	}
	return a
}

// looks are the requests of looks back.
func (l *lab) looks() []messagesapi.Request {
	return slices.DeleteFunc(l.api.Requests(), func(r messagesapi.Request) bool { return topic(r) != aboutWork })
}
