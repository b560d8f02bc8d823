package launch

import (
	"os"
	"path/filepath"
	"strings"
)

// Transcript is the path without extension under which the CLI keeps the
// conversation id of a working directory: <path>.jsonl is its own, the folder
// <path>/subagents holds those of its sub-agents.
func Transcript(environ []string, dir, id string) string {
	return filepath.Join(ConfigDir(environ), "projects", FileName(dir, ""), id)
}

// FileName is how Claude Code makes a file name out of a text: what is no ASCII letter
// or digit and not among those kept becomes '-', and two of them where UTF-16 needs
// two units.
func FileName(s, kept string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(kept, r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
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
