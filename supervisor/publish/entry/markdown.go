package entry

import (
	"regexp"
	"strings"
	"sync"
)

// Kind is what a block or a span of a Markdown text is.
type Kind string

// Kinds of blocks; those of spans are in [Span].
const (
	Heading   Kind = "heading"
	Paragraph Kind = "paragraph"
	Bullet    Kind = "bullet"
	Numbered  Kind = "numbered"
	Quote     Kind = "quote"
	Verbatim  Kind = "verbatim" // code, and tables, which are readable as they are
	Rule      Kind = "rule"
)

// Kinds of spans.
const (
	Words  Kind = "words"
	Code   Kind = "code"
	Strong Kind = "strong"
	Link   Kind = "link"
)

// Block is a part of a Markdown text that begins on a line of its own.
type Block struct {
	Kind  Kind
	Level int    // of a heading 1..6, of an item 1..6
	Text  string // with line ends where it had more than one line
}

// Span is a part of a line.
type Span struct {
	Kind Kind
	Text string
	URL  string // of a link; http or https
}

// The forms of Markdown that are known.
var (
	fences   = expression("^ {0,3}(`{3,}|~{3,})")
	headings = expression(`^(#{1,6})\s+(.*?)\s*#*$`)
	rules    = expression(`^(-{3,}|\*{3,}|_{3,})$`)
	bullets  = expression(`^[-*+]\s+(.*)$`)
	numbers  = expression(`^\d{1,9}[.)]\s+(.*)$`)
	spans    = expression("`([^`\n]+)`" + `|\*\*([^*\n]+)\*\*|\[([^\[\]\n]+)\]\((https?://[^\s()<>"|\[\]{}]+)\)`)
)

// expression is compiled when it is used first.
func expression(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// Blocks takes a text in the part of Markdown apart that people write most (CommonMark:
// ATX headings, lists, fenced code, quotations; and tables of GitHub). What it does not
// know is a paragraph.
func Blocks(text string) []Block {
	var out []Block
	var parts []string // lines of the last block of out
	open := false      // it takes further lines of its kind
	flush := func() {
		if len(out) > 0 {
			out[len(out)-1].Text = strings.Join(parts, "\n")
		}
	}
	lines := strings.Split(plain(text), "\n")
	for i := 0; i < len(lines); i++ {
		if fence := fenceOf(lines[i]); fence != "" {
			flush()
			out, parts, open = append(out, Block{Kind: Verbatim}), nil, false
			for i++; i < len(lines) && !closes(lines[i], fence); i++ {
				parts = append(parts, lines[i])
			}
			continue
		}
		if strings.TrimSpace(lines[i]) == "" {
			open = false
			continue
		}
		b := blockOf(lines[i])
		if open && continues(out[len(out)-1].Kind, b.Kind) {
			parts = append(parts, b.Text)
			continue
		}
		flush()
		out, parts, open = append(out, b), []string{b.Text}, true
	}
	flush()
	return out
}

// continues reports whether a line of a kind goes on with the block before it.
func continues(before, line Kind) bool {
	switch line {
	case Paragraph:
		return before == Paragraph || before == Bullet || before == Numbered
	case Quote, Verbatim:
		return before == line
	}
	return false
}

func fenceOf(line string) string {
	fence := fences().FindString(line)
	if strings.HasSuffix(fence, "`") && strings.Contains(line[len(fence):], "`") {
		return "" // code within a line
	}
	return fence
}

func closes(line, fence string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), strings.TrimSpace(fence))
	return ok && strings.Trim(rest, "`~ ") == ""
}

func blockOf(line string) Block {
	trimmed := strings.TrimSpace(line)
	if m := headings().FindStringSubmatch(trimmed); m != nil {
		return Block{Kind: Heading, Level: len(m[1]), Text: m[2]}
	}
	if rules().MatchString(trimmed) {
		return Block{Kind: Rule}
	}
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	level := min(1+indent/2, 6)
	if m := bullets().FindStringSubmatch(trimmed); m != nil {
		return Block{Kind: Bullet, Level: level, Text: m[1]}
	}
	if m := numbers().FindStringSubmatch(trimmed); m != nil {
		return Block{Kind: Numbered, Level: level, Text: m[1]}
	}
	if strings.HasPrefix(trimmed, ">") {
		return Block{Kind: Quote, Text: strings.TrimSpace(trimmed[1:])}
	}
	if strings.HasPrefix(trimmed, "|") && strings.HasSuffix(trimmed, "|") && len(trimmed) > 1 {
		return Block{Kind: Verbatim, Text: trimmed}
	}
	return Block{Kind: Paragraph, Text: trimmed}
}

// Spans takes the text of a block apart that is not verbatim.
func Spans(text string) []Span {
	var out []Span
	at := 0
	for _, m := range spans().FindAllStringSubmatchIndex(text, -1) {
		if m[0] > at {
			out = append(out, Span{Kind: Words, Text: text[at:m[0]]})
		}
		switch {
		case m[2] >= 0:
			out = append(out, Span{Kind: Code, Text: text[m[2]:m[3]]})
		case m[4] >= 0:
			out = append(out, Span{Kind: Strong, Text: text[m[4]:m[5]]})
		default:
			out = append(out, Span{Kind: Link, Text: text[m[6]:m[7]], URL: text[m[8]:m[9]]})
		}
		at = m[1]
	}
	if at < len(text) {
		out = append(out, Span{Kind: Words, Text: text[at:]})
	}
	return out
}
