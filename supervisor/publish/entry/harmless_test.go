package entry_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/supervisor/publish/entry"
)

func TestHarmless(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain words, 5 of 7 (done)":       "plain words, 5 of 7 (done)",
		"ask @bob, @org/team and me@x.org": "ask @\u200bbob, @\u200borg/team and me@x.org",
		"closes #12, GH-7 and o/r#3":       "closes #\u200b12, GH-\u200b7 and o/r#\u200b3",
		"<!-- the rest":                    `\<!-- the rest`,
		"<img src=x> <b>":                  `\<img src=x> \<b>`,
		"&lt;img&gt; && &#64;bob R&D":      "&amp;lt;img&amp;gt; && &amp;#\u200b64;bob R&amp;D",
		"- ![a](javascript:x)":             `- \!\[a\](javascript:x)`,
		"![a](https://x.org/a.png)":        `\![a](https://x.org/a.png)`,
		"**@bob** and `@bob <b>`":          "**@\u200bbob** and `@bob <b>`",
		"snake_case _it_ *it* ~~no~~":      `snake_case \_it\_ \*it\* \~\~no\~\~`,
		"see https://x.org/a_b_c?d=e&f=@g": "see <https://x.org/a_b_c?d=e&f=@g>",
		"see https://github.com/o/r/issues/5, or [it](https://github.com/o/r/pull/5)": "see `https://github.com/o/r/issues/5`, or it (`https://github.com/o/r/pull/5`)",
		"[a](https://x.org/`) `<!--`":                 "[a](https://x.org/%60) `<!--`",
		"https://x.org`a <!-- b`":                     "<https://x.org>`a <!-- b`",
		"[https://a](https://b)`c <!-- d`":            "[https:\\//a](https://b)`c <!-- d`",
		"www.x.org`a <!-- b`, x://y":                  "www\\.x.org`a <!-- b`, x:\\//y",
		"- [ ] one\n  - [x] two\n\ntext\n===\n# Head": "- \\[ \\] one\n   - \\[x\\] two\n\ntext\n\\===\n\n#### Head",
		"```html\n<!-- x --> @bob #1\n```\nafter":     "```\n<!-- x --> @bob #1\n```\n\nafter",
		"````\n```\n````":                             "````\n```\n````",
		"```\nopen <!--":                              "```\nopen <!--\n```",
		"| a | b |\n|---|---|":                        "```\n| a | b |\n|---|---|\n```",
		"> @bob\n> [!NOTE]":                           "> @\u200bbob\n> \\[!NOTE\\]",
		"      - deep":                                "- deep",
		"a $x$ ~":                                     `a \$x\$ \~`,
	} {
		if got := entry.Markdown(in); got != want {
			t.Errorf("Markdown(%q)\n got %q\nwant %q", in, got, want)
		}
	}
}

// Outside of code nothing is left that does something, whatever the text is.
func TestHarmlessAlways(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"@bob", "#12", "<!--", "-->", "<b>", "![", "](https://x.org/`)", "`", "``", "```", "\n", "\n```\n", "- ", "[ ] ", "**", "_", `\`, " ", "[a]", "&#64;",
		"https://github.com/o/r/issues/1", "https://x.org", "www.x.org", "ftp://", "x", "~~~", "> ", "# ",
	}
	bad := regexp.MustCompile(`(^|[^0-9A-Za-z])@[a-z]|#\d|<|!\[|&#|(?m:^\s*- \[ \])|://|www\.`)
	rapid.Check(t, func(t *rapid.T) {
		md := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		words, open := outOfCode(entry.Markdown(md))
		if open {
			t.Fatalf("code of %q is open:\n%s", md, entry.Markdown(md))
		}
		if at := bad.FindString(words); at != "" {
			t.Fatalf("%q became\n%s\nwith %q", md, entry.Markdown(md), at)
		}
	})
}

// outOfCode is what is left of a text without code, links and what a backslash stands before.
func outOfCode(md string) (words string, open bool) {
	fence, out := "", &strings.Builder{}
	for line := range strings.SplitSeq(md, "\n") {
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(mark) >= 3 && mark == line:
			fence = mark
		case fence != "" && line == fence:
			fence = ""
		case fence == "":
			span := regexp.MustCompile(`^(?:\\.|<(?:https?|ftp)://[^\s<>]+>|\]\(https?://[^\s()]+\))`)
			for line != "" {
				if m := span.FindString(line); m != "" {
					if line = line[len(m):]; strings.Contains(m, "/issues/1") {
						out.WriteString("<")
					}
					out.WriteString("x")
					continue
				}
				if line[0] == '`' {
					run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
					end := closing(line[len(run):], run)
					if end < 0 {
						return "", true
					}
					line = line[len(run)+end:]
					out.WriteString("x")
					continue
				}
				out.WriteByte(line[0])
				line = line[1:]
			}
			out.WriteByte('\n')
		}
	}
	return out.String(), fence != ""
}

// closing is where the first run of just as many backquotes ends.
func closing(line, run string) int {
	for _, m := range regexp.MustCompile("`+").FindAllStringIndex(line, -1) {
		if m[1]-m[0] == len(run) {
			return m[1]
		}
	}
	return -1
}

func TestNoBoxes(t *testing.T) {
	t.Parallel()
	got := entry.NoBoxes("- [ ] a\n  1. [x] b\n[ ] c\n```\n* [X] d\n```\na[x] - [ ]")
	if want := "- ( ) a\n  1. (x) b\n[ ] c\n```\n* (X) d\n```\na[x] - [ ]"; got != want {
		t.Errorf("NoBoxes = %q, want %q", got, want)
	}
}
