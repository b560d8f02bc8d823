package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"

	"autopilot/reflector"
)

const (
	tolerated = 3 // failed questions in a row
	rest      = 5 * time.Minute
)

// Model is a model behind an OpenAI-compatible endpoint. It is safe for
// concurrent use.
type Model struct {
	options  Options
	invalid  error
	endpoint *url.URL
	client   *http.Client
	breaker  *gobreaker.CircuitBreaker[reflector.Answer]

	mu     sync.Mutex
	form   form      // that worked last
	failed error     // of the question that failed last
	until  time.Time // when the breaker is open
}

// New returns a model. Options that are not valid are reported by every
// question.
func New(o Options) *Model {
	m := &Model{options: o, invalid: o.Validate(), form: form{format: asSchema}}
	if m.invalid == nil {
		m.endpoint, m.invalid = endpoint(o.BaseURL)
	}
	m.client = client(o.HTTP)
	m.breaker = gobreaker.NewCircuitBreaker[reflector.Answer](gobreaker.Settings{
		Timeout:     rest,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tolerated },
		IsSuccessful: func(err error) bool {
			f, ok := errors.AsType[*failure](err)
			return err == nil || ok && f.refused
		},
		IsExcluded: func(err error) bool {
			_, ok := errors.AsType[stopped](err)
			return ok
		},
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.until = time.Now().Add(rest)
			}
		},
	})
	return m
}

// Name is openai.
func (m *Model) Name() string { return "openai" }

// stopped is the error of a question whose context ended.
type stopped struct{ error }

func (s stopped) Unwrap() error { return s.error }

// Ask asks the model. It blocks for at most Options.Attempts requests and the
// waits between them; a simpler form of the question, which an old server needs,
// is a request more. The Answer has the usage of what was answered, also with an
// error; its cost is always 0. When ctx ends, the error wraps the cause.
func (m *Model) Ask(ctx context.Context, q reflector.Question) (reflector.Answer, error) {
	if m.invalid != nil {
		return reflector.Answer{}, m.invalid
	}
	if ctx.Err() != nil {
		return reflector.Answer{}, stopped{context.Cause(ctx)}
	}
	if !json.Valid([]byte(q.Schema)) {
		return reflector.Answer{}, fmt.Errorf("internal error: the schema %q is no JSON", q.Name)
	}
	a, err := m.breaker.Execute(func() (reflector.Answer, error) {
		a, err := m.insist(ctx, q)
		if err != nil && ctx.Err() == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.failed = err
		}
		return a, err
	})
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		m.mu.Lock()
		defer m.mu.Unlock()
		return a, fmt.Errorf("%s is left alone until %s after questions in a row that failed: %v",
			m.endpoint.Host, m.until.Format(time.RFC3339), m.failed)
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return a, fmt.Errorf("%s is left alone until another question has an answer", m.endpoint.Host)
	}
	return a, err
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
		return a, stopped{context.Cause(ctx)}
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
