package page

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/metrics/report/wording"
)

// TestLineIsWhatWordingSays holds the short ways of line to the long one.
func TestLineIsWhatWordingSays(t *testing.T) {
	t.Parallel()
	pieces := []string{"word", " ", "  ", "\t", "\n", "a", "<", "'", "token=abcdefgh", "sk-0123456789", "é", "…", "-", "/", "\x7f", "\x00"}
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "text"), "")
		n := rapid.IntRange(1, 80).Draw(rt, "n")
		if got, want := line(s, n), wording.Line(visible(s, n), n); got != want {
			rt.Errorf("line(%q, %d) = %q, want %q", s, n, got, want)
		}
	})
}

func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"run with token=abcdefghij now", "sk-0123456789", "use\tsk-0123456789"} {
		if got := line(s, lineText); strings.Contains(got, "abcdefghij") || strings.Contains(got, "0123456789") {
			t.Errorf("line(%q) = %q", s, got)
		}
	}
}
