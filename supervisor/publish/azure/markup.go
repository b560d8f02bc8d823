package azure

import (
	"html"
	"strings"

	"autopilot/supervisor/publish/entry"
)

// markup turns Markdown into HTML, in which nothing of the text is markup.
func markup(md string) string {
	var out strings.Builder
	list := "" // the list that is open
	for _, b := range entry.Blocks(md) {
		want := ""
		switch b.Kind {
		case entry.Bullet:
			want = "ul"
		case entry.Numbered:
			want = "ol"
		}
		if want != list {
			if list != "" {
				out.WriteString("</" + list + ">\n")
			}
			if want != "" {
				out.WriteString("<" + want + ">\n")
			}
			list = want
		}
		out.WriteString(block(b))
	}
	if list != "" {
		out.WriteString("</" + list + ">\n")
	}
	return out.String()
}

func block(b entry.Block) string {
	switch b.Kind {
	case entry.Heading:
		return "<h4>" + line(b.Text) + "</h4>\n"
	case entry.Bullet, entry.Numbered:
		// One list for all levels: nested ones look different in every version.
		return "<li>" + strings.Repeat("&nbsp;&nbsp;&nbsp;", b.Level-1) + line(b.Text) + "</li>\n"
	case entry.Quote:
		return "<blockquote>" + line(b.Text) + "</blockquote>\n"
	case entry.Verbatim:
		return "<pre>" + escape(b.Text) + "</pre>\n"
	case entry.Rule:
		return "<hr>\n"
	}
	return "<p>" + line(b.Text) + "</p>\n"
}

func line(text string) string {
	var out strings.Builder
	for _, s := range entry.Spans(text) {
		switch t := strings.ReplaceAll(escape(s.Text), "\n", "<br>"); s.Kind {
		case entry.Code:
			out.WriteString("<code>" + t + "</code>")
		case entry.Strong:
			out.WriteString("<b>" + t + "</b>")
		case entry.Link:
			out.WriteString(`<a href="` + escape(s.URL) + `">` + t + "</a>")
		default:
			out.WriteString(t)
		}
	}
	return out.String()
}

func escape(s string) string { return html.EscapeString(s) }
