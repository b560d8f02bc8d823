package screen_test

import (
	"testing"

	"autopilot/cmd/internal/screen"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":         "plain\ttext\n",
		"title \x1b]0;evil\x07": "title ?]0;evil?",
		"c1 \u009b31m":          "c1 ?31m",
		"over\rwritten\x7f":     "over?written?",
		"bidi \u202e\u2066":     "bidi ??",
		"漢字 and é and 🙂 stay":   "漢字 and é and 🙂 stay",
	} {
		if got := screen.Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}
