package prompt

import "strings"

// promised is the line that makes a promise.
func promised(words string) string { return "<auto-complete>" + words + "</auto-complete>" }

// Promise asks for a promise that the work is done; it is empty where none is wanted.
func Promise(words string) string {
	if words == "" {
		return ""
	}
	return "When all of it is done and its tests pass, and only then, end your last message with this line, alone:\n" + promised(words) + "\n" +
		"The report of this session goes through the tool autopilot_report then, where you have it.\n"
}

// Promised reports whether an answer makes the promise on a line of its own. Words around
// it on the same line, as in a quotation of what was asked for, make it none.
func Promised(answer, words string) bool {
	for line := range strings.Lines(answer) {
		if strings.TrimSpace(line) == promised(words) {
			return true
		}
	}
	return false
}
