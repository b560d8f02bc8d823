package oneshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"autopilot/metrics/logs"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
)

const promptName = "prompt.txt"

// Options say how questions are asked.
type Options struct {
	// Spec is the template of the sessions. RunID, Token, Dir, Claude, Environ,
	// UseAPIKey, Model, BudgetUSD of one question, Limits, Sweeper and Kill are taken
	// from it, and nothing else. The Sweeper must be set.
	Spec    sessions.Spec
	Folder  string        // each session has a folder of its own in here, named by its id
	Timeout time.Duration // of one question; 0 leaves it to the limits of the template
	NewID   func() string // returns an unused UUID; nil for random ones
}

// Model is Claude Code as a model that answers questions.
type Model struct{ o Options }

// New returns a model that asks the CLI.
func New(o Options) *Model {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	return &Model{o}
}

// Name returns "claude".
func (m *Model) Name() string { return "claude" }

// Ask runs one session to its end. Usage of the answer is what was spent, also
// with an error. When the context ends, the error is the context's.
func (m *Model) Ask(ctx context.Context, q reflector.Question) (reflector.Answer, error) {
	if err := context.Cause(ctx); err != nil {
		return reflector.Answer{}, err
	}
	spec := m.spec(q)
	if err := keepPrompt(spec.Folder, q.Prompt); err != nil {
		return reflector.Answer{}, err
	}
	res, err := sessions.Run(ctx, spec, nil)
	a := reflector.Answer{Model: res.Model, Usage: reflector.Usage(res.Usage)}
	if err != nil {
		return a, fmt.Errorf("run session %s: %w", spec.ID, err)
	}
	if err := problem(ctx, res); err != nil {
		return a, fmt.Errorf("session %s: %w", spec.ID, err)
	}
	a.Text, err = text(res, spec.Folder)
	return a, err
}

func (m *Model) spec(q reflector.Question) sessions.Spec {
	t, id := m.o.Spec, m.o.NewID()
	s := sessions.Spec{
		ID: sessions.ID(id), RunID: t.RunID, Token: t.Token, Dir: t.Dir, Folder: filepath.Join(m.o.Folder, id),
		Claude: t.Claude, Environ: t.Environ, UseAPIKey: t.UseAPIKey, Model: t.Model, BudgetUSD: t.BudgetUSD,
		NoTools: true, System: q.System, Schema: q.Schema, Steps: []sessions.Step{{Prompt: q.Prompt}},
		Limits: t.Limits, Sweeper: t.Sweeper, Kill: t.Kill,
	}
	if m.o.Timeout > 0 {
		s.Limits.Session = m.o.Timeout
	}
	return s
}

// keepPrompt puts the question into the session's folder: the CLI keeps no copy.
func keepPrompt(folder, prompt string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make session folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, promptName), []byte(logs.Redact(prompt)), 0o600); err != nil {
		return fmt.Errorf("keep prompt: %w", err)
	}
	return nil
}

// problem is why there is no answer, or nil.
func problem(ctx context.Context, res sessions.Result) error {
	switch {
	case res.Ending == outcome.Completed:
		return nil
	case res.Ending == outcome.NoWork && res.Usage.Output > 0:
		return nil // the model was asked and said nothing
	case res.Ending == outcome.Cancelled && ctx.Err() != nil:
		return context.Cause(ctx)
	case res.Ending.Waits():
		return &reflector.LaterError{At: res.ResetAt, Err: errors.New(res.Cause)}
	}
	return fmt.Errorf("%s: %s", res.Ending, res.Cause)
}

// text is the report or, without one, the whole answer.
func text(res sessions.Result, folder string) ([]byte, error) {
	if len(res.Report) > 0 {
		return res.Report, nil
	}
	long, err := os.ReadFile(sessions.AnswerPath(folder))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte(res.Answer), nil
	case err != nil:
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return long, nil
}
