package message

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// oneLine makes foreign text fit to stand in a line: without line ends and other
// control characters, without those that turn the direction of writing, and with at
// most so many characters.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r), r == '\ufeff':
			return -1
		}
		return r
	}, s)
	return cut(strings.Join(strings.Fields(s), " "), most)
}

// cut shortens a text to at most so many characters, between two words where there
// are some, and shows that it did.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	end := most - 1
	for i := end; i > most/2; i-- {
		if unicode.IsSpace(runes[i]) {
			end = i
			break
		}
	}
	return strings.TrimRight(string(runes[:end]), " \t\r\n,;:-") + "…"
}

// Summary makes the summary of a subject from the title of a task: on one line, without
// a dot at its end, and with a small first letter unless the first word is a name: one
// with a further capital letter, a digit or a mark in it.
func Summary(title string) string {
	s := strings.TrimRight(strings.TrimLeft(oneLine(title, 2*subjectLength), "# "), ". ")
	if s == "" {
		return ""
	}
	first, _, _ := strings.Cut(s, " ")
	first = strings.TrimRight(first, ",;:!?")
	letter, size := utf8.DecodeRuneInString(s)
	plain := func(r rune) bool { return unicode.IsLetter(r) && !unicode.IsUpper(r) || r == '-' || unicode.IsMark(r) }
	if strings.ContainsFunc(first[min(size, len(first)):], func(r rune) bool { return !plain(r) }) {
		return s
	}
	return string(unicode.ToLower(letter)) + s[size:]
}

const (
	width      = 72 // of a line of the body
	bodyLength = 4000
	wordLength = 200
)

// paragraphs are the lines of a body. Each line of the text is wrapped by itself, so
// that lists stay lists.
func paragraphs(text string) []string {
	var out []string
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	for line := range strings.SplitSeq(cut(strings.TrimSpace(text), bodyLength), "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		words := strings.Fields(oneLine(line, bodyLength))
		switch {
		case len(words) > 0:
			out = append(out, wrap(words, min(indent, 8))...)
		case len(out) > 0 && out[len(out)-1] != "":
			out = append(out, "")
		}
	}
	return out
}

func wrap(words []string, indent int) []string {
	var out []string
	line, used := strings.Repeat(" ", indent), indent
	if words[0] == "-" || words[0] == "*" {
		indent += 2
	}
	for i, w := range words {
		w = cut(w, wordLength)
		n := utf8.RuneCountInString(w)
		switch {
		case i == 0:
			line, used = line+w, used+n
		case used+1+n > width:
			out = append(out, line)
			line, used = strings.Repeat(" ", indent)+w, indent+n
		default:
			line, used = line+" "+w, used+1+n
		}
	}
	return append(out, line)
}

// guarded moves a line out of the way of whoever reads messages: git drops lines with
// '#' in front when a message is edited, and takes others for the end of the message
// or the beginning of a patch; and nothing foreign may look like a line of our own.
func guarded(line string, ours []string) string {
	for _, begin := range append([]string{"#", "---", "diff -", "index: "}, ours...) {
		if len(line) >= len(begin) && strings.EqualFold(line[:len(begin)], begin) {
			return " " + line
		}
	}
	return line
}
