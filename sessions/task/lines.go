package task

import (
	"bytes"
	"fmt"
	"iter"
	"strings"

	"autopilot/sessions/task/internal/record"
)

// lines gives the lines of a text with their numbers, the first of which is 1,
// without their ends.
func lines(data []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
			n++
			if !yield(n, strings.TrimRight(string(line), "\r\n")) {
				return
			}
		}
	}
}

// prose gives the lines of a Markdown text that are neither in a code block between
// fences nor in a comment. What is opened and never closed is a flaw: it hides the
// rest of the text.
func prose(data []byte, bad *record.Flaws) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var fence string // that closes the block we are in
		comment, opened := false, 0
		for n, line := range lines(data) {
			trimmed := strings.TrimSpace(line)
			switch {
			case fence != "":
				if closes(trimmed, fence) {
					fence = ""
				}
			case comment:
				comment = !strings.Contains(trimmed, "-->")
			case strings.HasPrefix(trimmed, "<!--"):
				comment, opened = !strings.Contains(trimmed, "-->"), n
			default:
				if fence = opens(trimmed); fence != "" {
					opened = n
				} else if !yield(n, line) {
					return
				}
			}
		}
		if fence != "" || comment {
			bad.Add(fmt.Errorf("line %d: the code block or comment is not closed and hides the rest", opened))
		}
	}
}

// opens returns the fence with which a line opens a code block, if it does. Such a
// line may stand behind the mark of a list.
func opens(line string) string {
	if _, rest, ok := marked(line); ok {
		line = rest
	}
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

func closes(line, fence string) bool {
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}

// marked takes the mark of a list away: "-", "*", "+", "1." or "1)".
func marked(line string) (mark, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	mark, rest, ok = strings.Cut(line, " ")
	if !ok {
		mark, rest, ok = strings.Cut(line, "\t")
	}
	switch {
	case !ok:
		return "", "", false
	case mark == "-" || mark == "*" || mark == "+":
		return mark, strings.TrimLeft(rest, " \t"), true
	}
	number := strings.TrimRight(mark, ".)")
	return mark, strings.TrimLeft(rest, " \t"), len(mark) == len(number)+1 && len(number) < 10 && digits(number)
}

// checkBox reads "[x] text". The marks are those of GitHub, and those that are common
// besides: '-' for what was dropped, '~' and '/' for what is being done.
func checkBox(s string) (state, text string, ok bool) {
	if len(s) < 3 || s[0] != '[' || s[2] != ']' {
		return "", "", false
	}
	switch s[1] {
	case ' ':
		state = "pending"
	case 'x', 'X':
		state = "completed"
	case '-':
		state = "cancelled"
	case '~', '/':
		state = "in-progress"
	default:
		return "", "", false
	}
	text = s[3:]
	return state, text, text == "" || text[0] == ' ' || text[0] == '\t'
}

// zero finds a byte that no text holds.
func zero(data []byte, bad *record.Flaws) {
	if at := bytes.IndexByte(data, 0); at >= 0 {
		bad.Add(fmt.Errorf("line %d: holds a zero byte, so it may be no plain text", 1+bytes.Count(data[:at], []byte("\n"))))
	}
}
