package jira

import (
	"regexp"
	"strings"
	"sync"

	"autopilot/supervisor/publish/entry"
)

// wiki turns Markdown into the wiki markup of Jira.
func wiki(md string) string {
	var out []string
	var last entry.Kind
	for _, b := range entry.Blocks(md) {
		text := block(b)
		if len(out) > 0 && !(item(last) && item(b.Kind)) {
			out = append(out, "")
		}
		out = append(out, text)
		last = b.Kind
	}
	return strings.Join(out, "\n")
}

func item(k entry.Kind) bool { return k == entry.Bullet || k == entry.Numbered }

func block(b entry.Block) string {
	switch b.Kind {
	case entry.Heading:
		// The comment has a title of its own above.
		return "h" + string("456666"[b.Level-1]) + ". " + line(b.Text)
	case entry.Bullet:
		return strings.Repeat("*", b.Level) + " " + line(b.Text)
	case entry.Numbered:
		return strings.Repeat("#", b.Level) + " " + line(b.Text)
	case entry.Quote:
		return "{quote}\n" + line(b.Text) + "\n{quote}"
	case entry.Verbatim:
		return "{noformat}\n" + strings.ReplaceAll(b.Text, "{noformat", "{ noformat") + "\n{noformat}"
	case entry.Rule:
		return "----"
	}
	return line(b.Text)
}

func line(text string) string {
	var out strings.Builder
	for _, s := range entry.Spans(text) {
		switch s.Kind {
		case entry.Code:
			out.WriteString("{{" + words(s.Text) + "}}")
		case entry.Strong:
			out.WriteString("*" + words(s.Text) + "*")
		case entry.Link:
			out.WriteString("[" + words(s.Text) + "|" + s.URL + "]")
		default:
			out.WriteString(words(s.Text))
		}
	}
	return out.String()
}

var (
	markup = expression(`[{}\[\]*_^~!|]|\?\?`)
	signs  = expression(`\((?:x|y|n|i|/|\+|-|on|off|\?|flag|flagoff|\\\*[rgby]?|\\!)\)`)
	faces  = expression(`[:;][()DP]`)
	before = expression(`(^|\s)([-+])(\S)`) // means something only in front of a word
	begins = expression(`(?m)^(#|-|h[1-6]\.|bq\.)`)
)

// expression is compiled when it is used first.
func expression(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// words makes Jira show a text as it is: what begins a macro, a link, a picture, a table
// or a change of letters, and the pictures of faces and signs.
func words(s string) string {
	s = strings.ReplaceAll(s, `\`, "&#92;")
	for _, e := range []*regexp.Regexp{markup(), signs(), faces()} {
		s = e.ReplaceAllString(s, `\$0`)
	}
	s = before().ReplaceAllString(s, `$1\$2$3`)
	return begins().ReplaceAllString(s, `\$1`)
}
