package board

import (
	"strings"
	"testing"
)

func FuzzTalkEvents(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `{"type":"user","message":{"content":"x"}}`, `{"type":"assistant","message":{"content":[{"type":"tool_use","name":1,"input":[{}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"\u001b[2J"}]}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, e := range append(talkEvents(line), logEvent(line)...) {
			if strings.ContainsAny(e.Text+e.Kind+e.Level, "\x00\x07\x1b\u009b\u202e\r") || len(e.Text) > 3*textRunes+3 {
				t.Fatalf("%q", e)
			}
		}
	})
}
