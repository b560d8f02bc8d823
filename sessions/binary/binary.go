package binary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"autopilot/metrics/logs"
	"autopilot/sessions/launch"
	"autopilot/sessions/prompt"
)

const (
	// Oldest is the oldest CLI that has every flag a session needs.
	Oldest = "2.1.0"
	// Tested is the oldest CLI that the tests run with.
	Tested = "2.1.197"

	askTime  = 20 * time.Second
	maxWords = 200 // runes of another program's message
)

// ErrMissing is returned when there is no such binary.
var ErrMissing = errors.New("claude is not there")

// Find resolves the name or path of the binary to an absolute path. A leading
// ~/ is the home folder. The error wraps ErrMissing.
func Find(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: %v", ErrMissing, err)
		}
		name = filepath.Join(home, rest)
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrMissing, err)
	}
	return path, nil
}

// Version asks the binary for its version. An answer that is no version gives
// ""; a binary that does not answer is an error with what it said last.
func Version(ctx context.Context, path string, environ []string) (string, error) {
	out, err := ask(ctx, path, environ, "--version")
	if err != nil {
		return "", fmt.Errorf("%s --version does not work: %v%s", path, err, lastWords(err))
	}
	return ParseVersion(string(out)), nil
}

func ask(ctx context.Context, path string, environ []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.WaitDelay = environ, askTime/10
	return cmd.Output()
}

// lastWords is what a failed command said last, for a person.
func lastWords(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + logs.Redact(prompt.Cut(last, maxWords))
	}
	return ""
}

// ParseVersion finds the version in the answer to --version, or nothing.
func ParseVersion(answer string) string {
	return regexp.MustCompile(`\b\d+\.\d+\.\d+\b`).FindString(answer)
}

// OlderThan compares two versions of three numbers. What is no version is not
// older than anything.
func OlderThan(v, than string) bool {
	a, okA := numbers(v)
	b, okB := numbers(than)
	if !okA || !okB {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(v string) (out [3]int, ok bool) {
	parts := regexp.MustCompile(`^(\d+)\.(\d+)\.(\d+)`).FindStringSubmatch(v)
	if parts == nil {
		return out, false
	}
	for i := range out {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil {
			return out, false
		}
		out[i] = n
	}
	return out, true
}

// Login is what can be told about credentials without sending a request.
type Login struct {
	Known bool   // the binary gave an answer
	In    bool   // a credential is there; it may be expired all the same
	How   string // the variable or method, or why it cannot be told
}

// AskLogin looks for credentials in the environment that a session would have,
// else asks the binary.
func AskLogin(ctx context.Context, path string, environ []string) Login {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
	} {
		if launch.Lookup(environ, name) != "" {
			return Login{Known: true, In: true, How: name}
		}
	}
	out, err := ask(ctx, path, environ, "auth", "status")
	var status struct {
		LoggedIn *bool  `json:"loggedIn"`
		Method   string `json:"authMethod"`
	}
	if json.Unmarshal(out, &status) != nil || status.LoggedIn == nil {
		l := Login{How: "cannot be told without a request"}
		if err != nil {
			l.How += " (" + err.Error() + ")"
		}
		return l
	}
	return Login{Known: true, In: *status.LoggedIn, How: status.Method}
}
