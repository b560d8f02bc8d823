package peers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"autopilot/metrics/statedir"
)

const (
	stateName  = ".claude/STATE.md"
	maxState   = 256 << 10 // bytes; session-orchestrator refuses to write a larger one
	maxMessage = 500       // runes
	rereads    = 3
)

// AppendDeviation adds a line to the section "## Deviations" of .claude/STATE.md below repo, where
// session-orchestrator would add it and in its form, and makes the section at the end of the file
// when there is none. Nothing else of the file changes: not its line ends, mode, or place behind
// a link. The message becomes one line of at most 500 characters, without what looks like a secret.
//
// It returns false without an error when there is no STATE.md. It waits for at most ten seconds for
// whoever holds the lock that session-orchestrator takes to write the file, and takes it itself. A
// file without a frontmatter, or of more than 256 KiB, is left alone with an error, because that
// program would not write it either.
func AppendDeviation(repo string, at time.Time, message string) (written bool, err error) {
	return appendDeviation(repo, at, message, writeLockWait)
}

func appendDeviation(repo string, at time.Time, message string, wait time.Duration) (bool, error) {
	name := filepath.Join(repo, filepath.FromSlash(stateName))
	message = shown(message, maxMessage)
	if message == "" {
		return false, errors.New("add a deviation to STATE.md: the message is empty")
	}
	if _, err := os.Stat(name); absent(err) {
		return false, nil
	}
	bullet := "- [" + stamp(at) + "] " + message
	written := false
	err := lockState(repo, wait, func() error {
		var err error
		written, err = rewrite(name, func(text string) (string, error) { return withDeviation(text, bullet) })
		return err
	})
	if err != nil {
		return false, fmt.Errorf("add a deviation to STATE.md: %w", err)
	}
	return written, nil
}

// rewrite replaces a file by what change makes of it. The models that write STATE.md too take no
// lock, so it looks once more before it replaces; what is written in the last instant is lost.
func rewrite(name string, change func(string) (string, error)) (bool, error) {
	for range rereads {
		before, err := readSmall(name)
		if absent(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		after, err := change(string(before.data))
		if err != nil {
			return false, err
		}
		if len(after) > maxState {
			return false, fmt.Errorf("%s would have more than %d KiB", name, maxState>>10)
		}
		again, err := readSmall(name)
		if err != nil || !bytes.Equal(again.data, before.data) {
			continue
		}
		if err := statedir.Replace(name, []byte(after)); err != nil {
			return false, err
		}
		return true, nil
	}
	return false, fmt.Errorf("%s changes all the time", name)
}

// patterns are those by which session-orchestrator takes a STATE.md apart.
var patterns = sync.OnceValue(func() (p struct{ front, heading, section, bullet *regexp.Regexp }) {
	p.front = regexp.MustCompile(`^---\r?\n(?s:.*?)\r?\n---(\r?\n)?`)
	p.section = regexp.MustCompile(`^##\s+`)
	p.heading = regexp.MustCompile(`^##\s+Deviations\b`)
	p.bullet = regexp.MustCompile(`^-\s+`)
	return p
})

// withDeviation returns the text of a STATE.md with one more bullet. In the section it takes the
// place of the words that stand for none, or comes behind the last bullet, or below the heading.
func withDeviation(text, bullet string) (string, error) {
	p := patterns()
	at := p.front.FindStringSubmatchIndex(text)
	if at == nil {
		return "", errors.New("it has no frontmatter")
	}
	cr := ""
	if strings.HasPrefix(text, "---\r\n") {
		cr = "\r"
	}
	front, body := text[:at[1]], text[at[1]:]
	if at[1] == len(text) && at[2] < 0 { // the file ends with the dashes
		front += cr + "\n"
	}
	lines := strings.Split(body, "\n")
	head := slices.IndexFunc(lines, p.heading.MatchString)
	if head < 0 {
		if !strings.HasSuffix(body, "\n") {
			body += cr + "\n"
		}
		return front + body + strings.Join([]string{"", "## Deviations", "", bullet, ""}, cr+"\n"), nil
	}
	end := len(lines)
	if n := slices.IndexFunc(lines[head+1:], p.section.MatchString); n >= 0 {
		end = head + 1 + n
	}
	none, last := -1, -1
	for i := head + 1; i < end; i++ {
		switch l := strings.TrimSpace(lines[i]); {
		case slices.Contains([]string{"(none yet)", "_(none yet)_", "*(none yet)*"}, l):
			none = i
		case p.bullet.MatchString(l):
			last = i
		}
	}
	switch {
	case none >= 0:
		lines = replaced(lines, none, none+1, cr, bullet)
	case last >= 0:
		lines = replaced(lines, last+1, last+1, cr, bullet)
	default:
		next := head + 1
		for next < end && strings.TrimSpace(lines[next]) == "" {
			next++
		}
		insert := []string{"", bullet}
		if next == end { // the section is empty: a blank line, or the end of the last one, follows
			insert = append(insert, "")
		}
		lines = replaced(lines, head+1, next, cr, insert...)
	}
	return front + strings.Join(lines, "\n"), nil
}

// replaced puts insert in the place of lines[from:to]. A line keeps its carriage return; the last
// of all has none, because no line end follows it.
func replaced(lines []string, from, to int, cr string, insert ...string) []string {
	if from > 0 && from == len(lines) {
		lines[from-1] += cr
	}
	atEnd := to == len(lines)
	out := slices.Clone(lines[:from])
	for i, l := range insert {
		if !atEnd || i < len(insert)-1 {
			l += cr
		}
		out = append(out, l)
	}
	return append(out, lines[to:]...)
}
