package commit

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/commit/internal/printed"
	"autopilot/sessions/repo"
)

const (
	askLimit  = 2 * time.Minute  // for a question to git
	waitDelay = 10 * time.Second // from the request to end to the kill
	maxOutput = 4 << 10          // bytes of an output that are passed on
	keptBytes = 64 << 10         // of an output that are looked at, so that secrets are found before it is cut
)

// Tree is a work tree that is changed. Several may be used at once, of one repository
// too. Of one work tree only one Commit runs at a time, over all processes.
type Tree struct {
	repo.Repo
	Environ []string // of git and of the hooks; nil is os.Environ()
	// Wait, which may be nil, is called once when a call begins to wait for the git of a
	// killed Commit, with the pid of that git. It may take minutes: hooks run to their end.
	Wait func(pid int)
}

// redirects are the variables that make git work elsewhere than it is told, or read
// names of files in another way.
func redirects() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX", "GIT_QUARANTINE_PATH",
		"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		"GPG_TTY", // a terminal on which the agent of gpg would ask
	}
}

func (t Tree) environ(more ...string) []string {
	env := t.Environ
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(redirects(), name)
	})
	return append(append(env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:"), more...)
}

// query is a question to git, or a change that runs no hook.
type query struct {
	stdin io.Reader
	out   io.Writer // is given the answer; nil throws it away
	index string    // instead of the work tree's
	dir   string    // instead of the top
	long  bool      // takes as long as ctx lets it
}

// ask runs a command of git's plumbing. Its error is a *failure.
func (t Tree) ask(ctx context.Context, q query, args ...string) error {
	if !q.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askLimit)
		defer cancel()
	}
	name := args[0]
	args = append([]string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false"}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = cmp.Or(q.dir, t.Top), t.environ("LC_ALL=C"), waitDelay
	if q.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+q.index)
	}
	stderr := printed.Tail{Size: keptBytes}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = q.stdin, q.out, &stderr
	return ended(ctx, name, cmd.Run(), func() string { return string(stderr.Kept) })
}

// git returns the answer to a short question without the end of its last line.
func (t Tree) git(ctx context.Context, args ...string) (string, error) {
	return t.with(ctx, query{}, args...)
}

func (t Tree) with(ctx context.Context, q query, args ...string) (string, error) {
	var out strings.Builder
	q.out = &out
	err := t.ask(ctx, q, args...)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// ended translates how a git ended.
func ended(ctx context.Context, name string, err error, out func() string) error {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return nil // it ended well, and something that it started goes on
	}
	f := &failure{name: name, code: -1, out: printed.Shown(out(), maxOutput)}
	ee, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case exited && ee.Exited():
		f.code = ee.ExitCode()
	case ctx.Err() != nil:
		f.cause = context.Cause(ctx)
	default:
		f.cause = err
	}
	return f
}

// list is names as git reads them with -z.
func list(names []string) io.Reader {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(n)
		b.WriteByte(0)
	}
	return strings.NewReader(b.String())
}
