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
	slug := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(dir, "-")
	return filepath.Join(ConfigDir(environ), "projects", slug, id)
}

// ConfigDir is Claude Code's own folder for the owner of an environment.
func ConfigDir(environ []string) string {
	if base := Lookup(environ, "CLAUDE_CONFIG_DIR"); base != "" {
		return base
	}
	return filepath.Join(Lookup(environ, "HOME"), ".claude")
}

// HasConversation reports whether the CLI can continue the conversation id.
func HasConversation(environ []string, dir, id string) bool {
	info, err := os.Stat(Transcript(environ, dir, id) + ".jsonl")
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}
