package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/term"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/screen"
	"autopilot/metrics/statedir"
	"autopilot/supervisor"
)

// Stdio is the outside of a command.
type Stdio struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Self    string   // path of this program, for the processes that call it back
	Dir     string   // where it was started, before -C
	Args    []string // of this program, to start it again under a guard
	TTY     bool     // stderr is a terminal
	Width   int      // of that terminal
}

// System is the outside of the running process.
func System() Stdio {
	s := Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Self: self(), Width: 80}
	if dir, err := os.Getwd(); err == nil {
		s.Dir = dir
	}
	fd := int(os.Stderr.Fd())
	if s.TTY = term.IsTerminal(fd); s.TTY {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			s.Width = w
		}
	}
	return s
}

func (s Stdio) getenv(name string) string { return lookup(s.Environ, name) }

// Exit codes of the program. Those of a run are in package supervisor.
const (
	exitUsage = 2
	exitHeld  = 7
)

// ExitCodes is the table of exit codes, as help and README show it.
func ExitCodes() [][2]string {
	return [][2]string{
		{"0", "the run ended as wanted: work done, max sessions or hours reached, stopped on request, dry run"},
		{"1", "internal error, or a record could not be written"},
		{"2", "usage or configuration"},
		{"3", "work ended with failures: failed wave, spiral, carryover, stall"},
		{"4", "a person is needed: manual fallback, low confidence, a question"},
		{"5", "resources: the machine is overloaded"},
		{"6", "budget spent: tokens or cost"},
		{"7", "another supervisor holds this project"},
		{"129, 130, 137, 143", "hung up, interrupted, killed or terminated by a signal"},
	}
}

// say prints text for a person.
func (s Stdio) say(format string, args ...any) error {
	_, err := io.WriteString(s.Out, screen.Plain(fmt.Sprintf(format, args...)))
	return err
}

// codeError is an error with the exit code that belongs to it, and the way out.
type codeError struct {
	code int
	err  error
	hint string
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }
func (e *codeError) ExitCode() int { return e.code }
func (e *codeError) Hint() string  { return e.hint }

func usage(format string, args ...any) error {
	return &codeError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

func usageHint(hint, format string, args ...any) error {
	return &codeError{code: exitUsage, err: fmt.Errorf(format, args...), hint: hint}
}

// silent ends the program with a code and without words: they were printed.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Main runs one command and returns the exit code of the process.
func Main(args []string, std Stdio) int {
	// A reader of our output that goes away must not end a night's run. The
	// signal is taken, not ignored, because an ignored one would be inherited
	// by every session.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	std.Args = args
	root := newRoot(std)
	root.SetArgs(args)
	return report(std, root.ExecuteContext(context.Background()))
}

func report(std Stdio, err error) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[silent](err); ok {
		return int(s)
	}
	fmt.Fprintf(std.Err, "autopilot: %s\n", strings.ReplaceAll(screen.Plain(err.Error()), "\n", "\n  "))
	if h := hintOf(err); h != "" {
		fmt.Fprintf(std.Err, "hint: %s\n", screen.Plain(h))
	}
	return codeOf(err)
}

func hintOf(err error) string {
	if err == nil {
		return ""
	}
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if h := hintOf(e); h != "" {
				return h
			}
		}
	}
	return hintOf(errors.Unwrap(err))
}

func codeOf(err error) int {
	if c, ok := errors.AsType[*codeError](err); ok {
		return c.ExitCode()
	}
	if _, ok := errors.AsType[*statedir.HeldError](err); ok {
		return exitHeld
	}
	return supervisor.ExitError
}

// version is the module's version as it was built, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// nearest suggests the command that was meant.
func nearest(word string, commands []string) string {
	if n := config.Nearest(word, commands); n != "" {
		return fmt.Sprintf("did you mean 'autopilot %s'?", n)
	}
	return "'autopilot help' lists the commands"
}
