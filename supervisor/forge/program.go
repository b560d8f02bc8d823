package forge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	maxOutput = 8 << 20  // bytes of an answer
	maxWords  = 64 << 10 // bytes of what is said on the side
	// drainTime is how long a pipe is read on after the end of the program: something that
	// it started, such as a shared ssh connection, may hold it open for hours.
	drainTime = 2 * time.Second
)

var (
	errOvertime = errors.New("not done within the time limit")
	errTooMuch  = errors.New("more output than is read")
)

// program is a program of the person's and how it is run.
type program struct {
	name    string
	dir     string
	environ []string // that it gets
	search  []string // environment in whose PATH it is looked for
	host    string   // that it asks; for hints
	limit   time.Duration
}

// run runs the program and returns what it wrote. The error is a [*CallError], or says that
// ctx has ended.
func (p program) run(ctx context.Context, op string, args ...string) ([]byte, error) {
	out, err := p.start(ctx, op, args)
	return out.stdout, err
}

type output struct {
	stdout []byte
	stderr string
	over   bool // there was more on stdout than is kept
}

func (p program) start(ctx context.Context, op string, args []string) (output, error) {
	path, ok := lookPath(p.search, p.name)
	if !ok {
		return output{}, &CallError{Op: op, Program: p.name, Reason: Absent, Said: "not installed", hint: installHint(p.name)}
	}
	timed, cancel := context.WithTimeoutCause(ctx, p.limit, errOvertime)
	defer cancel()
	timed, stop := context.WithCancelCause(timed)
	defer stop(nil)

	cmd := exec.CommandContext(timed, path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = p.dir, p.environ, drainTime
	// A session of its own has no terminal on which somebody could be asked, and is a group
	// that can be killed as a whole.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	stdout := &bounded{limit: maxOutput, full: func() { stop(errTooMuch) }}
	stderr := &bounded{limit: maxWords}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) { // it has done its work; what it left behind writes on
		err = nil
	}
	got := output{stdout.kept.Bytes(), stderr.kept.String(), stdout.over}
	return got, p.outcome(ctx, timed, op, err, got)
}

// outcome says what the end of a program means.
func (p program) outcome(ctx, timed context.Context, op string, err error, got output) error {
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case got.over:
		return &CallError{Op: op, Program: p.name, Reason: TooMuch, Said: fmt.Sprintf("wrote more than %d MiB", maxOutput>>20), hint: "ask for fewer things at once"}
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", op, context.Cause(ctx))
	case errors.Is(context.Cause(timed), errOvertime):
		return &CallError{
			Op: op, Program: p.name, Reason: Overtime, Said: fmt.Sprintf("%v of %v", errOvertime, p.limit),
			hint: fmt.Sprintf("try '%s' by hand: the network may be down, or it waits for an answer that nobody gives", p.name),
		}
	case exited && exit.ExitCode() >= 0:
		return p.refusal(op, exit.ExitCode(), got.stdout, got.stderr)
	}
	return &CallError{Op: op, Program: p.name, Reason: Refused, Said: p.clean(err.Error())}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	kept  bytes.Buffer
	limit int
	over  bool
	full  func() // called when there is more than the limit; may be nil
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	b.kept.Write(p[:min(len(p), room)])
	if len(p) > room && !b.over {
		b.over = true
		if b.full != nil {
			b.full()
		}
	}
	return len(p), nil
}

// lookPath finds a program in the PATH of an environment. Relative folders are left out:
// they are inside the repository, and so is what lies in them.
func lookPath(environ []string, name string) (string, bool) {
	for _, dir := range filepath.SplitList(variable(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

// variable is the value of a variable of an environment, or empty.
func variable(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// quiet is an environment in which the person's program asks nothing, paints nothing, looks
// for no news of itself and takes host and repository from its arguments.
func (f Forge) quiet(environ []string) []string {
	// Of the older names of its variables glab warns on standard output, in front of the
	// answer.
	drop := []string{
		"GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "DEBUG", "CLICOLOR_FORCE", "GH_PROMPT_DISABLED", "GH_PAGER", "PAGER",
		"GITLAB_REPO", "GITLAB_GROUP", "GITLAB_HEAD_REPO", "NO_PROMPT", "FORCE_HYPERLINKS", "GLAMOUR_STYLE",
		"GLAB_DEBUG", "GLAB_DEBUG_HTTP", "GLAB_FORCE_HYPERLINKS", "GLAB_NO_PROMPT", "GLAB_CHECK_UPDATE", "GLAB_SEND_TELEMETRY", "GLAB_PAGER",
	}
	if f.Host != publicGitLab && f.Host != named(environ, gitlabHosts()...) {
		drop = append(drop, "GITLAB_TOKEN", "GITLAB_ACCESS_TOKEN", "OAUTH_TOKEN")
	}
	if f.Host != named(environ, "GH_HOST") {
		drop = append(drop, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
	}
	return append(without(environ, drop),
		"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GH_NO_EXTENSION_UPDATE_NOTIFIER=1", "GH_SPINNER_DISABLED=1",
		"GLAB_NO_PROMPT=true", "GLAB_CHECK_UPDATE=false", "GLAB_SEND_TELEMETRY=false",
		"GH_PAGER=cat", "GLAB_PAGER=cat", "PAGER=cat", "NO_COLOR=1", "CLICOLOR=0", "TERM=dumb", "LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0")
}

// quietGit is an environment in which git asks nothing and takes the repository from where
// it is run.
func quietGit(environ []string) []string {
	drop := []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PREFIX",
		"GIT_TRACE", "GIT_TRACE_CURL", "GIT_CURL_VERBOSE", "GIT_ASKPASS", "SSH_ASKPASS",
	}
	return append(without(environ, drop),
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", "TERM=dumb")
}

// without is an environment without some variables.
func without(environ, names []string) []string {
	out := make([]string, 0, len(environ)+20)
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(names, name) {
			out = append(out, v)
		}
	}
	return out
}

func installHint(name string) string {
	switch name {
	case "gh":
		return "install gh from https://cli.github.com and run 'gh auth login'"
	case "glab":
		return "install glab from https://gitlab.com/gitlab-org/cli and run 'glab auth login'"
	}
	return "install " + name + " in a folder of PATH"
}
