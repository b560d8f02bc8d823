package breaker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var errAway = errors.New("connection refused")

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// set is a Set with a word for a call.
type set struct{ Set }

func (s set) call(t *testing.T, now time.Time, result error) error {
	t.Helper()
	called := false
	err := s.Do(t.Context(), "github", now, func(context.Context) error { called = true; return result })
	if called == isOpen(err) {
		t.Fatalf("called: %v, error: %v", called, err)
	}
	return err
}

func isOpen(err error) bool {
	_, ok := errors.AsType[*OpenError](err)
	return ok
}

func newSet(t *testing.T) set {
	t.Helper()
	return set{Set{Path: filepath.Join(t.TempDir(), "state", "breakers.json")}}
}

// opened is a set whose breaker opened at the time it returns.
func opened(t *testing.T) (set, time.Time) {
	t.Helper()
	s, now := newSet(t), noon()
	for range 3 {
		if err := s.call(t, now, errAway); !errors.Is(err, errAway) {
			t.Fatalf("call: %v, want what the call returned", err)
		}
	}
	return s, now
}

func TestOpensAndTellsWhy(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	err := s.call(t, now.Add(time.Minute), nil)
	got, ok := errors.AsType[*OpenError](err)
	if !ok {
		t.Fatalf("after three failures: %v, want a refusal", err)
	}
	if got.Name != "github" || got.LastError != "connection refused" || got.Until.Sub(now) < 5*time.Minute {
		t.Errorf("refusal = %+v", got)
	}
	if !strings.HasPrefix(err.Error(), "github is left alone until 2026-03-01T12:05:0") || !strings.HasSuffix(err.Error(), "Z: connection refused") {
		t.Errorf("error = %q", err)
	}
	if err := (Set{Path: s.Path}).Do(t.Context(), "jira", now, func(context.Context) error { return nil }); err != nil {
		t.Errorf("another service: %v", err)
	}
	states := s.States(now.Add(time.Minute))
	if len(states) != 1 {
		t.Fatalf("states = %+v, want one", states)
	}
	states[0].Until, states[0].At = time.Time{}, time.Time{}
	if diff := cmp.Diff([]State{{Name: "github", Position: Open, Failures: 3, Error: "connection refused"}}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if got := s.States(now.Add(6 * time.Minute))[0]; got.Position != HalfOpen || !got.Until.IsZero() {
		t.Errorf("after its time: %+v", got)
	}
	info, err := os.Stat(s.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the state: %v, %v", info.Mode(), err)
	}
}

func TestHalfOpen(t *testing.T) {
	t.Parallel()
	judge := func(err error) Verdict {
		if errors.Is(err, os.ErrNotExist) {
			return Verdict{Outcome: Answered}
		}
		return Verdict{Outcome: Failed}
	}
	for _, tc := range []struct {
		name   string
		result error
		want   Position
		count  int
	}{
		{"success", nil, Closed, 0},
		{"failure", errAway, Open, 4},
		{"a service that says no is there", os.ErrNotExist, Closed, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, now := opened(t)
			s.Settings.Judge = judge
			later := now.Add(6 * time.Minute)
			if err := s.call(t, later, tc.result); !errors.Is(err, tc.result) {
				t.Errorf("probe: %v, want %v", err, tc.result)
			}
			got := s.States(later)[0]
			if got.Position != tc.want || got.Failures != tc.count {
				t.Errorf("after it: %+v, want %s with %d failures", got, tc.want, tc.count)
			}
			if until := later.Add(5 * time.Minute); tc.want == Open && (got.Until.Before(until) || got.Until.After(until.Add(time.Minute))) {
				t.Errorf("open until %v, want five minutes from the probe", got.Until)
			}
		})
	}
}

func TestCallerThatGivesUpDuringTheProbe(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	later := now.Add(6 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Do(ctx, "github", later, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("call = %v", err)
	}
	if err := s.Do(ctx, "github", later, func(context.Context) error { t.Error("called for nobody"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("call of a caller that is gone = %v", err)
	}
	if err := s.call(t, later, nil); err != nil {
		t.Errorf("the next probe: %v", err)
	}
}

func TestPanicGivesTheProbeBack(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	later := now.Add(6 * time.Minute)
	func() {
		defer func() { _ = recover() }()
		_ = s.Do(t.Context(), "github", later, func(context.Context) error { panic("in the call") })
	}()
	if got := s.States(later)[0]; got.Position != HalfOpen || !got.Until.IsZero() {
		t.Errorf("after the panic: %+v, want half-open and no probe", got)
	}
	if err := s.call(t, later, nil); err != nil {
		t.Errorf("the next probe: %v", err)
	}
}

func TestProbeEnds(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	s.Settings.Probe = time.Nanosecond
	err := s.Do(t.Context(), "github", now.Add(6*time.Minute), func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("nobody ended it")
		}
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("probe = %v, want its deadline", err)
	}
	if got := s.States(now.Add(6 * time.Minute))[0]; got.Position != Open {
		t.Errorf("after it: %+v, want open: it was the service that did not answer", got)
	}
}

func TestSeveralCallsAtOnce(t *testing.T) {
	t.Parallel()
	s, now := newSet(t), noon()
	const calls = 4
	var inside, all sync.WaitGroup
	inside.Add(calls)
	for range calls {
		all.Go(func() {
			err := s.Do(t.Context(), "github", now, func(context.Context) error {
				inside.Done()
				inside.Wait() // for ever when they are made one after the other
				return errAway
			})
			if !errors.Is(err, errAway) {
				t.Errorf("call = %v", err)
			}
		})
	}
	all.Wait()
	if got := s.States(now)[0]; got.Position != Open || got.Failures != 3 {
		t.Errorf("after four failures at once: %+v", got)
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		retryAt time.Duration // from noon; 0 is none
		want    time.Duration
	}{
		{"until the moment it named", 17 * time.Minute, 17 * time.Minute},
		{"it did not say", 0, time.Minute},
		{"a moment that has passed", -time.Hour, time.Second},
		{"a year", 365 * 24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, now := newSet(t), noon()
			s.Settings.Judge = func(error) Verdict {
				v := Verdict{Outcome: Limited}
				if tc.retryAt != 0 {
					v.RetryAt = now.Add(tc.retryAt)
				}
				return v
			}
			_ = s.call(t, now, errAway)
			got := s.States(now)[0]
			if got.Position != Open || got.Failures != 0 {
				t.Errorf("state = %+v, want open without failures", got)
			}
			// What the call itself took is not known here.
			if wait := got.Until.Sub(now); wait < tc.want-time.Minute || wait > tc.want+time.Minute {
				t.Errorf("open for %v, want %v", wait, tc.want)
			}
		})
	}
}

func TestClockThatJumpsBack(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	back := now.Add(-48 * time.Hour)
	err := s.call(t, back, nil)
	if got, ok := errors.AsType[*OpenError](err); !ok || !got.Until.Equal(back.Add(5*time.Minute)) {
		t.Fatalf("after the jump: %v, want a refusal for five minutes", err)
	}
	if err := s.call(t, back.Add(5*time.Minute), nil); err != nil {
		t.Errorf("five minutes after the jump: %v", err)
	}

	s, now = newSet(t), noon()
	_ = s.call(t, now, errAway)
	_ = s.call(t, now, errAway)
	if got := s.States(back.Add(4 * time.Minute))[0].Failures; got != 2 {
		t.Errorf("%d failures count after a jump, want 2", got)
	}
	_ = s.call(t, back, errAway)
	if got := s.States(back)[0]; got.Position != Open {
		t.Errorf("a third failure after a jump: %+v, want open", got)
	}

	s, now = newSet(t), noon()
	s.Settings.Threshold = 9
	_ = s.call(t, now, errAway)
	_ = s.call(t, back, errAway)
	if got := s.States(back)[0].Failures; got != 2 {
		t.Errorf("%d failures count, want 2", got)
	}
	if got := s.States(back.Add(6 * time.Minute))[0].Failures; got != 0 {
		t.Errorf("%d failures count six minutes after a jump, want 0", got)
	}

	s, now = opened(t)
	_ = s.Do(t.Context(), "github", now.Add(6*time.Minute), func(context.Context) error {
		if err := s.call(t, back, nil); !isOpen(err) {
			t.Errorf("beside a probe: %v", err)
		}
		if err := s.call(t, back.Add(3*time.Minute), nil); err != nil {
			t.Errorf("after the time of the probe: %v", err)
		}
		return errAway
	})
	if got := s.States(back.Add(3 * time.Minute))[0]; got.Position != Closed {
		t.Errorf("the outcome of a probe that was over counted: %+v", got)
	}
}

func TestResetByAPerson(t *testing.T) {
	t.Parallel()
	s, now := opened(t)
	if err := s.Reset("github"); err != nil {
		t.Fatal(err)
	}
	if err := s.call(t, now, errAway); !errors.Is(err, errAway) {
		t.Errorf("call after the reset: %v", err)
	}
	if got := s.States(now)[0]; got.Position != Closed || got.Failures != 1 {
		t.Errorf("after one more failure: %+v", got)
	}
	if err := s.Reset("never heard of"); err != nil {
		t.Errorf("reset of a breaker that is not there: %v", err)
	}
	// A call that began before does not count after it.
	_ = s.Do(t.Context(), "github", now, func(context.Context) error {
		if err := s.Reset("github"); err != nil {
			t.Error(err)
		}
		return errAway
	})
	if got := s.States(now)[0]; got.Failures != 0 {
		t.Errorf("a call from before the reset counted: %+v", got)
	}
}

func TestBrokenState(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty":           "",
		"zeros":           strings.Repeat("\x00", 300),
		"no JSON":         "{\"version\": 1, \"brea",
		"another version": `{"version": 99, "breakers": {"github": {"state": {"state": 2}}}}`,
		"wrong types":     `{"version": 1, "breakers": {"github": 7, "jira": {"state": {"state": "open"}}}}`,
		"a list":          `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSet(t)
			write(t, s.Path, content)
			var said bytes.Buffer
			s.Log = slog.New(slog.NewTextHandler(&said, nil))
			for range 3 {
				if err := s.call(t, noon(), errAway); !errors.Is(err, errAway) {
					t.Fatalf("call = %v", err)
				}
			}
			if err := s.call(t, noon(), nil); !isOpen(err) {
				t.Errorf("after three failures: %v", err)
			}
			if !strings.Contains(said.String(), "broken") {
				t.Errorf("log = %q, want a warning", said.String())
			}
		})
	}
}

func TestStateThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{
		"no buckets":         `{"state":0,"counts":{"TotalFailures":2,"ConsecutiveFailures":2},"buckets":[]}`,
		"unknown state":      `{"state":17,"age":18446744073709551615,"start":"2026-03-01T12:00:00Z"}`,
		"huge counts":        `{"state":0,"counts":{"TotalFailures":4294967295,"ConsecutiveFailures":4294967295},"buckets":[{},{},{},{},{},{},{},{},{},{}]}`,
		"huge age":           `{"state":0,"age":18446744073709551615,"buckets":[{},{},{},{},{},{},{},{},{},{}],"start":"9999-12-31T00:00:00Z"}`,
		"half-open for ever": `{"state":1,"counts":{"Requests":9},"buckets":[{},{},{},{},{},{},{},{},{},{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSet(t)
			write(t, s.Path, `{"version":1,"breakers":{"github":{"state":`+state+`,"probe_until":"2026-01-01T00:00:00Z"}}}`)
			s.States(noon())
			if err := s.call(t, noon(), nil); err != nil {
				t.Errorf("first call: %v", err)
			}
			for range 3 {
				_ = s.call(t, noon(), errAway)
			}
			if err := s.call(t, noon(), nil); !isOpen(err) {
				t.Errorf("after three failures: %v", err)
			}
		})
	}
}

func TestStateThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	write(t, filepath.Dir(s.Path), "a file where the folder belongs")
	var said bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&said, nil))
	for range 5 {
		if err := s.call(t, noon(), errAway); !errors.Is(err, errAway) {
			t.Fatalf("call = %v, want it made", err)
		}
	}
	if !strings.Contains(said.String(), "cannot keep its state") {
		t.Errorf("log = %q, want a warning", said.String())
	}
}

func TestSecretsAndLinesStayOut(t *testing.T) {
	t.Parallel()
	s := newSet(t)
	token := "ghp_" + strings.Repeat("a1B2", 9)
	_ = s.call(t, noon(), errors.New("bad credentials "+token+"\n\x1b[31mred"+strings.Repeat(" word", 400)))
	data, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	got := s.States(noon())[0].Error
	if strings.Contains(string(data), token) || strings.ContainsAny(got, "\n\x1b") || len([]rune(got)) > maxError {
		t.Errorf("kept error = %q", got)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]State{
		"after 0 failures":         {Position: Closed},
		"after 1 failure":          {Position: Closed, Failures: 1},
		"after 3 failures":         {Position: Open, Failures: 3},
		"since it limits the rate": {Position: Open},
	} {
		if got := s.Reason(); got != want {
			t.Errorf("%+v: %q, want %q", s, got, want)
		}
	}
}
