package commit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"time"

	"autopilot/sessions/commit/internal/ending"
	"autopilot/sessions/commit/internal/printed"
)

const limit = 10 * time.Minute // for a git that runs hooks or asks a remote

// action is a command that may run hooks of the repository, or talk to a remote.
type action struct {
	stdin   io.Reader
	index   string              // instead of the work tree's
	started func(pid int) error // before stdin is read; an error leaves stdin empty
	environ []string
}

// act runs git for people's hooks: in a session of its own, without a terminal, so
// that nothing can ask; with its output in a file without a name, so that neither our
// end nor something that it leaves behind is felt on the other side. The end of ctx
// ends git and all that it has started. It returns what was printed; the error is a
// *failure.
func (t Tree) act(ctx context.Context, a action, args ...string) (string, error) {
	out, err := printed.Open()
	if err != nil {
		return "", &failure{name: args[0], code: -1, cause: err}
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = t.Top, waitDelay
	// LANGUAGE alone leaves the character set of hooks as it is.
	cmd.Env = append(t.environ("LANGUAGE=C"), a.environ...)
	if a.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+a.index)
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var all ending.Session
	cmd.Cancel = func() error {
		all.Ask(cmd.Process.Pid)
		return nil
	}
	gate := &gate{open: make(chan struct{}), from: a.stdin}
	if a.stdin != nil {
		cmd.Stdin = gate
	}
	if err := cmd.Start(); err != nil {
		return "", &failure{name: args[0], code: -1, cause: cmp.Or(context.Cause(ctx), err)}
	}
	if a.started != nil {
		gate.err = a.started(cmd.Process.Pid)
	}
	close(gate.open)
	err = printed.Wait(cmd, out)
	if ctx.Err() != nil {
		all.End(cmd.Process.Pid, waitDelay)
	}
	words := printed.End(out, keptBytes)
	err = ended(ctx, args[0], err, func() string { return words })
	if f, ok := errors.AsType[*failure](err); ok && gate.err != nil {
		f.cause = gate.err
	}
	return printed.Shown(words, maxOutput), err
}

// gate lets a reader through when it is open, and ends it where there is an error.
type gate struct {
	open chan struct{}
	err  error // written before open is closed
	from io.Reader
}

// Read waits until the gate is open.
func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	if g.err != nil {
		return 0, g.err
	}
	return g.from.Read(p)
}
