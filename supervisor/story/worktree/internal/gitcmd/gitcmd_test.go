package gitcmd

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "",
		"Preparing worktree\nfatal: no such thing\n\nPlease make sure\n":                                "no such thing",
		"error: first\nfatal: second\n":                                                                 "first",
		"warning: x\nsomething else\nhint: do it\n":                                                     "something else",
		"fatal: \x1b[31mred\x1b[0m \xff\n":                                                              "red \uFFFD",
		"fatal: cannot read https://someone:ghp_0123456789abcdefghijABCDEFGHIJ012345@example.org/x.git": "cannot read https://someone:[redacted]@example.org/x.git",
	} {
		if got := Words(in); got != want {
			t.Errorf("Words(%q) = %q, want %q", in, got, want)
		}
	}
}
