package shell_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/tdd/suite/shell"
)

// TestWordsAreThoseOfTheShell holds the splitting of words against the shell's own.
func TestWordsAreThoseOfTheShell(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"a", "B1", "=", "-x", ".", "/", "'q w'", `"d ' q"`, `\ `, `\"`, "' '", `""`, "1", ":"})
	gen := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pieces"), "")
	}), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		words := gen.Draw(t, "words")
		command := strings.Join(words, rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "gap"))
		out, err := exec.Command("/bin/sh", "-c", `printf '%s\n' `+command).Output()
		if err != nil {
			t.Fatal(err)
		}
		parts, ok := shell.Split(command)
		if !ok || len(parts) != 1 {
			t.Fatalf("%s: got %v, %v", command, parts, ok)
		}
		var got []string
		for i, w := range parts[0] {
			got = append(got, w.Text)
			if end := strings.Join(words[:i+1], "\x00"); len(strings.ReplaceAll(end, "\x00", "")) > w.End {
				t.Fatalf("%s: word %d ends at %d", command, i, w.End)
			}
		}
		if d := cmp.Diff(strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), got); d != "" {
			t.Fatalf("%s (-shell +got):\n%s", command, d)
		}
	})
}
