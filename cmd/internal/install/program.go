package install

import (
	"path/filepath"
	"slices"
	"strings"
)

const usualProgram = "autopilot"

// program holds the commands that are ours besides every one that is called
// autopilot: the one that was given and the one that was recorded.
type program [2]string

func (p program) is(command string) bool {
	return command != "" && (filepath.Base(command) == usualProgram || slices.Contains(p[:], command))
}

// runsHook reports whether a line for the shell is our hook of an event: it ends
// in "hook" and its subcommand, and its program is ours. Variables set in front of
// it do not count.
func (p program) runsHook(line string, e event) bool {
	w := words(line)
	for len(w) > 0 && isAssignment(w[0]) {
		w = w[1:]
	}
	return len(w) >= 3 && p.is(w[0]) && slices.Equal(w[len(w)-2:], []string{"hook", e.subcommand})
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// quote makes one word of a shell out of s. What has no meaning to a shell stays
// as it is.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r) || r > 0x7f
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// words splits a line as a POSIX shell does, without expanding anything.
// Operators such as ; stay in the words they stand in.
func words(line string) []string {
	var out []string
	var word strings.Builder
	inWord, mark, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && mark != '\'':
			inWord, escaped = true, true
		case mark != 0 && r == mark:
			mark = 0
		case mark != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			inWord, mark = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out
}
