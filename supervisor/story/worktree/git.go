package worktree

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"autopilot/sessions/prompt"
	"autopilot/supervisor/story/worktree/internal/gitcmd"
)

const maxWords = 300 // characters of a path in a message

// git runs one git and returns what it printed. Its error is a *gitcmd.Failure.
func (m Manager) git(ctx context.Context, c gitcmd.Call, args ...string) (string, error) {
	return gitcmd.Runner{Timeout: m.timeout(), Environ: m.Environ}.Run(ctx, c, args...)
}

// ask returns the answer to a short question without the end of its line.
func (m Manager) ask(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := m.git(ctx, gitcmd.Call{Dir: dir}, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// list returns an answer whose pieces end with zero bytes.
func (m Manager) list(ctx context.Context, dir string, args ...string) ([]string, error) {
	out, err := m.git(ctx, gitcmd.Call{Dir: dir}, args...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}

// count returns an answer that is a number.
func (m Manager) count(ctx context.Context, dir string, args ...string) (int, error) {
	out, err := m.ask(ctx, dir, args...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("git %s: %q is not a number", args[0], out)
	}
	return n, nil
}

func (m Manager) timeout() time.Duration {
	if m.Timeout > 0 {
		return m.Timeout
	}
	return defaultTimeout
}

// shown makes a path or a name fit to be read by a person.
func shown(s string) string {
	odd := func(c rune) bool { return c == '"' || c == '\\' || !unicode.IsPrint(c) || c == unicode.ReplacementChar }
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || strings.ContainsFunc(s, odd) {
		s = strconv.Quote(s)
	}
	return prompt.Cut(s, maxWords)
}

// some names the first of several paths.
func some(paths []string) string {
	const most = 3
	var b strings.Builder
	for i, p := range paths[:min(len(paths), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shown(p))
	}
	if n := len(paths) - most; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// many is a number with its noun.
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
