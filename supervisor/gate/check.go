package gate

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
)

// Kind says what is looked at.
type Kind string

// The kinds of checks.
const (
	Command Kind = "command" // it exits with status 0
	File    Kind = "file"    // it exists and has content
)

const (
	maxName = 120     // runes
	maxPath = 4 << 10 // bytes; no system takes longer ones
	gitName = ".git"  // git's own folder, or the file that stands for it
)

// Check is one thing that must hold before work counts as done.
type Check struct {
	Kind    Kind   `json:"kind"`
	Command string `json:"command,omitempty"` // for the shell
	File    string `json:"file,omitempty"`    // slash-separated, relative to the repository; a file, a folder, or a glob
	Given   bool   `json:"given"`             // a person asked for it; else it follows from the goal's words
}

// Name returns the command or the path as one line of at most 120 characters,
// without secrets and control characters.
func (c Check) Name() string {
	if c.Kind == File {
		return oneLine(c.File, maxName)
	}
	return oneLine(c.Command, maxName)
}

// oneLine makes a line of at most n runes. Secrets are looked for before it is cut,
// because half a secret does not look like one.
func oneLine(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(Plain(s)), " ")), n)
}

// ParseCommand makes a check of a shell command, which may have several lines. It
// refuses one that is empty or holds a zero byte.
func ParseCommand(s string) (Check, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return Check{}, errors.New("command is empty")
	case strings.ContainsRune(s, 0):
		return Check{}, errors.New("command holds a zero byte")
	}
	return Check{Kind: Command, Command: s}, nil
}

// ParseFile makes a check of a path in the repository: a file, a folder, or a glob
// in the sense of [path.Match]. It refuses what cannot be a proof or would never
// be found: an absolute path, one with "..", the repository itself, git's own
// folder, a path in somebody's home folder, "**", and control characters.
func ParseFile(s string) (Check, error) {
	s = strings.TrimSpace(s)
	parts := strings.Split(s, "/")
	fact := ""
	switch {
	case s == "":
		return Check{}, errors.New("path is empty")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		fact = "holds characters that are no text"
	case len(s) > maxPath:
		return Check{}, fmt.Errorf("path is longer than %d bytes", maxPath)
	case path.IsAbs(s):
		fact = "is absolute; it must be relative to the repository"
	case slices.Contains(parts, ".."):
		fact = `holds ".."; it must lie in the repository`
	case strings.HasPrefix(s, "~/") || s == "~":
		fact = "begins with ~, which is not expanded; it must be relative to the repository"
	case path.Clean(s) == ".":
		fact = "is the repository itself"
	case inGit(s):
		fact = "lies in git's own folder"
	case slices.Contains(parts, "**"):
		fact = `holds "**", which is not understood; name the folder, or use one * for each level`
	}
	if fact != "" {
		return Check{}, fmt.Errorf("path %q %s", prompt.Cut(s, maxName), fact)
	}
	return Check{Kind: File, File: path.Clean(s)}, nil
}

// inGit reports whether a slash-separated path leads into git's own folder. Some
// file systems do not tell upper case from lower.
func inGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, gitName) })
}
