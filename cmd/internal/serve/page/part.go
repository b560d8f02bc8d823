package page

import (
	"bytes"
	"embed"
	"fmt"
	"hash/maphash"
	"html/template"
	"strconv"
	"sync"
	"time"
)

//go:embed html/*.html
var files embed.FS

//go:embed static
var static embed.FS

// Static returns a file of the page with its type, or nothing.
func Static(name string) (data []byte, contentType string) {
	kinds := map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8"}
	kind, ok := kinds[name]
	if !ok {
		return nil, ""
	}
	data, err := static.ReadFile("static/" + name)
	if err != nil {
		return nil, ""
	}
	return data, kind
}

// templates are read once, when the first page is drawn: most of the time the program
// does something else.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.ParseFS(files, "html/*.html")
})

// Viewer is who looks, and when.
type Viewer struct {
	Now      time.Time
	Form     string // goes into each form
	ReadOnly bool   // nothing can be done from the page
	Login    bool   // the viewer logged in, and can log out
	Report   bool   // runs have a report
	Words    string // shown once, on top
	Bad      bool   // the words say that something was not done
}

// Part is a section of a page that can be drawn anew by itself.
type Part struct {
	Name    string        `json:"part"`
	Version string        `json:"version"` // another one when the HTML is another
	HTML    template.HTML `json:"html"`
	Title   string        `json:"title,omitempty"` // of the page, from now on
}

// seed is that of the versions, which nobody outside can foresee.
var seed = sync.OnceValue(maphash.MakeSeed)

// part draws one part.
func part(name, tmpl string, model any) (Part, error) {
	b, err := draw(tmpl, model)
	if err != nil {
		return Part{}, err
	}
	return Part{Name: name, Version: strconv.FormatUint(maphash.Bytes(seed(), b), 36), HTML: template.HTML(b)}, nil
}

func draw(name string, model any) ([]byte, error) {
	t, err := templates()
	if err != nil {
		return nil, fmt.Errorf("internal error: read the templates of the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, model); err != nil {
		return nil, fmt.Errorf("internal error: draw %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// frame is a whole page.
type frame struct {
	Title   string
	Heading string
	Up      []link // pages above this one
	Viewer  Viewer
	Parts   []Part
	Stream  string // where the script listens; empty for a page that stays as it is
	Refresh bool   // without a script, the page is loaded again by itself
	Events  *eventList
	Made    string // when
	Zone    string
}

type link struct{ Href, Text string }

func (f frame) draw() ([]byte, error) {
	f.Viewer.Words = text(f.Viewer.Words, longText)
	f.Made = f.Viewer.Now.Local().Format("15:04:05")
	f.Zone = f.Viewer.Now.Local().Format("MST")
	return draw("frame", f)
}
