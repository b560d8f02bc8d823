package board_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/ledger"
	"autopilot/supervisor"
)

// said is a record of a conversation.
func said(kind string, second int, content any) map[string]any {
	return map[string]any{"type": kind, "timestamp": time.Date(2026, 3, 2, 6, 0, second, 0, time.UTC), "message": map[string]any{"role": kind, "content": content}}
}

func texts(events []board.Event) []string {
	out := []string{}
	for _, e := range events {
		out = append(out, e.Kind+" "+e.Text)
	}
	return out
}

// follower reads what happens in a run.
type follower struct {
	world
	o      board.Options
	ref    board.Ref
	folder string
	at     board.Cursor
}

func newFollower(t *testing.T) *follower {
	t.Helper()
	w := newWorld(t)
	f := &follower{world: w, o: w.options()}
	f.ref, f.folder = w.run(w.project("app"), 1, nil)
	f.current(uuidOf(1), "")
	return f
}

// current makes a session the one that runs.
func (f *follower) current(id, talk string) {
	s, err := supervisor.LoadState(f.folder)
	f.check(err)
	s.Current = &supervisor.Current{SessionID: id, Conversation: talk}
	f.json(filepath.Join(f.folder, "state.json"), s)
}

func (f *follower) talk(id string) string { return f.talkPath(f.dir+"/app", id) }

func (f *follower) tail() []board.Event {
	f.Helper()
	r, err := board.Find(f.Context(), f.o, f.ref)
	f.check(err)
	events, at, err := board.Tail(f.o, r, f.at)
	f.check(err)
	f.at = at
	return events
}

func TestTail(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	log := filepath.Join(f.folder, "activity.jsonl")
	want(t, "nothing yet", texts(f.tail()), []string{})
	f.lines(log, map[string]any{"time": "2026-03-02T06:00:01.5Z", "level": "INFO", "msg": "session started", "tier": "green", "note": "two words", "list": []int{1}})
	f.lines(f.talk(uuidOf(1)),
		said("user", 1, "make it work"), said("system", 1, "x"), map[string]any{"type": "api-request-blob", "message": "y"},
		said("assistant", 2, []any{map[string]any{"type": "thinking", "thinking": "hm"}, map[string]any{"type": "text", "text": "I look"}, map[string]any{"type": "tool_use", "name": "Bash", "input": map[string]any{"command": "ls -l", "description": "list"}}}),
		said("user", 3, []any{map[string]any{"type": "tool_result", "content": "a\nb"}}),
		said("user", 4, []any{map[string]any{"type": "tool_result", "is_error": true, "content": []any{map[string]any{"type": "text", "text": "no such file"}, map[string]any{"type": "image"}}}}),
		said("assistant", 5, []any{map[string]any{"type": "tool_use", "name": "TodoWrite", "input": map[string]any{"todos": []int{1, 2}}}, 7, map[string]any{"type": 3}}),
		map[string]any{"type": "user", "isMeta": true, "message": map[string]any{"content": "not said"}},
	)
	want(t, "all", texts(f.tail()), []string{
		"prompt make it work", `log session started list=[1] note="two words" tier=green`, "text I look", "tool Bash: ls -l", "result a\nb", "error no such file\n(image)", `tool TodoWrite: {"todos":[1,2]}`,
	})
	want(t, "nothing new", texts(f.tail()), []string{})
	f.text(log, `{"time":"2026-03-02T06:00:09Z","level":"WARN","msg":"ha`)
	want(t, "half a line", texts(f.tail()), []string{})
	f.text(log, `lf"}`+"\n")
	got := f.tail()
	want(t, "the other half", texts(got), []string{"log half"})
	if got[0].Level != "WARN" || !got[0].At.Equal(time.Date(2026, 3, 2, 6, 0, 9, 0, time.UTC)) {
		t.Errorf("got %+v", got[0])
	}
}

// TestTailGoesFromOneSessionToTheNext wants the end of one before the beginning of the other.
func TestTailGoesFromOneSessionToTheNext(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.lines(f.talk(uuidOf(1)), said("assistant", 1, "one"))
	want(t, "the first", texts(f.tail()), []string{"text one"})
	f.lines(f.talk(uuidOf(1)), said("assistant", 2, "its end"))
	f.session(f.folder, uuidOf(1), nil)
	s, err := supervisor.LoadState(f.folder)
	f.check(err)
	s.Record.Endings = append(s.Record.Endings, endingOf(uuidOf(1)))
	f.json(filepath.Join(f.folder, "state.json"), s)
	f.current(uuidOf(2), "")
	f.lines(f.talk(uuidOf(2)), said("assistant", 3, "two"))
	want(t, "the end", texts(f.tail()), []string{"text its end"})
	want(t, "the second", texts(f.tail()), []string{"text two"})
	f.current(uuidOf(3), uuidOf(2)) // goes on with the same conversation
	f.lines(f.talk(uuidOf(2)), said("assistant", 4, "three"))
	want(t, "the third", texts(f.tail()), []string{"text three"})
	if f.at.Session != uuidOf(2) {
		t.Errorf("the place is %+v", f.at)
	}
}

// TestTailOfReplacedFiles has files that are cut, replaced and removed between two looks.
func TestTailOfReplacedFiles(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	log := filepath.Join(f.folder, "activity.jsonl")
	line := func(n int) map[string]any {
		return map[string]any{"time": "2026-03-02T06:00:01Z", "msg": fmt.Sprint("line ", n)}
	}
	f.lines(log, line(1), line(2))
	want(t, "before", texts(f.tail()), []string{"log line 1", "log line 2"})
	f.check(os.Truncate(log, 0))
	f.lines(log, line(3))
	want(t, "cut", texts(f.tail()), []string{"log line 3"})
	f.check(os.Remove(log))
	want(t, "removed", texts(f.tail()), []string{})
	f.lines(log, line(4))
	want(t, "made again", texts(f.tail()), []string{"log line 4"})
	f.check(os.Remove(log))
	f.text(log, strings.Repeat("x", int(f.at.Log)+5)+"\n")
	f.lines(log, line(5))
	want(t, "replaced by a longer one", texts(f.tail()), []string{"log line 5"})
}

// TestTailIsBounded has lines, and numbers of lines, beyond all measure.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	talk := f.talk(uuidOf(1))
	f.lines(talk, said("assistant", 1, "before"))
	f.tail()
	big := func(kind string) string {
		return `{"parentUuid":"x","type":"` + kind + `","message":{"content":"` + strings.Repeat("x y ", 10<<20/4) + `"}}` + "\n"
	}
	f.text(talk, big("user")+big("api-request-blob"))
	f.lines(talk, said("assistant", 3, "behind"))
	want(t, "a line of ten megabytes", texts(f.tail()), []string{"result (more than can be shown)", "text behind"})
	// One that is not whole yet, in pieces.
	whole := big("user") + strings.Repeat(" ", 30<<20)
	f.text(talk, whole[:2<<20])
	got := texts(f.tail())
	f.text(talk, whole[2<<20:])
	for range 9 {
		got = append(got, texts(f.tail())...)
	}
	f.text(talk, "\n")
	f.lines(talk, said("assistant", 4, "after that"))
	for range 9 {
		got = append(got, texts(f.tail())...)
	}
	want(t, "in pieces", got, []string{"result (more than can be shown)", "text after that"})

	for n := range 2000 {
		f.lines(talk, said("assistant", 5, fmt.Sprintf("line %d %s", n, strings.Repeat("word ", 100))))
	}
	seen := 0
	for range 100 {
		events := f.tail()
		size := 0
		for _, e := range events {
			if !strings.HasPrefix(e.Text, fmt.Sprintf("line %d ", seen)) {
				t.Fatalf("got %q, want line %d", e.Text[:20], seen)
			}
			seen, size = seen+1, size+len(e.Text)
		}
		if len(events) > 500 || size > 256<<10 {
			t.Fatalf("%d events, %d bytes", len(events), size)
		}
	}
	if seen != 2000 {
		t.Errorf("%d lines were seen", seen)
	}
	f.at = board.Cursor{}
	events := f.tail()
	if n := len(events); n != 100 || !strings.HasPrefix(events[n-1].Text, "line 1999 ") {
		t.Errorf("a first look has %d events, and ends with %.20q", n, events[n-1].Text)
	}
	want(t, "behind it", texts(f.tail()), []string{})
}

// TestTailIsClean has hostile text in a conversation and in the log.
func TestTailIsClean(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	evil := "a\x1b]0;title\x07b \x1b[31mred\u009b2J \u202eback\x00 sk-ant-api03-abcdefgh12345678 " + strings.Repeat("é", 5000)
	parts := []any{map[string]any{"type": "text", "text": evil}, map[string]any{"type": "tool_use", "name": evil, "input": map[string]any{"command": evil}}, map[string]any{"type": "tool_result", "content": evil}}
	f.lines(f.talk(uuidOf(1)), said("assistant", 1, strings.Repeat("words ", 2000)), said("assistant", 1, "short and ghp_abcdefgh12345678"), said("assistant", 1, "short \u009b and ghp_abcdefgh12345678"), said("assistant", 1, parts), said("user", 1, parts), said("assistant", 1, []any{map[string]any{"type": "tool_use", "input": evil}}))
	f.text(f.talk(uuidOf(1)), "{\"type\":\"assistant\",\"message\":{\"content\":\"bad \xff\xfe utf\"}}\n"+`{"type":"user","message":{"content":`+strings.Repeat("[", 20000)+"\n"+`{"type":"user","message":{"content":{"a":1}}}`+"\n[1]\nnull\n\"user\"\n")
	f.lines(filepath.Join(f.folder, "activity.jsonl"), map[string]any{"time": "x", "level": evil, "msg": evil, evil: evil})
	events := f.tail()
	if len(events) < 9 {
		t.Fatalf("%d events: %q", len(events), texts(events))
	}
	for _, e := range events {
		text := e.Kind + e.Level + e.Text
		if !utf8.ValidString(text) || utf8.RuneCountInString(e.Text) > 2000 {
			t.Errorf("%d runes, %.50q", utf8.RuneCountInString(e.Text), e.Text)
		}
		for _, part := range []string{"\x1b", "\x07", "\u009b", "\u202e", "\x00", "abcdefgh12345678", "title"} {
			if strings.Contains(text, part) {
				t.Errorf("%q in %.80q", part, text)
			}
		}
	}
}

// TestCursorOfAStranger: what comes from outside leads to no other conversation.
func TestCursorOfAStranger(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.lines(f.talk(uuidOf(1)), said("assistant", 1, "ours"))
	f.lines(f.talk(uuidOf(9)), said("assistant", 1, "of somebody else"))
	f.lines(filepath.Join(f.dir, "secret.jsonl"), said("assistant", 1, "secret"))
	up := strings.Repeat("../", 20)
	s, err := supervisor.LoadState(f.folder) // a plugin may give a session any name
	f.check(err)
	s.Record.Endings = append(s.Record.Endings, endingOf(up+f.dir+"/secret"))
	f.json(filepath.Join(f.folder, "state.json"), s)
	f.lines(filepath.Join(f.folder, "activity.jsonl"), map[string]any{"msg": "logged", "time": "2026-03-02T06:00:00Z"})
	for _, at := range []board.Cursor{
		{Session: uuidOf(9)}, {Session: up + f.dir + "/secret", Log: 1}, {Session: "../x"}, {Log: -5, Talk: -9}, {Session: uuidOf(1), Talk: 1 << 60, Log: 1 << 60}, {Session: "\x00"},
	} {
		f.at = at
		wants := []string{"log logged", "text ours"}
		if at.Log == 1 { // inside of the only line
			wants = wants[1:]
		}
		want(t, fmt.Sprint(at), texts(f.tail()), wants)
	}
	f.current(up+f.dir+"/secret", "")
	f.at = board.Cursor{}
	want(t, "a session with a path for a name", texts(f.tail()), []string{"log logged"})
}

func endingOf(id string) ledger.Ending { return ledger.Ending{SessionID: id, Ending: "completed"} }
