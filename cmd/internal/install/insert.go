package install

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

const usualUnit = "  "

// insert adds a value at the end of the object or array at. Inside an object the
// names of path are the way to it; none of them exists yet. It returns the new
// text, which is the old one with bytes added.
func (d doc) insert(at *hujson.Value, path []string, value any) ([]byte, error) {
	var name string
	if len(path) > 0 {
		name = path[0]
		for _, inner := range slices.Backward(path[1:]) {
			value = map[string]any{inner: value}
		}
	}
	raw, err := encode(value)
	if err != nil {
		return nil, err
	}
	b, _ := boxOf(at)
	from := b.before(len(b.items))
	rest := d.text[from:b.close]
	put := from + trimmed(rest)
	several := d.severalLines(b) // always behind a line comment, since that ends a line

	text := d.render(b, name, raw, several)
	if len(b.items) > 0 && !several && !d.tight() {
		text = " " + text
	}
	if len(b.items) == 0 && several && !bytes.Contains(d.text[put:b.close], []byte("\n")) {
		text += d.eol() + d.lineIndent(b.open)
	}
	if len(b.items) == 0 {
		return spliced(d.text, splice{put, put, text}), nil
	}
	last := b.items[len(b.items)-1]
	if last.comma >= 0 { // as the person does it
		return spliced(d.text, splice{put, put, text + ","}), nil
	}
	return spliced(d.text, splice{last.end, last.end, ","}, splice{put, put, text}), nil
}

// render is the new member or element, from the line end in front of it on.
func (d doc) render(b box, name string, raw []byte, several bool) string {
	label := ""
	if name != "" {
		quoted, _ := encode(name) // a string always has a JSON form
		label = string(quoted) + ": "
	}
	if !several {
		if d.tight() {
			return strings.TrimSuffix(label, " ") + string(raw)
		}
		return label + spaced(raw)
	}
	indent := d.itemIndent(b)
	var buf bytes.Buffer
	_ = json.Indent(&buf, raw, indent, d.unit()) // raw has just been encoded
	return d.eol() + indent + label + strings.ReplaceAll(buf.String(), "\n", d.eol())
}

// spaced is raw in one line, with a blank behind each colon and comma.
func spaced(raw []byte) string {
	v, err := hujson.Parse(raw)
	if err != nil {
		return string(raw)
	}
	for at := range v.All() {
		switch t := at.Value.(type) {
		case *hujson.Object:
			for i := range t.Members {
				t.Members[i].Value.BeforeExtra = hujson.Extra(" ")
				if i > 0 {
					t.Members[i].Name.BeforeExtra = hujson.Extra(" ")
				}
			}
		case *hujson.Array:
			for i := range t.Elements {
				if i > 0 {
					t.Elements[i].BeforeExtra = hujson.Extra(" ")
				}
			}
		}
	}
	return v.String()
}

// severalLines reports whether the items of a box stand on lines of their own. An
// empty one follows the whole text.
func (d doc) severalLines(b box) bool {
	if len(b.items) == 0 {
		root, _ := boxOf(d.root)
		return len(root.items) == 0 || bytes.Contains(d.text[root.open:root.close], []byte("\n"))
	}
	for i := range b.items {
		if bytes.Contains(d.text[b.before(i):b.items[i].start], []byte("\n")) {
			return true
		}
	}
	return bytes.Contains(d.text[b.before(len(b.items)):b.close], []byte("\n"))
}

// itemIndent is the white space in front of an item: that of the last one that
// begins a line.
func (d doc) itemIndent(b box) string {
	for _, it := range slices.Backward(b.items) {
		if indent, ok := d.beginsLine(it.start); ok {
			return indent
		}
	}
	return d.lineIndent(b.open) + d.unit()
}

// beginsLine returns the white space in front of an offset when nothing else is
// on the line before it.
func (d doc) beginsLine(offset int) (indent string, ok bool) {
	i := bytes.LastIndexByte(d.text[:offset], '\n')
	indent = string(d.text[i+1 : offset])
	return indent, i >= 0 && strings.Trim(indent, " \t") == ""
}

// lineIndent is the white space at the beginning of the line of an offset.
func (d doc) lineIndent(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit is the white space of one level: what the first member of the file that
// begins a line has more than the file itself.
func (d doc) unit() string {
	root, _ := boxOf(d.root)
	for _, it := range root.items {
		indent, ok := d.beginsLine(it.start)
		indent = strings.TrimPrefix(indent, d.lineIndent(root.open))
		if ok && indent != "" {
			return indent
		}
	}
	if bytes.Contains(d.text, []byte("\n\t")) {
		return "\t"
	}
	return usualUnit
}

// tight reports whether the text has no blank behind its first colon.
func (d doc) tight() bool {
	o, _ := d.root.Value.(*hujson.Object)
	return o != nil && len(o.Members) > 0 && len(o.Members[0].Value.BeforeExtra) == 0
}

func (d doc) eol() string { return eolOf(d.text) }

// eolOf is the line end of the first line.
func eolOf(text []byte) string {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		i = len(text)
	}
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
