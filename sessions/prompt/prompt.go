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
	Iteration int     `json:"iteration"`
	Ending    string  `json:"ending"`
	Report    *Report `json:"report,omitempty"` // nil when it left none
}

const rememberedSessions = 3

// Objective is what one session of a goal run is told.
type Objective struct {
	Goal        string
	Criteria    []string
	Milestones  []string // those that are not reached yet
	First       []string // what has to be put right before anything else
	Steps       []string // what was proposed when the work was looked back at
	Answer      string   // of a person, to the question that paused the run
	Question    string
	Iteration   int // from 1
	MaxSessions int
	Past        []Past
	Learned     []string // what earlier work in this repository recommends
}

// Goal is the prompt of one session of a goal run.
func Goal(o Objective) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Work towards this goal:\n\n%s\n\n", strings.TrimSpace(o.Goal))
	writeList(&b, "It is reached when all of this holds:", o.Criteria)
	writeList(&b, "Parts of it that are still open:", o.Milestones)
	fmt.Fprintf(&b, "This is session %d of at most %d. Look at the repository first: earlier sessions may have done part of it.\n", o.Iteration, o.MaxSessions)
	if o.Answer != "" {
		b.WriteString("\n" + o.answer())
	}
	b.WriteString("\n")
	writeList(&b, "The goal was said to be reached, but these checks, made from outside, fail. Put them right first:", o.First)
	writeList(&b, "Proposed next steps (from a look back at the last sessions; check before you rely on them):", o.Steps)
	writeList(&b, learned, o.Learned)
	if len(o.Past) > 0 {
		b.WriteString("What the last sessions reported (their own words; check before you rely on them):\n")
		for _, p := range o.Past[max(0, len(o.Past)-rememberedSessions):] {
			writePast(&b, p)
		}
		b.WriteString("\n")
	}
	b.WriteString("Plan what fits into this session, do it, and check it. Leave the repository in a state in which the next session can go on. " +
		"End with the structured report: what you planned, what is done, what is carried over, what is left towards the goal. " +
		"Count an item as completed only when you have checked it. If only a person can decide something, put the question into needs_person.\n")
	return b.String()
}

// answer is what a person said.
func (o Objective) answer() string {
	if o.Question == "" {
		return "A person says: " + o.Answer + "\n"
	}
	return "A person was asked: " + o.Question + "\nThe answer: " + o.Answer + "\n"
}

// Notice is what a session that has prompts of its own is told beside them:
// answers, failing checks and proposals. It is empty when there is nothing to tell.
func Notice(o Objective) string {
	var b strings.Builder
	if o.Answer != "" {
		b.WriteString("\n\n" + o.answer())
	}
	if len(o.First)+len(o.Steps)+len(o.Learned) > 0 {
		b.WriteString("\n\n")
	}
	writeList(&b, "These checks, made from outside, fail. Put them right first:", o.First)
	writeList(&b, "Proposed next steps (from a look back at the last sessions; check before you rely on them):", o.Steps)
	writeList(&b, learned, o.Learned)
	return strings.TrimRight(b.String(), "\n")
}

// learned is the title of what earlier runs teach.
const learned = "Past work in this repository suggests (check before you rely on it):"

func writeList(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString(title + "\n")
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", Cut(strings.Join(strings.Fields(item), " "), maxItem))
	}
	b.WriteString("\n")
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

// Interrupted is the prompt with which a run that continues another goes on with
// the conversation that was cut short.
func Interrupted(answer string) string {
	return "Your last turn was cut short when the run was stopped. Look at what is done already, then go on where you stopped." + said(answer)
}

// Answered is the prompt with which a conversation goes on after a person has
// answered.
func Answered(answer string) string {
	return "The run was paused and goes on now." + said(answer) + "\n\nGo on with that."
}

func said(answer string) string {
	if answer == "" {
		return ""
	}
	return "\n\nA person says: " + answer
}
