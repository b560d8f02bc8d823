package sheet

import (
	"bytes"
	_ "embed" // for the template
	"fmt"
	"html/template"
	"sync"
)

//go:embed page.html
var pageText string

// parsed is the template, which takes longer to read than to fill in.
var parsed = sync.OnceValues(func() (*template.Template, error) {
	return template.New("page").Parse(pageText)
})

// HTML returns the sheet as one page. The error is a mistake in this package, never one of
// the sheet.
func (m Sheet) HTML() ([]byte, error) {
	t, err := parsed()
	if err != nil {
		return nil, fmt.Errorf("internal error: read the template of the report: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		return nil, fmt.Errorf("internal error: fill in the template of the report: %w", err)
	}
	return b.Bytes(), nil
}
