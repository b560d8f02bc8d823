package testgate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd/suite"
)

// TestExcerpts reads output that was composed in the form of each runner.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	const jest = "FAIL src/a.test.js\n  cart\n    ✓ is empty (1 ms)\n    ✕ adds (3 ms)\n\n  ● cart › adds\n\n    expect(received).toBe(expected)\n\n" +
		"      at Object.<anonymous> (src/a.test.js:3:13)\n\n  ● cart › adds nothing\n\n    of another\n\nFAIL src/b.test.js\n  ● Test suite failed to run\n\n    Cannot find module './missing' from 'src/b.test.js'\n\nTests: 2 failed\n"
	const vitest = " FAIL  src/a.test.js > cart > adds\nAssertionError: expected 1 to be 2\n ❯ src/a.test.js:4:13\n\n FAIL  src/b.test.js [ src/b.test.js ]\nError: Failed to resolve import\n"
	const pytest = "=== FAILURES ===\n___________ test_adds ___________\n\n    def test_adds():\n>       assert 1 == 2\nE       assert 1 == 2\n\ntests/test_a.py:4: AssertionError\n" +
		"_______ TestCart.test_b _______\ntests/test_a.py:9: in test_b\n    of another\n=== short test summary info ===\nFAILED tests/test_a.py::test_adds\n"
	const node = "✖ adds (1.2ms)\nℹ tests 2\n\n✖ failing tests:\n\ntest at src/a.test.js:3:1\n✖ adds (1.2ms)\n  AssertionError [ERR_ASSERTION]: 1 !== 2\n      at TestContext.<anonymous> (file://REPO/src/a.test.js:4:10)\n"
	const cargo = "failures:\n\n---- tests::adds stdout ----\nthread 'tests::adds' panicked at src/lib.rs:9:9:\nno such luck\n\n---- tests::b stdout ----\nof another\n"
	const goText = "    a_test.go:6: no such luck\n--- FAIL: TestA/x (0.00s)\n--- FAIL: TestA (0.00s)\n    b_test.go:1: of another\n--- FAIL: TestB (0.00s)\npanic: boo [recovered]\n\ngoroutine 1 [running]:\n\tREPO/src/b_test.go:12 +0x4d\nFAIL\texample.com/m/src\t0.1s\n# example.com/m/c [example.com/m/c.test]\nsrc/a.go:3:1: undefined: F\nFAIL\texample.com/m/c [build failed]\n"
	repo := t.TempDir()
	for _, name := range []string{"src/a.test.js", "src/b.test.js", "tests/test_a.py", "src/lib.rs", "src/a_test.go", "src/b_test.go", "src/a.go"} {
		name = filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		runner suite.Runner
		output string
		name   string
		has    string
		file   string
	}{
		{suite.Jest, jest, "src/a.test.js > cart > adds", "expect(received)", "src/a.test.js:3"},
		{suite.Jest, jest, "src/b.test.js", "Cannot find module", ""},
		{suite.Jest, jest, "src/a.test.js > cart > unknown", "", "src/a.test.js"},
		{suite.Vitest, vitest, "src/a.test.js > cart > adds", "expected 1 to be 2", "src/a.test.js:4"},
		{suite.Vitest, vitest, "src/b.test.js", "Failed to resolve", ""},
		{suite.Pytest, pytest, "tests.test_a::test_adds", "assert 1 == 2", "tests/test_a.py:4"},
		{suite.Pytest, pytest, "tests.test_a.TestCart::test_c", "", "tests/test_a.py"},
		{suite.Node, node, "adds", "1 !== 2", "src/a.test.js:4"},
		{suite.Cargo, cargo, "m/tests::adds", "no such luck", "src/lib.rs:9"},
		{suite.Go, goText, "example.com/m/src/TestA", "no such luck", "src/a_test.go:6"},
		{suite.Go, goText, "example.com/m/src/TestB", "panic: boo", "src/b_test.go:1"},
		{suite.Go, goText, "example.com/m/c", "undefined: F", "src/a.go:3"},
		{suite.Go, goText, "example.com/m/d", "", ""},
		{suite.Exit, "", "", "", ""},
	} {
		text := excerptsOf(c.runner, strings.ReplaceAll(c.output, "REPO", repo)).of(c.name)
		if c.has == "" != (text == "") || !strings.Contains(text, c.has) || c.name != "example.com/m/src/TestB" && strings.Contains(text, "of another") {
			t.Errorf("%s: excerpt of %s is %q, want one with %q", c.runner, c.name, text, c.has)
		}
		if got := placeOf(repo, c.name, text); got != c.file {
			t.Errorf("%s: place of %s is %q, want %q", c.runner, c.name, got, c.file)
		}
	}
}

// TestPlaceStaysInside: only what is in the repository is taken for a file of it.
func TestPlaceStaysInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	repo := filepath.Join(outside, "repo")
	for _, name := range []string{filepath.Join(outside, "a.js"), filepath.Join(repo, "b.js")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"at ../a.js:1":              "",
		"at " + outside + "/a.js:1": "",
		"at " + repo + "/b.js:7:1":  "b.js:7",
		"at ../a.js:1, b.js:2":      "b.js:2",
		"at c.js:1":                 "",
	} {
		if got := placeOf(repo, "x", text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestJudgeText(t *testing.T) {
	t.Parallel()
	got := map[string]Class{}
	want := map[string]Class{
		"":                                   Fixable,
		"expected 1 to be 2":                 Fixable,
		"Error: connect ECONNREFUSED ::1:80": Transient,
		"page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000": Transient,
		"getaddrinfo ENOTFOUND registry.example":                          Transient,
		"listen tcp :80: bind: address already in use":                    Transient,
		"MY_ECONNREFUSED_CASE":                                            Fixable,
		"not equal\n  3 | try {\n> 4 |   code = 'ECONNREFUSED'\n":         Fixable,
		"not equal\n> 4 |   code\nECONNREFUSED":                           Transient,
		"write: ENOSPC":                                                   External,
		"Executable doesn't exist at /x/chrome":                           External,
	}
	for text := range want {
		got[text] = judgeText(text).class
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzExcerpts holds that no output makes the reading of it fail.
func FuzzExcerpts(f *testing.F) {
	for _, s := range []string{"--- FAIL: T (0.00s)\npanic: x\n", "# p\n--- FAIL: ", "● a › b\n", "____ x ____", "FAIL\t", "/a.js:1"} {
		f.Add(s, "p/T")
	}
	f.Fuzz(func(t *testing.T, output, name string) {
		for _, r := range []suite.Runner{suite.Go, suite.Jest} {
			text := excerptsOf(r, output).of(name)
			if len(text) > 2*len(output)+len("\n\n") {
				t.Errorf("%d bytes of %d", len(text), len(output))
			}
			judgeText(text)
			if at := placeOf("/nowhere", name, text); at != "" {
				t.Errorf("place %q in no repository", at)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a\nb", "\x1b[31mred", "äöü", "\xff", "token=abcdefgh"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = 1 + max(n, -n)&0xff
		if got := lastLines(s, n+len(ellipsis)); len(got) > n+len(ellipsis) {
			t.Errorf("%d bytes, want at most %d", len(got), n+len(ellipsis))
		}
		if got := line(s, n); len([]rune(got)) > n || strings.ContainsAny(got, "\n\r\t\x1b") {
			t.Errorf("line is %q", got)
		}
		for _, wrapped := range []string{fenced(s), code(s)} {
			if !strings.Contains(wrapped, s) {
				t.Errorf("%q is not in %q", s, wrapped)
			}
		}
	})
}
