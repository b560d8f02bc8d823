package install

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

// editHere stands once in every generated text, for a person to edit.
const editHere = `"EDIT-HERE"`

// writer makes JSON with random white space, comments and trailing commas.
type writer struct {
	*rapid.T
	extras []string
	strict bool // no comments, no trailing commas
	ours   bool // a hook of ours may be there already
	out    strings.Builder
}

func (w *writer) extra() {
	w.out.WriteString(rapid.SampledFrom(w.extras).Draw(w.T, "extra"))
}

func (w *writer) items(open, shut string, n int, item func(i int)) {
	w.out.WriteString(open)
	for i := range n {
		w.extra()
		item(i)
		w.extra()
		if i < n-1 || !w.strict && rapid.Bool().Draw(w.T, "trailing comma") {
			w.out.WriteString(",")
		}
	}
	w.extra()
	w.out.WriteString(shut)
}

func (w *writer) object(names []string, value func(name string)) {
	w.items("{", "}", len(names), func(i int) {
		quoted, _ := json.Marshal(names[i])
		w.out.Write(quoted)
		w.extra()
		w.out.WriteString(":")
		w.extra()
		value(names[i])
	})
}

func (w *writer) value(depth int) {
	kind := rapid.IntRange(0, 5).Draw(w.T, "kind")
	switch {
	case kind == 0 && depth > 0:
		w.object(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a", "b/c", "Stop", "hooks", "ä\n"}), 0, 3, rapid.ID).Draw(w.T, "names"), func(string) { w.value(depth - 1) })
	case kind == 1 && depth > 0:
		w.items("[", "]", rapid.IntRange(0, 3).Draw(w.T, "elements"), func(int) { w.value(depth - 1) })
	default:
		w.out.WriteString(rapid.SampledFrom([]string{"null", "true", "-1.5e3", `""`, `"a // b"`, `"{[\"\\"`, `"/* x"`}).Draw(w.T, "literal"))
	}
}

// group is anything, or what runs a hook of ours.
func (w *writer) group(event string) {
	line, known := map[string]string{"Stop": ourHook, "SessionStart": startHook}[event]
	if !known || !w.ours || rapid.IntRange(0, 3).Draw(w.T, "ours") > 0 {
		w.value(2)
		return
	}
	w.object([]string{"hooks"}, func(string) {
		w.items("[", "]", rapid.IntRange(1, 2).Draw(w.T, "hooks"), func(i int) {
			if i > 0 {
				w.value(1)
				return
			}
			w.out.WriteString(line)
		})
	})
}

// settings is an object in which init can put everything.
func (w *writer) settings() {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"edit", "hooks", "claudeFlow", "model", "env"}), 0, 5, rapid.ID).Draw(w.T, "members")
	w.object(names, func(name string) {
		switch name {
		case "edit":
			w.out.WriteString(editHere)
		case "hooks":
			events := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Stop", "PreToolUse", "SessionStart"}), 0, 3, rapid.ID).Draw(w.T, "events")
			w.object(events, func(event string) {
				w.items("[", "]", rapid.IntRange(0, 2).Draw(w.T, "groups"), func(int) { w.group(event) })
			})
		case "claudeFlow":
			w.object(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID).Draw(w.T, "flow"), func(string) { w.value(1) })
		default:
			w.value(2)
		}
	})
}

// drawSettings is a settings file in some form.
func drawSettings(t *rapid.T, ours bool) []byte {
	eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol")
	blanks := []string{"", "", " ", "\t", "  ", eol, eol + "  ", eol + "\t", eol + eol}
	w := &writer{T: t, ours: ours, strict: rapid.Bool().Draw(t, "strict")}
	w.extras = blanks
	if !w.strict {
		w.extras = append(w.extras, "/* c */", " /**/ ", "// c"+eol, eol+"  // , } ]"+eol+"  ", "/*"+eol+"*/")
	}
	if rapid.IntRange(0, 5).Draw(t, "form") == 0 { // as a program writes it
		w.strict, w.extras = true, []string{""}
		w.settings()
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(w.out.String()), "", rapid.SampledFrom([]string{"  ", "    ", "\t"}).Draw(t, "unit")); err != nil {
			t.Fatal(err)
		}
		return append(out.Bytes(), rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end")...)
	}
	w.out.WriteString(rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark"))
	w.extra()
	w.settings()
	w.extra()
	return []byte(w.out.String())
}

// missing reports what of ours is missing in a text, or wrong with it.
func missing(data []byte) string {
	_, text := splitMark(data)
	v, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		return err.Error()
	}
	v.Standardize()
	var s struct {
		Hooks      map[string][]json.RawMessage
		ClaudeFlow map[string]json.RawMessage `json:"claudeFlow"`
	}
	if err := json.Unmarshal(v.Pack(), &s); err != nil {
		return err.Error()
	}
	if s.ClaudeFlow["autopilot"] == nil {
		return "no limits"
	}
	for name, line := range map[string]string{"Stop": "autopilot hook stop", "SessionStart": "autopilot hook session-start"} {
		found := 0
		for _, raw := range s.Hooks[name] {
			var group struct {
				Hooks []json.RawMessage
			}
			if json.Unmarshal(raw, &group) != nil {
				continue
			}
			for _, inner := range group.Hooks {
				var h hook
				if json.Unmarshal(inner, &h) == nil && h.Command == line && h.Type == "command" {
					found++
				}
			}
		}
		if found == 0 {
			return "no hook for " + name
		}
	}
	return ""
}

// plainJSON is what a text says, without its form.
func plainJSON(t *rapid.T, data []byte) any {
	_, text := splitMark(data)
	v, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	v.Standardize()
	var out any
	if err := json.Unmarshal(v.Pack(), &out); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	part := settingsPart(program{"autopilot", ""})
	rapid.Check(t, func(rt *rapid.T) {
		before := state{exists: true, data: drawSettings(rt, false)}
		after, _, err := part.put(before)
		if err != nil {
			rt.Fatalf("put %q: %v", before.data, err)
		}
		if what := missing(after.data); what != "" {
			rt.Fatalf("put %q = %q: %s", before.data, after.data, what)
		}
		if again, _, err := part.put(after); err != nil || !again.same(after) {
			rt.Fatalf("second put of %q = %q, %v", after.data, again.data, err)
		}
		if back, _, err := part.cut(after, &before); err != nil || !back.same(before) {
			rt.Fatalf("cut %q = %q, %v, want %q", after.data, back.data, err, before.data)
		}

		// An edit elsewhere is there afterwards, and nothing else is different.
		edit := func(s state) state {
			return state{exists: true, data: bytes.Replace(s.data, []byte(editHere), []byte("/*\n*/[1,\"x\"]"), 1)}
		}
		if back, _, err := part.cut(edit(after), &before); err != nil || !back.same(edit(before)) {
			rt.Fatalf("cut %q = %q, %v, want %q", edit(after).data, back.data, err, edit(before).data)
		}

		// Without a record the form of what was empty may differ, what it says may not.
		back, _, err := part.cut(edit(after), nil)
		if err != nil {
			rt.Fatalf("cut %q without a record: %v", edit(after).data, err)
		}
		want, got := withoutEmpty(plainJSON(rt, edit(before).data)), any(nil)
		if back.exists {
			got = withoutEmpty(plainJSON(rt, back.data))
		} else {
			got = map[string]any{}
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("cut %q without a record = %q, want what %q says", edit(after).data, back.data, edit(before).data)
		}
	})
}

// A version that knew only the first hook put that in with the limits. With its
// record the way back leads to the text before it, also past the second hook.
func TestRoundTripOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	us := program{"autopilot", ""}
	part := settingsPart(us)
	rapid.Check(t, func(rt *rapid.T) {
		before := state{exists: true, data: drawSettings(rt, true)}
		older, _, err := putJSON(before, func(d doc) (doc, []string, error) {
			next, _, err := putHook(d, us, events()[0])
			if err != nil {
				return doc{}, nil, err
			}
			next, err = putLimits(next)
			return next, nil, err
		})
		if err != nil {
			rt.Fatalf("put %q as an older version: %v", before.data, err)
		}
		after, _, err := part.put(older)
		if err != nil {
			rt.Fatalf("put %q: %v", older.data, err)
		}
		if what := missing(after.data); what != "" {
			rt.Fatalf("put %q = %q: %s", older.data, after.data, what)
		}
		for _, s := range []state{older, after} {
			if back, _, err := part.cut(s, &before); err != nil || !back.same(before) {
				rt.Fatalf("cut %q = %q, %v, want %q", s.data, back.data, err, before.data)
			}
		}
	})
}

// withoutEmpty drops the lists of our hooks, hooks and claudeFlow when they are empty.
func withoutEmpty(v any) any {
	root, _ := v.(map[string]any)
	drop := func(o map[string]any, name string) {
		switch inner := o[name].(type) {
		case []any:
			if len(inner) == 0 {
				delete(o, name)
			}
		case map[string]any:
			if len(inner) == 0 {
				delete(o, name)
			}
		}
	}
	if hooks, ok := root["hooks"].(map[string]any); ok {
		drop(hooks, "Stop")
		drop(hooks, "SessionStart")
	}
	drop(root, "hooks")
	drop(root, "claudeFlow")
	return root
}

// A person adds members at both ends of a file and changes its form. What it says
// without ours is what the person meant.
func TestRoundTripWithMembersAdded(t *testing.T) {
	t.Parallel()
	part := settingsPart(program{"autopilot", ""})
	rapid.Check(t, func(rt *rapid.T) {
		before := state{exists: true, data: drawSettings(rt, true)}
		after, _, err := part.put(before)
		if err != nil {
			rt.Fatal(err)
		}
		add := func(s state) state {
			mark, text := splitMark(s.data)
			d, err := parseDoc(text)
			if err != nil {
				rt.Fatal(err)
			}
			b, _ := boxOf(d.root)
			first, last := `"p": 1`, ` "q" : [ ] `
			if len(b.items) > 0 && b.items[len(b.items)-1].comma < 0 {
				last = "," + last
			}
			if len(b.items) > 0 {
				first += ","
			} else {
				last = "," + last
			}
			text = spliced(text, splice{b.open + 1, b.open + 1, first}, splice{b.close, b.close, last})
			return state{exists: true, data: join(mark, text)}
		}
		edited := add(after)
		if rapid.Bool().Draw(rt, "format") {
			mark, text := splitMark(edited.data)
			v, err := hujson.Parse(append(bytes.Clone(text), '\n'))
			if err != nil {
				rt.Fatal(err)
			}
			v.Format()
			edited.data = join(mark, v.Pack())
		}
		back, _, err := part.cut(edited, &before)
		if err != nil {
			rt.Fatalf("cut %q: %v", edited.data, err)
		}
		if got, want := plainJSON(rt, back.data), plainJSON(rt, add(before).data); !reflect.DeepEqual(got, want) {
			rt.Fatalf("cut %q = %q, want what %q says", edited.data, back.data, add(before).data)
		}
		if got, want := bytes.Count(back.data, []byte("c */")), bytes.Count(before.data, []byte("c */")); got != want {
			rt.Fatalf("cut %q = %q: %d comments, want %d", edited.data, back.data, got, want)
		}
	})
}

func TestSectionRoundTrip(t *testing.T) {
	t.Parallel()
	line := rapid.SampledFrom([]string{"", "# a", "text", "<!-- x -->", "\t", "\r", "ä", "```"})
	rapid.Check(t, func(rt *rapid.T) {
		eol := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "eol")
		text := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(rt, "mark") + strings.Join(rapid.SliceOfN(line, 0, 5).Draw(rt, "lines"), eol)
		before := state{exists: true, data: []byte(text)}
		after, _, err := putSection(before)
		if err != nil {
			rt.Fatal(err)
		}
		if again, _, err := putSection(after); err != nil || !again.same(after) {
			rt.Fatalf("second put of %q = %q, %v", after.data, again.data, err)
		}
		if back, _, err := sectionMarks().cut(after, &before); err != nil || !back.same(before) {
			rt.Fatalf("cut = %q, %v, want %q", back.data, err, text)
		}
	})
}
