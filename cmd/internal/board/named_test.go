package board

import "testing"

func TestWhatHidesIsNamed(t *testing.T) {
	t.Parallel()
	if got, want := spelled("rm \u202e-rf\u200b /\nx\x1b[2K"), "rm ‹U+202E›-rf‹U+200B› /\nx‹U+001B›[2K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
