package stories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/probe/tier"
	"autopilot/supervisor/ending"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/queue/work"
	"autopilot/supervisor/story"
)

// killSwitch is the kill-switch in the reason of a cohort's end.
func killSwitch(reason string) (string, bool) {
	if reason == story.ReasonSignal {
		return string(killswitch.UserAbort), true
	}
	word := strings.TrimPrefix(reason, story.ReasonTwice)
	return word, slices.Contains(killswitch.All(), killswitch.Reason(word))
}

// termination is the end of the cohort in words.
func termination(c story.Cohort, rec ledger.Run) *ledger.Termination {
	counts := c.Counts()
	t := ledger.Termination{
		Status: ledger.Completed, Reason: strings.ReplaceAll(rec.StopReason, "-", "_"), Iterations: 0, CheckpointSaved: true, Deliverables: []ledger.Deliverable{},
		TimeElapsed: ending.Elapsed(time.Duration(rec.DurationSeconds) * time.Second),
		Outcomes:    ledger.Outcomes{Successes: counts[story.Done], Failures: counts[story.Failed]},
	}
	t.Summary = fmt.Sprintf("%s: %s", stories(len(c.Members)), counted(c))
	if counts[story.Done] < len(c.Members) {
		t.Status, t.Partial, t.Resumable = ledger.Stopped, counts[story.Done] > 0, true
		t.NextSteps = append(t.NextSteps, "'autopilot resume "+rec.AutopilotRunID+"' goes on with the stories that are not done")
	}
	if counts[story.Person] > 0 {
		t.NextSteps = append(t.NextSteps, "'autopilot gates' shows calls that wait for you; 'autopilot answer STORY TEXT' answers a question")
	}
	return &t
}

// Text is how the stories of a cohort stand, for a person.
func Text(c story.Cohort) string {
	var b strings.Builder
	used := c.Spent()
	why := ""
	if c.Tier == string(tier.Critical) && c.Stop == nil {
		why = "; nothing is begun while the machine is critical"
	}
	fmt.Fprintf(&b, "  stories     %s; at most %d at once, tier %s%s, %d tokens, $%.4f\n", counted(c), c.Max, cmp.Or(c.Tier, "-"), why, used.Tokens, used.CostUSD)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, m := range c.Members {
		fmt.Fprintf(w, "  - %s\t%s\t%s\t%s\n", m.ID, m.Status, count(m.Sessions, "session"), cmp.Or(m.Why, m.Title))
	}
	_ = w.Flush() // a strings.Builder takes everything
	for _, m := range c.Members {
		if m.Draft != "" {
			fmt.Fprintf(&b, "  request     %s: %s\n", m.ID, m.Draft)
		}
		if m.Kept != "" {
			fmt.Fprintf(&b, "  kept        %s: %s (branch %s, %s; %s)\n", m.ID, m.Worktree, m.Branch, count(m.Commits, "commit"), m.Kept)
		}
	}
	return b.String()
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func stories(n int) string {
	if n == 1 {
		return "1 story"
	}
	return fmt.Sprintf("%d stories", n)
}

func counted(c story.Cohort) string {
	counts := c.Counts()
	var words []string
	for _, s := range []story.Status{story.Done, story.Running, story.Waiting, story.Person, story.Failed, story.Stopped, story.Shut} {
		if counts[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	return strings.Join(words, ", ")
}

// standing is how far a story is, as an item of the queue.
func standing(m story.Member) work.Standing {
	status := map[story.Status]queue.Status{
		story.Waiting: queue.Waiting, story.Running: queue.InProgress, story.Done: queue.Done, story.Person: queue.NeedsHuman, story.Failed: queue.Failed,
		story.Shut: queue.Failed, story.Stopped: queue.Waiting,
	}[m.Status]
	s := work.Standing{Item: queue.Item{ID: cmp.Or(m.Item, m.ID), Kind: queue.Goal, Title: m.Title, Status: status, Why: m.Why, Sessions: m.Sessions}, Detail: m.Why, Final: m.Status.Over()}
	if m.Kind == story.Increment {
		s.Item.Kind = queue.Increment
	}
	if m.Status == story.Done {
		s.Percent = 100
	}
	return s
}

// Line is how the stories of a cohort stand, on one line.
func Line(c story.Cohort) string {
	var words []string
	for _, m := range c.Members {
		words = append(words, fmt.Sprintf("%s %s", m.ID, m.Status))
	}
	used := c.Spent()
	return fmt.Sprintf("%s, tier %s, %d tokens, $%.4f", strings.Join(words, ", "), cmp.Or(c.Tier, "-"), used.Tokens, used.CostUSD)
}
