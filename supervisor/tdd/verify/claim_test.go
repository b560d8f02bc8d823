package verify

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/tdd"
	"autopilot/supervisor/tdd/message"
)

const runID = "master__task-1__2026-03-01T10-00-00-250Z"

const example = `feat(greet): say hello to a name (task 1.1)

greet NAME prints hello NAME.
 Tests: 99 passing

Task: #1.1 - Say hello - to a name
Phase: COMMIT
Tag: master

Tests: 12 passing, 1 failing, 2 skipped
Coverage: 92.5% lines
Autopilot-Run: ` + runID + ` 1.1
`

func exampleClaim() Claim {
	return Claim{
		Subject: "feat(greet): say hello to a name (task 1.1)", Type: "feat", Scope: "greet", Summary: "say hello to a name",
		TaskID: "1.1", Title: "Say hello - to a name", Phase: "COMMIT", Tag: "master", Tests: &Tests{12, 1, 2}, Coverage: new(92.5), CoverageOf: "lines",
		RunID: runID, Step: "1.1",
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"as it was made":     example,
		"signed off":         example + "Signed-off-by: A <a@example.org>\nCo-authored-by: B <b@example.org>\n",
		"picked":             example + "\n(cherry picked from commit 0123456789abcdef0123456789abcdef01234567)\nChange-Id: I1\n",
		"line ends":          strings.ReplaceAll(example, "\n", "\r\n"),
		"space in front":     "\n\n" + example,
		"without a last end": strings.TrimSuffix(example, "\n"),
	} {
		got, err := Parse(text)
		if d := cmp.Diff(exampleClaim(), got); err != nil || d != "" {
			t.Errorf("%s: %v, (-want +got):\n%s", name, err, d)
		}
	}
}

func TestParseSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	without := func(key string) string {
		var out []string
		for _, l := range strings.Split(example, "\n") {
			if !strings.HasPrefix(l, key+":") {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	with := func(old, now string) string { return strings.Replace(example, old, now, 1) }
	for _, tt := range []struct{ text, want string }{
		{without("Task"), "read the message: it has no line Task"},
		{without("Phase"), "it has no line Phase"},
		{without("Tag"), "it has no line Tag"},
		{without("Autopilot-Run"), "it has no line Autopilot-Run"},
		{example + "Task: #1.2 - Shout\n", "it has 2 lines Task"},
		{example + "Tests: 99 passing\nTag: x\n", "it has 2 lines Tag; it has 2 lines Tests"},
		{with("#1.1 -", "1.1 -"), `its line Task says "1.1 - Say hello - to a name"`},
		{with("#1.1 -", "# -"), "its line Task says"},
		{with("12 passing, 1 failing", "all passing"), `its line Tests says "all passing, 2 skipped"`},
		{with("12 passing", "-3 passing"), "its line Tests says"},
		{with("12 passing", "99999999999999999999 passing"), "its line Tests says"},
		{with("92.5% lines", "292% lines"), "its line Coverage says"},
		{with(runID+" 1.1", runID), "its line Autopilot-Run says"},
		{with(runID+" 1.1", "a b c"), "its line Autopilot-Run says"},
	} {
		if _, err := Parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrNoClaim) {
			t.Errorf("got %v, want %s, of\n%s", err, tt.want, tt.text)
		}
	}
	for _, text := range []string{"", "\n", "by hand\n", "fix: it (task 1.1)\n\n Task: #1.1\n", "quoted\n\n> Task: #1\n\tAutopilot-Run: r 1", "Task: #1 is a subject\n"} {
		if c, err := Parse(text); !errors.Is(err, ErrNoClaim) || c.TaskID != "" {
			t.Errorf("%q: got %+v, %v; want no claim", text, c, err)
		}
	}
	for _, text := range []string{without("Tests"), without("Coverage")} {
		if _, err := Parse(text); err != nil {
			t.Errorf("numbers are not in every commit: %v", err)
		}
	}
	if c, err := Parse(with("\nTask:", "Already implemented: no new test failed.\n\nTask:")); err != nil || !c.Implemented {
		t.Errorf("already implemented: %v, %v", c.Implemented, err)
	}
}

// What a message is made from is read back from it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	words := func(most string) *rapid.Generator[string] {
		return rapid.StringMatching(`[A-Za-z][A-Za-z0-9:(),é-]{0,9}( [A-Za-z0-9#:()-][A-Za-z0-9]{0,6}){0,` + most + `}`)
	}
	anything := rapid.OneOf(rapid.String(), words("9"), rapid.StringMatching(`(?s)[#\-\s]{0,3}(Task|Tests|Phase|Autopilot-Run|Tag): .{0,90}`))
	number := rapid.IntRange(0, 1_000_000)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`([A-Z]{1,5}-)?[1-9][0-9]{0,4}(\.[0-9a-z_]{1,5})?`).Draw(t, "id")
		c := message.Commit{
			Type: rapid.SampledFrom(message.Types()).Draw(t, "type"), Scope: rapid.SampledFrom([]string{"", "api", "a-b"}).Draw(t, "scope"),
			Summary: words("3").Draw(t, "summary"), Body: anything.Draw(t, "body"), TaskID: id, TaskTitle: words("9").Draw(t, "title"),
			Phase: "COMMIT", Tag: rapid.SampledFrom([]string{"master", "a tag", "x/y: z"}).Draw(t, "tag"), Mark: "Autopilot-Run: " + runID + " " + id,
			Extra: []string{anything.Draw(t, "extra")},
		}
		want := Claim{
			Type: c.Type, Scope: c.Scope, Summary: c.Summary, TaskID: id, Title: c.TaskTitle, Phase: c.Phase, Tag: c.Tag, RunID: runID, Step: id,
		}
		if rapid.Bool().Draw(t, "has numbers") {
			n := Tests{number.Draw(t, "passed"), number.Draw(t, "failed"), number.Draw(t, "skipped")}
			c.Results, want.Tests = &tdd.Results{Passed: n.Passed, Failed: n.Failed, Skipped: n.Skipped}, &n
		}
		if rapid.Bool().Draw(t, "has coverage") {
			percent := math.Round(rapid.Float64Range(0, 100).Draw(t, "coverage")*10) / 10
			c.Coverage.Branches, want.Coverage, want.CoverageOf = &percent, &percent, "branches"
		}
		text := c.Text(usualTemplate) + rapid.SampledFrom([]string{"", "Signed-off-by: A <a@example.org>\n", "\nCo-authored-by: B <b@example.org>\n"}).Draw(t, "added")
		got, err := Parse(text)
		got.Subject, got.Implemented = "", false // the second may come from the body
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Fatalf("%v (-want +got):\n%s\nof\n%s", err, d, text)
		}
	})
}

// Whatever the title is, it agrees with itself.
func TestEveryTitleAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.OneOf(rapid.String(), rapid.StringMatching(`(?s)[ #-]{0,3}.{0,300}`)).Draw(t, "title")
		c, err := Parse(message.Commit{Type: "feat", TaskID: "1.1", TaskTitle: title, Phase: "COMMIT", Tag: "master", Mark: "Autopilot-Run: " + runID + " 1.1"}.Text(usualTemplate))
		if err != nil || c.Title != written(title) {
			t.Fatalf("%q and %q, %v", c.Title, written(title), err)
		}
	})
}
