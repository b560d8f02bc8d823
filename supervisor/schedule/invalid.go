package schedule

import "fmt"

// InvalidError is returned when what a person asked for cannot be a schedule. Fact says what is
// wrong with it, Way what to write instead; it may be empty.
type InvalidError struct {
	Fact string
	Way  string
}

// Error is the fact.
func (e *InvalidError) Error() string { return e.Fact }

// Hint is the way out.
func (e *InvalidError) Hint() string { return e.Way }

// ExitCode is that of bad input.
func (e *InvalidError) ExitCode() int { return 2 }

func refuse(way, format string, args ...any) error {
	return &InvalidError{Fact: fmt.Sprintf(format, args...), Way: way}
}
