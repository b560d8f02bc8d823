package reflector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Reflector assesses what happened.
type Reflector interface {
	// Name is recorded with every reflection.
	Name() string
	// Reflect returns a valid assessment or an error. Usage is what was spent, also
	// with an error.
	Reflect(ctx context.Context, in Input) (Reflection, error)
}

// LaterError is the error of a service that has a limit and answers again later.
type LaterError struct {
	At  time.Time // zero when it is not known
	Err error
}

// Error says what was wrong and until when.
func (e *LaterError) Error() string {
	if e.At.IsZero() {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v (again from %s)", e.Err, e.At.UTC().Format(time.RFC3339))
}

// Unwrap returns what was wrong.
func (e *LaterError) Unwrap() error { return e.Err }

// Usage is what asking a model has cost. Cost is in US dollars, 0 when the
// service does not say it.
type Usage struct {
	Input         int64   `json:"input"`
	Output        int64   `json:"output"`
	CacheCreation int64   `json:"cache_creation"`
	CacheRead     int64   `json:"cache_read"`
	CostUSD       float64 `json:"cost_usd"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheCreation + v.CacheCreation, u.CacheRead + v.CacheRead, u.CostUSD + v.CostUSD}
}

// Reflection is an assessment and how it came about.
type Reflection struct {
	Assessment
	Asked
}

// Asked is what it took to get an answer.
type Asked struct {
	Model    string // that answered; empty when none was asked
	Attempts int    // replies that were needed
	Usage    Usage
}

// Question is one question to a model, to be answered with JSON.
type Question struct {
	System string
	Prompt string
	Schema string // JSON schema of the answer
	Name   string // of the schema: letters, digits, underscore
}

// Answer is the reply to a question. Text may be anything.
type Answer struct {
	Text  []byte
	Model string
	Usage Usage
}

// Model answers questions. It deals with failures of the service itself; an
// error is final for this question.
type Model interface {
	Name() string
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Declined reports whether an error of a Model says that the service works, and that the
// model does not want to answer this question.
func Declined(err error) bool {
	d, ok := errors.AsType[interface {
		error
		Declined() bool
	}](err)
	return ok && d.Declined()
}

const attempts = 2 // a bad reply is sent back once

// Asking is a reflector that asks a model.
type Asking struct{ Model Model }

// Name is the name of the model.
func (a Asking) Name() string { return a.Model.Name() }

// Reflect asks the model and checks its reply. A reply that does not satisfy the
// schema is sent back once, with the reason.
func (a Asking) Reflect(ctx context.Context, in Input) (r Reflection, err error) {
	r.Asked, err = AskJSON(ctx, a.Model, question(in), func(reply []byte) error {
		var err error
		r.Assessment, err = ParseAssessment(reply)
		return err
	})
	return r, err
}

// AskJSON asks a model until parse takes its reply, at most twice. The second time
// it says what was wrong. An error of the model itself ends it at once. What was
// spent is the sum, also with an error.
func AskJSON(ctx context.Context, m Model, q Question, parse func([]byte) error) (Asked, error) {
	var asked Asked
	var problem error
	first := q.Prompt
	for asked.Attempts < attempts {
		asked.Attempts++
		answer, err := m.Ask(ctx, q)
		asked.Usage, asked.Model = asked.Usage.Add(answer.Usage), cmp.Or(answer.Model, asked.Model)
		if err != nil && problem != nil {
			return asked, fmt.Errorf("ask %s again after a bad reply (%v): %w", m.Name(), problem, err)
		}
		if err != nil {
			return asked, fmt.Errorf("ask %s: %w", m.Name(), err)
		}
		if problem = parse(answer.Text); problem == nil {
			return asked, nil
		}
		q.Prompt = first + repair(problem, answer.Text)
	}
	return asked, fmt.Errorf("ask %s: %w", m.Name(), problem)
}

// repair is what is added to the question when the reply was bad.
func repair(problem error, reply []byte) string {
	const shown = 2000
	text, err := json.Marshal(string(reply[:min(len(reply), shown)]))
	if err != nil {
		text = nil
	}
	return fmt.Sprintf("\n\nYour last reply could not be used: %v. It began: %s\nReply with one JSON object of the schema and nothing else.", unmark(clean(oneLine(problem.Error(), maxProblem), maxProblem)), text)
}
