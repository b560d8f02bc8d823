package story

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []Story
	}{
		{"the least", "- goal: make it so\n", []Story{{ID: "make-it-so", Kind: Goal, Title: "make it so", Goal: "make it so"}}},
		{"everything", `
stories:
  - id: Login_1.x
    goal: |
      Let people log in.

      With a password.
    title: "  Log   in "
    after: [0002-db]
    paths:
      - src/login/**
      - "docs/{login,logout}.md"
    verify: [go test ./..., "make lint"]
    priority: 1
  - increment: 0002-db
    paths: db
`, []Story{
			{
				ID: "Login_1.x", Kind: Goal, Title: "Log in", Goal: "Let people log in.\n\nWith a password.", After: []string{"0002-db"},
				Paths: []string{"src/login/**", "docs/{login,logout}.md"}, Verify: []string{"go test ./...", "make lint"}, Priority: 1,
			},
			{ID: "0002-db", Kind: Increment, Title: "0002-db", Paths: []string{"db"}},
		}},
		{"JSON", `{"stories": [{"id": "a", "goal": "x", "after": "b", "priority": 9}, {"id": "b", "goal": "y", "verify": "true"}]}`, []Story{
			{ID: "a", Kind: Goal, Title: "x", Goal: "x", After: []string{"b"}, Priority: 9}, {ID: "b", Kind: Goal, Title: "y", Goal: "y", Verify: []string{"true"}},
		}},
		{"ids from titles", "- {goal: x, title: Fix the Login!}\n- {goal: fix the login}\n- {goal: y, id: Fix-The-Login-2}\n- {goal: 登录}\n- {goal: 注销}\n", []Story{
			{ID: "fix-the-login", Kind: Goal, Title: "Fix the Login!", Goal: "x"},
			{ID: "fix-the-login-3", Kind: Goal, Title: "fix the login", Goal: "fix the login"},
			{ID: "Fix-The-Login-2", Kind: Goal, Title: "y", Goal: "y"},
			{ID: "story", Kind: Goal, Title: "登录", Goal: "登录"},
			{ID: "story-2", Kind: Goal, Title: "注销", Goal: "注销"},
		}},
		{"texts that look like something else", "- {id: 007, goal: yes}\n- {id: 1.10, goal: 2026-01-02, after: 007}\n", []Story{
			{ID: "007", Kind: Goal, Title: "yes", Goal: "yes"}, {ID: "1.10", Kind: Goal, Title: "2026-01-02", Goal: "2026-01-02", After: []string{"007"}},
		}},
		{"nothing is as absent", "- {goal: x, title: , after: null, paths: ~, id: }\n", []Story{{ID: "x", Kind: Goal, Title: "x", Goal: "x"}}},
		{"an id made is one that others wait for", "- {goal: y, after: do-x}\n- {goal: do x}\n", []Story{
			{ID: "y", Kind: Goal, Title: "y", Goal: "y", After: []string{"do-x"}}, {ID: "do-x", Kind: Goal, Title: "do x", Goal: "do x"},
		}},
		{"aliases and repetitions", "- {goal: x, verify: &v [a, b, a]}\n- {goal: y, verify: *v}\n", []Story{
			{ID: "x", Kind: Goal, Title: "x", Goal: "x", Verify: []string{"a", "b"}}, {ID: "y", Kind: Goal, Title: "y", Goal: "y", Verify: []string{"a", "b"}},
		}},
		{"control characters and secrets", "- {goal: \"a\\e[31mb ghp_0123456789abcdef0123\"}\n", []Story{{ID: "ab-redacted", Kind: Goal, Title: "ab [redacted]", Goal: "ab [redacted]"}}},
		{"long titles", "- goal: " + strings.Repeat("word ", 40) + "\n", []Story{{
			ID: "word-word-word-word-word-word-word-word", Kind: Goal, Title: strings.Repeat("word ", 15) + "word…", Goal: strings.TrimSpace(strings.Repeat("word ", 40)),
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseFile([]byte(tt.text), "stories.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stories (-want +got):\n%s", diff)
			}
			if err := Check(got); err != nil {
				t.Errorf("what was accepted is refused: %v", err)
			}
		})
	}
}

func TestParseFileRefuses(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name, text string
		want       []string // lines of the error, or parts of them
	}{
		{"empty", "", []string{"s.yaml: there are none"}},
		{"only comments", "# none\n", []string{"s.yaml: there are none"}},
		{"empty list", "[]", []string{"s.yaml: there are none"}},
		{"empty mapping", "{}", []string{"s.yaml: there are none"}},
		{"nothing", "stories:\n", []string{"s.yaml: there are none"}},
		{"text", "hello", []string{"s.yaml: line 1: neither a list nor a mapping"}},
		{"stories is a text", "stories: hello", []string{"s.yaml: line 1: neither a list nor a mapping"}},
		{"no YAML", "- goal: x\n  - y: {\n", []string{"s.yaml: line "}},
		{"two documents", "- goal: x\n---\n- goal: y\n", []string{"s.yaml: something follows"}},
		{"too large", strings.Repeat(" ", 1<<20+1), []string{"s.yaml has 1048577 bytes"}},
		{"too many", strings.Repeat("- goal: x\n", 101), []string{"there are 101: there may be 100"}},
		{"unknown keys, in their lines", "stories:\n- goal: x\n  pirority: 1\n- goal: y\n  depends: [x]\n", []string{
			`s.yaml:3: unknown key "pirority", the nearest known is "priority"`, `s.yaml:5: unknown key "depends", the nearest known is "`,
		}},
		{"unknown key at the top", "storys:\n- goal: x\n", []string{`s.yaml:1: unknown key "storys", the nearest known is "stories"`}},
		{"key twice", "- goal: x\n  goal: y\n", []string{`s.yaml:2: the key "goal" is there twice`}},
		{"no word as key", "- goal: x\n  [a]: y\n", []string{`s.yaml:2: a key is a word, not a list`}},
		{"not a mapping", "- goal: x\n- hello\n- [a]\n-\n", []string{"s.yaml:2: a story is a mapping", "s.yaml:3: a story is a mapping with keys such as goal, not a list", "s.yaml:4: a story is a mapping with keys such as goal, not nothing"}},
		{"neither", "- title: x\n", []string{"s.yaml:1: a story has a goal or an increment: this one has neither"}},
		{"both", "- goal: x\n  increment: 0001-x\n", []string{"s.yaml:1: a story has a goal or an increment, not both"}},
		{"an increment has its id", "- increment: 0001-x\n  id: y\n", []string{`s.yaml:1: the id "y" is not the increment "0001-x"`}},
		{"an increment has its checks", "- increment: 0001-x\n  verify: a\n", []string{"s.yaml:1: 0001-x: an increment has its own checks"}},
		{"an increment is a folder", "- increment: ../x\n", []string{`s.yaml:1: ../x: "../x" is no id`}},
		{"kinds of values", "- goal: [x]\n  after: {a: b}\n- goal: x\n  verify: [[a]]\n  priority: high\n- goal: y\n  paths: [a, null]\n  priority: 10\n", []string{
			"s.yaml:1: goal is a text, not a list", "s.yaml:2: after is a list of texts, not a mapping",
			"s.yaml:4: an entry of verify is a text, not a list", "s.yaml:5: priority is a number from 0 to 9", "s.yaml:7: an entry of paths is empty", "s.yaml:8: priority is a number",
		}},
		{"empty goal", "- goal: ''\n- goal: x\n  increment: ''\n", []string{"s.yaml:1: story: the goal is empty", "s.yaml:2: a story has a goal or an increment, not both"}},
		{"binary", "- goal: !!binary aGVsbG8=\n", []string{"s.yaml:1: goal is a text, not binary data"}},
		{"ids", "- {id: a b, goal: x}\n- {id: .x, goal: x}\n- {id: a..b, goal: x}\n- {id: x.lock, goal: x}\n- {id: x., goal: x}\n- {id: -x, goal: x}\n- {id: " + long(65) + ", goal: x}\n- {id: é, goal: x}\n", []string{
			`:1: a b: "a b" is no id`, ":2: .x", ":3: a..b", ":4: x.lock", ":5: x.:", ":6: -x", ":7: xxx", ":8: é",
		}},
		{"ids twice", "- {id: a, goal: x}\n- {id: A, goal: y}\n", []string{`s.yaml:2: A: story 1 has the id "a" already`}},
		{"paths", "- {goal: x, paths: [/etc, a/../b]}\n", []string{"top of the repository", "leads out"}},
		{"commands", "- {goal: x, verify: [\"  \", \"a\\u0007\", \"TOKEN=abcdefgh\"]}\n", []string{"command to verify is empty", "has control characters", "looks like a secret"}},
		{
			"too much", "- {goal: " + long(8001) + "}\n- {goal: y, title: " + long(32001) + "}\n- {goal: z, paths: [" + strings.Join(strings.Fields(strings.Repeat("p ", 65)), ",") + "]}\n",
			[]string{"s.yaml:1: xxx", "s.yaml:2: title is longer", "s.yaml:3: paths has 65 entries"},
		},
		{"unknown dependency", "- {id: login, goal: x, after: lgoout}\n- {id: logout, goal: y}\n", []string{`s.yaml:1: login: waits for "lgoout", which is not among the stories; the nearest is "logout"`}},
		{"ring", "- {id: a, goal: x, after: [b]}\n- {id: b, goal: x, after: [d, c]}\n- {id: c, goal: x, after: [a]}\n- {id: d, goal: x}\n- {id: e, goal: x, after: e}\n- {id: f, goal: x, after: a}\n", []string{
			"s.yaml:1: a: waits for itself: a after b after c after a", "s.yaml:5: e: waits for itself: e after e",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseFile([]byte(tt.text), "s.yaml")
			if err == nil || got != nil {
				t.Fatalf("got %v and no error", got)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tt.want) {
				t.Errorf("got %d lines, want %d:\n%v", len(lines), len(tt.want), err)
			}
			for i := range min(len(lines), len(tt.want)) {
				if !strings.Contains(lines[i], tt.want[i]) {
					t.Errorf("line %d: got %q, want %q in it", i, lines[i], tt.want[i])
				}
			}
		})
	}
}

func TestParseFileTellsTwenty(t *testing.T) {
	t.Parallel()
	_, err := ParseFile([]byte(strings.Repeat("- {}\n", 30)), "s.yaml")
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 21 || lines[20] != "and 10 more" {
		t.Errorf("got %d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	good := Story{ID: "a", Kind: Goal, Title: "a", Goal: "a"}
	if err := Check([]Story{good}); err != nil {
		t.Errorf("got %v, want no error", err)
	}
	if err := Check(make([]Story, 101)); err == nil || !strings.Contains(err.Error(), "101 stories are too many") {
		t.Errorf("got %v, want that they are too many", err)
	}
	bad := map[string]func(*Story){
		"no kind of story":           func(s *Story) { s.Kind = "epic" },
		"goal is empty":              func(s *Story) { s.Goal = " " },
		"no goal of its own":         func(s *Story) { s.Kind = Increment },
		"title is not one line":      func(s *Story) { s.Title = "a\nb" },
		"title is not one line ":     func(s *Story) { s.Title = "" },
		"priority -1":                func(s *Story) { s.Priority = -1 },
		"it waits for 65":            func(s *Story) { s.After = make([]string, 65) },
		"story 1 (a): it has 17 com": func(s *Story) { s.Verify = slicesOf("true", 17) },
		"longer than 2000":           func(s *Story) { s.Verify = []string{strings.Repeat("x", 2001)} },
	}
	for part, change := range bad {
		s := good
		change(&s)
		if err := Check([]Story{s}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(part)) {
			t.Errorf("got %v, want %q in it", err, part)
		}
	}
	rings := []Story{{ID: "a", After: []string{"b"}}, {ID: "b", After: []string{"a", "x"}}}
	if err := Check([]Story{good}); err != nil {
		t.Errorf("got %v, want that dependencies are not looked at", err)
	}
	err := fmt.Sprint(joined(disorder(rings), rings))
	for _, part := range []string{"story 1 (a): waits for itself: a after b after a", `story 2 (b): waits for "x"`} {
		if !strings.Contains(err, part) {
			t.Errorf("got %v, want %q in it", err, part)
		}
	}
}

func slicesOf(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(s, i)
	}
	return out
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]Story{
		"":            {ID: "a", Kind: Goal, Item: "goal-1"},
		"0001-a":      {ID: "0001-a", Kind: Increment},
		"0001-größer": {ID: "0001-gr-er", Kind: Increment, Item: "0001-größer"},
	} {
		if got := s.Folder(); got != want {
			t.Errorf("%+v: got %q, want %q", s, got, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"- goal: x\n", "stories: [{goal: y, after: [x], id: z}]", `[{"increment": "0001-a"}]`, "- &a {goal: *a}", "- {? [x] : y, <<: *z}", "a: &a [*a]", "- goal: x\n  verify: !!set {a}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParseFile(data, "s.yaml")
		if (err == nil) != (len(got) > 0) {
			t.Fatalf("got %d stories and the error %v", len(got), err)
		}
		if err != nil {
			return
		}
		if err := Check(got); err != nil {
			t.Errorf("what was accepted is refused: %v", err)
		}
		if err := joined(disorder(got), got); err != nil {
			t.Errorf("what was accepted is refused: %v", err)
		}
	})
}
