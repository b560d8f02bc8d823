package goal

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sound checks what holds for every analysis.
func sound(t interface {
	Helper()
	Errorf(string, ...any)
}, text string,
) {
	t.Helper()
	a := Analyse(text)
	if a.Goal != text {
		t.Errorf("the goal changed: %q", a.Goal)
	}
	if len(a.Terms) > maxTerms || len(a.Criteria) > maxCriteria || len(a.Milestones) > maxMilestones || len(a.Deliverables) > maxDeliverables || a.Size < 1 || a.Size > maxSize {
		t.Errorf("%.200q exceeds its bounds: %d %d %d %d %d", text, len(a.Terms), len(a.Criteria), len(a.Milestones), len(a.Deliverables), a.Size)
	}
	for _, x := range a.Terms {
		if x.Start < 0 || x.End < x.Start || x.End > len(text) || text[x.Start:x.End] != x.Text || x.Why == "" || len(x.Text) > 2*maxTerm && !strings.ContainsAny(text, "`\"") && len(strings.Fields(x.Text)) > 1 {
			t.Errorf("%.200q has the term %+v", text, x)
		}
	}
	for _, c := range a.Criteria {
		if n := utf8.RuneCountInString(c.Text); n == 0 || n > maxText || (c.Kind == File) != (c.File != "") || strings.ContainsAny(c.Text, "\n\r") {
			t.Errorf("%.200q has the criterion %+v", text, c)
		}
	}
	for _, m := range a.Milestones {
		if n := utf8.RuneCountInString(m.Text); n == 0 || n > maxText || strings.ContainsAny(m.Text, "\n\r") || !utf8.ValidString(m.Text) {
			t.Errorf("%.200q has the milestone %+v", text, m)
		}
	}
	for _, p := range a.Deliverables {
		if path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..") || !strings.Contains(text, p) || len(p) > maxPath {
			t.Errorf("%.200q has the deliverable %q", text, p)
		}
	}
	if full := a.Suggestion != "" && a.Issue != "" && a.Confidence > 0 && len(a.Terms) > 0; full != a.Ambiguous {
		t.Errorf("%.200q: ambiguous is %t with %+v", text, a.Ambiguous, a.Terms)
	}
	if a.Ambiguous && Analyse(a.Suggestion).Ambiguous {
		t.Errorf("%.200q has the ambiguous suggestion %q", text, a.Suggestion)
	}
	if len(a.Suggestion) > 4*maxSuggestion || utf8.RuneCountInString(a.Issue) > maxText || len(a.Question()) > 20*maxText {
		t.Errorf("%.200q is asked about at length", text)
	}
}

// goals draws texts that look like goals, and worse.
func goals() *rapid.Generator[string] {
	pieces := []string{
		"learn", "improve", "make", "it", "better", "and", "then", "write", "docs/a.md", "README.md", "fix", "clean up", "by 20%", "the", "tests", "pass", "research", "AI tools", "how to",
		"so that", "without", "do not", "until", "- ", "\n", "\n\n", "1. ", "2. ", ":", ",", ".", "?", "\"", "`", "“", "”", "'", "(", ")", "```\n", "# ", "to", "in", "of", "that", "all", "é", "\xff", "\x00", "„", "../x.md", "/etc",
		"explore options for", "optimize", "the database", "keep", "improving", "Constraints:", "Done when:", "something", "faster", "ein", "und", "der", "something cool", "*", "<", "%", "what", "not", "no", "continue",
	}
	return rapid.Custom(func(t *rapid.T) string {
		list := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 30).Draw(t, "pieces")
		gap := rapid.SampledFrom([]string{" ", "", "  "}).Draw(t, "gap")
		return strings.Join(list, gap)
	})
}

func TestSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { sound(t, goals().Draw(t, "goal")) })
}

func TestSoundOnAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { sound(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "goal"))) })
}

// Whatever stands behind a vague verb, the suggestion has an end.
func TestSuggestionsHaveAnEnd(t *testing.T) {
	t.Parallel()
	verbs := []string{"learn about ", "understand ", "explore ", "research ", "optimize ", "increase ", "improve ", "fix ", "work on ", "what is ", "polish "}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Zäß'"/.#-]{1,9}[,:]?`), 0, 8).Draw(t, "words")
		goal := rapid.SampledFrom(verbs).Draw(t, "verb") + strings.Join(words, " ")
		if a := Analyse(goal); a.Ambiguous && Analyse(a.Suggestion).Ambiguous {
			t.Errorf("%q has the ambiguous suggestion %q", goal, a.Suggestion)
		}
	})
}

// A named file makes every vague goal clear, and no goal smaller.
func TestFileMakesClear(t *testing.T) {
	t.Parallel()
	for _, g := range append(vagueGoals(), clearGoals()...) {
		before, after := Analyse(g), Analyse(g+"\n\nThen write docs/zz.md.")
		if after.Ambiguous || after.Size < before.Size || !strings.Contains(strings.Join(after.Deliverables, " "), "docs/zz.md") {
			t.Errorf("%q and a file gives %t, size %d after %d, %q", g, after.Ambiguous, after.Size, before.Size, after.Deliverables)
		}
	}
}

func TestQuotationsDoNotCount(t *testing.T) {
	t.Parallel()
	for _, g := range vagueGoals() {
		if strings.ContainsAny(g, "\n\"") || g == " " {
			continue
		}
		for _, marks := range []string{"``", `""`, "“”", "«»"} {
			m := []rune(marks)
			quoted := "add the label " + string(m[0]) + g + string(m[1])
			if a := Analyse(quoted); a.Ambiguous || len(a.Terms) > 0 || len(a.Deliverables) > 0 {
				t.Errorf("%q is judged by its quotation: %+v", quoted, a.Terms)
			}
		}
	}
}

// Goals of 64 KiB, made to be hard, would take minutes if anything were quadratic.
func TestLargeGoals(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"learn Python and ", "write docs/a.md, ", "- fix x.md\n", "1. ", "“", "\"", "` ", "( ", "to write ", "without ", "word", "so that ", "\xff", "keep improving "} {
		sound(t, strings.Repeat(s, 1<<16/len(s)))
	}
	var b strings.Builder
	for i := range 500 {
		b.WriteString("- write docs/f" + strings.Repeat("x", i%100) + string(rune('a'+i%26)) + ".md until p9" + " is under 5 ms\n- learn it\n")
	}
	a := Analyse(b.String())
	got := []int{len(a.Terms), len(a.Criteria), len(a.Milestones), len(a.Deliverables), a.Size}
	if diff := cmp.Diff([]int{maxTerms, maxCriteria, maxMilestones, maxDeliverables, maxSize}, got); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	if words := strings.Repeat("x", 1<<16); len(Analyse("learn " + words).Terms[0].Text) > maxTerm {
		t.Error("a term has the length of its goal")
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, g := range append(vagueGoals()[:12], clearGoals()[:40]...) {
		f.Add(g)
	}
	for _, g := range []string{"", "\xff", "“", "`a", "- ", "1. 2. 3.", "(1) a (2) b", "# \n:", "``` \n", "in a.md, add x", "to to to", "- [ ] ", "a:\n- b\n\nc:"} {
		f.Add(g)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, text) })
}

func FuzzMerge(f *testing.F) {
	f.Add("learn Go", []byte(`{"is_ambiguous":false,"issue":"","suggestion":"","success_criteria":[{"text":"go test passes","kind":"command"}],"milestones":[{"text":"x","file":"a.md"}]}`))
	f.Add("", []byte("{"))
	f.Fuzz(func(t *testing.T, text string, reply []byte) {
		a := Analyse(text)
		got, err := Merge(a, reply)
		if err != nil && !cmp.Equal(a, got) {
			t.Errorf("%q and %q fail and change %+v", text, reply, got)
		}
		if diff := cmp.Diff(a.Deliverables, got.Deliverables); diff != "" || got.Ambiguous && (got.Suggestion == "" || Analyse(got.Suggestion).Ambiguous) {
			t.Errorf("%q and %q give %+v", text, reply, got)
		}
	})
}
