package supervisor

import (
	"fmt"
	"time"

	"autopilot/metrics/episode"
	"autopilot/metrics/ledger"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/track"
)

// recall is what earlier work recommends for what is to be done now.
func (l *loop) recall(g *pursuit.Goal) []string {
	if l.Recall == nil {
		return nil
	}
	words := g.Text
	if t := l.file.Tasks; t != nil {
		words = t.Words()
	}
	lines, known := l.recalled[words]
	if !known {
		lines = l.Recall(words)
		l.recalled[words] = lines
	}
	return lines
}

// learn hands out what the run teaches: an episode for its tasks, or one for each
// goal that it worked for. What keeps an episode from being kept does not matter
// to the run.
func (l *loop) learn() {
	if l.Learn == nil || l.stop.reason == killswitch.UserAbort || l.stop.cause == CausePerson {
		return // it was interrupted, and is no failure of the work
	}
	var list []episode.Episode
	if t := l.file.Tasks; t == nil {
		list = l.goalEpisodes()
	} else if l.iteration() > 0 && t.Total > 0 {
		list = append(list, t.Episode(track.End{
			Cause: string(l.stop.cause), Detail: l.stop.detail, Done: l.stop.cause == CauseWorkDone, Iterations: l.iteration(), Active: l.active(),
			Tokens: l.spent().Tokens, CostUSD: l.spent().CostUSD,
		}))
	}
	for _, e := range list {
		e.At, e.RunID, e.Source = time.Now(), l.RunID, l.Source.Name()
		e.Tags = append(e.Tags, "source:"+e.Source, "mode:"+l.Mode)
		if err := l.Learn(e); err != nil {
			l.Log.Warn("what this run teaches could not be kept", "err", err.Error())
			return
		}
		l.Log.Info("episode", "act", "episode", "task", e.Task, "status", e.Status, "success", e.Success, "reward", e.Reward, "iterations", e.Iterations)
	}
}

func (l *loop) goalEpisodes() []episode.Episode {
	var list []episode.Episode
	for _, g := range l.file.Pursuit.Goals {
		n := g.Totals.Sessions
		if n == 0 {
			continue
		}
		e := episode.Episode{
			Task: g.Text, Status: g.Status, Success: g.Status == ledger.GoalAchieved, Iterations: n, DurationMS: g.Totals.Elapsed.Milliseconds(),
			Tokens: g.Totals.Tokens, CostUSD: g.Totals.CostUSD,
		}
		if e.Success {
			e.Status, e.Reward = ledger.StatusCompleted, episode.Reward(n, g.Totals.Elapsed)
		} else {
			e.Status, e.Critique = string(l.stop.cause), track.Critique(fmt.Sprintf("Stopped at %.0f%%", g.Series.Percent), l.stop.detail, goalLeft(g))
		}
		e.Steps = stepsOf(g)
		list = append(list, e)
	}
	return list
}

// stepsOf are the last sessions of a goal, each with the progress that was known after
// it: what the looks back found. When they were is not known.
func stepsOf(g pursuit.Goal) []episode.Step {
	var steps []episode.Step
	before := g.Totals.Sessions - len(g.Sessions)
	for i, s := range g.Sessions {
		st := episode.Step{Iteration: s.Iteration, CostUSD: s.CostUSD}
		for _, p := range g.Points {
			if p.Sessions <= before+i+1 {
				st.Progress = p.Percent / 100
			}
		}
		if !s.Worked {
			st.Signals = append(st.Signals, "error")
		} else if !s.Effect() {
			st.Signals = append(st.Signals, "no-progress")
		}
		steps = append(steps, st)
	}
	return steps
}

// goalLeft is what a goal that was not reached still lacks.
func goalLeft(g pursuit.Goal) []string {
	var left []string
	for _, m := range g.Milestones {
		if !m.Done {
			left = append(left, m.Text)
		}
	}
	if n := len(g.Sessions); len(left) == 0 && n > 0 {
		left = g.Sessions[n-1].NextSteps
	}
	return left
}
