package breaker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	steps       = 10 // in which the window moves on
	longest     = 24 * time.Hour
	limitedFor  = time.Minute // when a service that limits the rate does not say until when
	maxError    = 300         // runes
	maxFailures = 1 << 20     // more in a file are nonsense
)

type shared = gobreaker.SharedState

// record is the state of one breaker on disk.
type record struct {
	Shared     shared        `json:"state"`
	OpenFor    time.Duration `json:"open_for,omitempty"` // how long it was to be open, in nanoseconds
	Failures   int           `json:"failures,omitempty"` // that opened it
	Lease      string        `json:"probe,omitempty"`
	LeaseUntil time.Time     `json:"probe_until,omitzero"`
	Error      string        `json:"last_error,omitempty"`
	ErrorAt    time.Time     `json:"last_at,omitzero"`
}

func (r record) position() Position {
	switch r.Shared.State {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	}
	return Closed
}

// clean reports whether a success changes nothing.
func (r record) clean() bool {
	return r.position() == Closed && r.Shared.Counts.TotalFailures == 0
}

// at is the record as it stands at a moment.
func (r record) at(now time.Time, set Settings) record {
	return r.step(now, set, func(b *gobreaker.DistributedCircuitBreaker[struct{}]) { _, _ = b.State() })
}

// admit tells whether a call may pass, and is the record after that. It must be that of
// now.
func (r record) admit(name string, now time.Time, set Settings) (record, ticket, *OpenError) {
	switch {
	case r.position() == Open:
		return r, ticket{}, &OpenError{Name: name, Until: r.Shared.Expiry, LastError: r.Error}
	case r.position() == HalfOpen && r.LeaseUntil.After(now):
		return r, ticket{}, &OpenError{Name: name, Until: r.LeaseUntil, LastError: r.Error}
	case r.position() == HalfOpen:
		r.Lease, r.LeaseUntil = rand.Text(), now.Add(set.Probe)
	}
	return r, ticket{generation: r.Shared.Generation, lease: r.Lease}, nil
}

// settle is the record after the outcome of a call.
func (r record) settle(now time.Time, t ticket, o outcome, set Settings) record {
	if t.generation != r.Shared.Generation || t.lease != r.Lease {
		return r // admitted under a state that is over
	}
	r.Lease, r.LeaseUntil = "", time.Time{}
	if o.err != nil && (o.Outcome == Failed || o.Outcome == Limited) {
		r.Error, r.ErrorAt = oneLine(o.err), now
	}
	switch o.Outcome {
	case Abandoned:
		return r
	case Limited:
		wait := min(limitedFor, set.Reset)
		if !o.RetryAt.IsZero() {
			wait = min(max(o.RetryAt.Sub(now), time.Second), longest)
		}
		return r.open(now, wait)
	case Answered:
		if r.position() == Closed {
			return r
		}
		o.err = nil // whoever says no is there
	}
	failures := r.failures() // before the library clears them
	next := r.step(now, set, func(b *gobreaker.DistributedCircuitBreaker[struct{}]) {
		_, _ = b.Execute(func() (struct{}, error) { return struct{}{}, o.err })
	})
	if next.position() == Open {
		next = next.open(now, set.Reset)
		next.Failures = failures + 1
	}
	if next.position() == Closed {
		next.Failures, next.OpenFor = 0, 0
	}
	return next
}

// open is the record of a breaker that opens for a time. Failures stay what they were.
func (r record) open(now time.Time, wait time.Duration) record {
	r.Failures = r.failures()
	if r.position() != Open {
		r.Shared.Generation++
	}
	r.Shared = shared{State: gobreaker.StateOpen, Generation: r.Shared.Generation, Start: now, Expiry: now.Add(wait)}
	r.OpenFor = wait
	return r
}

// failures are those in a row that count now, or that opened it.
func (r record) failures() int {
	if r.position() != Closed {
		return r.Failures
	}
	return int(min(r.Shared.Counts.ConsecutiveFailures, r.Shared.Counts.TotalFailures))
}

func (r record) view(name string, now time.Time, set Settings) State {
	r = r.at(now, set)
	s := State{Name: name, Position: r.position(), Failures: r.failures(), Error: r.Error, At: r.ErrorAt}
	switch {
	case s.Position == Open:
		s.Until = r.Shared.Expiry
	case s.Position == HalfOpen && r.LeaseUntil.After(now):
		s.Until = r.LeaseUntil
	}
	return s
}

// step lets the library do something with the record, as if the time were now.
func (r record) step(now time.Time, set Settings, do func(*gobreaker.DistributedCircuitBreaker[struct{}])) record {
	r = r.sane(now, set)
	before, ahead := r.Shared, time.Since(now.Round(0))
	m := memory{}
	if err := m.put(moved(before, ahead)); err != nil {
		return record{}
	}
	b, err := gobreaker.NewDistributedCircuitBreaker[struct{}](&m, library(set))
	if err != nil {
		return record{}
	}
	do(b)
	var after shared
	if err := json.Unmarshal(m.data, &after); err != nil {
		return record{}
	}
	r.Shared = after
	if after.Generation != before.Generation {
		r.Shared.Start = now
		r.Lease, r.LeaseUntil = "", time.Time{}
	} else {
		r.Shared.Start, r.Shared.Expiry = before.Start, before.Expiry
	}
	return r
}

// sane takes out of a record what a jump of the clock or a stranger put there, and what
// the library cannot bear.
func (r record) sane(now time.Time, set Settings) record {
	s, period := &r.Shared, set.Window/steps
	if len(s.Buckets) != steps || s.Counts.TotalFailures > maxFailures || s.Counts.ConsecutiveFailures > maxFailures {
		s.Counts, s.Buckets, s.Age = gobreaker.Counts{}, make([]gobreaker.Counts, steps), 0
		if s.State == gobreaker.StateClosed {
			s.Start = now
		}
	}
	switch s.State {
	case gobreaker.StateOpen:
		if r.OpenFor <= 0 || r.OpenFor > longest {
			r.OpenFor = set.Reset
		}
		if limit := now.Add(r.OpenFor); s.Expiry.After(limit) {
			s.Expiry = limit
		}
	case gobreaker.StateHalfOpen:
		// The library counts a probe as soon as it begins; here the lease stands for it.
		s.Counts, s.Buckets = gobreaker.Counts{}, make([]gobreaker.Counts, steps)
		if limit := now.Add(set.Probe); r.LeaseUntil.After(limit) {
			r.LeaseUntil = limit
		}
	default:
		s.State, s.Expiry = gobreaker.StateClosed, time.Time{}
		if s.Age > uint64(longest*365/period) {
			s.Age = 0
		}
		// The current step must not lie ahead: it would not end before the clock is there.
		if begun := s.Start.Add(time.Duration(s.Age) * period); begun.After(now) {
			s.Start = now.Add(-time.Duration(s.Age) * period)
		}
	}
	return r
}

// moved is a state whose times lie later by a duration.
func moved(s shared, by time.Duration) shared {
	if !s.Start.IsZero() {
		s.Start = s.Start.Add(by)
	}
	if !s.Expiry.IsZero() {
		s.Expiry = s.Expiry.Add(by - 1) // the library takes the very moment as before it
	}
	return s
}

// memory is the store of the library: one state, under a lock that is ours.
type memory struct{ data []byte }

func (m *memory) put(s shared) (err error) {
	m.data, err = json.Marshal(s)
	return err
}

func (*memory) Lock(string) error                     { return nil }
func (*memory) Unlock(string) error                   { return nil }
func (m *memory) GetData(string) ([]byte, error)      { return m.data, nil }
func (m *memory) SetData(_ string, data []byte) error { m.data = data; return nil }

func library(set Settings) gobreaker.Settings {
	limit := uint32(set.Threshold)
	return gobreaker.Settings{
		MaxRequests:  1,
		Interval:     set.Window,
		BucketPeriod: set.Window / steps,
		Timeout:      set.Reset,
		// In a row and within the window: only then are the last ones all young enough.
		ReadyToTrip: func(c gobreaker.Counts) bool {
			return c.ConsecutiveFailures >= limit && c.TotalFailures >= limit
		},
	}
}

func (set Settings) orUsual() Settings {
	if set.Threshold <= 0 || set.Threshold > maxFailures {
		set.Threshold = 3
	}
	usual := func(d *time.Duration, u time.Duration) {
		if *d <= 0 {
			*d = u
		}
		*d = min(*d, longest)
	}
	usual(&set.Reset, 5*time.Minute)
	usual(&set.Window, 5*time.Minute)
	usual(&set.Probe, 2*time.Minute)
	set.Window = max(set.Window/steps, 1) * steps
	return set
}

func (set Settings) verdict(ctx context.Context, err error) Verdict {
	switch {
	case err == nil:
		return Verdict{Outcome: OK}
	case ctx.Err() != nil:
		return Verdict{Outcome: Abandoned}
	case set.Judge == nil:
		return Verdict{Outcome: Failed}
	}
	return set.Judge(err)
}

func oneLine(err error) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(err.Error())), " ")), maxError)
}
