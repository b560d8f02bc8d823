package worktree

import "testing"

func TestShown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a b": "a b", "": `""`, " a": `" a"`, "a\nb": `"a\nb"`, "\xff": `"\xff"`, `a"b`: `"a\"b"`, "ä": "ä", "\u202e": `"\u202e"`,
	} {
		if got := shown(in); got != want {
			t.Errorf("shown(%q) = %s, want %s", in, got, want)
		}
	}
	if got := some([]string{"a", "b", "c", "d", "e"}); got != "a, b, c and 2 more" {
		t.Errorf("some = %q", got)
	}
}
