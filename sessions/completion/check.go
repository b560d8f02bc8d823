package completion

import (
	"fmt"
	"math"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

const keptPoints = 50

// mostCount is the largest number that stands for itself in every JSON reader; what
// is counted stops there.
const mostCount = 1 << 53

// Facts are what a check is decided on.
type Facts struct {
	Tasks []task.Task
	Now   time.Time
	// Unasked is a source that could not be asked; empty when all were. Then what is
	// complete as far as one knows may not be.
	Unasked string
	Fault   *task.Fault // why, when it cannot be read
	// InHook is set when Claude Code asks. Only then its own limit counts: it ends a
	// turn after BlockCap refusals in a row without a call of a tool; 0 is no limit.
	InHook     bool
	BlockCap   int
	TurnGoesOn bool  // this turn has been refused its end before
	ToolsUsed  bool  // since the check before
	Tokens     int64 // since the check before
}

// Check decides whether the agent may stop, and changes the state accordingly. What
// is complete is complete also when a limit is reached at the same time. A state
// that is disabled stays as it is.
func Check(s *State, f Facts) Decision {
	if !s.Enabled {
		return Decision{AllowStop: true, Reason: "Autopilot disabled"}
	}
	elapsed := s.clock(f.Now)
	s.Tokens = min(s.Tokens+min(max(f.Tokens, 0), mostCount), mostCount)
	if f.InHook && (f.ToolsUsed || !f.TurnGoesOn) {
		s.Blocks = 0
	}
	if len(f.Tasks) == 0 {
		return f.unknown("No tasks discovered from any source")
	}
	c := tally(f.Tasks, s.Criteria)
	s.see(c.completed)
	switch {
	case len(c.open) == 0 && f.Unasked != "":
		return f.unknown(fmt.Sprintf("All %d known tasks complete, but %s could not be asked; still enabled", c.total, f.Unasked))
	case len(c.open) == 0:
		return s.succeed(f, c, elapsed)
	case s.Iterations >= s.MaxIterations:
		return s.fail(f, c, elapsed, OutOfTurns, fmt.Sprintf("Max iterations (%d) reached", s.MaxIterations))
	case elapsed >= int64(s.TimeoutMinutes)*time.Minute.Milliseconds():
		return s.fail(f, c, elapsed, OutOfTime, fmt.Sprintf("Timeout (%d min) reached", s.TimeoutMinutes))
	case s.MaxTokens > 0 && s.Tokens >= s.MaxTokens:
		return s.fail(f, c, elapsed, OutOfTokens, fmt.Sprintf("Token budget (%d) reached", s.MaxTokens))
	case s.Stalled >= StallLimit:
		return s.fail(f, c, elapsed, WithoutGain, fmt.Sprintf("Stalled: no progress in %d iterations (%d/%d complete)", s.Stalled, c.completed, c.total))
	case f.InHook && f.BlockCap > 0 && s.Blocks >= f.BlockCap:
		// Blocks stays: only a new turn or a tool makes Claude Code count anew.
		return Decision{
			AllowStop: true, Reason: fmt.Sprintf("Let go after %d refusals in a row without a tool call; still enabled", s.Blocks),
			Events: []Event{newEvent(f.Now, "let-go", Event{"blocks": s.Blocks})},
		}
	}
	return s.refuse(f, c)
}

// unknown lets the agent stop although nobody knows that all is done, and says so
// where a place of tasks cannot be read.
func (f Facts) unknown(reason string) Decision {
	d := Decision{AllowStop: true, Reason: reason}
	if f.Fault != nil {
		d.Events = []Event{newEvent(f.Now, "unreadable", Event{"path": f.Fault.Path, "why": f.Fault.Why})}
		d.Reason += fmt.Sprintf(" (%s cannot be read: %s)", f.Fault.Path, f.Fault.Why)
	}
	return d
}

// clock returns the milliseconds since enabling. When the clock was set back, the
// start moves back with it: time that has passed stays passed.
func (s *State) clock(now time.Time) int64 {
	ms := now.UnixMilli()
	seen := s.StartTime
	if s.LastCheck != nil {
		seen = max(seen, *s.LastCheck)
	}
	if ms < seen {
		s.StartTime -= seen - ms
	}
	s.LastCheck = &ms
	return ms - s.StartTime
}

// see notes how many tasks are complete. An iteration without progress is one that
// was granted and after which there are no more of them than at the best time.
func (s *State) see(completed int) {
	if s.Iterations == 0 || completed > s.Best {
		s.Best, s.Progressed = completed, s.Iterations
	}
	s.Stalled = s.Iterations - s.Progressed
}

func (s *State) refuse(f Facts, c counted) Decision {
	s.Iterations++
	if f.InHook {
		s.Blocks++
	}
	s.History = append(s.History, Point{TS: f.Now.UnixMilli(), Iteration: s.Iterations, Completed: c.completed, Total: c.total, Tokens: f.Tokens})
	s.History = s.History[max(0, len(s.History)-keptPoints):]
	d := Decision{
		Reason:       fmt.Sprintf("%d/%d tasks remaining (iteration %d/%d)", len(c.open), c.total, s.Iterations, s.MaxIterations),
		ContinueWith: prompt(*s, f.Tasks, c),
		Events: []Event{newEvent(f.Now, "re-engaging", Event{
			"iteration": s.Iterations, "completed": c.completed, "remaining": len(c.open), "confidence": s.Confidence, "tokens": f.Tokens,
		})},
	}
	if s.Stalled == StallWarning {
		d.Events = append(d.Events, newEvent(f.Now, "stall-warning", Event{"iterations": s.Iterations}))
	}
	return d
}

// succeed ends the work when every task is over. With failed tasks among them it is
// over, but no success.
func (s *State) succeed(f Facts, c counted, elapsed int64) Decision {
	s.Enabled = false
	e := s.episode(f, c, elapsed)
	e.Status, e.Success = allSuccessful, len(c.failed) == 0
	more := ""
	if e.Success {
		e.Reward = episode.Reward(s.Iterations, time.Duration(min(elapsed, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
	} else {
		e.Status, more = failedTasks, fmt.Sprintf(", %d failed", len(c.failed))
		e.Critique = fmt.Sprintf("%d of %d tasks failed: %s", len(c.failed), c.total, names(c.failed, namedInCritique))
	}
	e.Tags = []string{AllComplete}
	return Decision{
		AllowStop: true, Outcome: AllComplete, Episode: &e,
		Reason: fmt.Sprintf("All %d tasks complete (%d iterations, reward: %.2f%s)", c.total, s.Iterations, e.Reward, more),
		Events: []Event{newEvent(f.Now, "all-tasks-complete", Event{
			"total": c.total, "iterations": s.Iterations, "durationMs": elapsed, "reward": math.Round(e.Reward*100) / 100, "failed": len(c.failed),
		})},
	}
}

// fail ends the work with tasks remaining.
func (s *State) fail(f Facts, c counted, elapsed int64, outcome, reason string) Decision {
	s.Enabled = false
	e := s.episode(f, c, elapsed)
	e.Status, e.Tags = outcome, []string{outcome}
	e.Critique = fmt.Sprintf("Stopped at %d%%: remaining: %s", c.percent(), names(c.open, namedInCritique))
	if outcome == WithoutGain {
		e.Critique += ". " + s.stallPattern(f.Now, c)
	}
	var ev Event
	switch outcome {
	case OutOfTurns:
		ev = newEvent(f.Now, "max-iterations-reached", Event{"iterations": s.Iterations})
	case OutOfTime:
		ev = newEvent(f.Now, "timeout-reached", Event{"elapsed": elapsed, "minutes": s.TimeoutMinutes})
	case OutOfTokens:
		ev = newEvent(f.Now, "budget-reached", Event{"tokens": s.Tokens, "maxTokens": s.MaxTokens})
	default:
		ev = newEvent(f.Now, "stall-auto-disable", Event{"iterations": s.Iterations, "completed": c.completed})
	}
	return Decision{AllowStop: true, Outcome: outcome, Reason: reason, Events: []Event{ev}, Episode: &e}
}

// fresh starts a new count.
func (s *State) fresh(now time.Time) {
	s.StartTime, s.LastCheck, s.History = now.UnixMilli(), nil, nil
	s.Iterations, s.Stalled, s.Best, s.Progressed, s.Blocks, s.Tokens = 0, 0, 0, 0, 0, 0
}

// expired reports whether the time of a session is over, so that it can hold nobody
// any more, although nobody has noticed yet.
func (s *State) expired(now time.Time) bool {
	c := *s
	return c.clock(now) >= int64(s.TimeoutMinutes)*time.Minute.Milliseconds()
}
