package taskmaster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// byByte is leave as one would write it.
func byByte(t text, i int) int {
	depth, inString := 1, false
	for ; i < len(t); i++ {
		switch c := t[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func TestLeaveCountsAsOneDoesByHand(t *testing.T) {
	t.Parallel()
	// The neighbours of quotes, brackets and backslashes, which a search in words could
	// take for them, and bytes that carry into the next.
	piece := rapid.SampledFrom([]string{
		`"`, `"`, `"#`, `"!`, `"#"`, `\`, `\\`, `\"`, "{", "[", "{", "[", "{", "}", "]", "[]", "{}", "x", "y", "z", "X", "Y", "Z", "^", "_", "|", "~", "\x7f", "\x00", "\x01", "\x80", "\xa2", "\xdb", "\xff",
		" ", "\n", ",", ":", strings.Repeat("a", 7), strings.Repeat(" ", 9), `"` + strings.Repeat("b", 61) + `"`, `": "`,
	})
	ends := 0
	rapid.Check(t, func(t *rapid.T) {
		data := text(strings.Join(rapid.SliceOfN(piece, 80, 160).Draw(t, "pieces"), "") + rapid.SampledFrom([]string{"", strings.Repeat("}", 99), `"` + strings.Repeat("]", 99)}).Draw(t, "end"))
		from := rapid.IntRange(0, min(len(data), 20)).Draw(t, "from")
		want := byByte(data, from)
		if got := data.leave(from); got != want {
			t.Fatalf("leave %q from %d = %d, want %d", data, from, got, want)
		}
		if want > from+2*block {
			ends++
		}
	})
	if ends == 0 {
		t.Error("nothing of what was drawn has its end far away")
	}
}

// FuzzScan: what is valid JSON is gone through to its end, and gives what encoding/json
// gives; whatever it is, nothing panics.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		"{}", "[]", `{"a":1,"b":[{"c":"}\"]\\"},[]],"a\u0062":-1.5e+3}`, "\ufeff{ \"a\" : null\r\n}", `[1, "x", {"y":[[["\\\""]]]}, true]`, `"\\"`, `7`, `{"a":{"a":{"a":{}}}`, `{"a"}`, `{,}`, `[1 2]`, `{"a":}`, `["`, `["\`, "{\"a\":\x00}", `{"x":"` + strings.Repeat(`\"{`, 40) + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		data := text(raw)
		begin := data.begin()
		end := data.skip(begin)
		if end > len(data) {
			t.Fatalf("skip of %q ends at %d", data, end)
		}
		var got []string
		switch {
		case begin < len(data) && data[begin] == '{':
			if list, err := fields(data, "x", begin); err == nil {
				for _, m := range list {
					got = append(got, m.name+"="+string(data.at(m.value)))
				}
			}
		case begin < len(data) && data[begin] == '[':
			data.array(begin, func(_, at int) int {
				end := data.skip(at)
				if end > 0 {
					got = append(got, string(data[at:end]))
				}
				return end
			})
		}
		if !json.Valid(data[begin:]) {
			return
		}
		if data.space(end) != len(data) {
			t.Fatalf("%q ends at %d", data, end)
		}
		if want, ok := model(data[begin:]); ok && fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("%q: got %q, want %q", data, got, want)
		}
	})
}

// model is what the decoder of the standard library finds in an object or array. It
// does not know names that stand there twice.
func model(data []byte) ([]string, bool) {
	var out []string
	switch data[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil {
			return nil, false
		}
		for _, r := range list {
			out = append(out, string(r))
		}
	case '{':
		seen := map[string]bool{}
		d := json.NewDecoder(strings.NewReader(string(data)))
		_, _ = d.Token()
		for d.More() {
			name, err := d.Token()
			if err != nil || seen[name.(string)] {
				return nil, false
			}
			seen[name.(string)] = true
			var r json.RawMessage
			if d.Decode(&r) != nil {
				return nil, false
			}
			out = append(out, name.(string)+"="+string(r))
		}
	}
	return out, true
}
