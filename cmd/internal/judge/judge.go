package judge

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor/forge"
	"autopilot/supervisor/mode"
	"autopilot/supervisor/source"
	"autopilot/supervisor/suitability"
)

const (
	recentRuns  = 50
	backlogSize = 100
	forgeTime   = 10 * time.Second // for one question; a run waits for it before it begins
)

// Suitability are the signals for a run whose work is as sure as confidence says, nil when
// that is not known. The notes say what could not be told.
func Suitability(ctx context.Context, std outside.Stdio, p job.Place, confidence *float64, look func(context.Context) probe.Snapshot) (suitability.Signals, []string) {
	floor := p.Cfg.Stories.Floor
	s := suitability.Signals{
		Confidence: confidence, Floor: &floor, RecentRuns: suitability.RecentRuns(filepath.Join(p.MetricsDir(), ledger.RunsFile), recentRuns, time.Now()),
		Dial: suitability.FirstDial(p.Cfg.Stories.Autonomy),
	}
	if snapshot := look(ctx); !unmeasured(snapshot) {
		verdict := string(tier.Judge(snapshot.Signals, p.Cfg.AgentsFor("")).Tier)
		s.ResourceVerdict = &verdict
	}
	ci, err := pipeline(ctx, std, p)
	if err != nil {
		return s, []string{"CI could not be asked: " + err.Error()}
	}
	s.CI = ci
	return s, nil
}

func unmeasured(s probe.Snapshot) bool {
	return tier.Judge(s.Signals, 1).Signal == tier.None
}

// pipeline is how CI stands for the branch, or nil where there is none to ask.
func pipeline(ctx context.Context, std outside.Stdio, p job.Place) (*suitability.CI, error) {
	f, err := forgeOf(ctx, std, p)
	if err != nil || f == nil {
		return nil, err
	}
	st, err := p.Repo.State(ctx)
	if err != nil || st.Branch == "" {
		return nil, err
	}
	ci, err := f.CI(ctx, st.Branch)
	if err != nil || ci.Status == forge.NoCI || ci.Status == forge.Pending {
		return nil, err
	}
	return &suitability.CI{Status: ci.Status}, nil
}

// Mode are the signals for the choice of a mode as they are now.
func Mode(ctx context.Context, std outside.Stdio, p job.Place) (*mode.Signals, []string) {
	s, warnings := mode.LoadWith(p.Repo.Top, time.Now(), signals(ctx, std, p))
	var notes []string
	for _, w := range warnings {
		notes = append(notes, w.Source+": "+w.Text)
	}
	return s, notes
}

// Confidence is how sure the next session's mode is: of the mode that the signals recommend
// where session-orchestrator's lifecycle is driven. Work that a person has chosen is sure.
func Confidence(s *mode.Signals, lifecycle bool) float64 {
	if !lifecycle {
		return 1
	}
	return mode.Select(s).Confidence
}

// Answer is what follows from a verdict.
type Answer string

// Answers.
const (
	Start  Answer = "start"
	Tell   Answer = "tell"   // start, and say what speaks against it
	Ask    Answer = "ask"    // a person at the terminal
	Refuse Answer = "refuse" // a person is needed and not there
)

// Follow says what follows from a verdict for a run that a person, or a job of that
// person's, has started: with the dial at autonomous-gated nothing unsuitable is started
// without a word of a person. At the others, off being where it stands when nobody has
// turned it, somebody at a terminal is asked; without one the command that started the run
// is that word, and the verdict is told.
func Follow(v suitability.Verdict, terminal, yes bool) Answer {
	switch {
	case v.Suitable:
		return Start
	case yes:
		return Tell
	case terminal:
		return Ask
	case v.Dial == suitability.AutonomousGated:
		return Refuse
	}
	return Tell
}

// Words are the verdict on one line, and its warnings.
func Words(v suitability.Verdict, notes []string) []string {
	out := []string{"suitability: " + v.Rationale}
	for _, w := range v.Warnings {
		out = append(out, "suitability: "+w)
	}
	for _, n := range notes {
		out = append(out, "suitability: "+n)
	}
	return out
}

// IsLifecycle reports whether a source of work is session-orchestrator's lifecycle.
func IsLifecycle(src any) bool {
	_, ok := src.(source.Lifecycle)
	return ok
}

// forgeOf is the GitHub or GitLab of the repository, or nil where there is none to ask.
func forgeOf(ctx context.Context, std outside.Stdio, p job.Place) (*forge.Forge, error) {
	f, err := forge.Detect(ctx, p.Repo.Top, std.Environ)
	if errors.Is(err, forge.ErrNone) {
		return nil, nil
	}
	f.Timeout = forgeTime
	return &f, err
}

// signals is how the signals of the repository are read for the choice of a mode. The
// forge is looked for once and asked for the backlog each time.
func signals(ctx context.Context, std outside.Stdio, p job.Place) mode.Options {
	s := p.Cfg.Stories
	o := mode.Options{Decay: &mode.Decay{Enabled: s.Decay, HalfLifeDays: s.HalfLife, FloorFactor: s.DecayFloor}}
	if f, err := forgeOf(ctx, std, p); f != nil && err == nil {
		o.Backlog = func() (json.RawMessage, error) { return f.Backlog(ctx, backlogSize) }
	}
	return o
}

// Complete has the choice of a mode, where the source of work makes one, depend on all
// signals that there are.
func Complete(ctx context.Context, std outside.Stdio, j *job.Job) {
	if l, ok := j.Source.(source.Lifecycle); ok {
		l.Load = signals(ctx, std, j.Place)
		j.Source = l
	}
}
