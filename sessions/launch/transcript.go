package launch

import (
	"os"
	"path/filepath"
	"regexp"
)

// Transcript is the path without extension under which the CLI keeps the
// conversation id of a working directory: <path>.jsonl is its own, the folder
// <path>/subagents holds those of its sub-agents.
func Transcript(environ []string, dir, id string) string {
	base := Lookup(environ, "CLAUDE_CONFIG_DIR")
	if base == "" {
		base = filepath.Join(Lookup(environ, "HOME"), ".claude")
	}
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(dir, "-")
	return filepath.Join(base, "projects", slug, id)
}

// HasConversation reports whether the CLI can continue the conversation id.
func HasConversation(environ []string, dir, id string) bool {
	info, err := os.Stat(Transcript(environ, dir, id) + ".jsonl")
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}
