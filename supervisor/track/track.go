package track

import (
	"context"
	"fmt"
	"strings"
	"time"

	"autopilot/metrics/episode"
	"autopilot/reflector"
	"autopilot/sessions/completion"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/source"
)

const keptSteps = 50

// State is how far the work is.
type State struct {
	source.Track
	Best     int            `json:"best"`               // most tasks that were completed at once
	Furthest int            `json:"furthest,omitempty"` // most smaller steps
	Stalled  int            `json:"stalled"`            // sessions in a row after which no more were
	Gone     bool           `json:"gone,omitempty"`     // there is none any more; the rest is what was seen last
	Steps    []episode.Step `json:"steps,omitempty"`
}

// Verdict says what follows from a look at the work.
type Verdict string

// Verdicts.
const (
	GoOn   Verdict = ""
	None   Verdict = "none"   // there is no work
	Done   Verdict = "done"   // all of it is over
	Failed Verdict = "failed" // all of it is over, and some has failed
	Gone   Verdict = "gone"   // there was some, and now there is none
	Shut   Verdict = "shut"   // nothing that remains can be done
	Hidden Verdict = "hidden" // what can be read is over, and some cannot be read
	Stuck  Verdict = "stuck"  // it does not go forward
	Person Verdict = "person" // a person is needed
)

// Begin is the state before the first session.
func Begin(now source.Track) State {
	return State{Track: now, Best: now.Completed, Furthest: now.Moves}
}

// Session is one session of the work, as far as the work's own count goes.
type Session struct {
	At        time.Time
	Iteration int
	Tokens    int64
	CostUSD   float64
	Error     bool // it went wrong
}

// After counts a session after which the work is as now says. It reports whether the
// moment has come to warn that it does not go forward.
func (s *State) After(now source.Track, x Session) (warn bool) {
	if s.Gone = now.Total == 0 && s.Total > 0; s.Gone {
		now = s.Track // what is known of them
	}
	s.Track = now
	if s.Stalled++; now.Completed > s.Best || now.Moves > s.Furthest {
		s.Stalled, s.Best, s.Furthest = 0, max(s.Best, now.Completed), max(s.Furthest, now.Moves)
	}
	step := episode.Step{
		At: x.At, Iteration: x.Iteration, Completed: now.Completed, Total: now.Total, Progress: float64(now.Percent) / 100, Tokens: x.Tokens, CostUSD: x.CostUSD,
	}
	if s.Stalled > 0 {
		step.Signals = append(step.Signals, "no-progress")
	}
	if x.Error {
		step.Signals = append(step.Signals, "error")
	}
	s.Steps = append(s.Steps, step)
	s.Steps = s.Steps[max(0, len(s.Steps)-keptSteps):]
	return s.Stalled == completion.StallWarning
}

// Verdict says what follows, with the reason in words.
func (s *State) Verdict() (v Verdict, why string) {
	stuck := s.Stalled >= completion.StallLimit
	switch {
	case s.Track.Person != "":
		return Person, s.Track.Person
	case s.Gone:
		return Gone, fmt.Sprintf("the tasks are gone: %d were there, %d of them complete", s.Total, s.Completed)
	case s.Completed == s.Total && len(s.Broken) > 0 && !stuck:
		return Hidden, fmt.Sprintf("%s cannot be read: %s; all %d tasks that can are over", s.Broken[0].Path, s.Broken[0].Why, s.Total)
	case s.Total == 0 && len(s.Broken) == 0:
		return None, "no tasks discovered from any source: " + strings.Join(s.Empty, "; ")
	case s.Completed == s.Total && s.Track.Failed > 0 && len(s.Broken) == 0:
		return Failed, fmt.Sprintf("all %d tasks are over, %d of them failed", s.Total, s.Track.Failed) + named(s.Failures)
	case s.Completed == s.Total && len(s.Broken) == 0:
		return Done, fmt.Sprintf("all %d tasks are complete", s.Total)
	case s.Blocked != "" && len(s.Broken) == 0:
		return Shut, s.Blocked
	case stuck:
		return Stuck, fmt.Sprintf("no progress in %d sessions (%d/%d tasks complete)", s.Stalled, s.Completed, s.Total)
	}
	return GoOn, ""
}

func named(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; ")
}

// With adds to the checks of a goal that none of the tasks remains. Without a state it
// adds nothing.
func (s *State) With(check func(context.Context, []gate.Check) []gate.Result) func(context.Context, []gate.Check) []gate.Result {
	if s == nil {
		return check
	}
	return func(ctx context.Context, checks []gate.Check) []gate.Result {
		return append(check(ctx, checks), gate.Result{
			Check: gate.Check{Kind: gate.Command, Command: "autopilot tasks", Given: true}, OK: s.Completed == s.Total,
			Detail: fmt.Sprintf("%d of %d tasks are complete", s.Completed, s.Total),
		})
	}
}

// Reflector is a reflector whose look back starts from the count: how far the work is
// and whether it goes forward is known, and no opinion.
func (s *State) Reflector(r reflector.Reflector) reflector.Reflector {
	if s == nil || r == nil {
		return r
	}
	return counted{r, s}
}

type counted struct {
	reflector.Reflector
	state *State
}

// Reflect asks and puts the count into the answer.
func (c counted) Reflect(ctx context.Context, in reflector.Input) (reflector.Reflection, error) {
	out, err := c.Reflector.Reflect(ctx, in)
	if err != nil {
		return out, err
	}
	a := &out.Assessment
	a.PercentComplete, a.GoalAchieved = float64(c.state.Percent), reflector.No
	if c.state.Completed > 0 {
		a.GoalAchieved = reflector.Partial
	}
	switch {
	case c.state.Stalled == 0:
		a.Progress = reflector.Good
	case c.state.Stalled < completion.StallWarning:
		a.Progress = reflector.Slow
	default:
		a.Progress = reflector.Stuck
	}
	if c.state.Stalled < completion.StallWarning {
		a.Recommendation = reflector.Continue
	}
	return out, nil
}

// recalledTasks is how many of the open tasks stand for all of them when earlier work
// is looked for.
const recalledTasks = 3

// Words are what earlier work is looked for with.
func (s *State) Words() string { return strings.Join(s.Open[:min(len(s.Open), recalledTasks)], "\n") }

// End is how a run on the work ended.
type End struct {
	Cause      string
	Detail     string
	Done       bool
	Iterations int
	Active     time.Duration
	Tokens     int64
	CostUSD    float64
}

// Episode is what the run teaches.
func (s *State) Episode(e End) episode.Episode {
	words := fmt.Sprintf("%d tasks", s.Total)
	if len(s.Names) > 0 {
		words += ": " + strings.Join(s.Names, "; ")
	}
	out := episode.Episode{
		Task: words, Success: e.Done, Status: "completed", Iterations: e.Iterations, DurationMS: e.Active.Milliseconds(),
		Tokens: e.Tokens, CostUSD: e.CostUSD, Steps: s.Steps,
	}
	if e.Done {
		out.Reward = episode.Reward(e.Iterations, e.Active)
		return out
	}
	out.Status, out.Critique = e.Cause, Critique(fmt.Sprintf("Stopped at %d%%", s.Percent), e.Detail, s.Open)
	if s.Stalled > 0 {
		out.Critique += fmt.Sprintf(". No further task was completed in the last %d sessions", s.Stalled)
	}
	return out
}

// Critique says how far work came, why it ended, and what it left.
func Critique(where, why string, left []string) string {
	words := where + ": " + why
	if len(left) > 0 {
		words += ". Remaining: " + strings.Join(left, "; ")
	}
	return words
}
