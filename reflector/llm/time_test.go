package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"autopilot/reflector"
	"autopilot/reflector/llm"
)

// line is a service without a network, for tests with a clock of their own.
type line struct {
	asked int
	reply func(asked int, r *http.Request) (*http.Response, error)
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked++
	return l.reply(l.asked, r)
}

func (l *line) options() llm.Options {
	return llm.Options{
		BaseURL: "https://models.example", Key: key, Model: "m-1", Timeout: time.Minute, Attempts: 3,
		Initial: time.Second, Max: 30 * time.Second, HTTP: &http.Client{Transport: l},
	}
}

func response(status int, header http.Header, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

const fine = `{"choices":[{"message":{"content":"{}"}}]}`

func TestWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after    string
		from, to time.Duration // all waits of a question together
	}{
		"seconds":      {"7", 14 * time.Second, 14 * time.Second},
		"a date":       {"date", 10 * time.Second, 20 * time.Second},
		"too long":     {"3600", time.Minute, time.Minute},
		"not asked":    {"", 1500 * time.Millisecond, 4500 * time.Millisecond},
		"nonsense":     {"later", 1500 * time.Millisecond, 4500 * time.Millisecond},
		"in the past":  {"Sun, 06 Nov 1994 08:49:37 GMT", 1500 * time.Millisecond, 4500 * time.Millisecond},
		"without wait": {"0", 1500 * time.Millisecond, 4500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &line{reply: func(asked int, _ *http.Request) (*http.Response, error) {
					if asked == 3 {
						return response(200, nil, fine), nil
					}
					after := c.after
					if after == "date" {
						after = time.Now().Add(10 * time.Second).UTC().Format(http.TimeFormat)
					}
					return response(429, http.Header{"Retry-After": {after}}, "{}"), nil
				}}
				start := time.Now()
				if _, err := llm.New(l.options()).Ask(t.Context(), question()); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(start); got < c.from || got > c.to {
					t.Errorf("waited %s, want %s to %s", got, c.from, c.to)
				}
			})
		})
	}
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &line{reply: func(int, *http.Request) (*http.Response, error) { return response(503, nil, ""), nil }}
		o := l.options()
		o.Attempts, o.Max = 101, 2*time.Second
		start := time.Now()
		_, err := llm.New(o).Ask(t.Context(), question())
		checkError(t, err, []string{"(101 attempts)"})
		if got := time.Since(start); got > 200*time.Second || l.asked != 101 {
			t.Errorf("%d requests took %s, want 101 in at most 200s", l.asked, got)
		}
	})
}

func TestWhatIsNoFailureOfTheService(t *testing.T) {
	t.Parallel()
	cause := errors.New("the run ends")
	for name, c := range map[string]struct {
		reply func(cancel context.CancelCauseFunc, r *http.Request) (*http.Response, error)
		want  string
	}{
		"the context ends in a request": {func(cancel context.CancelCauseFunc, r *http.Request) (*http.Response, error) {
			cancel(cause)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, "the run ends"},
		"the context ends in a wait": {func(cancel context.CancelCauseFunc, _ *http.Request) (*http.Response, error) {
			time.AfterFunc(time.Millisecond, func() { cancel(cause) })
			return response(503, nil, ""), nil
		}, "the run ends"},
		"a refusal": {func(context.CancelCauseFunc, *http.Request) (*http.Response, error) {
			return response(200, nil, `{"choices":[{"message":{"refusal":"no"}}]}`), nil
		}, "refuses to answer"},
		"a filter": {func(context.CancelCauseFunc, *http.Request) (*http.Response, error) {
			return response(400, nil, `{"error":{"code":"content_filter","message":"no"}}`), nil
		}, "does not take the question"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cancel context.CancelCauseFunc
				l := &line{reply: func(_ int, r *http.Request) (*http.Response, error) { return c.reply(cancel, r) }}
				m := llm.New(l.options())
				for i := range 5 {
					var ctx context.Context
					ctx, cancel = context.WithCancelCause(t.Context())
					_, err := m.Ask(ctx, question())
					checkError(t, err, []string{c.want})
					if errors.Is(err, cause) != (c.want == "the run ends") {
						t.Errorf("got error %v", err)
					}
					if reflector.Declined(err) != (c.want != "the run ends") {
						t.Errorf("declined: %t, by %v", reflector.Declined(err), err)
					}
					if l.asked != i+1 {
						t.Fatalf("the service was asked %d times, want %d", l.asked, i+1)
					}
					cancel(nil)
				}
			})
		})
	}
}

func TestContextThatEndedBefore(t *testing.T) {
	t.Parallel()
	l := &line{reply: func(int, *http.Request) (*http.Response, error) { return response(200, nil, fine), nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.New(l.options()).Ask(ctx, question()); !errors.Is(err, context.Canceled) || l.asked != 0 {
		t.Errorf("got error %v after %d requests, want context canceled after none", err, l.asked)
	}
}

func TestConcurrentQuestions(t *testing.T) {
	t.Parallel()
	s := serve(t, fails(400, "", "no schema"), says("{}", spent))
	m := llm.New(options(s.URL))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := m.Ask(t.Context(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
