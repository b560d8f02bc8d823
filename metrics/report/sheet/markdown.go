package sheet

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown returns the sheet as Markdown (CommonMark with tables), without raw HTML and
// without drawings.
func (m Sheet) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", escaped(m.Title))
	for _, s := range m.Lead {
		fmt.Fprintf(&b, "\n## %s\n\n", escaped(s.Title))
		for _, l := range s.lines() {
			fmt.Fprintf(&b, "- %s", starting(l.Text))
			if l.Command != "" {
				fmt.Fprintf(&b, ": %s", code(l.Command))
			}
			b.WriteString("\n")
		}
	}
	if len(m.Tiles) > 0 {
		b.WriteString("\n## In numbers\n\n")
		table(&b, Columns("What", "#How much"), pairs(m.Tiles))
	}
	for _, p := range m.Parts {
		fmt.Fprintf(&b, "\n## %s\n\n", escaped(p.Title))
		if p.Note != "" {
			fmt.Fprintf(&b, "%s\n\n", escaped(p.Note))
		}
		table(&b, p.Head, p.Rows)
		if p.Left != "" {
			fmt.Fprintf(&b, "\n%s\n", escaped(p.Left))
		}
	}
	for _, d := range m.Details {
		fmt.Fprintf(&b, "\n### %s\n\n", escaped(d.Title))
		for _, l := range d.Lines {
			fmt.Fprintf(&b, "- %s: %s\n", escaped(l.Name), escaped(l.Value))
		}
	}
	if m.Left != "" {
		fmt.Fprintf(&b, "\n%s\n", escaped(m.Left))
	}
	if len(m.Foot) > 0 {
		fmt.Fprintf(&b, "\n## %s\n\n", escaped(m.FootTitle))
		table(&b, Columns("What", "Value"), pairs(m.Foot))
	}
	return b.Bytes()
}

// lines are the lines of the section; one without says so.
func (s Section) lines() []Line {
	if len(s.Lines) == 0 {
		return []Line{{Text: "Nothing."}}
	}
	return s.Lines
}

func pairs(list []Tile) []Row {
	var out []Row
	for _, t := range list {
		out = append(out, Row{Cells: []string{t.Name, t.Value}})
	}
	return out
}

func table(b *bytes.Buffer, head []Column, rows []Row) {
	rule := "|"
	b.WriteString("|")
	for _, c := range head {
		fmt.Fprintf(b, " %s |", escaped(c.Name))
		if c.Number {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	fmt.Fprintf(b, "\n%s\n", rule)
	for _, r := range rows {
		b.WriteString("|")
		for _, cell := range r.Cells {
			fmt.Fprintf(b, " %s |", escaped(cell))
		}
		b.WriteString("\n")
	}
}

// escaped makes Markdown show a line as it is. A sign between two letters or digits that
// means nothing there stays, so that the source is readable as well.
func escaped(s string) string {
	var b strings.Builder
	before := ' '
	for i, c := range s {
		rest := s[i+utf8.RuneLen(c):]
		next, _ := utf8.DecodeRuneInString(rest)
		switch {
		case strings.ContainsRune("\\`*[]<>|~&", c), c == '_' && !(wordy(before) && wordy(next)):
			b.WriteByte('\\')
		case c == ':' && strings.HasPrefix(rest, "//"), c == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www"):
			b.WriteByte('\\') // an address would become a link
		}
		b.WriteRune(c)
		if c == '@' && !wordy(before) && wordy(next) {
			b.WriteRune(wordJoiner)
		}
		before = c
	}
	return b.String()
}

// wordJoiner is a sign of no width behind an @, without which a service would tell the
// person of that name.
const wordJoiner = '\u2060'

// starting is escaped for a line with which a paragraph or an entry of a list begins.
func starting(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	switch {
	case s == "":
	case strings.ContainsRune("#+-=:", rune(s[0])):
		return `\` + escaped(s)
	case digits > 0 && digits < len(s) && strings.ContainsRune(".)", rune(s[digits])):
		return s[:digits] + `\` + escaped(s[digits:])
	}
	return escaped(s)
}

func wordy(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// code makes a code span of a line.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}
