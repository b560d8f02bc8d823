package outside

import (
	"errors"
	"fmt"
	"strings"

	"autopilot/cmd/internal/screen"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// Exit codes of the program. Those of a run are in package supervisor.
const (
	ExitUsage = 2
	ExitHeld  = 7
)

// Error is an error with the exit code that belongs to it, and the way out.
type Error struct {
	Code int
	Err  error
	Way  string // what to do, for a person; may be empty
}

// Error is what went wrong.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode is the code that the program ends with.
func (e *Error) ExitCode() int { return e.Code }

// Hint is the way out.
func (e *Error) Hint() string { return e.Way }

// Usage is the error of a wrong use or configuration.
func Usage(format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// UsageHint is Usage with the way out.
func UsageHint(hint, format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...), Way: hint}
}

// Silent ends the program with a code and without words: they were printed.
type Silent int

// Error names the exit status.
func (s Silent) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Report prints an error with its way out and returns the exit code.
func Report(std Stdio, err error) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[Silent](err); ok {
		return int(s)
	}
	fmt.Fprintf(std.Err, "autopilot: %s\n", strings.ReplaceAll(screen.Plain(err.Error()), "\n", "\n  "))
	if h := HintOf(err); h != "" {
		fmt.Fprintf(std.Err, "hint: %s\n", screen.Plain(h))
	}
	return codeOf(err)
}

// HintOf is the way out of an error, or nothing.
func HintOf(err error) string {
	if err == nil {
		return ""
	}
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if h := HintOf(e); h != "" {
				return h
			}
		}
	}
	return HintOf(errors.Unwrap(err))
}

func codeOf(err error) int {
	if c, ok := errors.AsType[*Error](err); ok {
		return c.ExitCode()
	}
	if _, ok := errors.AsType[*statedir.HeldError](err); ok {
		return ExitHeld
	}
	return supervisor.ExitError
}
