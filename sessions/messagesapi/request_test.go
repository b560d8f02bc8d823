package messagesapi

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// conversation is a resumed one as the CLI sends it: two prompts, two tool calls in one answer, reminders in between.
const conversation = `{
 "model": "m", "stream": true,
 "system": [{"type":"text","text":"first"},{"type":"text","text":"second"}],
 "tools": [{"name":"Agent","input_schema":{}},{"name":"mcp__ours__report"}],
 "messages": [
  {"role":"user","content":[{"type":"text","text":"<system-reminder>\nday"},{"type":"text","text":"one"}]},
  {"role":"system","content":"Available agent types"},
  {"role":"assistant","content":"fine"},
  {"role":"user","content":"two"},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"go"}]},
  {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}},{"type":"tool_use","id":"t2","name":"Read","input":{}}]},
  {"role":"user","content":[
   {"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"no such file"},
   {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
   {"type":"text","text":"<system-reminder>tasks</system-reminder>"}]}
 ]}`

func TestParseRequest(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	header.Set("X-Claude-Code-Session-Id", "s1")
	header.Set("X-Claude-Code-Agent-Id", "a1")
	r, err := parseRequest(header, []byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "m" || r.System != "first\nsecond" || !r.Stream || r.Session != "s1" || !r.IsSubAgent() {
		t.Errorf("got model %q, system %q, stream %t, session %q, agent %q", r.Model, r.System, r.Stream, r.Session, r.Agent)
	}
	if !r.HasTool("Agent") || r.HasTool("Bash") {
		t.Errorf("tools are %v", r.Tools)
	}
	if r.Turn != 3 || r.Step != 2 {
		t.Errorf("turn %d step %d, want turn 3 step 2", r.Turn, r.Step)
	}
	if diff := cmp.Diff([]string{"one", "two"}, r.UserTexts()); diff != "" {
		t.Errorf("user texts (-want +got):\n%s", diff)
	}
	if got := r.LastUserText(); got != "two" {
		t.Errorf("last user text %q, want %q", got, "two")
	}
	results := []Block{
		{Type: "tool_result", ID: "t2", Text: "no such file", IsError: true},
		{Type: "tool_result", ID: "t1", Text: "a\nb"},
	}
	if diff := cmp.Diff(results, r.LastToolResults()); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
	calls := Message{Role: "assistant", Content: []Block{
		{Type: "tool_use", ID: "t1", Name: "Bash", Input: []byte(`{"command":"ls"}`)},
		{Type: "tool_use", ID: "t2", Name: "Read", Input: []byte(`{}`)},
	}}
	if diff := cmp.Diff(calls, r.Messages[5]); diff != "" {
		t.Errorf("tool calls (-want +got):\n%s", diff)
	}
	if got := r.Messages[4].Content[0]; got.Type != "thinking" || got.Text != "hm" {
		t.Errorf("thinking block is %+v", got)
	}
}

func TestTurnAndStep(t *testing.T) {
	t.Parallel()
	const (
		prompt = `{"role":"user","content":"p"}`
		answer = `{"role":"assistant","content":"a"}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"r"}]}`
		note   = `{"role":"system","content":"n"}`
	)
	for _, tc := range []struct {
		name       string
		messages   []string
		turn, step int
	}{
		{"empty", nil, 1, 1},
		{"first", []string{prompt}, 1, 1},
		{"after a tool", []string{prompt, answer, result}, 2, 2},
		{"answer in two messages", []string{prompt, answer, answer, result}, 2, 2},
		{"note in between", []string{prompt, answer, note, result, note}, 2, 2},
		{"second prompt", []string{prompt, answer, result, answer, prompt}, 3, 1},
		{"two prompts without an answer", []string{prompt, prompt}, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := parseRequest(http.Header{}, []byte(`{"messages":[`+strings.Join(tc.messages, ",")+`]}`))
			if err != nil {
				t.Fatal(err)
			}
			if r.Turn != tc.turn || r.Step != tc.step {
				t.Errorf("turn %d step %d, want turn %d step %d", r.Turn, r.Step, tc.turn, tc.step)
			}
		})
	}
}

func TestNothingSaid(t *testing.T) {
	t.Parallel()
	r, err := parseRequest(http.Header{}, []byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":7}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.LastUserText(); got != "" {
		t.Errorf("last user text %q, want none", got)
	}
	if diff := cmp.Diff([]Block{{Type: "tool_result", ID: "x", Text: "7"}}, r.LastToolResults()); diff != "" {
		t.Errorf("tool results (-want +got):\n%s", diff)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	a, b := Text("a"), Text("b")
	for _, tc := range []struct {
		name   string
		script Script
		req    Request
		want   string
	}{
		{"always", Always(a), Request{Number: 7, Step: 7}, "a"},
		{"first step", InSteps(a, b), Request{Number: 7, Step: 1}, "a"},
		{"step beyond", InSteps(a, b), Request{Number: 1, Step: 3}, "b"},
		{"first in order", InOrder(a, b), Request{Number: 1, Step: 3}, "a"},
		{"order beyond", InOrder(a, b), Request{Number: 9, Step: 1}, "b"},
		{"main loop", Split(Always(a), Always(b)), Request{}, "a"},
		{"sub-agent", Split(Always(a), Always(b)), Request{Agent: "x"}, "b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := tc.script(tc.req).blocks[0].Text; got != tc.want {
				t.Errorf("got reply %q, want %q", got, tc.want)
			}
		})
	}
}

func TestProgrammerMistakesPanic(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"empty sequence":      func() { InSteps() },
		"input is not JSON":   func() { ToolUse("x", func() {}) },
		"input of a channel":  func() { ToolBlock("x", make(chan int)) },
		"empty order of them": func() { InOrder() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestRefiningLeavesTheOriginal(t *testing.T) {
	t.Parallel()
	original := Text("x").WithHeader("k", "1")
	changed := original.WithHeader("k", "2").WithStop("refusal").WithUsage(Usage{}).Chunked(1)
	if got := original.header.Get("k") + original.stop; got != "1end_turn" || original.usage.Input != 100 {
		t.Errorf("original became %+v", original)
	}
	if got := changed.header.Get("k") + changed.stop; got != "2refusal" || changed.chunk != 4 {
		t.Errorf("changed is %+v", changed)
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		size := rapid.IntRange(4, 40).Draw(t, "size")
		var joined strings.Builder
		for p := range pieces(s, size) {
			if len(p) > size || !utf8.ValidString(p) || (p == "" && s != "") {
				t.Fatalf("piece %q for size %d", p, size)
			}
			joined.WriteString(p)
		}
		if joined.String() != s {
			t.Fatalf("pieces of %q make %q", s, joined.String())
		}
	})
}

func TestEnv(t *testing.T) {
	t.Setenv("PATH", "/somewhere")
	t.Setenv("ANTHROPIC_MODEL", "leftover")
	want := []string{
		"PATH=/somewhere", "HOME=/h", "TERM=dumb", "LANG=C.UTF-8", "IS_SANDBOX=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:1",
		"ANTHROPIC_API_KEY=sk-fake", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	if diff := cmp.Diff(want, Env("/h", "http://127.0.0.1:1")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(conversation))
	f.Add([]byte(`{"messages":[{"role":"user","content":null}],"system":"s"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(http.Header{}, body)
		if err != nil {
			return
		}
		if r.Step < 1 || r.Step > r.Turn || r.Turn > len(r.Messages)+1 {
			t.Errorf("turn %d step %d of %d messages", r.Turn, r.Step, len(r.Messages))
		}
	})
}
