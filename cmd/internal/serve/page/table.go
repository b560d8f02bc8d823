package page

import (
	"html"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
)

// table is a list. On a narrow screen each row stands by itself, with the heads as labels.
type table struct {
	Name string // for who cannot see it
	Head []head
	Rows []row
	None string // said when there is no row
	Left string // what is not shown
}

type head struct {
	Text   string
	Number bool
}

type row struct {
	Nested bool
	Cells  []cell
}

// cell is one field. The first cell of a row heads it.
type cell struct {
	Text  string
	Href  string // leads there: a path of ours, whose parts are escaped
	Badge string // class, one of ours
	Bar   string // 0..100, drawn beside the text
	Path  bool   // the text is one
	Below string // smaller, below the text
}

// HTML draws the table. It is written by hand because a page has thousands of fields, for
// each of which a template takes microseconds; every text is escaped where it is written.
func (t table) HTML() template.HTML {
	var b strings.Builder
	w := writer{&b}
	if len(t.Rows) == 0 {
		w.put(`<p class="note">`, t.None, `</p>`)
		return template.HTML(b.String())
	}
	b.Grow(len(t.Rows) * len(t.Head) * 90)
	w.put(`<table role="table"><caption class="unseen">`, t.Name, `</caption>`)
	b.WriteString("\n" + `<thead role="rowgroup"><tr role="row">`)
	for _, h := range t.Head {
		w.put(`<th role="columnheader" scope="col"`+class(h.Number, "number")+`>`, h.Text, `</th>`)
	}
	b.WriteString("</tr></thead>\n" + `<tbody role="rowgroup">`)
	for _, r := range t.Rows {
		b.WriteString(`<tr role="row"` + class(r.Nested, "nested") + `>`)
		for i, c := range r.Cells {
			if i == 0 {
				b.WriteString(`<th role="rowheader" scope="row">`)
				w.cell(c)
				b.WriteString(`</th>`)
				continue
			}
			w.put(`<td role="cell" data-label="`, t.Head[i].Text, `"`+class(t.Head[i].Number, "number"))
			if c.Text == wording.None {
				b.WriteString(` data-none`)
			}
			b.WriteString(`>`)
			w.cell(c)
			b.WriteString(`</td>`)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString(`</tbody></table>`)
	if t.Left != "" {
		w.put(`<p class="note">`, t.Left, `</p>`)
	}
	return template.HTML(b.String())
}

func class(yes bool, name string) string {
	if yes {
		return ` class="` + name + `"`
	}
	return ""
}

// writer writes elements around texts.
type writer struct{ *strings.Builder }

// put writes a text, escaped, between two pieces of markup of ours.
func (w writer) put(before, text, after string) {
	w.WriteString(before)
	w.WriteString(html.EscapeString(text))
	w.WriteString(after)
}

func (w writer) cell(c cell) {
	switch {
	case c.Href != "":
		w.put(`<a href="`, c.Href, `">`)
		w.put(``, c.Text, `</a>`)
	case c.Badge != "":
		w.put(`<strong class="badge `+c.Badge+`">`, c.Text, `</strong>`)
	case c.Bar != "":
		w.put(`<span class="share"><progress max="100" value="`, c.Bar, `" aria-hidden="true"></progress> `)
		w.put(``, c.Text, `</span>`)
	case c.Path: // breaks behind its slashes
		w.WriteString(`<span>` + strings.ReplaceAll(html.EscapeString(c.Text), "/", "/<wbr>") + `</span>`)
	default:
		w.put(`<span>`, c.Text, `</span>`)
	}
	if c.Below != "" {
		w.put(`<small>`, c.Below, `</small>`)
	}
}

// heads are columns by name; a name that begins with # is one of numbers.
func heads(names ...string) []head {
	out := make([]head, len(names))
	for i, n := range names {
		out[i] = head{Text: n}
		if n[0] == '#' {
			out[i] = head{n[1:], true}
		}
	}
	return out
}

// RunPath is where the page of a run is.
func RunPath(ref board.Ref) string {
	return "/runs/" + url.PathEscape(ref.Project) + "/" + url.PathEscape(ref.Run)
}

// ProjectPath is where the page of a project is.
func ProjectPath(project string) string { return "/projects/" + url.PathEscape(project) }

// bar is a share of a hundred as the element that draws it wants it, or nothing.
func bar(p *float64) string {
	if p == nil || wording.Percent(*p) == wording.None {
		return ""
	}
	return strconv.FormatFloat(math.Round(*p*10)/10, 'f', -1, 64)
}
