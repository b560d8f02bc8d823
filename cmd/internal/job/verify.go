package job

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/google/uuid"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/reflector"
	"autopilot/sessions/launch"
	"autopilot/sessions/reap"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/verify"
	"autopilot/supervisor/tdd/workflow"
)

// VerifyCommits looks whether commits of test-driven runs do what they say: of REV or of
// REV..REV. With ask the reflector that the settings choose gives its opinion. Nothing of
// the repository or of a run is changed.
func VerifyCommits(ctx context.Context, std outside.Stdio, revisions string, ask bool) (verify.Report, error) {
	p, err := SetUp(ctx, std, nil)
	if err != nil {
		return verify.Report{}, err
	}
	w, err := p.Workflow(std, false)
	if err != nil {
		return verify.Report{}, err
	}
	r := verify.Reader{Template: p.Cfg.TDD.CommitTemplate, TestPattern: p.Cfg.TDD.TestPattern, Known: known(w)}
	r.Tree.Repo, r.Tree.Environ = p.Repo, std.Environ
	if s, err := w.Suite(); err == nil && s != nil { // without it the usual forms of names count
		r.Runner = s.Runner
	}
	if ask {
		// Claude must not go on when the person who asked does not wait any more.
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		folder, err := os.MkdirTemp("", "autopilot-verify-")
		if err != nil {
			return verify.Report{}, fmt.Errorf("ask: %w", err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		if r.Model, err = p.opinions(std, folder); err != nil {
			return verify.Report{}, err
		}
	}
	return r.Verify(ctx, revisions)
}

// known looks a run up among those of this work tree. One that cannot be read is not
// known.
func known(w workflow.Workflow) func(runID, subtask string) *verify.Run {
	return func(runID, subtask string) *verify.Run {
		rep, err := w.Report(runID)
		if err != nil {
			return nil
		}
		out := &verify.Run{TaskID: rep.TaskID, Tag: rep.Tag}
		for _, part := range rep.Subtasks {
			numbers := part.Green
			if numbers == nil { // there was nothing to implement
				numbers = part.Red
			}
			if part.ID == subtask && numbers != nil {
				out.Counts = &numbers.Results
			}
		}
		return out
	}
}

// opinions is the model that the settings choose, for questions outside of a run.
func (p Place) opinions(std outside.Stdio, folder string) (reflector.Model, error) {
	if std.Getenv(launch.DeskVar) != "" {
		return nil, &tdd.Refusal{Kind: tdd.Refused, Message: "this session is run by autopilot; a model is asked from outside of it", Way: "leave out --ask"}
	}
	j := Job{Place: p}
	inside := std
	inside.Environ = outside.Without(std.Environ, ReflectKeyVar)
	claude := ""
	if j.WhoReflects(std) == config.ReflectorClaude {
		var err error
		if claude, err = FindClaude(p.Cfg.Claude); err != nil {
			return nil, err
		}
	}
	spec := j.Template(inside, claude)
	spec.RunID, spec.Token, spec.Sweeper = "verify", uuid.NewString(), reap.NewSweeper()
	_, model, err := j.Reflector(std, spec, folder)
	if err == nil && model == nil {
		err = outside.UsageHint("set reflector to claude or openai, as for a run", "--ask needs a model, and the setting reflector is %s", j.WhoReflects(std))
	}
	return model, err
}
