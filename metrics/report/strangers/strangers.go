// Package strangers has what an agent, or whoever it has read, may write where a report shows
// it. Tests alone use it.
package strangers

import (
	"reflect"
	"time"

	"autopilot/metrics/ledger"
)

// Texts are markup, escapes, secrets and control characters.
func Texts() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</style><script>1</script>`, `</title><svg onload=alert(1)>`, `' onmouseover='x`, `javascript:alert(1)`,
		`{{.Title}} ${x} <%= y %>`, `]]><!-- --><![CDATA[`, `&lt;b&gt; &#x3c;`, "a\x00b\x1b[31mred\x1b[0m\u202ecba\ufffe\xff", "[x](javascript:alert(1)) ![i](http://x/y) <http://z>",
		"| a | b |\n|---|---|\n# head\n\n```\ncode", "\n<details>\n\n- [ ] x", "password=hunter2hunter2 sk-ant-abcdefgh1234 ghp_abcdefghijklmnop1234",
	}
}

// Fill puts a text into every string below a pointer. It makes what a pointer lacks, and gives an
// empty slice an element.
func Fill(to any, text string) { fill(reflect.ValueOf(to).Elem(), text) }

func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Type() == reflect.TypeFor[*time.Location]() {
			return
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[ledger.Stamp]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.String:
		v.SetString(text)
	}
}
