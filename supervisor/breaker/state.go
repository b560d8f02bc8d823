package breaker

import (
	"context"
	"fmt"
	"time"
)

// Position is where a breaker stands.
type Position string

// Positions of a breaker.
//
//	Closed --Threshold failures in a row within Window--> Open
//	Closed --the service limits the rate----------------> Open until it may be asked
//	Open ----its time has passed------------------------> HalfOpen
//	HalfOpen --the probe succeeds-----------------------> Closed
//	HalfOpen --the probe fails--------------------------> Open
const (
	Closed   Position = "closed"    // calls pass
	Open     Position = "open"      // calls are refused
	HalfOpen Position = "half-open" // one call, the probe, passes
)

// State is how a breaker stands, for people.
type State struct {
	Name     string    `json:"name"`
	Position Position  `json:"position"`
	Failures int       `json:"failures"`            // in a row, that count now or opened it
	Until    time.Time `json:"until,omitzero"`      // an open one lets the probe pass, or the running probe has to be over
	Error    string    `json:"last_error,omitzero"` // of the last failure, one line, without secrets
	At       time.Time `json:"last_at,omitzero"`    // of the last failure
}

// Reason says in words why a breaker stands where it does, to be read after its position.
func (s State) Reason() string {
	switch {
	case s.Failures == 1:
		return "after 1 failure"
	case s.Failures == 0 && s.Position != Closed:
		return "since it limits the rate"
	}
	return fmt.Sprintf("after %d failures", s.Failures)
}

// OpenError is returned when a breaker did not let a call pass.
type OpenError struct {
	Name      string
	Until     time.Time // when asking again may help
	LastError string
}

// Error names the service, and until when it is left alone.
func (e *OpenError) Error() string {
	s := fmt.Sprintf("%s is left alone until %s", e.Name, e.Until.UTC().Format(time.RFC3339))
	if e.LastError != "" {
		s += ": " + e.LastError
	}
	return s
}

// Outcome is what a call says about the service.
type Outcome string

// Outcomes of a call.
const (
	OK        Outcome = "ok"
	Failed    Outcome = "failed"    // the service is not there or not well: it counts
	Answered  Outcome = "answered"  // the service is well and said no: it does not count
	Limited   Outcome = "limited"   // the service wants to be left alone for a time: it does not count, but opens
	Abandoned Outcome = "abandoned" // the caller gave up: it says nothing
)

// Verdict is what an error of a call means.
type Verdict struct {
	Outcome Outcome
	// RetryAt is when the service may be asked again, with Limited; zero when it did not
	// say, which is a minute.
	RetryAt time.Time
}

// Settings of all breakers of a set. A field that is zero or less has its usual value.
type Settings struct {
	Threshold int           // failures in a row that open a breaker; 3
	Reset     time.Duration // how long it stays open then; 5 minutes
	Window    time.Duration // failures count for that long, in steps of a tenth; 5 minutes
	Probe     time.Duration // a probe is ended after that, and no longer waited for; 2 minutes
	// Judge tells what an error means; nil takes each for a failure. It is not asked about
	// nil and not about an error after the context of the caller has ended.
	Judge func(error) Verdict
}

// Call is what a breaker guards.
type Call func(ctx context.Context) error
