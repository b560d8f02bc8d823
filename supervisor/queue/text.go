package queue

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

// Bounds. Those of texts are in runes.
const (
	longestID    = 200
	longestTitle = 300 // of an increment
	longestGoal  = 4000
	longestWhy   = 1000
	longestWord  = 60
	longestCmd   = 2000
	mostCommands = 16
	mostAfter    = 64
	mostItems    = 1000
	mostCount    = 1 << 20 // of sessions, tasks, goals
	lowestPrio   = 9
)

// line makes one line of bounded length of a foreign text.
func line(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(gate.Plain(s)), " ")), n)
}

// paragraphs is a foreign text that keeps its lines.
func paragraphs(s string) string { return strings.TrimSpace(logs.Redact(gate.Plain(s))) }

// tidyID reports whether an id can be shown and compared as it is.
func tidyID(id string) bool {
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`/\`, r)
	}
	return id != "" && utf8.ValidString(id) && utf8.RuneCountInString(id) <= longestID && strings.IndexFunc(id, odd) < 0
}

func shortID(id string) string { return line(id, longestID) }

// checkCommands refuses commands that cannot be kept exactly as they are.
func checkCommands(list []string) error {
	if len(list) > mostCommands {
		return refuse("put some of them into a script", "%d commands are too many for one goal: there may be %d", len(list), mostCommands)
	}
	for _, c := range list {
		switch {
		case strings.TrimSpace(c) == "":
			return refuse("leave it out", "a command of the goal is empty")
		case utf8.RuneCountInString(c) > longestCmd:
			return refuse("put it into a script", "the command %q is longer than %d characters", line(c, 60), longestCmd)
		case gate.Plain(c) != c:
			return refuse("put it into a script", "the command %q has control characters", line(c, 60))
		case logs.Redact(c) != c:
			return refuse("let the command take it from its environment", "the command %q holds what looks like a secret, and would be written to a file", line(c, 60))
		}
	}
	return nil
}

// checkAfter returns the dependencies without repetitions.
func checkAfter(list []string) ([]string, error) {
	var out []string
	for _, id := range list {
		if !tidyID(id) {
			return nil, refuse("name items, or increments by their folders", "%q is not the id of an item or an increment", shortID(id))
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if len(out) > mostAfter {
		return nil, refuse("let it wait for fewer", "an item cannot wait for %d others: there may be %d", len(out), mostAfter)
	}
	return out, nil
}

// plain reports whether a kept text is as we would have written it.
func plain(s string) bool {
	odd := func(r rune) bool { return (r < ' ' || r > '~') && r != '\n' }
	if len(s) <= longestGoal && !strings.ContainsFunc(s, odd) { // as most are
		return true
	}
	return utf8.RuneCountInString(s) <= longestGoal && gate.Plain(s) == s
}
