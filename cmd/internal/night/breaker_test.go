package night

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/reflector"
	"autopilot/supervisor/breaker"
)

type model struct {
	err   error
	asked int
}

func (*model) Name() string { return "m" }

func (m *model) Ask(context.Context, reflector.Question) (reflector.Answer, error) {
	m.asked++
	return reflector.Answer{}, m.err
}

type declined struct{ error }

func (declined) Declined() bool { return true }

// TestGuarded has a model fail until it is left alone, also by the next run; what says
// nothing about the service does not count.
func TestGuarded(t *testing.T) {
	t.Parallel()
	n := Night{Breakers: breaker.Set{Path: filepath.Join(t.TempDir(), "breakers.json"), Settings: breaker.Settings{Threshold: 3, Reset: time.Hour}}}
	m := &model{err: declined{errors.New("I will not")}}
	ask := func() error {
		_, err := n.Guarded(m).Ask(t.Context(), reflector.Question{})
		return err
	}
	for range 5 {
		if err := ask(); err == nil {
			t.Fatal("the error is lost")
		}
	}
	m.err = &reflector.LaterError{Err: errors.New("limit")}
	for range 5 {
		_ = ask()
	}
	if m.asked != 10 {
		t.Fatalf("asked %d times, want 10: nothing was wrong with the service", m.asked)
	}
	m.err = errors.New("502")
	for range 3 {
		_ = ask()
	}
	err := ask()
	if _, open := errors.AsType[*breaker.OpenError](err); !open || m.asked != 13 || !strings.Contains(err.Error(), "502") {
		t.Errorf("after three failures: %v, asked %d times", err, m.asked)
	}
	if st := n.Breakers.States(time.Now()); len(st) != 1 || st[0].Name != "reflector" || st[0].Position != breaker.Open {
		t.Errorf("the breakers are %+v", st)
	}
}
