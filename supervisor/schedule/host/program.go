package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"autopilot/sessions/launch"
	"autopilot/sessions/prompt"
)

const (
	programTime = 30 * time.Second
	drainTime   = 2 * time.Second
	saidLimit   = 300 // characters of what a program says
)

// ProgramError is returned when systemctl, launchctl, loginctl or crontab fails.
type ProgramError struct {
	Command string // the program and its first arguments
	Said    string // on its standard error, in one line; may be empty
	Err     error
}

// Error is what was run and what it said.
func (e *ProgramError) Error() string {
	if e.Said == "" {
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Command, e.Said)
}

// Unwrap is the error of the process.
func (e *ProgramError) Unwrap() error { return e.Err }

// programs runs programs with an environment. What they say is in English, and their times are
// in UTC.
func programs(environ []string, uid int) func(context.Context, []byte, string, ...string) ([]byte, error) {
	var env []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "LC_ALL=") && !strings.HasPrefix(kv, "LANG=") && !strings.HasPrefix(kv, "TZ=") {
			env = append(env, kv)
		}
	}
	env = append(env, "LC_ALL=C", "TZ=UTC", "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0")
	// A shell that did not come from a login, as that of sudo, does not know where the
	// person's systemd listens.
	if runtimeDir := fmt.Sprintf("/run/user/%d", uid); launch.Lookup(environ, "XDG_RUNTIME_DIR") == "" {
		if _, err := os.Stat(runtimeDir); err == nil {
			env = append(env, "XDG_RUNTIME_DIR="+runtimeDir)
		}
	}
	return func(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
		timed, cancel := context.WithTimeoutCause(ctx, programTime, fmt.Errorf("not done within %v", programTime))
		defer cancel()
		failed := func(err error, said string) error {
			shown := strings.Join(append([]string{name}, args[:min(3, len(args))]...), " ")
			return &ProgramError{Command: shown, Said: plain(said), Err: err}
		}
		path, ok := lookPath(environ, name)
		if !ok {
			return nil, failed(exec.ErrNotFound, "not installed")
		}
		var out, said bytes.Buffer
		cmd := exec.CommandContext(timed, path, args...)
		cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, bytes.NewReader(stdin), &out, &said
		cmd.WaitDelay = drainTime
		err := cmd.Run()
		if err != nil && timed.Err() != nil {
			return nil, failed(context.Cause(timed), "")
		}
		if err != nil {
			return nil, failed(err, said.String())
		}
		return out.Bytes(), nil
	}
}

func lookPath(environ []string, name string) (string, bool) {
	for _, dir := range filepath.SplitList(launch.Lookup(environ, "PATH")) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}

// plain is what a program said, in one short line.
func plain(said string) string {
	said = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(said, "\uFFFD"))
	return prompt.Cut(strings.Join(strings.Fields(said), " "), saidLimit)
}

// notFound reports that a program is not there at all.
func notFound(err error) bool { return errors.Is(err, exec.ErrNotFound) }
