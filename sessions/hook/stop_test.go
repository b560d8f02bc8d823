package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// stopDesk is the desk of a project with one task of the given status, enabled for
// the session s.
func stopDesk(t testing.TB, status string) completion.Desk {
	t.Helper()
	top := t.TempDir()
	d := completion.Desk{Folder: filepath.Join(top, "state"), Place: task.Place{Repo: filepath.Join(top, "repo"), Config: filepath.Join(top, "claude")}}
	put(t, filepath.Join(d.Place.Repo, ".claude-flow", "data", "checklist.json"), fmt.Sprintf(`[{"id":"1","subject":"paint <it> & dry","status":%q}]`, status))
	d.Session = "s"
	if _, err := d.Enable(t.Context(), noon()); err != nil {
		t.Fatal(err)
	}
	d.Session = ""
	return d
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func always(d completion.Desk) func(string, string) (completion.Desk, bool, error) {
	return func(string, string) (completion.Desk, bool, error) { return d, true, nil }
}

func ended(session, transcript string, active bool) string {
	return fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"cwd":"/c","prompt_id":"p","permission_mode":"default","effort":{"level":"medium"},"hook_event_name":"Stop",`+
		`"stop_hook_active":%v,"last_assistant_message":"done","background_tasks":[],"session_crons":[]}`, session, transcript, active)
}

func none(string) string { return "" }

func TestStop(t *testing.T) {
	t.Parallel()
	refusal := `{"decision":"block","reason":"AUTOPILOT: 0/1 tasks complete (0%).\nIteration 1/50.\nRemaining tasks:\n- paint <it> & dry (pending)\n` +
		`Continue working on the remaining tasks. Do not stop until all are complete."}` + "\n"
	call := ended("s", "/none", false)
	tests := []struct {
		name, status, in string
		desk             func(completion.Desk) func(string, string) (completion.Desk, bool, error)
		want, err        string
	}{
		{"a task remains", "pending", call, always, refusal, ""},
		{"all complete", "done", call, always, "", ""},
		{"another session", "pending", ended("t", "/none", false), always, "", ""},
		{"the desk of another session", "pending", call, func(d completion.Desk) func(string, string) (completion.Desk, bool, error) {
			d.Session = "other"
			return always(d)
		}, "", ""},
		{"no desk", "pending", call, func(d completion.Desk) func(string, string) (completion.Desk, bool, error) {
			return func(id, cwd string) (completion.Desk, bool, error) { return d, id != "s" || cwd != "/c", nil }
		}, "", ""},
		{"a desk that fails", "pending", call, func(d completion.Desk) func(string, string) (completion.Desk, bool, error) {
			return func(string, string) (completion.Desk, bool, error) { return d, true, errors.New("odd project") }
		}, "", "odd project"},
		{"a desk that panics", "pending", call, func(completion.Desk) func(string, string) (completion.Desk, bool, error) {
			return func(string, string) (completion.Desk, bool, error) { panic("oh") }
		}, "", "internal error: stop hook: oh"},
		{"end of a sub-agent", "pending", strings.Replace(call, `"Stop"`, `"SubagentStop"`, 1), always, "", ""},
		{"another event", "pending", strings.Replace(call, `"Stop"`, `"PreToolUse"`, 1), always, "", ""},
		{"no event", "pending", `{"session_id":"s"}`, always, "", "read hook input: hook_event_name is missing"},
		{"an event of another type", "pending", `{"session_id":"s","hook_event_name":["Stop"]}`, always, "", "read hook input: hook_event_name is missing"},
		{"a flag of another type", "pending", `{"session_id":"s","hook_event_name":"Stop","stop_hook_active":"yes","cwd":5}`, always, refusal, ""},
		{"no session", "pending", `{"hook_event_name":"Stop"}`, always, "", "read hook input: session id"},
		{"a path for a session", "pending", ended("../s", "/none", false), always, "", "read hook input: session id"},
		{"cut off", "pending", call[:60], always, "", "read hook input: unexpected EOF"},
		{"nothing", "pending", "", always, "", "read hook input: EOF"},
		{"no JSON", "pending", "hello", always, "", "read hook input: invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := stopDesk(t, tt.status)
			var out bytes.Buffer
			err := Stop(strings.NewReader(tt.in), &out, tt.desk(d), noon().Add(time.Minute), none)
			if (err != nil) != (tt.err != "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopFailsOpen has a state that nobody can read, or write.
func TestStopFailsOpen(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(folder string){
		"broken":     func(folder string) { put(t, filepath.Join(folder, "s.json"), "{") },
		"unwritable": func(folder string) { put(t, filepath.Join(folder, "s.json.tmp", "x"), "") },
	} {
		d := stopDesk(t, "pending")
		spoil(d.Folder)
		var out bytes.Buffer
		if err := Stop(strings.NewReader(ended("s", "", false)), &out, always(d), noon(), none); err == nil || out.Len() > 0 {
			t.Errorf("%s: %v and %q, want an error and no answer", name, err, out.String())
		}
	}
	// A log that cannot be written changes no decision.
	d := stopDesk(t, "pending")
	if err := os.Remove(filepath.Join(d.Folder, "autopilot-log.jsonl")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(d.Folder, "autopilot-log.jsonl", "x"), "")
	var out bytes.Buffer
	if err := Stop(strings.NewReader(ended("s", "", false)), &out, always(d), noon(), none); err == nil || !strings.Contains(out.String(), `"block"`) {
		t.Errorf("log: %v and %q, want an error and a refusal", err, out.String())
	}
}

func TestStopInputIsBounded(t *testing.T) {
	t.Parallel()
	in := &endless{head: `{"hook_event_name":"Stop","last_assistant_message":"`}
	if err := Stop(in, nil, always(completion.Desk{}), noon(), none); err == nil || in.given > inputLimit+1<<20 {
		t.Errorf("%v after %d bytes", err, in.given)
	}
}

// TestStopCap lets an agent say nothing but that it is done.
func TestStopCap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value string
		held  int
	}{{"", 8}, {"three", 8}, {"3", 3}, {"0", 10}, {"-1", 10}} { // the tenth ends a stall
		d := stopDesk(t, "pending")
		held := 0
		for {
			var out bytes.Buffer
			err := Stop(strings.NewReader(ended("s", "/none", held > 0)), &out, always(d), noon(), func(name string) string {
				return map[string]string{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": tt.value}[name]
			})
			if err != nil {
				t.Fatal(err)
			}
			if out.Len() == 0 {
				break
			}
			held++
		}
		if held != tt.held {
			t.Errorf("cap %q: %d refusals, want %d", tt.value, held, tt.held)
		}
	}
}

// TestStopReadsTheTranscript goes through two turns of a session.
func TestStopReadsTheTranscript(t *testing.T) {
	t.Parallel()
	d := stopDesk(t, "pending")
	path := filepath.Join(t.TempDir(), "t.jsonl")
	turn := func(text string, active bool) completion.Status {
		t.Helper()
		put(t, path, text)
		if err := Stop(strings.NewReader(ended("s", path, active)), new(bytes.Buffer), always(d), noon().Add(time.Minute), none); err != nil {
			t.Fatal(err)
		}
		d := d
		d.Session = "s"
		st, err := d.Status(t.Context(), noon().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	first := said("m1", 10, 1, "text") + said("m1", 10, 30, "tool_use")
	if st := turn(first, false); st.Tokens != 40 {
		t.Errorf("%d tokens, want 40", st.Tokens)
	}
	if st := turn(first+said("m2", 1, 1, "text"), true); st.Tokens != 42 {
		t.Errorf("%d tokens, want 42", st.Tokens)
	}
	if st := turn(said("m3", 5, 0, "text"), true); st.Tokens != 47 { // the file shrank
		t.Errorf("%d tokens, want 47", st.Tokens)
	}
}

// said is a record of an answer with one block.
func said(id string, in, out int, block string) string {
	return fmt.Sprintf(`{"parentUuid":"u","isSidechain":false,"message":{"model":"m","id":%q,"type":"message","role":"assistant","content":[{"type":%q,"text":"a \"tool_use\" [{}]","input":{"type":"tool_use"}}],`+
		`"stop_reason":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":90000,"output_tokens":%d}},"type":"assistant","uuid":"x","timestamp":"2026-09-01T12:00:30.000Z"}`+"\n", id, block, in, out)
}

func TestReadTranscript(t *testing.T) {
	t.Parallel()
	m1, m2 := said("m1", 10, 30, "text"), said("m2", 100, 300, "tool_use")
	old := strings.Replace(said("m0", 5000, 5000, "tool_use"), "12:00:30", "11:59:59", 1)
	noise := `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\"}]}}"}]},"toolUseResult":{"type":"assistant","message":{"id":"q","content":[{"type":"tool_use"}],"usage":{"input_tokens":7}}}}` + "\n"
	big := `{"type":"user","message":"` + strings.Repeat("x", transcriptLimit) + "\"}\n"
	size := func(parts ...string) int64 { return int64(len(strings.Join(parts, ""))) }
	tests := []struct {
		name, text string
		from       int64
		want       completion.Work
	}{
		{"empty", "", 0, completion.Work{}},
		{"one answer", m1, 0, completion.Work{Tokens: 40, Offset: size(m1)}},
		{"a tool", m1 + m2, 0, completion.Work{Tokens: 440, ToolsUsed: true, Offset: size(m1, m2)}},
		{"from the offset on", m2 + m1, size(m2), completion.Work{Tokens: 40, Offset: size(m1, m2)}},
		{"nothing new", m1, size(m1), completion.Work{Offset: size(m1)}},
		{"the same answer twice, with more", said("m", 10, 1, "text") + said("m", 10, 50, "text"), 0, completion.Work{Tokens: 60, Offset: 2*size(said("m", 10, 1, "text")) + 1}},
		{"a shorter file", m1, 1 << 40, completion.Work{Tokens: 40, Offset: size(m1)}},
		{"a negative offset", m1, -5, completion.Work{Tokens: 40, Offset: size(m1)}},
		{"before it was enabled", old + m1, 0, completion.Work{Tokens: 40, Offset: size(old, m1)}},
		{"what tools said", noise + m1, 0, completion.Work{Tokens: 40, Offset: size(noise, m1)}},
		{"more than is read", m2 + big + m1, 0, completion.Work{Tokens: 40, Offset: size(m2, big, m1)}},
		{"a line that is being written", m1 + m2[:200], 0, completion.Work{Tokens: 40, Offset: size(m1)}},
		{"broken lines", "{\n" + m2[:300] + "\n\x00\n[]\n" + m1, 0, completion.Work{Tokens: 40, Offset: 2 + 300 + 1 + 2 + 3 + size(m1)}},
		{"an unknown time", strings.Replace(m1, "2026-09-01T12:00:30.000Z", "soon", 1), 0, completion.Work{Tokens: 40, Offset: size(m1) - 20}},
		{"odd numbers", strings.Replace(m1, ":10,", ":-10,", 1) + strings.Replace(m2, ":100,", ":99999999999999,", 1), 0, completion.Work{Tokens: 30 + mostTokens + 300, ToolsUsed: true, Offset: size(m1, m2) + 1 + 11}},
		{"usage of another type", strings.Replace(m1, ":10,", `:"10",`, 1), 0, completion.Work{Tokens: 30, Offset: size(m1) + 2}},
		{"blanks", "{ \"type\" : \"assistant\" ,\t\"message\" : { \"content\" : [ 1, null , { \"type\" : \"tool_use\" } ] , \"usage\" : { \"output_tokens\" : 3 } } }\r\n", 0, completion.Work{Tokens: 3, ToolsUsed: true, Offset: 130}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "t.jsonl")
			put(t, path, tt.text)
			if diff := cmp.Diff(tt.want, readTranscript(path, tt.from, noon())); diff != "" {
				t.Errorf("work (-want +got):\n%s", diff)
			}
		})
	}
	for _, path := range []string{"", "/none", t.TempDir(), "/dev/zero"} {
		if got := readTranscript(path, 7, noon()); got != (completion.Work{Offset: 7}) {
			t.Errorf("%q: %+v", path, got)
		}
	}
}

// FuzzReadAnswer compares the quick reading of a record with a whole one.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(said("m1", 1, 2, "tool_use")))
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"a":"\\\"","type":"tool_use"}],"usage":{}}}`))
	f.Add([]byte(`{"message":{"content":[[{"type":"tool_use"}],"]",{"x":{"type":"tool_use"}}]},"type":"assistant"}`))
	f.Add([]byte(`{"a":"`))
	f.Add([]byte(`{"a":1,`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := readAnswer(text)
		var whole struct {
			Type    json.RawMessage `json:"type"`
			Message map[string]json.RawMessage
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		if dec.Decode(&whole) != nil || bytes.Contains(text, []byte(`\u`)) || bytes.Count(text, []byte(`"type"`)) > 2 || !bytes.HasPrefix(text, []byte(`{"type":`)) {
			return // only that it comes to an end
		}
		if want := string(whole.Type) == `"assistant"`; ok != want {
			t.Errorf("an answer: %v, want %v", ok, want)
		}
		var blocks []map[string]json.RawMessage
		tools := false
		if json.Unmarshal(whole.Message["content"], &blocks) == nil && bytes.Count(text, []byte(`"message"`)) == 1 && bytes.Count(text, []byte(`"content"`)) == 1 {
			for _, b := range blocks {
				tools = tools || string(b["type"]) == `"tool_use"`
			}
			if got.tools != tools {
				t.Errorf("tools %v, want %v", got.tools, tools)
			}
		}
	})
}

func FuzzStop(f *testing.F) {
	for _, s := range []string{
		"", "null", "{}", "[", ended("s", "/none", true), ended("t", "", false), ended("../s", "", false), `{"hook_event_name":"Stop","session_id":"s","transcript_path":"/dev/zero"}`,
		`{"HOOK_EVENT_NAME":"Stop","session_id":"s"}`, `{"hook_event_name":"SubagentStop","session_id":"s"}`, `{"hook_event_name":"Stop","session_id":{}}`,
	} {
		f.Add([]byte(s))
	}
	d := stopDesk(f, "pending")
	f.Fuzz(func(t *testing.T, data []byte) {
		fresh := d
		fresh.Session = "s"
		if _, err := fresh.Reset(t.Context(), noon()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := Stop(bytes.NewReader(data), &out, always(d), noon(), none)
		st, bad := fresh.Status(t.Context(), noon())
		if bad != nil {
			t.Fatal(bad)
		}
		if held := out.Len() > 0; held != (st.Iterations == 1) || held && err != nil {
			t.Fatalf("%d iterations, answer %q, %v", st.Iterations, out.String(), err)
		}
		var answer stopOutput
		if out.Len() > 0 && (json.Unmarshal(out.Bytes(), &answer) != nil || answer.Decision != "block" || answer.Reason == "") {
			t.Fatalf("answer %q", out.String())
		}
	})
}

func BenchmarkStop(b *testing.B) {
	for _, bench := range []struct {
		name       string
		tasks      int
		transcript string
	}{{"1 task", 1, ""}, {"1000 tasks", 1000, ""}, {"1000 tasks, 1 MiB of answers", 1000, strings.Repeat(said("m", 1, 1, "text"), transcriptLimit/400)}} {
		b.Run(bench.name, func(b *testing.B) {
			d := stopDesk(b, "pending")
			var items []string
			for i := range bench.tasks {
				items = append(items, fmt.Sprintf(`{"id":"%d","subject":"task number %d of many","status":"pending"}`, i, i))
			}
			put(b, filepath.Join(d.Place.Repo, ".claude-flow", "data", "checklist.json"), "["+strings.Join(items, ",")+"]")
			path := filepath.Join(b.TempDir(), "t.jsonl")
			put(b, path, bench.transcript)
			again := d
			again.Session = "s"
			for n := 0; b.Loop(); n++ {
				if n%8 == 0 {
					b.StopTimer()
					if _, err := again.Reset(b.Context(), noon()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				var out bytes.Buffer
				if err := Stop(strings.NewReader(ended("s", path, false)), &out, always(d), noon(), none); err != nil || out.Len() == 0 {
					b.Fatal(err, out.String())
				}
			}
		})
	}
	b.Run("transcript of 1 MiB", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "t.jsonl")
		put(b, path, strings.Repeat(said("m", 1, 1, "text"), transcriptLimit/400))
		for b.Loop() {
			readTranscript(path, 0, noon())
		}
	})
	b.Run("transcript of 1 MiB, escaped", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "t.jsonl")
		put(b, path, strings.Replace(said("m", 1, 1, "text"), "[{}]", strings.Repeat(`\"x\n`, transcriptLimit/6), 1))
		for b.Loop() {
			readTranscript(path, 0, noon())
		}
	})
}
