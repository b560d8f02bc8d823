package task

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"autopilot/sessions/prompt"
	"autopilot/sessions/task/internal/record"
)

const (
	longestSubject = 500 // runes
	longestWord    = 200 // runes; of ids, states, owners and names of lists
)

// oneLine makes foreign text safe to show: one line of valid UTF-8 with single
// blanks, without control characters and without the marks that turn the direction
// of writing.
func oneLine(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	gap := false
	for _, r := range s { // a byte that is not UTF-8 comes as U+FFFD
		switch {
		case unicode.IsSpace(r):
			gap = b.Len() > 0
			continue
		case unicode.IsControl(r), turns(r):
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plain reports text that oneLine would leave as it is, as most is.
func plain(s string) bool {
	blank := true
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

func turns(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
}

// word is one line of bounded length.
func word(s string) string { return prompt.Cut(oneLine(s), longestWord) }

// named gives a task its id and its subject: the first text that is not blank, else
// the id.
func named(t Task, id string, texts ...record.Text) Task {
	t.ID = word(id)
	t.Subject = t.ID
	for _, raw := range texts {
		if s := oneLine(raw.String()); s != "" {
			t.Subject = prompt.Cut(s, longestSubject)
			break
		}
	}
	return t
}

// titled is named for what is written in Markdown.
func titled(t Task, id, title string) Task {
	t.ID = word(id)
	t.Subject = cmp.Or(prompt.Cut(oneLine(title), longestSubject), t.ID)
	return t
}

const unknown = "unknown"

// status is the state in the words of the source. The usual ones cost no memory.
func status(t record.Text) string {
	switch string(t) {
	case "":
		return unknown
	case `"pending"`:
		return "pending"
	case `"in_progress"`:
		return "in_progress"
	case `"completed"`:
		return "completed"
	}
	return cmp.Or(word(t.String()), unknown)
}

// firstOf is the first text that is not blank.
func firstOf(texts ...record.Text) string {
	for _, t := range texts {
		if s := word(t.String()); s != "" {
			return s
		}
	}
	return ""
}

// others are ids of other tasks, without those that say nothing.
func others(l record.IDs) []string {
	if len(l) == 0 {
		return nil
	}
	out := make([]string, 0, len(l))
	for _, t := range l {
		if id := word(t.String()); id != "" {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// sameAs is what the subjects of the same task have in common. It is empty for a
// task that has no subject of its own or one that was cut: they are like no other.
func sameAs(t Task) string {
	if t.Subject == t.ID || strings.HasSuffix(t.Subject, "…") && utf8.RuneCountInString(t.Subject) == longestSubject {
		return ""
	}
	bare := strings.TrimRightFunc(t.Subject, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?…。！？", r)
	})
	return strings.Map(fold, cmp.Or(bare, t.Subject))
}

// fold takes a letter to one that stands for all its cases.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		least = min(least, c)
	}
	return unicode.ToLower(least)
}
