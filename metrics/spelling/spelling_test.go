package spelling

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 10_000)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"kitten", "sitting", 3},
		{"flaw", "lawn", 2},
		{"same", "same", 0},
		{"mdoe", "mode", 1},
		{"ca", "abc", 3}, // no byte is moved twice
		{long, long + "b", 0},
		{long, "", longest},
	} {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance of %.20q and %.20q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestMeantAndNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"claude", "max-hours", "max-sessions", "mode", "model", "permission-mode", "stall-timeout", "verify"}
	for _, tt := range []struct{ word, meant, nearest string }{
		{"max-session", "max-sessions", "max-sessions"},
		{"max-sessions", "max-sessions", "max-sessions"},
		{"maxsessions", "max-sessions", "max-sessions"},
		{"claud", "claude", "claude"},
		{"permission_mode", "permission-mode", "permission-mode"},
		{"modell", "model", "model"},
		{"mdoe", "mode", "mode"},
		{"modle", "model", "model"},
		{"stall", "", "model"},
		{"x", "", "mode"},
		{"", "", "mode"},
	} {
		if got := Meant(tt.word, keys); got != tt.meant {
			t.Errorf("%q: meant %q, want %q", tt.word, got, tt.meant)
		}
		if got := Nearest(tt.word, keys); got != tt.nearest {
			t.Errorf("%q: nearest %q, want %q", tt.word, got, tt.nearest)
		}
	}
	// Of two that are as near the one that is as long was meant.
	if got := Meant("abcd", []string{"abc", "abcx"}); got != "abcx" {
		t.Errorf("got %q", got)
	}
	if got := Nearest("ram_avail_gb", []string{"swap_used_gb", "ram_total_gb", "ram_available_gb"}); got != "ram_available_gb" {
		t.Errorf("got %q, which does not begin alike", got)
	}
	if got := Meant("anything", nil); got != "" {
		t.Errorf("of no candidates %q", got)
	}
}
