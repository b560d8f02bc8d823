package entry

import "strings"

// Markdown writes a text of a stranger so that it says the same and does nothing: no
// mention tells anybody, no number or address refers to another issue, and there are no
// HTML, no comments, no pictures and no boxes to check. Headings are below those of
// a comment; code and tables are blocks of code.
func Markdown(md string) string {
	var out []string
	depth := 0 // of the item before
	for _, b := range Blocks(md) {
		isItem := b.Kind == Bullet || b.Kind == Numbered
		if len(out) > 0 && (!isItem || depth == 0) {
			out = append(out, "")
		}
		if depth++; !isItem {
			depth = 0
		} else if b.Level < depth {
			depth = b.Level
		}
		out = append(out, shown(b, strings.Repeat("   ", max(depth-1, 0))))
	}
	return strings.Join(out, "\n")
}

// shown is a block, with its indent where it is an item of a list.
func shown(b Block, indent string) string {
	switch b.Kind {
	case Heading:
		return strings.Repeat("#", min(b.Level+3, 6)) + " " + inline(b.Text)
	case Bullet:
		return indent + "- " + strings.ReplaceAll(inline(b.Text), "\n", "\n"+indent+"  ")
	case Numbered:
		return indent + "1. " + strings.ReplaceAll(inline(b.Text), "\n", "\n"+indent+"   ")
	case Quote:
		return "> " + strings.ReplaceAll(inline(b.Text), "\n", "\n> ")
	case Verbatim:
		fence := "```"
		for strings.Contains(b.Text, fence) {
			fence += "`"
		}
		return fence + "\n" + b.Text + "\n" + fence
	case Rule:
		return "---"
	}
	return inline(b.Text)
}

func inline(text string) string {
	var out strings.Builder
	for _, s := range Spans(text) {
		switch s.Kind {
		case Code:
			out.WriteString("`" + s.Text + "`")
		case Strong:
			out.WriteString("**" + Harmless(s.Text) + "**")
		case Link:
			// A backquote would pair with the next one, and end what stands between them.
			url := strings.NewReplacer("`", "%60", `\`, "%5C").Replace(s.URL)
			if refers().MatchString(url) {
				out.WriteString(harmless(s.Text) + " (`" + url + "`)")
			} else {
				out.WriteString("[" + harmless(s.Text) + "](" + url + ")") // without links in it, or it were none
			}
		default:
			out.WriteString(Harmless(s.Text))
		}
	}
	return out.String()
}

// The forms of words that do something.
var (
	addresses = expression("(?i)(?:https?|ftp)://[0-9a-z][^\\s<>\"'`|\\[\\]{}()\\\\*]+")
	refers    = expression(`(?i)/(issues?|pulls?|discussions?|commits?)/[0-9a-f]`) // to what is told of it
	starts    = expression(`(?m)^([ \t]*(?:\d{1,9})?)([-+=#>.)])`)                 // means something only at the begin of a line
	mentions  = expression(`(^|[^0-9A-Za-z])@([0-9A-Za-z])`)
	issues    = expression(`(?i)(#|\bGH-)(\d)`)
)

// apart stands, unseen, within what would otherwise be a mention or a reference: they
// are looked for in what is shown, where no other way of writing the sign helps.
const apart = "\u200b"

// Harmless writes words of a stranger as Markdown that shows them as they are; see
// [Markdown]. Addresses are links with an end of their own: one that is found in the text
// reaches to the next blank, and takes the begin of a piece of code with it.
func Harmless(words string) string {
	var out strings.Builder
	at := 0
	for _, m := range addresses().FindAllStringIndex(words, -1) {
		out.WriteString(harmless(words[at:m[0]]))
		url := strings.TrimRight(words[m[0]:m[1]], ".,;:!?_~")
		if refers().MatchString(url) {
			out.WriteString("`" + url + "`")
		} else {
			out.WriteString("<" + url + ">")
		}
		at = m[0] + len(url)
	}
	out.WriteString(harmless(words[at:]))
	return out.String()
}

func harmless(s string) string {
	var out strings.Builder
	for i := range len(s) {
		next := byte('[') // what follows a text may be a link
		if i+1 < len(s) {
			next = s[i+1]
		}
		switch c := s[i]; {
		case c == '&' && (next == '#' || word(next)):
			out.WriteString("&amp;")
			continue
		case strings.IndexByte("\\`*[]<|~$", c) >= 0, c == '!' && next == '[', c == '_' && (i == 0 || !word(s[i-1]) || !word(next)),
			c == '/' && next == '/' && strings.HasSuffix(s[:i], ":"), c == '.' && i >= 3 && strings.EqualFold(s[i-3:i], "www"): // links
			out.WriteByte('\\')
		}
		out.WriteByte(s[i])
	}
	s = starts().ReplaceAllString(out.String(), `$1\$2`)
	s = mentions().ReplaceAllString(s, "$1@"+apart+"$2")
	return issues().ReplaceAllString(s, "$1"+apart+"$2")
}

func word(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

var boxes = expression(`(?m)^(\s*(?:[-*+]|\d{1,9}[.)])\s+)\[([ xX])\]`)

// NoBoxes writes the boxes of a list of tasks so that nobody, no program either, takes
// them for tasks.
func NoBoxes(md string) string { return boxes().ReplaceAllString(md, "$1($2)") }
