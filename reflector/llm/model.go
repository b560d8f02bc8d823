package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"autopilot/reflector"
)

// Model is a model behind an OpenAI-compatible endpoint. It is safe for
// concurrent use.
type Model struct {
	options  Options
	invalid  error
	endpoint *url.URL
	client   *http.Client

	mu   sync.Mutex
	form form // that worked last
}

// New returns a model. Options that are not valid are reported by every
// question.
func New(o Options) *Model {
	m := &Model{options: o, invalid: o.Validate(), form: form{format: asSchema}}
	if m.invalid == nil {
		m.endpoint, m.invalid = endpoint(o.BaseURL)
	}
	m.client = client(o.HTTP)
	return m
}

// Name is openai.
func (m *Model) Name() string { return "openai" }

// Ask asks the model. It blocks for at most Options.Attempts requests and the
// waits between them; a simpler form of the question, which an old server needs,
// is a request more. The Answer has the usage of what was answered, also with an
// error; its cost is always 0. When ctx ends, the error wraps the cause.
func (m *Model) Ask(ctx context.Context, q reflector.Question) (reflector.Answer, error) {
	if m.invalid != nil {
		return reflector.Answer{}, m.invalid
	}
	if ctx.Err() != nil {
		return reflector.Answer{}, context.Cause(ctx)
	}
	if !json.Valid([]byte(q.Schema)) {
		return reflector.Answer{}, fmt.Errorf("internal error: the schema %q is no JSON", q.Name)
	}
	return m.insist(ctx, q)
}

// waits are the pauses between attempts: what the service asks for, else
// exponential, and never longer than max.
type waits struct {
	backoff.BackOff
	after, max time.Duration
}

// NextBackOff returns the next pause.
func (w *waits) NextBackOff() time.Duration {
	next := w.BackOff.NextBackOff()
	if w.after > 0 {
		next = w.after
	}
	return min(next, w.max)
}

// insist asks until there is an answer, a failure that will not pass, or no
// attempt left.
func (m *Model) insist(ctx context.Context, q reflector.Question) (reflector.Answer, error) {
	growing := backoff.NewExponentialBackOff()
	growing.InitialInterval, growing.MaxInterval, growing.Multiplier = m.options.Initial, m.options.Max, 2
	w := &waits{BackOff: growing, max: m.options.Max}
	tries := 0
	a, err := backoff.Retry(ctx, func() (reflector.Answer, error) {
		tries++
		a, f := m.once(ctx, q)
		switch {
		case f == nil:
			return a, nil
		case !f.again:
			return a, backoff.Permanent(f)
		}
		w.after = f.after
		return a, f
	}, backoff.WithBackOff(w), backoff.WithMaxTries(uint(m.options.Attempts)), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	case tries > 1:
		return a, fmt.Errorf("%w (%d attempts)", err, tries)
	}
	return a, err
}

// once makes one attempt, in a simpler form if the service does not take the
// form that worked last.
func (m *Model) once(ctx context.Context, q reflector.Question) (reflector.Answer, *failure) {
	m.mu.Lock()
	f := m.form
	m.mu.Unlock()
	for {
		a, problem := m.request(ctx, q, f)
		if problem == nil || problem.refused {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.form = f
			return a, problem
		}
		simpler, ok := f.simpler(problem)
		if !ok {
			return a, problem
		}
		f = simpler
	}
}
