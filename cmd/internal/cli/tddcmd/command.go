package tddcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/sessions/launch"
	"autopilot/supervisor"
	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/workflow"
)

const intro = `Work on a task of Task Master test by test. For each subtask: write tests that fail (red), implement until
they pass (green), commit. autopilot keeps the order, runs the project's own tests to check what is
reported, makes the branch and the commits, and never commits on a default branch.

  autopilot tdd start 1                                      branch and state; says what is next
  autopilot tdd next --json                                  what to do now
  autopilot tdd complete red 1.1 --results failed:3,passed:0
  autopilot tdd complete green 1.1 --results passed:3,failed:0 --coverage 92
  autopilot tdd commit 1.1
  autopilot tdd finalize                                     the whole suite; the task is done

'autopilot run --source tdd --task 1' has Claude Code do all of this, a session for each step.

Exit status: 0 done, 1 something else went wrong (git, the disk), 2 a wrong request, 3 refused as things are,
4 paused: a person is needed, 7 another process is at work on the run, 130 and 143 interrupted.`

// Command is "tdd" with the commands below it.
func Command(std outside.Stdio) *cobra.Command {
	c := &cobra.Command{
		Use: "tdd", Short: "Work on a task test by test: red, green, commit", Long: intro, Args: arg.None,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		startCommand(std), nextCommand(std), completeCommand(std), commitCommand(std), statusCommand(std), resumeCommand(std),
		finalizeCommand(std), abortCommand(std), watchCommand(std), reportCommand(std), runsCommand(std), verifyCommand(std),
	)
	return c
}

// kind is one of the commands.
type kind struct {
	use, short, long string
	changes          bool // the run
	args             cobra.PositionalArgs
	flags            func(c *cobra.Command)
	run              func(ctx context.Context, w workflow.Workflow, args []string) (answer, error)
}

// answer is what a command has to say.
type answer struct {
	value  any    // as JSON
	text   string // for a person
	failed int    // exit code of an answer that is a refusal; 0 for a good one
}

func (k kind) command(std outside.Stdio) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: k.use, Short: k.short, Long: k.long, Args: k.args}
	if k.args == nil {
		c.Args = arg.None
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON; a refusal goes to stderr")
	if k.flags != nil {
		k.flags(c)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, stop := interruptible(c.Context())
		defer stop()
		w, err := open(ctx, std, k.changes)
		var a answer
		if err == nil {
			a, err = k.run(ctx, w, args)
		}
		if err != nil {
			return refused(std, asJSON, err)
		}
		return a.print(std, asJSON)
	}
	return c
}

// interruptible ends with a signal, so that the tests and git end with us.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case s := <-got:
			cancel(supervisor.Interrupted{Signal: s.(syscall.Signal)})
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		signal.Stop(got)
		cancel(nil)
		wg.Wait()
	}
}

// open is the workflow of the work tree that the command was started in. A session that
// is supervised may look, and leaves the rest to its supervisor.
func open(ctx context.Context, std outside.Stdio, changes bool) (workflow.Workflow, error) {
	if std.Getenv(launch.DeskVar) != "" && changes {
		return workflow.Workflow{}, &tdd.Refusal{
			Kind: tdd.Refused, Message: "this session is run by autopilot, which takes the steps between sessions itself", Way: "do the step that you were given, then stop",
		}
	}
	p, err := job.SetUp(ctx, std, nil)
	if err != nil {
		return workflow.Workflow{}, err
	}
	w, err := p.Workflow(std, changes)
	w.Waiting = func(pid int) {
		fmt.Fprintf(std.Err, "autopilot: git is still at work for an earlier command (pid %d); it is waited for\n", pid)
	}
	return w, err
}

func (a answer) print(std outside.Stdio, asJSON bool) error {
	switch {
	case a.failed != 0 && asJSON:
		std.Out = std.Err
		if err := std.JSON(a.value); err != nil {
			return err
		}
	case a.failed != 0:
		fmt.Fprint(std.Err, a.text)
	case asJSON:
		return std.JSON(a.value)
	default:
		return std.Say("%s", a.text)
	}
	return outside.Silent(a.failed)
}

// refused prints an error in the form that was asked for.
func refused(std outside.Stdio, asJSON bool, err error) error {
	code := codeOf(err)
	way := outside.HintOf(err)
	if held, ok := errors.AsType[*statedir.HeldError](err); ok && way == "" {
		way = fmt.Sprintf("wait for it, or end process %d", held.Holder.PID)
	}
	if !asJSON {
		return &outside.Error{Code: code, Err: err, Way: way}
	}
	r, ok := errors.AsType[*tdd.Refusal](err)
	if !ok {
		r = &tdd.Refusal{Kind: tdd.Failed, Message: err.Error(), Way: way}
	}
	enc := json.NewEncoder(std.Err)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	return outside.Silent(code)
}

func codeOf(err error) int {
	if i, ok := errors.AsType[supervisor.Interrupted](err); ok {
		return 128 + int(i.Signal)
	}
	if r, ok := errors.AsType[*tdd.Refusal](err); ok {
		return job.RefusalCode(r)
	}
	if e, ok := errors.AsType[*outside.Error](err); ok {
		return e.Code
	}
	if _, ok := errors.AsType[*statedir.HeldError](err); ok {
		return outside.ExitHeld
	}
	return supervisor.ExitError
}

// nextText says what is next in a few lines.
func nextText(n tdd.Next) string {
	var b strings.Builder
	fmt.Fprintf(&b, "next: %s", n.Action)
	if s := n.Subtask; s != nil {
		fmt.Fprintf(&b, " %s %s", s.ID, oneLine(s.Title))
		if s.Attempt > 1 {
			fmt.Fprintf(&b, " (attempt %d of %d)", s.Attempt, s.MaxAttempts)
		}
	}
	fmt.Fprintf(&b, "\n  %s\n", n.Instructions)
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func warnings(list []string) string {
	var b strings.Builder
	for _, w := range list {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}
