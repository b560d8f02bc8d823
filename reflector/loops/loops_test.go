package loops

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/reflector"
)

// calls writes a list of calls with a letter each. A dot is a call that only
// waits, a question mark one whose arguments are unknown.
func calls(letters string) []reflector.Call {
	var out []reflector.Call
	for i, r := range letters {
		c := reflector.Call{Iteration: i + 1, Tool: "Bash", Brief: "run " + string(r), Same: string(r)}
		switch r {
		case '.':
			c.Tool, c.Brief, c.Same = "TaskOutput", "", "same"
		case '?':
			c.Same = ""
		}
		out = append(out, c)
	}
	return out
}

func TestFind(t *testing.T) {
	t.Parallel()
	const others = "mnopqrstuvwxyz"
	repeat := func(words string, i int) *Finding { return &Finding{Repeat, words, i} }
	pingPong := func(words string, i int) *Finding { return &Finding{PingPong, words, i} }
	cycle := func(words string, i int) *Finding { return &Finding{Cycle, words, i} }
	const (
		as = `Bash "run A", 3 times in a row`
		ab = `Bash "run A" and Bash "run B", 2 times in turn`
	)
	for _, c := range []struct {
		name, letters string
		want          *Finding
	}{
		{"nothing", "", nil},
		{"one", "A", nil},
		{"two equal", "AA", nil},
		{"three equal", "AAA", repeat(as, 3)},
		{"four equal", "AAAA", repeat(`Bash "run A", 4 times in a row`, 4)},
		{"many equal", strings.Repeat("A", 30), repeat(`Bash "run A", 30 times in a row`, 30)},
		{"three equal, not in a row", "AABA", nil},
		{"three equal after others", "mnoAAA", repeat(as, 6)},

		{"in turn, once and a half", "ABA", nil},
		{"in turn", "ABAB", pingPong(ab, 4)},
		{"in turn after others", "mnABAB", pingPong(ab, 6)},
		{"in turn, and the first again", "ABABA", pingPong(`Bash "run B" and Bash "run A", 2 times in turn`, 5)},
		{"in turn, three times", "ABABAB", pingPong(`Bash "run A" and Bash "run B", 3 times in turn`, 6)},
		{"a test after each of several edits", "TaTbTcTdTeTfT", nil},
		{"a test after edits that come back", "TaTbTaTbT", nil},
		{"a test after edits that come back twice", "TaTbTaTbTaTb", cycle(`Bash "run T", Bash "run a", Bash "run T" and Bash "run b", 3 times in turn`, 12)},
		{"in turn with another at the end", "ABAC", nil},
		{"in turn with another in the middle", "ABCAB", nil},

		{"three in turn, twice", "ABCABC", nil},
		{"three in turn, short by one", "ABCABCAB", nil},
		{"three in turn", "ABCABCABC", cycle(`Bash "run A", Bash "run B" and Bash "run C", 3 times in turn`, 9)},
		{"three in turn, four times and one more", "ABCABCABCABCA", cycle(`Bash "run B", Bash "run C" and Bash "run A", 4 times in turn`, 13)},
		{"three in turn with two equal", "AABAABAAB", cycle(`Bash "run A", Bash "run A" and Bash "run B", 3 times in turn`, 9)},
		{"four in turn, short by one", "ABCDABCDABC", nil},
		{"four in turn", "ABCDABCDABCD", cycle(`Bash "run A", Bash "run B", Bash "run C" and Bash "run D", 3 times in turn`, 12)},
		{"five in turn", strings.Repeat("ABCDE", 5), nil},

		{"a little ago", "AAAm", repeat(as, 3)},
		{"within ten calls", "AAA" + others[:7], repeat(as, 3)},
		{"just within the window", "AAA" + others[:9], repeat(as, 3)},
		{"half out of the window", "AAA" + others[:10], nil},
		{"more of it out of the window", "AAAAA" + others[:9], repeat(`Bash "run A", 5 times in a row`, 5)},
		{"long ago", "AAAAAA" + others, nil},
		{"in turn, just within the window", "ABAB" + others[:8], pingPong(ab, 4)},
		{"in turn, half out of the window", "ABAB" + others[:9], nil},
		{"four in turn, out of the window", "ABCDABCDABCD" + others[:1], nil},
		{"the one that ends last", "AAABCBC", pingPong(`Bash "run B" and Bash "run C", 2 times in turn`, 7)},
		{"the shortest round of those that end last", "ABABBB", repeat(`Bash "run B", 3 times in a row`, 6)},

		{"only waiting", "......", nil},
		{"waiting between", "A..A.A..", repeat(as, 6)},
		{"waiting between two in turn", ".A.B..A.B", pingPong(ab, 9)},
		{"waiting takes no room in the window", "AAA" + others[:4] + strings.Repeat(".", 40), repeat(as, 3)},
		{"waiting and calling in turn", "A.B.C.D.E.", nil},
		{"unknown arguments", "??????", nil},
		{"unknown arguments between", "A?A?A", nil},
	} {
		if diff := cmp.Diff(c.want, Find(calls(c.letters))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.letters, diff)
		}
	}
}

func TestSameNeedsToolAndArguments(t *testing.T) {
	t.Parallel()
	list := func(tools ...string) []reflector.Call {
		var out []reflector.Call
		for _, tool := range tools {
			out = append(out, reflector.Call{Tool: tool, Same: "equal"})
		}
		return out
	}
	if got := Find(list("Read", "Edit", "Write")); got != nil {
		t.Errorf("three tools: got %+v", got)
	}
	if diff := cmp.Diff(&Finding{Kind: Repeat, Words: "Read, 3 times in a row"}, Find(list("Read", "Read", "Read"))); diff != "" {
		t.Errorf("one tool (-want +got):\n%s", diff)
	}
	for _, tool := range []string{"BashOutput", "TaskOutput", "AgentOutput", "Monitor", "TodoWrite", "TaskList", "TaskGet", "ListMcpResourcesTool"} {
		if got := Find(list(tool, tool, tool, tool)); got != nil {
			t.Errorf("%s: got %+v", tool, got)
		}
	}
	for _, tool := range []string{"Bash", "Task", "Agent", "TaskStop", "mcp__lab__list", "ReadMcpResourceTool", "bashoutput"} {
		if got := Find(list(tool, tool, tool)); got == nil {
			t.Errorf("%s: got nothing", tool)
		}
	}
}

func TestFindLeavesTheCallsAlone(t *testing.T) {
	t.Parallel()
	list, want := calls("A.BA.B.."), calls("A.BA.B..")
	Find(list)
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, brief, want string }{
		{"both", "Bash", "make test", `Bash "make test"`},
		{"no argument", "Bash", " \n", "Bash"},
		{"no tool", "", "x", `a call "x"`},
		{"several lines", "Bash", "make\n\ttest", `Bash "make test"`},
		{"what acts on a terminal", "Ba\x1b[2Jsh", "a\x07b", `Ba\x1b[2Jsh "a\ab"`},
		{"another alphabet", "Bash", "größer 日本", `Bash "größer 日本"`},
		{"quotes", `a"`, `say "hi"`, `a\" "say \"hi\""`},
		{"a secret", "Bash", "curl -H ghp_0123456789abcdefghij x", `Bash "curl -H [redacted] x"`},
		{"long", strings.Repeat("é", 99), strings.Repeat("ü", 99), strings.Repeat("é", 39) + `… "` + strings.Repeat("ü", 79) + `…"`},
	} {
		if got := words(reflector.Call{Tool: c.tool, Brief: c.brief}); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFindingAsJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Finding{Repeat, "w", 3})
	if want := `{"kind":"repeat","words":"w","iteration":3}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

// found says by another way whether there is a repetition: it tries every round at
// every place of the last twelve calls that count.
func found(letters string) bool {
	letters = strings.ReplaceAll(letters, ".", "")
	letters = letters[max(0, len(letters)-12):]
	for i := range letters {
		for size, times := range map[int]int{1: 3, 2: 2, 3: 3, 4: 3} {
			if i+size <= len(letters) && strings.HasPrefix(letters[i:], strings.Repeat(letters[i:i+size], times)) {
				return true
			}
		}
	}
	return false
}

func TestFindAgreesWithASimplerSearch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("ABCD.")), 0, 30, -1).Draw(t, "calls")
		got := Find(calls(letters))
		if (got != nil) != found(letters) {
			t.Fatalf("%s: got %+v, want one: %t", letters, got, found(letters))
		}
		if got == nil {
			return
		}
		if strings.Contains(got.Words, "\n") || utf8.RuneCountInString(got.Words) > 800 || got.Iteration < 1 || got.Iteration > len(letters) || letters[got.Iteration-1] == '.' {
			t.Errorf("%s: %+v", letters, got)
		}
	})
}
