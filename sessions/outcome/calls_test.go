package outcome_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"autopilot/sessions/outcome"
	"autopilot/sessions/stream"
)

// calling is the event of one tool call; input is JSON.
func calling(id, tool, input string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, id, tool, input) + "\n"
}

func replying(id string, failed bool) string {
	return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,"content":"x"}]}}`, id, failed) + "\n"
}

// called is the only call of a session.
func called(t testing.TB, tool, input string) outcome.Call {
	t.Helper()
	ta := outcome.NewTally()
	observe(t, ta, calling("c", tool, input))
	calls, _ := ta.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls for %s %.100s, want one", len(calls), tool, input)
	}
	return calls[0]
}

func TestRecordedCalls(t *testing.T) {
	t.Parallel()
	agents := []outcome.Call{
		{Tool: "Agent", Brief: "sub 1"},
		{Tool: "Agent", Brief: "sub 2"},
		{Tool: "Bash", Brief: "echo sub", Agent: true},
		{Tool: "Bash", Brief: "echo sub", Agent: true},
	}
	tests := []struct {
		name  string
		calls []outcome.Call
		tools map[string]int
	}{
		{"plain", nil, nil},
		{"schema", nil, nil},
		{"tools", []outcome.Call{
			{Tool: "Bash", Brief: `echo hi; printf 'ü \033[1m'`},
			{Tool: "Write", Brief: "/home/me/app/note.txt"},
			{Tool: "Bash", Brief: "exit 3", Failed: true},
		}, map[string]int{"Bash": 2, "Write": 1}},
		{"denied", []outcome.Call{{Tool: "Bash", Brief: "curl http://127.0.0.1:9/", Failed: true}}, map[string]int{"Bash": 1}},
		{"agents", agents, map[string]int{"Agent": 2, "Bash": 2}},
		{"agents-background", agents, map[string]int{"Agent": 2, "Bash": 2}},
		// Only the newer CLI says that a sub-agent failed in the result of its call.
		{"agent-failed", []outcome.Call{{Tool: "Agent", Brief: "sub 1"}, {Tool: "Agent", Brief: "sub 2", Failed: true}}, map[string]int{"Agent": 2}},
	}
	for _, version := range []string{older, newer} {
		for _, tt := range tests {
			if version == newer && tt.name == "agent-failed" {
				tt.calls[0].Failed = true
			}
			ta := outcome.NewTally()
			for _, e := range recorded(t, version, tt.name) {
				ta.Observe(e)
			}
			calls, tools := ta.Calls()
			if diff := cmp.Diff(tt.calls, calls, cmpopts.IgnoreFields(outcome.Call{}, "Same")); diff != "" {
				t.Errorf("%s/%s: calls (-want +got):\n%s", version, tt.name, diff)
			}
			if diff := cmp.Diff(tt.tools, tools); diff != "" {
				t.Errorf("%s/%s: tools (-want +got):\n%s", version, tt.name, diff)
			}
			if strings.HasPrefix(tt.name, "agents") && len(calls) == 4 && (calls[2].Same != calls[3].Same || calls[0].Same == calls[1].Same) {
				t.Errorf("%s/%s: the two commands are to be the same call, the two sub-agents different ones: %+v", version, tt.name, calls)
			}
		}
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	tests := []struct{ tool, input, want string }{
		{"Bash", `{"description":"build","command":"make","timeout":5}`, "make"},
		{"Edit", `{"old_string":"a","file_path":"/x/a.go","new_string":"b"}`, "/x/a.go"},
		{"Grep", `{"path":"/x","pattern":"func .*"}`, "func .*"},
		{"WebFetch", `{"prompt":"read","url":"https://example.org"}`, "https://example.org"},
		{"Agent", `{"prompt":"long","description":"look"}`, "look"},
		{"mcp__x__y", `{"b": 2, "a": [1, "z"]}`, `{"b":2,"a":[1,"z"]}`},
		{"Bash", `{"command":" \n ","description":"d"}`, "d"},
		{"Bash", `{"command":7,"description":"d"}`, "d"},
		{"Odd", `[1, 2]`, "[1,2]"},
		{"Odd", `null`, "null"},
		{"Odd", `{}`, "{}"},
		{"Bash", `{"command":"a\n\tb\u001b[1m  c\u0000"}`, "a b [1m c"},
		{"Bash", `{"command":"curl -H 'X: sk-ant-abcdefgh1234'"}`, "curl -H 'X: [redacted]'"},
		{"mcp__x__y", `{"password":"hunter2hunter2"}`, `{"[redacted]"}`},
		// A secret that would be cut is still seen as one.
		{"Bash", `{"command":"` + strings.Repeat("a", 112) + ` sk-abcdefghijklmnop"}`, strings.Repeat("a", 112) + " [redac…"},
		{"Bash", `{"command":"` + strings.Repeat("ü", 121) + `"}`, strings.Repeat("ü", 119) + "…"},
		{"Bash", `{"command":"` + strings.Repeat("ü", 120) + `"}`, strings.Repeat("ü", 120)},
	}
	for _, tt := range tests {
		if got := called(t, tt.tool, tt.input).Brief; got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	type c struct{ tool, input string }
	tests := []struct {
		a, b c
		want bool
	}{
		{c{"Bash", `{"command":"make","timeout":1}`}, c{"Bash", `{ "timeout" : 1, "command" : "make" }`}, true},
		{c{"Bash", `{"command":"make","description":"a"}`}, c{"Bash", `{"command":"make","description":"b"}`}, true},
		{c{"Bash", `{"command":"make","description":"a"}`}, c{"Bash", `{"command":"make"}`}, true},
		{c{"Bash", `{"command":"m\u0061ke"}`}, c{"Bash", `{"command":"make"}`}, true},
		{c{"X", `{"a":{"b":1,"c":[{"d":2,"e":3}]}}`}, c{"X", `{"a":{"c":[{"e":3,"d":2}],"b":1}}`}, true},
		{c{"Bash", `{"command":"make "}`}, c{"Bash", `{"command":"make"}`}, false},
		{c{"Bash", `{"command":"make"}`}, c{"Bash", `{"command":"make","timeout":1}`}, false},
		{c{"Agent", `{"description":"a"}`}, c{"Agent", `{"description":"b"}`}, false},
		{c{"Bash", `{"command":"make"}`}, c{"Zsh", `{"command":"make"}`}, false},
		{c{"X", `{"a":[1,2]}`}, c{"X", `{"a":[2,1]}`}, false},
		{c{"X", `{"a":9007199254740993}`}, c{"X", `{"a":9007199254740992}`}, false},
		{c{"X", `{"a":"1"}`}, c{"X", `{"a":1}`}, false},
		// Behind what the decoder keeps of a text, and with the same brief.
		{c{"Write", `{"file_path":"f","content":"a` + strings.Repeat("x", 1000) + `"}`}, c{"Write", `{"file_path":"f","content":"b` + strings.Repeat("x", 1000) + `"}`}, false},
	}
	for _, tt := range tests {
		a, b := called(t, tt.a.tool, tt.a.input), called(t, tt.b.tool, tt.b.input)
		if (a.Same == b.Same) != tt.want {
			t.Errorf("%.120v and %.120v: same is %v, want %v", tt.a, tt.b, a.Same == b.Same, tt.want)
		}
		if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(a.Same) {
			t.Errorf("%v: digest %q, want 16 hex digits", tt.a, a.Same)
		}
	}
}

// TestCallsOverProcesses has ids that come again in the next process, as those of
// a process that died before its tool did.
func TestCallsOverProcesses(t *testing.T) {
	t.Parallel()
	ta := outcome.NewTally()
	observe(t, ta, initLine+calling("t1", "A", `{}`)+calling("t2", "B", `{}`)+replying("t2", false)+replying("t2", true)+replying("t9", true)+replying("", true))
	ta.NextProcess(false)
	observe(t, ta, initLine+calling("t1", "C", `{}`)+calling("s", "StructuredOutput", `{}`)+replying("s", true)+replying("t1", true))
	calls, tools := ta.Calls()
	want := []outcome.Call{{Tool: "A", Brief: "{}"}, {Tool: "B", Brief: "{}"}, {Tool: "C", Brief: "{}", Failed: true}}
	if diff := cmp.Diff(want, calls, cmpopts.IgnoreFields(outcome.Call{}, "Same")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"A": 1, "B": 1, "C": 1}, tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	calls[0].Tool, tools["A"] = "changed", 7
	if again, counts := ta.Calls(); again[0].Tool != "A" || counts["A"] != 1 {
		t.Error("what Calls returns is not the caller's own")
	}
}

// TestCallsProperty compares any number of calls, answered in any order and late,
// with a list of all of them.
func TestCallsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ta := outcome.NewTally()
		var all []outcome.Call
		var open []int
		tool := rapid.IntRange(0, 90)
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(open) > 0 && rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				failed := rapid.Bool().Draw(t, "failed")
				all[open[i]].Failed = failed
				ta.Observe(decodeOne(replying(fmt.Sprint(open[i]), failed)))
				open = append(open[:i], open[i+1:]...)
				continue
			}
			n := len(all)
			name := fmt.Sprintf("T%d", tool.Draw(t, "tool"))
			ta.Observe(decodeOne(calling(fmt.Sprint(n), name, fmt.Sprintf(`{"command":"%d"}`, n))))
			all, open = append(all, outcome.Call{Tool: name, Brief: fmt.Sprint(n)}), append(open, n)
		}
		calls, tools := ta.Calls()
		if diff := cmp.Diff(all[max(0, len(all)-40):], calls, cmpopts.IgnoreFields(outcome.Call{}, "Same"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("calls (-want +got):\n%s", diff)
		}
		want := map[string]int{}
		for _, c := range all {
			if _, known := want[c.Tool]; known || len(want) < 64 {
				want[c.Tool]++
			}
		}
		told := 0
		for _, n := range want {
			told += n
		}
		if rest := len(all) - told; rest > 0 {
			want["other"] = rest
		}
		if diff := cmp.Diff(want, tools, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("tools (-want +got):\n%s", diff)
		}
		if uses := ta.Facts().ToolUses; uses != len(all) {
			t.Fatalf("%d tool uses, want %d", uses, len(all))
		}
	})
}

func decodeOne(line string) stream.Event {
	var one stream.Event
	d := stream.New(stream.Limits{}, func(e stream.Event) { one = e })
	_, _ = d.Write([]byte(line))
	_ = d.Close()
	return one
}

// TestCallsAreSmall has arguments and a name of many megabytes.
func TestCallsAreSmall(t *testing.T) {
	t.Parallel()
	ta := outcome.NewTally()
	long := strings.Repeat("x\\n", 8<<10)
	for i := range 50 {
		observe(t, ta, calling(fmt.Sprint(i), "Write"+strings.Repeat("y", 50<<10), `{"content":"`+long+`"}`))
	}
	observe(t, ta, calling("big", "Write", `{"file_path":"f","content":"`+strings.Repeat("x", 10<<20)+`"}`))
	calls, tools := ta.Calls()
	data, err := json.Marshal(map[string]any{"calls": calls, "tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 40<<10 || len(calls) != 40 {
		t.Errorf("%d calls take %d bytes, want 40 in at most 40 KiB", len(calls), len(data))
	}
	for _, c := range calls {
		if utf8.RuneCountInString(c.Brief) > 120 || utf8.RuneCountInString(c.Tool) > 120 {
			t.Fatalf("a call is too long: %.300v", c)
		}
	}
	if last := calls[39]; last.Tool != "Write" || last.Brief != "f" {
		t.Errorf("last call %+v, want one of the file f", last)
	}
}

// FuzzCalls makes sure that any argument becomes a short line of printable text.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{`{"command":"make"}`, `{}`, `[]`, `""`, `{"command":"\ud800"}`, `{"a":1,"a":2}`, `1e999`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) || strings.Contains(input, "\n") || strings.Contains(input, "\r") {
			return
		}
		ta := outcome.NewTally()
		ta.Observe(decodeOne(calling("c", "T", input)))
		calls, _ := ta.Calls()
		if len(calls) != 1 {
			t.Fatalf("%d calls, want one", len(calls))
		}
		c := calls[0]
		if n := utf8.RuneCountInString(c.Brief); n > 120 || !utf8.ValidString(c.Brief) || strings.ContainsAny(c.Brief, "\n\r\t\x1b\x00") {
			t.Fatalf("brief %q of %d runes", c.Brief, n)
		}
	})
}
