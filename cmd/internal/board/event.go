package board

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/logs"
	"autopilot/metrics/report/wording"
)

const (
	blocksMost = 20       // events of one record of a conversation
	headBytes  = 64 << 10 // of a record that is too long, in which its kind is looked for
)

// logEvent is a line of the log of a run.
func logEvent(line []byte) []Event {
	dec := json.NewDecoder(bytes.NewReader(line))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	e := Event{Kind: "log"}
	var b strings.Builder
	message := ""
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil
		}
		switch text := plainValue(value); key {
		case "time":
			e.At, _ = time.Parse(time.RFC3339Nano, text) // zero when it says nothing
		case "level":
			e.Level = wording.Line(text, 20)
		case "msg":
			message = text
		default:
			if b.Len() < 8*textRunes {
				fmt.Fprintf(&b, " %s=%s", key, quoted(text))
			}
		}
	}
	if e.At.IsZero() && message == "" {
		return nil
	}
	e.Text = wording.Line(message+b.String(), textRunes)
	return []Event{e}
}

// plainValue is a JSON value in words: a text as it is.
func plainValue(v json.RawMessage) string {
	var s string
	if len(v) > 0 && v[0] == '"' && json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n=\"") {
		return `"` + s + `"`
	}
	return s
}

// spoken is a record of a conversation, as far as it is shown. It is read in one go: raw
// parts that are read again later take twice as long.
type spoken struct {
	Type    string    `json:"type"`
	At      time.Time `json:"timestamp"`
	Meta    bool      `json:"isMeta"`
	Message struct {
		Content any `json:"content"`
	} `json:"message"`
}

// talkEvents are the events of a line of a conversation.
func talkEvents(line []byte) []Event {
	if len(line) >= lines.Longest {
		return longEvent(line)
	}
	// Most of what is long is neither of the two.
	if !bytes.Contains(line, []byte(`"user"`)) && !bytes.Contains(line, []byte(`"assistant"`)) {
		return nil
	}
	var s spoken
	if json.Unmarshal(line, &s) != nil || s.Meta || s.Type != "user" && s.Type != "assistant" {
		return nil
	}
	said := "text"
	if s.Type == "user" {
		said = "prompt"
	}
	var out []Event
	add := func(kind, text string) {
		if text = shown(text); text != "" && len(out) < blocksMost {
			out = append(out, Event{At: s.At, Kind: kind, Text: text})
		}
	}
	if whole, ok := s.Message.Content.(string); ok {
		add(said, whole)
	}
	for _, p := range parts(s.Message.Content) {
		switch p["type"] {
		case "text":
			add(said, text(p["text"]))
		case "tool_use":
			add("tool", text(p["name"])+": "+inputOf(p["input"]))
		case "tool_result":
			kind := "result"
			if p["is_error"] == true {
				kind = "error"
			}
			add(kind, contentOf(p["content"]))
		}
	}
	return out
}

// shown is a text as it may be shown. Most texts are short and of plain letters, for which
// that takes a third of the time.
func shown(s string) string {
	if len(s) > textRunes {
		return wording.Text(s, textRunes)
	}
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return wording.Text(s, textRunes)
		}
	}
	return strings.TrimSpace(logs.Redact(s))
}

// parts are the objects of a list.
func parts(v any) []map[string]any {
	l, _ := v.([]any)
	var out []map[string]any
	for _, x := range l {
		if m, ok := x.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// text is a text, or nothing where it is none.
func text(v any) string {
	s, _ := v.(string)
	return s
}

// longEvent stands for a record that is too long to be read.
func longEvent(line []byte) []Event {
	head := line[:min(len(line), headBytes)]
	if !bytes.Contains(head, []byte(`"type":"user"`)) && !bytes.Contains(head, []byte(`"type":"assistant"`)) {
		return nil
	}
	return []Event{{Kind: "result", Text: "(more than can be shown)"}}
}

// inputOf are the arguments of a tool in words: the one that says most, or all of them.
func inputOf(v any) string {
	if s := text(v); s != "" {
		return s
	}
	args, _ := v.(map[string]any)
	for _, key := range []string{"command", "file_path", "notebook_path", "pattern", "url", "query", "description", "prompt"} {
		if s := text(args[key]); s != "" {
			return s
		}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}

// contentOf is what a tool has answered: a text, or the texts among its parts.
func contentOf(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b strings.Builder
	for _, p := range parts(v) {
		if b.Len() > 16*textRunes {
			break
		}
		if s := text(p["text"]); s != "" {
			b.WriteString(s + "\n")
		} else {
			fmt.Fprintf(&b, "(%v)\n", p["type"])
		}
	}
	return b.String()
}
