package message

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/supervisor/tdd"
)

const usualTemplate = "{type}({scope}): {msg} (task {taskId})"

func ptr(v float64) *float64 { return &v }

// skeleton is a commit with everything in it.
func skeleton() Commit {
	return Commit{
		Type: "feat", Scope: "cli", Summary: "lay out the commands",
		Body: "One file for each command, and one place that knows them all.\n" +
			"Arguments are read where they are used. What is wrong with one is said before anything is begun, in words that name the way out.",
		TaskID: "1.1", TaskTitle: "Lay out the commands", Phase: "Phase 0: first steps", Tag: "first-steps",
		Results: &tdd.Results{Passed: 3, Total: 3}, Coverage: tdd.Coverage{Lines: ptr(92)},
	}
}

const skeletonText = `feat(cli): lay out the commands (task 1.1)

One file for each command, and one place that knows them all.
Arguments are read where they are used. What is wrong with one is said
before anything is begun, in words that name the way out.

Task: #1.1 - Lay out the commands
Phase: Phase 0: first steps
Tag: first-steps

Tests: 3 passing
Coverage: 92% lines
`

func TestText(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff(skeletonText, skeleton().Text(usualTemplate)); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
}

func TestTextWithMarkAndCounts(t *testing.T) {
	t.Parallel()
	c := skeleton()
	c.Body, c.Phase = "", ""
	c.Results = &tdd.Results{Passed: 12, Failed: 1, Skipped: 2, Total: 15}
	c.Extra = []string{"Already-Implemented: 1.2", " ", "Tests: 99 passing"}
	c.Mark = "Autopilot-Run: master__task-1__2026 1.1"
	want := `feat(cli): lay out the commands (task 1.1)

Task: #1.1 - Lay out the commands
Tag: first-steps

Tests: 12 passing, 1 failing, 2 skipped
Coverage: 92% lines
Already-Implemented: 1.2
 Tests: 99 passing
Autopilot-Run: master__task-1__2026 1.1
`
	if d := cmp.Diff(want, c.Text(usualTemplate)); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
}

func TestTextLeavesOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		commit Commit
		want   string
	}{
		{Commit{Type: "fix", Scope: "api", Summary: "x"}, "fix(api): x (task )\n"},
		{Commit{Type: "fix", Summary: "x", TaskID: "1"}, "fix: x (task 1)\n\nTask: #1\n"},
		{Commit{Type: "fix", TaskID: "1", TaskTitle: "Close it."}, "fix: close it (task 1)\n\nTask: #1 - Close it.\n"},
		{Commit{Type: "fix", TaskID: "1"}, "fix: continue the work (task 1)\n\nTask: #1\n"},
		{Commit{Type: "fix", TaskID: "1", Summary: "x", Mark: "M: 1"}, "fix: x (task 1)\n\nTask: #1\n\nM: 1\n"},
		{Commit{Type: "fix", TaskID: "1", Summary: "x", Coverage: tdd.Coverage{Statements: ptr(66.66)}}, "fix: x (task 1)\n\nTask: #1\n\nCoverage: 66.7% statements\n"},
		{Commit{Type: "fix", TaskID: "1", Summary: "x", Coverage: tdd.Coverage{Branches: ptr(10), Lines: ptr(99.99)}}, "fix: x (task 1)\n\nTask: #1\n\nCoverage: 99.9% lines\n"},
		{Commit{Type: "fix", TaskID: "1", Summary: "x", Coverage: tdd.Coverage{Lines: ptr(100)}}, "fix: x (task 1)\n\nTask: #1\n\nCoverage: 100% lines\n"},
		{Commit{Type: "fix", TaskID: "1", Summary: "x", Results: &tdd.Results{}}, "fix: x (task 1)\n\nTask: #1\n\nTests: 0 passing\n"},
	} {
		if d := cmp.Diff(tt.want, tt.commit.Text(usualTemplate)); d != "" {
			t.Errorf("%+v (-want +got):\n%s", tt.commit, d)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 50)
	for _, tt := range []struct{ template, summary, want string }{
		{usualTemplate, "add\r\nit\tnow", "feat(cli): add it now (task 1.1)"},
		{usualTemplate, "## add it", "feat(cli): add it (task 1.1)"},
		{"{msg}", "#12 add it", "12 add it"},
		{"# {msg}", "add it", " # add it"},
		{usualTemplate, "use {type} and {taskId} as they are", "feat(cli): use {type} and {taskId} as they are (task 1.1)"},
		{usualTemplate, "bell \a and \x1b[31mred\x1b[0m", "feat(cli): bell and [31mred [0m (task 1.1)"},
		{usualTemplate, "left \u202eto right", "feat(cli): left to right (task 1.1)"},
		{usualTemplate, "broken \xff byte", "feat(cli): broken \ufffd byte (task 1.1)"},
		{usualTemplate, long, "feat(cli): " + strings.TrimSpace(strings.Repeat("word ", 15)) + "… (task 1.1)"},
		{usualTemplate, strings.Repeat("x", 200_000), "feat(cli): " + strings.Repeat("x", 77) + "… (task 1.1)"},
		{"{type}: {msg}", "short", "feat: short"},
	} {
		c := skeleton()
		c.Summary = tt.summary
		got, _, _ := strings.Cut(c.Text(tt.template), "\n")
		if got != tt.want {
			t.Errorf("%q of %.60q: got %q, want %q", tt.template, tt.summary, got, tt.want)
		}
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"blank lines", "\n\n a\n\n\n\nb \r\n\r\n", "a\n\nb"},
		{"a list", "Do:\n- one thing that is so long that it does not fit in the width that a line has here\n  * two", "Do:\n- one thing that is so long that it does not fit in the width that a\n  line has here\n  * two"},
		{"a long word stays", "see https://example.org/" + strings.Repeat("p", 80) + " there", "see\nhttps://example.org/" + strings.Repeat("p", 80) + "\nthere"},
		{"what git takes for a comment", "# Title\n#12 is near", " # Title\n #12 is near"},
		{"a comment made by wrapping", strings.Repeat("x", 70) + " #12", strings.Repeat("x", 70) + "\n #12"},
		{"the end of a message for git", "a\n---\ndiff --git a b\nIndex: x", "a\n ---\n diff --git a b\n Index: x"},
		{"lines of our own", "Tests: 9 passing\ncoverage: 100%\nTask: #7\nRun: 1", " Tests: 9 passing\n coverage: 100%\n Task: #7\n Run: 1"},
		{"control characters", "a\x00b\x1b[2Jc\vd", "a b [2Jc d"},
		{"other line ends", "a\rb\u2028c", "a\nb\nc"},
		{"a word without end", strings.Repeat("x", 1000), strings.Repeat("x", 199) + "…"},
	} {
		got := Commit{Summary: "s", Body: tt.body, Mark: "Run: 1"}.Text("{msg}")
		if d := cmp.Diff("s\n\n"+tt.want+"\n\nRun: 1\n", got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
	if got := (Commit{Summary: "s", Body: strings.Repeat("long ", 40_000)}).Text("{msg}"); len(got) > 5000 || !strings.HasSuffix(got, "…\n") {
		t.Errorf("a body of 200 kB makes a message of %d bytes", len(got))
	}
}

// Whatever is in the texts of a task, a message keeps its form.
func TestEveryMessageKeepsItsForm(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(?s)[#\-\s]{0,3}(Task|Tests|Run|Tag): .{0,90}`), rapid.SampledFrom([]string{
		"", "#", "a\nb", "\x00", "Run: r 1.1", "{msg}", "{type}\n{scope}", strings.Repeat("ab ", 5000), "\u202e\u2066", "---", "x\u0085y",
	}))
	rapid.Check(t, func(t *rapid.T) {
		c := Commit{
			Type: rapid.SampledFrom(Types()).Draw(t, "type"), Scope: rapid.SampledFrom([]string{"", "api", "misc"}).Draw(t, "scope"),
			Summary: text.Draw(t, "summary"), Body: text.Draw(t, "body") + "\n" + text.Draw(t, "more"), TaskID: "1.1", TaskTitle: text.Draw(t, "title"),
			Phase: text.Draw(t, "phase"), Tag: text.Draw(t, "tag"), Results: &tdd.Results{Passed: 1}, Mark: "Run: r 1.1", Extra: []string{text.Draw(t, "extra")},
		}
		got := c.Text(usualTemplate)
		lines := strings.Split(got, "\n")
		begin, _, _ := strings.Cut(usualTemplate, "{msg}")
		begin = strings.ReplaceAll(strings.NewReplacer("{type}", c.Type, "{scope}", c.Scope).Replace(begin), "()", "")
		if !strings.HasPrefix(lines[0], begin) || !strings.HasSuffix(lines[0], " (task 1.1)") || utf8.RuneCountInString(lines[0]) > subjectLength || lines[1] != "" {
			t.Fatalf("subject is %q, followed by %q", lines[0], lines[1])
		}
		count := map[string]int{}
		for _, l := range lines {
			if strings.HasPrefix(l, "#") || strings.ContainsFunc(l, unicode.IsControl) || !utf8.ValidString(l) {
				t.Fatalf("line %q", l)
			}
			key, _, _ := strings.Cut(l, ":")
			count[key]++
		}
		if count["Run"] != 1 || count["Tests"] != 1 || count["Task"] != 1 || count["Tag"] > 1 || lines[len(lines)-2] != c.Mark {
			t.Fatalf("lines of our own are not told apart from others:\n%s", got)
		}
	})
}

func TestCheckTemplate(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		usualTemplate:                     "",
		"{msg}":                           "",
		"[{taskId}] {msg}":                "",
		"":                                `"" has no {msg}`,
		"{type}":                          `"{type}" has no {msg}`,
		"{msg} {task}":                    "unknown placeholder {task}; there are {type}, {scope}, {msg}, {taskId}",
		"{Msg}":                           "unknown placeholder {Msg}",
		"{} {msg}":                        "unknown placeholder {}",
		"{msg} {":                         "has a brace that is not part of a placeholder",
		"{{msg}}":                         "has a brace that is not part of a placeholder",
		"{msg}\n":                         "is not one line of text",
		"{msg}\xff":                       "is not one line of text",
		"{msg}" + strings.Repeat("x", 61): "it has 61 characters beside its placeholders; at most 60 are taken",
		strings.Repeat("{msg}", 9):        "it has 9 placeholders; at most 8 are taken",
	} {
		got := fmt.Sprint(CheckTemplate(template))
		if want == "" && got != "<nil>" || !strings.Contains(got, want) {
			t.Errorf("%.40q: got %s, want %q", template, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Lay out the commands":       "lay out the commands",
		"Create it.":                 "create it",
		"Create it...":               "create it",
		"JSON output":                "JSON output",
		"CommandTable class":         "CommandTable class",
		"API: new route":             "API: new route",
		"Refactor: split it":         "refactor: split it",
		"Config.Load reads twice":    "Config.Load reads twice",
		"Write() fails":              "Write() fails",
		"Snake_case names":           "Snake_case names",
		"OAuth2 login":               "OAuth2 login",
		"Re-use it":                  "re-use it",
		"A new thing":                "a new thing",
		"Über alles":                 "über alles",
		"already small":              "already small",
		"日本語の題":                      "日本語の題",
		"## Heading":                 "heading",
		" Two\nlines\tand more.  \n": "two lines and more",
		"":                           "",
		"...":                        "",
		"X":                          "x",
	} {
		if got := Summary(title); got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
