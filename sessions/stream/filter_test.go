package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// filtered runs one line through a filter in pieces of the given length and
// returns what is left of it.
func filtered(limits Limits, line []byte, piece int) *filter {
	f := &filter{limits: limits}
	for rest := line; len(rest) > 0; {
		n := min(len(rest), max(piece, 1))
		f.feed(rest[:n])
		rest = rest[n:]
	}
	return f
}

// whole reports whether the filter has taken a whole object that is valid as
// far as it was kept.
func (f *filter) whole() bool { return f.phase == after && json.Valid(f.out) }

// A string is cut at the limit, at a boundary of characters and of escape
// sequences.
func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit     int
		text, cut string
	}{
		{8, "12345678", "12345678"},
		{8, "123456789", "12345678"},
		{8, "1234567é", "1234567"},
		{8, "123456é9", "123456é"},
		{8, "12345€", "12345€"},
		{8, "123456€", "123456"},
		{8, "12345😀", "12345"},
		{8, "1234😀", "1234😀"},
		{8, "1234567\xffx", "1234567"},
		{8, "12345678\x80", "12345678"},
		{8, "123456\xe2axyz", "123456\xe2a"},
		{8, `1234567\n`, `1234567`},
		{8, `123456\n`, `123456\n`},
		{8, `123456\n9`, `123456\n`},
		{8, `123456\\\\`, `123456\\`},
		{8, `1234567\"`, `1234567`},
		{8, `12\u00e9`, `12\u00e9`},
		{8, `123\u00e9`, `123`},
		{8, `\ud83d\ude00`, ``},
		{12, `\ud83d\ude00`, `\ud83d\ude00`},
		{12, `a\ud83d\ude00`, `a`},
		{12, `\uD83Dabcdef`, `\uD83Dabcdef`},
		{12, `\uDC00abcdefg`, `\uDC00abcdef`},
	}
	for _, tt := range tests {
		for piece := range 6 {
			f := filtered(Limits{String: tt.limit, Line: 1000, Result: 1000}, fmt.Appendf(nil, `{"a":"%s","b":1}`, tt.text), piece)
			if got, want := string(f.out), fmt.Sprintf(`{"a":"%s","b":1}`, tt.cut); got != want {
				t.Errorf("%q cut to %d, in pieces of %d: %q, want %q", tt.text, tt.limit, piece, got, want)
			}
			if got, want := f.cuts == 1, tt.text != tt.cut; got != want {
				t.Errorf("%q cut to %d: counted %v, want %v", tt.text, tt.limit, got, want)
			}
		}
	}
}

// What nobody reads is shortened further, and is not counted as cut.
func TestUnread(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*unreadString)
	format := `{"event":{"z":1,"a":"%s"},"b":"%s","tool_use_result":["event","%s"],"c":{"z":1,"event":"%s"}}`
	line := fmt.Sprintf(format, long, long, long, long)
	want := fmt.Sprintf(format, long[:unreadString], long, long[:unreadString], long)
	f := filtered(Limits{String: 1000, Line: 10000, Result: 1000}, []byte(line), 100)
	if got := string(f.out); got != want || f.cuts != 0 {
		t.Errorf("kept %q with %d cuts, want %q with none", got, f.cuts, want)
	}
}

// A key that is too long to be known has no part in the answer.
func TestLongKey(t *testing.T) {
	t.Parallel()
	for _, before := range []string{`"result":"a"`, `"structured_output":1`, `"event":1`} {
		line := fmt.Sprintf(`{%s,"%s":"0123456789"}`, before, strings.Repeat("k", 30))
		f := filtered(Limits{String: 20, Line: 1000, Result: 1000}, []byte(line), 100)
		if got, want := f.answer.text.string(false), before == `"result":"a"`; (got == "a") != want || f.class != other {
			t.Errorf("%s: the answer is %q", line, got)
		}
	}
}

// After a large line the memory for it is given back.
func TestReset(t *testing.T) {
	t.Parallel()
	f := filtered(Limits{String: 1 << 20, Line: 1 << 20, Result: 1 << 20},
		[]byte(`{"result":"a","structured_output":[1],"b":"`+strings.Repeat("x", 1<<19)+`"}`), 1<<20)
	if len(f.out) < 1<<19 {
		t.Fatalf("kept %d bytes, want the whole line", len(f.out))
	}
	f.reset()
	if cap(f.out) > 256<<10 || f.answer.json != nil || f.answer.text.size != 0 {
		t.Errorf("%d bytes are still there after the line, and an answer of %d", cap(f.out), f.answer.text.size)
	}
}

// jsonText draws a valid JSON value, written in any of the many ways.
func jsonText(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\t\r "})
	wrap := func(s string) string { return space.Draw(t, "space") + s + space.Draw(t, "space") }
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return wrap(rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word"))
	case 1:
		return wrap(rapid.SampledFrom([]string{"0", "-1", "1.5e+10", "123456789012345678901234567890"}).Draw(t, "number"))
	case 4:
		var items []string
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, jsonText(t, depth-1))
		}
		return wrap("[" + strings.Join(items, ",") + wrap("") + "]")
	case 5:
		return wrap(jsonObject(t, depth-1, rapid.SampledFrom([]string{`"a"`, `"result"`, `"event"`, `""`, `"\u0061\""`})))
	}
	return wrap(jsonString(t))
}

func jsonObject(t *rapid.T, depth int, keys *rapid.Generator[string]) string {
	var members []string
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		members = append(members, keys.Draw(t, "key")+" :"+jsonText(t, depth))
	}
	return "{" + strings.Join(members, ",") + " }"
}

func jsonString(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "xyz", "é", "€", "😀", "\xff", "\xc3", "\x7f", `\"`, `\\`, `\/`, `\n`, `\t`, `\b`, `\f`, `\r`,
		`\u0000`, `\u00e9`, `\u20AC`, `\ud83d\ude00`, `\ud83d`, `\uDE00`, "{", "}", "[", "]", ",", ":", "12345678901234567890",
	}), 0, 12)
	return `"` + strings.Join(parts.Draw(t, "text"), "") + `"`
}

// What is left of a valid line is valid, and its strings are the beginnings of
// the line's.
func TestFilterKeepsValid(t *testing.T) {
	t.Parallel()
	keys := rapid.SampledFrom([]string{`"a"`, `"result"`, `"structured_output"`, `"event"`, `"type"`, `"tool_use_result"`})
	rapid.Check(t, func(t *rapid.T) {
		line := []byte(jsonObject(t, 3, keys))
		limits := Limits{String: rapid.IntRange(20, 40).Draw(t, "String"), Line: 1 << 20, Result: rapid.IntRange(0, 60).Draw(t, "Result")}
		f := filtered(limits, line, rapid.IntRange(1, 50).Draw(t, "piece"))
		if !json.Valid(line) {
			t.Fatalf("the test has drawn %q, which is not valid", line)
		}
		if !f.whole() {
			t.Fatalf("%q became %q, which is not valid", line, f.out)
		}
		var full, kept map[string]any
		if err := json.Unmarshal(line, &full); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(f.out, &kept); err != nil {
			t.Fatal(err)
		}
		text, isText := full["result"].(string)
		if isText && f.answer.hasText {
			got := f.answer.text.string(f.answer.textCut)
			if got != text && !(f.answer.textCut && isPrefix(text, got)) {
				t.Fatalf("answer of %q is %q, cut %v", line, got, f.answer.textCut)
			}
		}
		if !f.answer.valueCut && full["structured_output"] != nil {
			var got any
			if err := json.Unmarshal(f.answer.json, &got); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(full["structured_output"]) {
				t.Fatalf("value of %q is %v", line, got)
			}
		}
		delete(full, "structured_output")
		delete(kept, "structured_output")
		if isText {
			delete(full, "result")
			delete(kept, "result")
		}
		if problem := shortened(full, kept); problem != "" {
			t.Fatalf("%q became %q: %s", line, f.out, problem)
		}
	})
}

// isPrefix allows for a replacement character at the end of what was kept.
func isPrefix(full, kept string) bool {
	return strings.HasPrefix(full, strings.TrimSuffix(kept, string(utf8.RuneError)))
}

// shortened says in what kept is more than full with shorter strings.
func shortened(full, kept any) string {
	switch full := full.(type) {
	case string:
		if s, ok := kept.(string); !ok || !isPrefix(full, s) {
			return fmt.Sprintf("%q for %q", kept, full)
		}
	case []any:
		items, ok := kept.([]any)
		if !ok || len(items) != len(full) {
			return fmt.Sprintf("%v for %v", kept, full)
		}
		for i := range full {
			if problem := shortened(full[i], items[i]); problem != "" {
				return problem
			}
		}
	case map[string]any:
		members, ok := kept.(map[string]any)
		if !ok || len(members) != len(full) {
			return fmt.Sprintf("%v for %v", kept, full)
		}
		for k := range full {
			if problem := shortened(full[k], members[k]); problem != "" {
				return problem
			}
		}
	default:
		if fmt.Sprint(full) != fmt.Sprint(kept) {
			return fmt.Sprintf("%v for %v", kept, full)
		}
	}
	return ""
}

func TestPlain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		p := make([]byte, random.IntN(40))
		for i := range p {
			if p[i] = byte(random.IntN(256)); random.IntN(4) > 0 {
				p[i] = "az\x7f\x80\xff !#[]"[random.IntN(10)]
			}
		}
		want := len(p)
		for i, c := range p {
			if c < 0x20 || c == '"' || c == '\\' {
				want = i
				break
			}
		}
		if got := plain(p); got != want {
			t.Fatalf("plain(%q) = %d, want %d", p, got, want)
		}
	}
}

func TestNoise(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want bool // nothing to see
	}{
		{"", true},
		{" \t\r\x00\x07\x7f", true},
		{"\x1b[?25h\x1b[0;31m\x1b[<u\x1b[>4m", true},
		{"\x1b7\x1b8\x1bc\x1b(B\x0f\x1b#8", true},
		{"\x1b]0;title\x07 \x1b]8;;http://x\x1b\\ \x1bPdata\x1b\\", true},
		{"\x1b]0;unfinished", true},
		{"\x1b[31mred", false},
		{"^C", false},
		{"é", false},
		{"\x1b]0;title\x07x", false},
		{"\x1b(Bx", false},
	}
	for _, tt := range tests {
		var n noise
		got := true
		for _, c := range []byte(tt.text) {
			got = n.is(c) && got
		}
		if got != tt.want {
			t.Errorf("%q: nothing to see = %v, want %v", tt.text, got, tt.want)
		}
	}
}

// FuzzDecode feeds anything, in pieces, with small limits.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"a"}`+"\n"), uint8(1))
	f.Add([]byte("\x1b[?25h{\"type\":\"a\",\"b\":\"\\ud83d\\ude00é\"}\r\n^C{"), uint8(3))
	f.Add([]byte(`{"result":"abcdefghijklmnopqrstuvwxyz\n","structured_output" : [1,{"a":"b"}] ,"type":"result"}`), uint8(7))
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"text":"x"}]}]}}`+"\n\n{]"), uint8(9))
	f.Add([]byte(`{"event":"`+strings.Repeat("x", 300)+`","a":"`+strings.Repeat(`\"`, 300)+`"}`), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		limits := Limits{String: 40, Line: 400, Result: 60}
		for line := range bytes.Lines(data) {
			checkLine(t, limits, bytes.TrimSuffix(line, []byte("\n")), int(piece))
		}
		all, whole := decodeLimited(limits, data, len(data))
		pieces, inPieces := decodeLimited(limits, data, int(piece))
		if whole != inPieces || !reflect.DeepEqual(all, pieces) {
			t.Errorf("at once: %+v\n%+v\nin pieces: %+v\n%+v", whole, all, inPieces, pieces)
		}
		if whole.Lines != whole.Events+whole.Ignored+whole.Torn || whole.Bytes != int64(len(data)) || whole.Torn > 1 {
			t.Errorf("counts do not add up: %+v", whole)
		}
	})
}

func decodeLimited(limits Limits, data []byte, piece int) (events []Event, stats Stats) {
	d := New(Limits{}, func(e Event) { events = append(events, e) }, WithNow(func() time.Time { return time.Time{} }))
	d.filter.limits = limits
	for rest := data; len(rest) > 0; {
		n := min(len(rest), max(piece, 1))
		if _, err := d.Write(rest[:n]); err != nil {
			panic(err)
		}
		rest = rest[n:]
	}
	if err := d.Close(); err != nil {
		panic(err)
	}
	return events, d.Stats()
}

// checkLine holds the filter against encoding/json on the same line.
func checkLine(t *testing.T, limits Limits, line []byte, piece int) {
	f := filtered(limits, line, piece)
	if len(f.out) > limits.Line || f.answer.value.size > limits.Result || f.answer.text.size > 3*limits.Result || len(f.head) > headBytes {
		t.Errorf("%q: kept %d bytes, %d and %d of the answer", line, len(f.out), f.answer.text.size, f.answer.value.size)
	}
	_, object, found := bytes.Cut(line, []byte("{"))
	object = append([]byte("{"), object...)
	switch {
	case f.over || f.answer.valueCut:
	case found && json.Valid(object) && !f.whole():
		t.Errorf("valid %q became %q", object, f.out)
	case f.whole():
		var first json.RawMessage
		if err := json.NewDecoder(bytes.NewReader(object)).Decode(&first); err != nil {
			t.Errorf("invalid %q became %q: %v", object, f.out, err)
		}
	}
}
