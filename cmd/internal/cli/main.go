package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"autopilot/cmd/internal/cli/desk"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/spelling"
)

// ExitCodes is the table of exit codes, as help and README show it.
func ExitCodes() [][2]string {
	return [][2]string{
		{"0", "the run ended as wanted: goal reached, max sessions or hours reached, stopped on request, dry run"},
		{"1", "internal error, or a record could not be written"},
		{"2", "usage or configuration"},
		{"3", "work ended with failures: failed wave, too many errors, spiral, carryover, stall, given up, failed tasks, no progress"},
		{"4", "a person is needed: a question, stuck, an ambiguous goal, low confidence, manual fallback"},
		{"5", "resources: the machine is overloaded"},
		{"6", "budget spent: tokens or cost"},
		{"7", "another supervisor holds this project"},
		{"129, 130, 137, 143", "hung up, interrupted, killed or terminated by a signal"},
	}
}

// Main runs one command and returns the exit code of the process.
func Main(args []string, std outside.Stdio) int {
	// A reader of our output that goes away must not end a night's run. The
	// signal is taken, not ignored, because an ignored one would be inherited
	// by every session.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	std.Args = args
	if len(args) >= 2 && args[0] == "hook" && desk.Hook(std, args[1], args[2:]) {
		return 0 // a session waits for it: no time for the tree of commands
	}
	if code, ok := quickHook(std, args); ok {
		return code
	}
	root := Root(std)
	root.SetArgs(args)
	return outside.Report(std, root.ExecuteContext(context.Background()))
}

// nearest suggests the command of a parent that was meant.
func nearest(parent, word string, commands []string) string {
	if n := spelling.Meant(word, commands); n != "" {
		return fmt.Sprintf("did you mean '%s %s'?", parent, n)
	}
	return "'autopilot help' lists the commands"
}
