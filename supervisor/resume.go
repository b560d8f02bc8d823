package supervisor

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/killswitch"
)

// NotResumable says why the run with this state cannot be continued, or nothing.
func NotResumable(s State) string {
	switch t := s.Record.Termination; {
	case s.Alive():
		return "it is still on"
	case s.ResumedBy != "":
		return "run " + s.ResumedBy + " continues it"
	case !s.Finished || t == nil:
		return "its records are not written"
	case t.Status == ledger.Completed:
		return "its goals are reached"
	case !t.Resumable:
		return "it ended before its first session"
	}
	return ""
}

// MarkResumed notes in the state of a run which other run continues it. Only one
// can.
func MarkResumed(folder, by string) error {
	s, err := LoadState(folder)
	switch {
	case err != nil:
		return err
	case s.ResumedBy == by:
		return nil
	case s.ResumedBy != "":
		return fmt.Errorf("run %s is continued by run %s already", s.Record.AutopilotRunID, s.ResumedBy)
	}
	s.ResumedBy = by
	return statedir.ReplaceJSON(filepath.Join(folder, stateName), s)
}

// markPrevious notes in the run that this one continues that it does so. That is
// done once this one can be continued itself, so that the chain has no end from
// which nobody can go on.
func (l *loop) markPrevious() error {
	if l.Previous == nil {
		return nil
	}
	return MarkResumed(filepath.Join(filepath.Dir(l.Folder), l.Previous.Record.AutopilotRunID), l.RunID)
}

// TakeUp makes the state of a run ready to be continued: what is not achieved is open
// again. The answer of a person is for the goal that asked first, or without a
// question for the one that is worked on next; further goals go on waiting when only
// an answer helps. TakeUp says what a limit would stop at once.
func TakeUp(s *State, answer string, l killswitch.Limits) error {
	asked := s.Pursuit.Asked()
	for i := range s.Pursuit.Goals {
		switch g := &s.Pursuit.Goals[i]; {
		case g.Status == ledger.GoalOpen || g.Status == ledger.GoalAchieved:
		case g == asked && answer != "":
			g.Resume(answer)
		case g.Status != ledger.GoalPaused || g.Question == nil || g.Question.Reason != "question":
			g.Resume("")
		}
	}
	current := s.Pursuit.Current()
	if answer != "" && asked == nil && current != nil {
		current.Answer = answer
	}
	if current == nil {
		if asked != nil {
			return fmt.Errorf("run %s waits for an answer: %s", s.Record.AutopilotRunID, asked.Question.Text)
		}
		return nil // there is nothing to do but to say so
	}
	used := s.Used()
	h := killswitch.CheckBefore(l, killswitch.Before{Completed: used.Completed, Sessions: used.Iterations, Elapsed: used.Active, Spent: used.Spent, Mean: mean(s.Costs)})
	if h != nil {
		return fmt.Errorf("a limit of run %s is used up: %s: %s", s.Record.AutopilotRunID, h.Reason, h.Detail)
	}
	return nil
}

// Used is what the run and those that it continued have used up.
func (s State) Used() Carried {
	c := s.Carried
	c.Iterations += s.Iteration
	c.Completed += s.Record.IterationsCompleted
	c.Spent.Tokens += s.Record.TotalTokensUsed
	c.Spent.CostUSD += s.Record.TotalCostUSD
	c.Active += seconds(s.Record.DurationSeconds)
	c.Outcomes.Successes += s.Outcomes.Successes
	c.Outcomes.Failures += s.Outcomes.Failures
	return c
}

// carryOn takes over what an earlier run left.
func (l *loop) carryOn(s State) {
	interval := l.file.Pursuit.Interval
	l.file.Pursuit = s.Pursuit
	l.file.Pursuit.Refresh(l.Goals)
	l.file.Pursuit.SetInterval(interval)
	l.file.Pursuit.Tally = ledger.Reflections{By: map[string]int{}}
	l.file.Carried, l.file.Costs, l.file.Last = s.Used(), s.Costs, s.Last
	l.file.Record.ResumedFrom = s.Record.AutopilotRunID
	l.Log.Info("run continued", "from", s.Record.AutopilotRunID, "iterations", l.file.Carried.Iterations, "tokens", l.file.Carried.Spent.Tokens, "cost_usd", l.file.Carried.Spent.CostUSD)
}

// cutShort are the endings after which a conversation is worth going on with.
func cutShort() []outcome.Ending {
	return []outcome.Ending{outcome.Cancelled, outcome.Crashed, outcome.Hung, outcome.Limited, outcome.Overloaded}
}

// continues makes the first session of a continued run go on with the
// conversation that was cut short, or in which a question was asked that has an
// answer now. A conversation about another goal is over.
func (l *loop) continues(s *sessions.Spec) {
	last := l.file.Last
	if l.Previous == nil || l.file.Iteration > 0 || last == nil || !last.Opened || last.Conversation == "" || last.Goal != l.file.Pursuit.Progress().Goal || last.Work != l.assignment.Work {
		return
	}
	answer := ""
	if g := l.file.Pursuit.Current(); g != nil {
		answer = g.Answer
	}
	switch {
	case slices.Contains(cutShort(), outcome.Ending(last.Ending)):
		s.ContinuePrompt = prompt.Interrupted(answer)
	case answer != "":
		s.ContinuePrompt = prompt.Answered(answer)
	default:
		return
	}
	if l.HasConversation != nil && !l.HasConversation(last.Conversation) {
		l.Log.Warn("the conversation that was cut short is not on this machine any more; a new one is opened", "session_id", last.Conversation)
		s.ContinuePrompt = ""
		return
	}
	s.ConversationID = sessions.ID(last.Conversation)
	s.Continue = &sessions.Result{ID: s.ID, Opened: true, NextStep: min(last.NextStep, len(s.Steps)-1)}
	l.Log.Info("the conversation goes on", "conversation", last.Conversation, "ending", last.Ending)
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
