package prompt

import (
	"fmt"
	"strings"
)

// System is the addition to the system prompt of every session: that nobody is
// there, and the cap on sub-agents that the hook also keeps.
func System(agentCap int) string {
	agents := fmt.Sprintf("Start at most %d sub-agents at the same time; a further one is refused until one has ended.", agentCap)
	if agentCap == 0 {
		agents = "Start no sub-agents: work as the coordinator yourself. A sub-agent would be refused."
	}
	return "This session is run by autopilot without a person at the keyboard. Nobody can answer a question during it. " +
		agents + " The limit follows the state of the machine and can change while you work; a refusal names the limit of the moment. " +
		"Start no processes that outlive the session; they are ended with it."
}

// Past is what an earlier session of the same run did, for the next prompt.
type Past struct {
	Iteration int
	Ending    string
	Report    *Report // nil when it left none
}

const rememberedSessions = 3

// Goal is the prompt of one session of a goal run.
func Goal(goal string, iteration, maxSessions int, past []Past) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Work towards this goal:\n\n%s\n\n", strings.TrimSpace(goal))
	fmt.Fprintf(&b, "This is session %d of at most %d. Look at the repository first: earlier sessions may have done part of it.\n", iteration, maxSessions)
	if len(past) > 0 {
		b.WriteString("\nWhat the last sessions reported (their own words; check before you rely on them):\n")
		for _, p := range past[max(0, len(past)-rememberedSessions):] {
			writePast(&b, p)
		}
	}
	b.WriteString("\nPlan what fits into this session, do it, and check it. Leave the repository in a state in which the next session can go on. " +
		"End with the structured report: what you planned, what is done, what is carried over, what is left towards the goal. " +
		"Count an item as completed only when you have checked it. If only a person can decide something, put the question into needs_person.\n")
	return b.String()
}

func writePast(b *strings.Builder, p Past) {
	fmt.Fprintf(b, "\nSession %d (%s):", p.Iteration, p.Ending)
	if p.Report == nil {
		b.WriteString(" no report.\n")
		return
	}
	fmt.Fprintf(b, " %s\n", p.Report.Summary)
	for _, l := range []struct {
		name  string
		items []string
	}{{"done", p.Report.Completed}, {"carried over", p.Report.CarriedOver}, {"next steps", p.Report.NextSteps}} {
		for _, item := range l.items {
			fmt.Fprintf(b, "- %s: %s\n", l.name, item)
		}
	}
}

// Resumed is the prompt with which a conversation goes on after it was cut
// short by a limit of the API.
const Resumed = "The last turn was cut short by a limit of the API, which is over now. Look at what is done already, then go on where you stopped."
