package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
)

// draw puts anything at all into a value.
func draw(t *rapid.T, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(moment(t)))
		return
	case reflect.TypeFor[ledger.Stamp]():
		v.Set(reflect.ValueOf(ledger.Stamp(moment(t))))
		return
	case reflect.TypeFor[*time.Location]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]*time.Location{nil, time.UTC, time.FixedZone("<b>&", 3600)}).Draw(t, "zone")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "length")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			draw(t, v.Index(i))
		}
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.StringN(0, 12, 40), rapid.SampledFrom([]string{
			"", "completed", "pending", "failed", "green", "critical", "open", "paused", "<script>", "]]>", "a\xffb\ufffe", "|\n\n#", `"'&`,
		})).Draw(t, "text"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, 1e-320})).Draw(t, "number"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, 100)).Draw(t, "count"))
	}
}

func moment(t *rapid.T) time.Time {
	return rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 600), after),
		rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Unix(1<<60, 0)}),
	).Draw(t, "time")
}

// checkDrawings reads a page as strict XML and looks at the places in its drawings.
func checkDrawings(page string) (bad string, err error) {
	d := xml.NewDecoder(strings.NewReader(page))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		e, _ := token.(xml.StartElement)
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "x", "y", "width", "height", "d", "cx", "cy":
				if strings.ContainsAny(a.Value, "Nnefi") || e.Name.Local == "rect" && strings.HasPrefix(a.Value, "-") {
					return e.Name.Local + " " + a.Name.Local + "=" + a.Value, nil
				}
			}
		}
	}
}

func TestAnyFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f report.Facts
		draw(t, reflect.ValueOf(&f).Elem())
		page, err := report.HTML(f)
		if err != nil {
			t.Fatal(err)
		}
		bad, err := checkDrawings(string(page))
		if err != nil || bad != "" {
			t.Fatalf("%v, %s in\n%s", err, bad, page)
		}
		data, err := report.JSON(f)
		if err != nil || !json.Valid(data) || bytes.ContainsAny(data, "\x00\x1b\r") {
			t.Fatalf("%v in\n%s", err, data)
		}
		words := report.Markdown(f)
		if !utf8.Valid(page) || !utf8.Valid(words) || bytes.ContainsAny(words, "\x00\x1b\r") {
			t.Fatalf("not plain UTF-8:\n%q", words)
		}
	})
}
