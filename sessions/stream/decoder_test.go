package stream_test

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"autopilot/sessions/stream"
)

// reset197 is what an older version prints to reset the terminal.
const reset197 = "\x1b[?1006l\x1b[?1000l\x1b(B\x0f\x1b[>4m\x1b[<u\x1b[?25h\x1b7\x1b[r\x1b8\x1b]0;\x07\x1b[?25h"

func TestLines(t *testing.T) {
	t.Parallel()
	a, b := stream.Event{Type: "a"}, stream.Event{Type: "b"}
	tests := []struct {
		name   string
		input  string
		events []stream.Event
		stats  stream.Stats // Bytes and Lines are filled in
	}{
		{"nothing", "", nil, stream.Stats{}},
		{"one line", `{"type":"a"}` + "\n", []stream.Event{a}, stream.Stats{}},
		{"carriage returns", "{\"type\":\"a\"}\r\n\r\n{\"type\":\"b\"}\r\r\n", []stream.Event{a, b}, stream.Stats{}},
		{"reset in front", reset197 + `{"type":"a"}` + "\n", []stream.Event{a}, stream.Stats{}},
		{"reset behind", `{"type":"a"}` + reset197 + "\n", []stream.Event{a}, stream.Stats{}},
		{"reset at the end", `{"type":"a"}` + "\n" + reset197, []stream.Event{a}, stream.Stats{}},
		{"reset broken off", `{"type":"a"}` + "\n" + reset197[:9], []stream.Event{a}, stream.Stats{}},
		{"echo of ^C in front", `^C{"type":"a"}` + "\n", []stream.Event{a}, stream.Stats{}},
		{"blank lines", "\n  \n\t\n" + reset197 + "\n", nil, stream.Stats{}},
		{"no newline at the end", `{"type":"a"}` + "\n" + `{"type":"b"}`, []stream.Event{a, b}, stream.Stats{}},
		{"torn", `{"type":"a"}` + "\n" + `{"type":"b"`, []stream.Event{a}, stream.Stats{Torn: 1}},
		{"torn in a string", `{"type":"b`, nil, stream.Stats{Torn: 1}},
		{"torn in an escape", `{"type":"b\u12`, nil, stream.Stats{Torn: 1}},
		{
			"cut in mid-line", `{"type":"a","x":` + "\n" + `{"type":"b"}` + "\n",
			[]stream.Event{b},
			stream.Stats{Ignored: 1, FirstIgnored: `{"type":"a","x":`},
		},
		{
			"not JSON", "Error: no\nmore\n" + `{"type":"a"}` + "\n",
			[]stream.Event{a},
			stream.Stats{Ignored: 2, FirstIgnored: "Error: no"},
		},
		{"not JSON at the end", "Error: no", nil, stream.Stats{Ignored: 1, FirstIgnored: "Error: no"}},
		{
			"long and not JSON", strings.Repeat("é", 300) + "\n", nil,
			stream.Stats{Ignored: 1, FirstIgnored: strings.Repeat("é", 100)},
		},
		{"an array", `["a"]` + "\n", nil, stream.Stats{Ignored: 1, FirstIgnored: `["a"]`}},
		{
			"two objects in a line", `{"type":"a"}{"type":"b"}` + "\n", nil,
			stream.Stats{Ignored: 1, FirstIgnored: `{"type":"a"}{"type":"b"}`},
		},
		{"text behind", `{"type":"a"} oops` + "\n", nil, stream.Stats{Ignored: 1, FirstIgnored: `{"type":"a"} oops`}},
		{"wrong bracket", `{"type":"a"]` + "\n", nil, stream.Stats{Ignored: 1, FirstIgnored: `{"type":"a"]`}},
		{"raw control character", "{\"type\":\"a\x01\"}\n", nil, stream.Stats{Ignored: 1, FirstIgnored: "{\"type\":\"a\x01\"}"}},
		{"visible, then not", "oops\x1b[0m \n", nil, stream.Stats{Ignored: 1, FirstIgnored: "oops\x1b[0m "}},
		{"wrong escape", `{"type":"\x"}` + "\n", nil, stream.Stats{Ignored: 1, FirstIgnored: `{"type":"\x"}`}},
		{"no type", `{"other":1}` + "\n", []stream.Event{{}}, stream.Stats{}},
		{
			"unknown type and fields", `{"type":"new","x":{"y":[1,{"type":"no"}]},"subtype":"s"}` + "\n",
			[]stream.Event{{Type: "new", Subtype: "s"}},
			stream.Stats{},
		},
		{"last of duplicate keys", `{"type":"b","type":"a"}` + "\n", []stream.Event{a}, stream.Stats{}},
		{"broken UTF-8", "{\"type\":\"\xff\"}\n", []stream.Event{{Type: "\uFFFD"}}, stream.Stats{}},
		{"half a surrogate pair", `{"type":"\ud83d!"}` + "\n", []stream.Event{{Type: "\uFFFD!"}}, stream.Stats{}},
		{
			"odd type", `{"type":"result","num_turns":"three","is_error":true}` + "\n",
			[]stream.Event{{Type: "result", IsError: true, Odd: "num_turns"}},
			stream.Stats{Odd: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, stats := decode(t, stream.Limits{}, []byte(tt.input))
			diff := cmp.Diff(tt.events, events, cmpopts.IgnoreFields(stream.Event{}, "At", "Size"))
			if diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			tt.stats.Bytes = int64(len(tt.input))
			tt.stats.Events = len(tt.events)
			tt.stats.Lines = len(tt.events) + tt.stats.Ignored + tt.stats.Torn
			if diff := cmp.Diff(tt.stats, stats); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFields pins what the recordings do not have, and names that have several
// shapes.
func TestFields(t *testing.T) {
	t.Parallel()
	message := func(blocks ...stream.Block) *stream.Message {
		return &stream.Message{Role: "user", Content: blocks}
	}
	tests := []struct {
		name string
		line string
		want stream.Event
	}{
		{
			"contents as a string",
			`{"type":"user","message":{"role":"user","content":"hello"}}`,
			stream.Event{Type: "user", Message: message(stream.Block{Type: "text", Text: "hello"})},
		},
		{
			"tool results as a string and as blocks",
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"},` +
				`{"type":"tool_result","tool_use_id":"2","is_error":true,"content":[{"type":"text","text":"b"},{"type":"image"},{"type":"text","text":"c"}]},` +
				`{"type":"tool_result","tool_use_id":"3"}]}}`,
			stream.Event{Type: "user", Message: message(
				stream.Block{Type: "tool_result", ToolUseID: "1", Text: "a"},
				stream.Block{Type: "tool_result", ToolUseID: "2", IsError: true, Text: "b\nc"},
				stream.Block{Type: "tool_result", ToolUseID: "3"})},
		},
		{
			"contents of no known shape",
			`{"type":"user","message":{"role":"user","content":{"a":1}},"isSynthetic":true}`,
			stream.Event{Type: "user", IsSynthetic: true, Message: message(), Odd: "message.content"},
		},
		{
			"text of no known shape",
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":7}]}}`,
			stream.Event{Type: "user", Message: message(stream.Block{Type: "tool_result"}), Odd: "message.content.content"},
		},
		{"no contents", `{"type":"user","message":null}`, stream.Event{Type: "user"}},
		{
			"message as a string",
			`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"1","message":"no","decision_reason":"r"}`,
			stream.Event{Type: "system", Subtype: "permission_denied", ToolName: "Bash", ToolUseID: "1", DecisionReason: "r"},
		},
		{
			"usage of a task",
			`{"type":"system","subtype":"task_progress","task_id":"t","usage":{"total_tokens":5,"tool_uses":2,"duration_ms":1.5}}`,
			stream.Event{
				Type: "system", Subtype: "task_progress", TaskID: "t",
				TaskUsage: &stream.TaskUsage{TotalTokens: 5, ToolUses: 2, DurationMS: 1.5},
			},
		},
		{
			"usage of no known shape",
			`{"type":"result","usage":[1],"num_turns":2}`,
			stream.Event{Type: "result", NumTurns: 2, Usage: &stream.Usage{}, Odd: "usage"},
		},
		{
			"two of no known shape", `{"type":"result","num_turns":"x","usage":[1]}`,
			stream.Event{Type: "result", Usage: &stream.Usage{}, Odd: "num_turns"},
		},
		{"event of no known shape", `{"type":"new","event":"x","session_id":"s"}`, stream.Event{Type: "new", SessionID: "s"}},
		{
			"patch of no known shape", `{"type":"system","subtype":"task_updated","task_id":"t","patch":[]}`,
			stream.Event{Type: "system", Subtype: "task_updated", TaskID: "t", Odd: "patch"},
		},
		{
			"limit reached",
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795265583,"rateLimitType":"five_hour",` +
				`"utilization":1,"overageStatus":"rejected","unifiedWindows":{}},"session_id":"s"}`,
			stream.Event{Type: "rate_limit_event", SessionID: "s", RateLimit: &stream.RateLimit{
				Status: "rejected", ResetsAt: 1795265583, Type: "five_hour", Utilization: 1, OverageStatus: "rejected",
			}},
		},
		{
			"result of another type", `{"type":"result","result":{"a":"b"},"is_error":true}`,
			stream.Event{Type: "result", IsError: true, Odd: "result"},
		},
		{
			"answer decoded", `{"result":"a\n\"\u00e9\ud83d\ude00\ud83dx\udc00` + "\xff" + `","structured_output": {"a": [1, "\u00e9"]} ,"type":"result"}`,
			stream.Event{Type: "result", Result: "a\n\"é😀\uFFFDx\uFFFD\uFFFD", StructuredOutput: []byte(`{"a": [1, "\u00e9"]}`)},
		},
		{
			"answer with halves of surrogate pairs", `{"result":"\ud83d\u00e9\ud83d\ud83d\ude00\ud83d\n\ud83d","type":"result"}`,
			stream.Event{Type: "result", Result: "\uFFFDé\uFFFD😀\uFFFD\n\uFFFD"},
		},
		{"no answer", `{"type":"result","result":null,"structured_output":null}`, stream.Event{Type: "result"}},
		{
			"two answers", `{"type":"result","result":"a","result":"b","structured_output":1,"structured_output":2}`,
			stream.Event{Type: "result", Result: "b", StructuredOutput: []byte(`2`)},
		},
		{
			"answers further in", `{"type":"x","y":{"result":"a","structured_output":1},"z":["result",{"result":"b"}]}`,
			stream.Event{Type: "x"},
		},
		{
			"null for everything",
			`{"type":"system","subtype":"status","status":null,"usage":null,"event":null,"patch":null,"rate_limit_info":null}`,
			stream.Event{Type: "system", Subtype: "status"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, stats := decode(t, stream.Limits{}, []byte(tt.line+"\n"))
			want := tt.want
			want.At, want.Size = time.Unix(1, 0), int64(len(tt.line))
			if diff := cmp.Diff([]stream.Event{want}, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if stats.Odd > 0 != (want.Odd != "") {
				t.Errorf("stats.Odd = %d, want it to count %q", stats.Odd, want.Odd)
			}
		})
	}
}

func TestInvalidAnswer(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"result","structured_output":}`,
		`{"type":"result","structured_output":1 2}`,
		`{"type":"result","structured_output":[1}`,
		`{"type":"result","structured_output":{"a" 1},"x":1}`,
		`{"type":"result","structured_output"}`,
		`{"type":"result","structured_output":1,"structured_output":tru,"structured_output":1}`,
		`{"type":"result","result":"a\q"}`,
		`{"type":"result","result":"\u12g4"}`,
		`{"type":"result","result":"a""b"}`,
	} {
		events, stats := decode(t, stream.Limits{}, []byte(line+"\n"))
		if len(events) != 0 || stats.Ignored != 1 {
			t.Errorf("%s: %d events, %d ignored, want 0 and 1", line, len(events), stats.Ignored)
		}
	}
}

// A line is not an event if a part of it that nobody would see is wrong.
func TestInvalidWhereDropped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, key := range []string{"other", "event", "result"} {
		for _, wrong := range []string{"\x01", "\t", `\x`, `\u12g4`, `\u`} {
			line := `{"` + key + `":"` + long + wrong + `"}`
			events, stats := decode(t, stream.Limits{String: 256, Line: 4096, Result: 256}, []byte(line+"\n"))
			if len(events) != 0 || stats.Ignored != 1 {
				t.Errorf("%q: %d events, %d ignored, want 0 and 1", line, len(events), stats.Ignored)
			}
		}
	}
}

func TestLargeLines(t *testing.T) {
	t.Parallel()
	const mega = 1 << 20
	text := strings.Repeat("aé\\n\\u20ac", mega/10*5) // 11 bytes, 8 when decoded
	decoded := strings.NewReplacer(`\n`, "\n", `\u20ac`, "€").Replace(text)

	t.Run("answer is whole", func(t *testing.T) {
		t.Parallel()
		line := `{"is_error":false,"result":"` + text + `","structured_output":{"a":"` + text + `"},"num_turns":2,"type":"result"}`
		events, stats := decode(t, stream.Limits{}, []byte(line+"\n"))
		if len(events) != 1 || stats.Cut != 0 {
			t.Fatalf("%d events, %d strings cut, want 1 and 0", len(events), stats.Cut)
		}
		e := events[0]
		if e.Result != decoded || string(e.StructuredOutput) != `{"a":"`+text+`"}` || e.AnswerCut {
			t.Errorf("answer of %d and %d bytes, want %d and %d; AnswerCut %v, want false",
				len(e.Result), len(e.StructuredOutput), len(decoded), len(text)+8, e.AnswerCut)
		}
		if !e.IsResult() || e.NumTurns != 2 || e.Size != int64(len(line)) {
			t.Errorf("type %q, %d turns, %d bytes, want result, 2, %d", e.Type, e.NumTurns, e.Size, len(line))
		}
	})
	t.Run("answer is too long", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("é", 3*mega)
		line := `{"result":"x` + long + `","structured_output":["` + long + `"],"num_turns":2,"type":"result"}`
		events, _ := decode(t, stream.Limits{Result: 5 * mega}, []byte(line+"\n"))
		if len(events) != 1 {
			t.Fatalf("%d events, want 1", len(events))
		}
		e := events[0]
		if want := "x" + long[:5*mega-2]; e.Result != want {
			t.Errorf("answer of %d bytes, want %d, cut between characters", len(e.Result), len(want))
		}
		if !e.AnswerCut || e.Cut != 1 || e.StructuredOutput != nil || e.NumTurns != 2 {
			t.Errorf("AnswerCut %v, Cut %d, value of %d bytes, %d turns, want true, 1, 0, 2",
				e.AnswerCut, e.Cut, len(e.StructuredOutput), e.NumTurns)
		}
	})
	t.Run("tool result is shortened", func(t *testing.T) {
		t.Parallel()
		line := `{"type":"user","message":{"content":[{"tool_use_id":"1","content":"` + text + `","type":"tool_result"}]},"uuid":"u"}`
		events, _ := decode(t, stream.Limits{}, []byte(line+"\n"))
		if len(events) != 1 {
			t.Fatalf("%d events, want 1", len(events))
		}
		got := events[0].ToolResults()
		if len(got) != 1 || got[0].ID != "1" || !strings.HasPrefix(decoded, got[0].Text) {
			t.Fatalf("tool results = %d, want one that begins as the text does", len(got))
		}
		if n := len(got[0].Text); n < 10<<10 || n > 11<<10 || events[0].Cut != 1 || events[0].UUID != "u" {
			t.Errorf("text of %d bytes, Cut %d, UUID %q, want about 10,400, 1, u", n, events[0].Cut, events[0].UUID)
		}
	})
	t.Run("line is too long", func(t *testing.T) {
		t.Parallel()
		line := `{"type":"user","x":[` + strings.Repeat("1234567,", mega/8) + `0]}`
		text := line + "\n" + `{"type":"a"}` + "\n" + line
		events, stats := decode(t, stream.Limits{Line: mega / 2}, []byte(text))
		want := []stream.Event{{Oversized: true, Size: int64(len(line))}, {Type: "a", Size: 12}}
		if diff := cmp.Diff(want, events, cmpopts.IgnoreFields(stream.Event{}, "At")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if stats.Oversized != 1 || stats.Torn != 1 || stats.Events != 2 || stats.Lines != 3 {
			t.Errorf("stats = %+v, want 1 oversized, 1 torn, 2 events, 3 lines", stats)
		}
	})
}

// Not parallel: it counts what the whole process allocates.
func TestMemory(t *testing.T) {
	piece := []byte(strings.Repeat(`some text, "quoted"`+"\n", 200))
	piece = []byte(strings.NewReplacer(`"`, `\"`, "\n", `\n`).Replace(string(piece)))
	tests := []struct {
		name, before, after string
		limit               uint64 // bytes allocated
	}{
		{"tool result", `{"type":"user","message":{"content":[{"content":"`, `"}]}}`, 256 << 10},
		{"not JSON", `something else `, ``, 64 << 10},
		{"partial text", `{"type":"stream_event","event":{"delta":{"text":"`, `"}}}`, 64 << 10},
		{"answer", `{"type":"result","result":"`, `"}`, 18 << 20},
		{"answer as a value", `{"type":"result","structured_output":["`, `"]}`, 18 << 20},
		{"answer without end", `{"type":"result","result":"`, ``, 9 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := stream.New(stream.Limits{}, func(stream.Event) {})
			write := func(p []byte) {
				if _, err := d.Write(p); err != nil {
					t.Fatal(err)
				}
			}
			before, after, end := []byte(tt.before), []byte(tt.after), []byte("\n")
			var was, is runtime.MemStats
			runtime.ReadMemStats(&was)
			write(before)
			for range 10 << 20 / len(piece) {
				write(piece)
			}
			write(after)
			write(end)
			runtime.ReadMemStats(&is)
			if got := is.TotalAlloc - was.TotalAlloc; got > tt.limit {
				t.Errorf("a line of 10 MB allocates %d bytes, want at most %d", got, tt.limit)
			}
		})
	}
}

func tricky() string {
	return reset197 + `{"type":"system","subtype":"init","tools":["é","\"\\","\ud83d\ude00","😀"]}` + "\r\n" +
		"^C" + `{"type":"user","message":{"content":[{"type":"tool_result","content":[{"text":"` + strings.Repeat(`é\n\u00e9😀\ud83d\ude00`, 30) + `"}]}]}}` + "\n" +
		`{"result":"` + strings.Repeat(`é\n\u00e9😀\ud83d\ude00`, 30) + `","structured_output" : {"a":["é\u00e9,}",{}]} ,"type":"result"}` + "\n" +
		"oops \x1b[31m{not json}\n\n" + `{"type":"odd","num_turns":{"a":[]}}` + "\n" + `{"type":"a","structured_output":[[1]],"result":"\ud83d"}` + reset197 + "\n" +
		`{"type":"user","numbers":[` + strings.Repeat("12345,", 60) + `0]}` + "\n" + `{"type":"last","x":"` + "\n" + reset197 + `{"type":"torn`
}

func TestEverySplit(t *testing.T) {
	t.Parallel()
	limits := stream.Limits{String: 256, Line: 700, Result: 300}
	all := []byte(tricky())
	want, wantStats := decode(t, limits, all)
	if len(want) != 6 || wantStats.Ignored != 2 || wantStats.Torn != 1 || wantStats.Odd != 1 || wantStats.Cut != 2 || wantStats.Oversized != 0 {
		t.Fatalf("the stream has %d events and %+v: it does not test what it should", len(want), wantStats)
	}
	check := func(t interface {
		Helper()
		Fatalf(string, ...any)
	}, pieces ...[]byte,
	) {
		t.Helper()
		var events []stream.Event
		d := stream.New(limits, func(e stream.Event) { events = append(events, e) },
			stream.WithNow(func() time.Time { return time.Unix(1, 0) }))
		for _, p := range pieces {
			own := append([]byte(nil), p...)
			if _, err := d.Write(own); err != nil {
				t.Fatalf("Write: %v", err)
			}
			clear(own) // the decoder must not have kept it
		}
		if err := d.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if !reflect.DeepEqual(events, want) {
			t.Fatalf("events (-want +got):\n%s", cmp.Diff(want, events))
		}
		if d.Stats() != wantStats {
			t.Fatalf("stats = %+v, want %+v", d.Stats(), wantStats)
		}
	}
	for i := range all {
		check(t, all[:i], all[i:])
	}
	rapid.Check(t, func(t *rapid.T) {
		var pieces [][]byte
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 100)).Draw(t, "length")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		check(t, pieces...)
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	var events int
	d := stream.New(stream.Limits{}, func(e stream.Event) {
		events++
		if e.At.IsZero() {
			t.Error("event without a time")
		}
	})
	if _, err := d.Write([]byte(`{"type":"a"}`)); err != nil {
		t.Fatal(err)
	}
	if events != 0 {
		t.Errorf("%d events before the end of the line, want 0", events)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if events != 1 || d.Stats().Lines != 1 {
		t.Errorf("%d events, %d lines, want 1 and 1", events, d.Stats().Lines)
	}
	if n, err := d.Write([]byte("x")); n != 0 || !errors.Is(err, stream.ErrClosed) {
		t.Errorf("Write after Close = %d, %v, want 0 and ErrClosed", n, err)
	}
}
