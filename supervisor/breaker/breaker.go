package breaker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Set holds breakers by name. It is a value; all that have the same path are the same
// set, in this process and in others.
type Set struct {
	// Path of the JSON file that holds the state. It and its folder are made when needed;
	// a lock is kept in a file beside it.
	Path     string
	Settings Settings
	Log      *slog.Logger // for changes and for a state that cannot be kept; nil for none
}

// ticket is what a call was admitted with.
type ticket struct {
	generation uint64
	lease      string // of a probe; empty for others
}

// Do calls fn unless the breaker of that name is open, and returns what fn returned. When
// it is open the error is an *OpenError and fn was not called. Now is the time at the
// start of the call.
//
// fn gets ctx; when it is the probe of a half-open breaker its context ends after
// Settings.Probe, so that there is never a second one beside it.
func (s Set) Do(ctx context.Context, name string, now time.Time, fn Call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	start, set := time.Now(), s.Settings.orUsual()
	t, refused := s.admit(name, now)
	if refused != nil {
		return refused
	}
	verdict := Verdict{Outcome: Abandoned} // stays when fn panics
	var err error
	defer func() { s.settle(name, now.Add(time.Since(start)), t, outcome{verdict, err}) }()
	inner := ctx
	if t.lease != "" {
		limited, cancel := context.WithTimeout(ctx, set.Probe-time.Since(start))
		defer cancel()
		inner = limited
	}
	err = fn(inner)
	verdict = set.verdict(ctx, err)
	return err
}

// States returns the breakers that were ever needed, by name.
func (s Set) States(now time.Time) []State {
	out := []State{}
	for name, r := range s.load() {
		out = append(out, r.view(name, now, s.Settings.orUsual()))
	}
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Reset closes the breaker of that name, for a person who knows that the service is back.
// What calls that run now come to is not counted.
func (s Set) Reset(name string) error {
	return s.change(func(all records) bool {
		r, ok := all[name]
		if ok {
			all[name] = record{Shared: shared{Generation: r.Shared.Generation + 1}}
		}
		return ok
	})
}

// admit tells whether a call may pass. Only what is not plainly closed needs the lock.
func (s Set) admit(name string, now time.Time) (ticket, *OpenError) {
	set := s.Settings.orUsual()
	before := s.load()[name].at(now, set)
	if before.position() == Closed {
		return ticket{generation: before.Shared.Generation}, nil
	}
	var t ticket
	var refused *OpenError
	err := s.change(func(all records) bool {
		all[name], t, refused = all[name].at(now, set).admit(name, now, set)
		return true
	})
	if err != nil {
		s.warn("circuit breaker cannot keep its state, calls pass", name, err)
		return ticket{}, nil
	}
	return t, refused
}

// outcome is what a call came to.
type outcome struct {
	Verdict
	err error
}

// settle enters what a call came to.
func (s Set) settle(name string, now time.Time, t ticket, o outcome) {
	set := s.Settings.orUsual()
	if o.Outcome == OK && t.lease == "" && s.load()[name].clean() {
		return
	}
	var from, to record
	err := s.change(func(all records) bool {
		from = all[name].at(now, set)
		to = from.settle(now, t, o, set)
		all[name] = to
		return true
	})
	if err != nil {
		s.warn("circuit breaker cannot keep its state", name, err)
		return
	}
	if from.position() != to.position() && s.Log != nil {
		s.Log.Warn("circuit breaker changed", "service", name, "from", string(from.position()),
			"to", string(to.position()), "reason", to.Error)
	}
}

func (s Set) warn(what, name string, err error) {
	if s.Log != nil {
		s.Log.Warn(what, "service", name, "path", s.Path, "err", err)
	}
}
