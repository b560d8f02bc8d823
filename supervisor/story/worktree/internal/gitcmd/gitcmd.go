package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	grace       = 2 * time.Second // from the request to end to the kill
	patience    = 10 * time.Second
	firstWait   = 10 * time.Millisecond
	longestWait = 500 * time.Millisecond
	maxWords    = 300 // characters of git's words in an error
	maxStderr   = 64 << 10
)

// Runner runs gits.
type Runner struct {
	Timeout time.Duration // for each; above 0
	Environ []string      // nil is os.Environ()
}

// Failure is a git that ended badly.
type Failure struct {
	Name  string // of the command: worktree
	Code  int    // of the exit; -1 when it was ended by a signal or could not be started
	Out   string // what it printed as errors
	Cause error  // why it was ended, or could not be started
}

// Error names the command and says why it ended.
func (f *Failure) Error() string {
	if f.Cause != nil {
		return fmt.Sprintf("git %s: %v", f.Name, f.Cause)
	}
	if w := Words(f.Out); w != "" {
		return fmt.Sprintf("git %s: %s", f.Name, w)
	}
	return fmt.Sprintf("git %s: exit status %d", f.Name, f.Code)
}

// Unwrap is the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// collides reports whether another git was in the way for a moment.
func (f *Failure) collides() bool {
	return strings.Contains(f.Out, ".lock': File exists") || strings.Contains(f.Out, "could not lock config file") ||
		strings.Contains(f.Out, "failed to read") && strings.Contains(f.Out, "commondir") // an entry that is being made
}

// Is finds in it that a disk or a quota is full.
func (f *Failure) Is(target error) bool {
	return target == syscall.ENOSPC && strings.Contains(f.Out, "No space left on device") ||
		target == syscall.EDQUOT && strings.Contains(f.Out, "Disk quota exceeded")
}

// Call is one git.
type Call struct {
	Dir     string
	Stdin   string
	Env     []string
	Held    []*os.File    // that are open until it and what it started have ended
	Changes bool          // may change something, and runs the hooks of the repository
	Limit   time.Duration // instead of the runner's; 0 for that
}

// Run runs one git and returns what it printed. Its error is a *Failure.
func (r Runner) Run(ctx context.Context, c Call, args ...string) (string, error) {
	for wait, begin := firstWait, time.Now(); ; wait = min(2*wait, longestWait) {
		out, err := r.once(ctx, c, args...)
		f, ok := errors.AsType[*Failure](err)
		if !ok || !c.Changes || !f.collides() || time.Since(begin) > patience {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(wait):
		}
	}
}

func (r Runner) once(ctx context.Context, c Call, args ...string) (string, error) {
	limit := r.Timeout
	if c.Limit > 0 {
		limit = c.Limit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	name := command(args)
	if !c.Changes {
		args = append([]string{
			"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.autoRefreshIndex=false",
		}, args...)
	} else {
		args = append([]string{"-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, append(r.environ(), c.Env...), grace
	// A session of its own: no terminal to ask on, and one group to end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.ExtraFiles = c.Held
	var stdout bytes.Buffer
	stderr := tail{}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what did not want to end
	}
	return stdout.String(), ended(ctx, name, err, string(stderr))
}

// ended translates how a git ended.
func ended(ctx context.Context, name string, err error, out string) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil // it ended well, and something that it started goes on
	}
	f := &Failure{Name: name, Code: -1, Out: out}
	ee, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		f.Cause = context.Cause(ctx)
	case exited && ee.Exited():
		f.Code = ee.ExitCode()
	case errors.Is(err, exec.ErrNotFound):
		f.Cause = errors.New("git is not in PATH")
	default:
		f.Cause = err
	}
	return f
}

// command is the first argument that is no setting.
func command(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// environ is the environment without what makes git work elsewhere than it is told, or
// read names of files in another way.
func (r Runner) environ() []string {
	env := r.Environ
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH", "GIT_LITERAL_PATHSPECS",
			"GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_ATTR_SOURCE":
			return true
		}
		return false
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "SSH_ASKPASS_REQUIRE=never")
}

// tail keeps the end of what is written to it.
type tail []byte

// Write never fails.
func (t *tail) Write(data []byte) (int, error) {
	*t = append(*t, data...)
	if over := len(*t) - maxStderr; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(data), nil
}

// Words is what git means by its errors: the line that says why it ended, else its last
// one, without secrets.
func Words(out string) string {
	var why, last string
	for line := range strings.SplitSeq(gate.Plain(out), "\n") {
		line = strings.TrimSpace(line)
		if why == "" && (strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ")) {
			_, why, _ = strings.Cut(line, ": ")
		}
		if line != "" && !strings.HasPrefix(line, "hint: ") {
			last = line
		}
	}
	if why == "" {
		why = last
	}
	return prompt.Cut(logs.Redact(why), maxWords)
}
