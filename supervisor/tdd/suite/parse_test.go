package suite

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

// parse runs the parser of a runner over results.
func parse(r Runner, data []byte) *tally {
	var s stream
	switch r {
	case Jest, Vitest:
		return parseJSON(bytes.NewReader(data), "/project", r == Vitest)
	case Pytest:
		return parseJUnit(bytes.NewReader(data))
	case Go:
		s = newGoStream()
	case Cargo:
		s = &cargoStream{}
	case TAP:
		s = &tapStream{}
	case Node:
		s = &nodeStream{}
	}
	lines := splitter{feed: s.line}
	_, _ = lines.Write(data)
	lines.close()
	return s.finish()
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func counts(passed, failed, skipped int) tdd.Results {
	return tdd.Results{Passed: passed, Failed: failed, Skipped: skipped, Total: passed + failed + skipped}
}

func TestRecordedResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file    string
		runner  Runner
		want    tdd.Results
		broken  int
		failing []string
		passing []string
	}{
		{
			"go.jsonl", Go, counts(3, 2, 0), 5,
			[]string{"example.com/m/g", "example.com/m/a", "example.com/m/b", "example.com/m/c/TestPanic", "example.com/m/d", "example.com/m/f", "example.com/m/e/TestExit"},
			[]string{"example.com/m/c/TestOK", "example.com/m/d/TestOK", "example.com/m/e/TestOK"},
		},
		{
			"jest.json", Jest, counts(3, 4, 2), 3,
			[]string{
				"test/a.test.js > bad", "test/a.test.js > outer > snap", "test/e.test.js > s > one", "test/e.test.js > s > two",
				"test/c.test.js", "test/b.test.js", "test/d.test.js",
			},
			[]string{"test/a.test.js > good", "test/a.test.js > outer > inner > deep", "test/c.test.js > fine"},
		},
		{
			"vitest4.json", Vitest, counts(4, 2, 4), 3,
			[]string{"test/a.test.js > bad", "test/a.test.js > outer > snap", "test/b.test.js", "test/c.test.js", "test/e.test.js"},
			[]string{"test/a.test.js > good", "test/a.test.js > outer > inner > deep", "test/a.test.js > xfail", "test/c.test.js > fine"},
		},
		{"vitest3.json", Vitest, counts(1, 1, 3), 1, []string{"test/a.test.js > bad", "test/b.test.js"}, []string{"test/a.test.js > good"}},
		{"vitest2.json", Vitest, counts(1, 1, 3), 1, []string{"test/a.test.js > bad", "test/b.test.js"}, []string{"test/a.test.js > good"}},
		{"vitest1.json", Vitest, counts(1, 1, 3), 1, []string{"test/a.test.js > bad", "test/b.test.js"}, []string{"test/a.test.js > good"}},
		{"vitest-none.json", Vitest, counts(0, 0, 0), 0, nil, nil},
		{
			"pytest.xml", Pytest, counts(5, 6, 2), 0,
			[]string{
				"tests.test_a::test_bad", "tests.test_a::test_xpass_strict", "tests.test_a::test_setup", "tests.test_a::test_teardown",
				"tests.test_a::test_both", "tests.test_a::test_param[3]",
			},
			[]string{"tests.test_a.TestK::test_in", "tests.test_a::test_good", "tests.test_a::test_param[1]", `tests.test_a::test_param[a\x00b]`, "tests.test_a::test_xpass"},
		},
		{"pytest-collect.xml", Pytest, counts(0, 0, 0), 1, []string{"tests.test_b"}, nil},
		{
			"cargo.txt", Cargo, counts(4, 3, 2), 0,
			[]string{"demo/tests::bad", "it/outer_bad", "demo/src/lib.rs - add (line 7)"},
			[]string{"demo/src/lib.rs - add (line 3)", "demo/tests::good", "demo/tests::panics", "it/outer"},
		},
		{"cargo-broken.txt", Cargo, counts(0, 0, 0), 1, []string{"demo"}, nil},
		{
			"cargo-abort.txt", Cargo, counts(4, 3, 2), 1,
			[]string{"demo/tests::bad", "it/(ended before its tests did)", "it/outer_bad", "demo/src/lib.rs - add (line 7)"},
			[]string{"demo/src/lib.rs - add (line 3)", "demo/tests::good", "demo/tests::panics", "it/outer"},
		},
		// Of node's five failures one is a file that does not load; "parent" failed because
		// of its subtest, and is no name of its own.
		{
			"node20.tap", Node, counts(4, 4, 2), 1,
			[]string{"bad # hash", "parent > kid bad", "suite > in suite bad", "/project/test/c.test.js"},
			[]string{"b good", "good", "parent > kid ok", "suite > in suite"},
		},
		{"tap14.tap", TAP, counts(2, 1, 2), 0, []string{"three # not a directive"}, []string{"one", "four"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			var m tdd.Measured
			tl := parse(c.runner, sample(t, c.file))
			tl.into(&m)
			if !m.Counted || m.Results != c.want || m.Broken != c.broken {
				t.Errorf("counted %v (%s): %+v, %d broken; want %+v, %d broken", m.Counted, tl.flaw, m.Results, m.Broken, c.want, c.broken)
			}
			if d := cmp.Diff(c.failing, m.Failing); d != "" {
				t.Errorf("failing (-want +got):\n%s", d)
			}
			var passing []string
			for name := range m.Passing {
				passing = append(passing, name)
			}
			slices.Sort(passing)
			slices.Sort(c.passing)
			if d := cmp.Diff(c.passing, passing); d != "" {
				t.Errorf("passing (-want +got):\n%s", d)
			}
		})
	}
}

// event is a line of go test -json.
func event(action, pkg, test string) string {
	return fmt.Sprintf("{\"Action\":%q,\"Package\":%q,\"Test\":%q}\n", action, pkg, test)
}

func TestMadeUpResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		runner Runner
		in     string
		want   tdd.Results
		broken int
		flaw   string // part of it; empty when the numbers hold
	}{
		{"go: no output", Go, "", counts(0, 0, 0), 0, "not that of go test"},
		{"go: text", Go, "ok  \tx\t0.1s\n", counts(0, 0, 0), 0, "not that of go test"},
		{"go: no test files", Go, event("start", "x", "") + event("skip", "x", ""), counts(0, 0, 0), 0, ""},
		{"go: no packages", Go, "go: warning\nno packages to test\n", counts(0, 0, 0), 0, ""},
		{"go: cut off", Go, event("run", "x", "TestA") + event("pass", "x", "TestA"), counts(0, 0, 0), 0, "ends before"},
		{"go: subtests", Go, event("run", "x", "TestA") + event("run", "x", "TestA/b") + event("fail", "x", "TestA/b") +
			event("fail", "x", "TestA") + event("fail", "x", ""), counts(0, 1, 0), 0, ""},
		{"go: a subtest has passed", Go, event("run", "x", "TestA") + event("run", "x", "TestA/b") + event("pass", "x", "TestA/b") + event("fail", "x", ""), counts(0, 1, 0), 0, ""},
		{"go: running at the end", Go, event("run", "x", "TestA") + event("run", "x", "TestB") + event("pause", "x", "TestB") +
			event("fail", "x", ""), counts(0, 1, 0), 0, ""},
		{"go: running twice", Go, event("run", "x", "TestA") + event("fail", "x", "TestA") + event("run", "x", "TestA") +
			event("pass", "x", "TestA") + event("fail", "x", ""), counts(0, 1, 0), 0, ""},
		{"go: build that no package names", Go, `{"ImportPath":"y [y.test]","Action":"build-fail"}` + "\n", counts(0, 0, 0), 1, ""},
		{"go: early versions", Go, "# x\nx.go:1: syntax error\nFAIL\tx [build failed]\n" + event("pass", "y", ""), counts(0, 0, 0), 1, ""},
		{
			"go: between other lines", Go, "go: downloading\n{\"Action\":\n{}\n" + event("pass", "x", "TestA") + "null\n" + event("pass", "x", ""),
			counts(1, 0, 0), 0, "",
		},
		{"go: skipped", Go, event("run", "x", "TestA") + event("skip", "x", "TestA") + event("pass", "x", ""), counts(0, 0, 1), 0, ""},

		{"jest: cut off", Jest, `{"numTotalTests":0,"testResults":[`, counts(0, 0, 0), 0, "not complete"},
		{"jest: other JSON", Jest, `{"testResults":[]}`, counts(0, 0, 0), 0, "-1 tests"},
		{"jest: an array", Jest, `[]`, counts(0, 0, 0), 0, "not complete"},
		{
			"jest: contradiction", Jest, `{"numTotalTests":2,"testResults":[{"name":"/project/a","status":"passed","assertionResults":[{"title":"x","status":"passed"}]}]}`,
			counts(1, 0, 0), 0, "speak of 2",
		},
		{"jest: interrupted", Jest, `{"numTotalTests":0,"testResults":[],"wasInterrupted":true}`, counts(0, 0, 0), 0, "interrupted"},
		{"jest: coverage within", Jest, `{"coverageMap":{"a":[1,{"b":[]}]},"numTotalTests":0,"testResults":[],"x":1}`, counts(0, 0, 0), 0, ""},
		{"jest: new status", Jest, `{"numTotalTests":0,"testResults":[{"assertionResults":[{"status":"odd"}]}]}`, counts(0, 0, 0), 0, `status "odd"`},
		{
			"vitest: nothing ran", Vitest, `{"numTotalTests":1,"testResults":[{"name":"/project/a","status":"passed","assertionResults":[{"title":"x","status":"pending"}]}]}`,
			counts(0, 0, 1), 0, "1 tests did not run",
		},

		{"junit: cut off", Pytest, `<testsuites><testsuite><testcase classname="a" name="b"/>`, counts(1, 0, 0), 0, "not complete"},
		{"junit: empty file", Pytest, ``, counts(0, 0, 0), 0, "not JUnit"},
		{"junit: other XML", Pytest, `<html><testcase classname="a" name="b"/></html>`, counts(1, 0, 0), 0, "not JUnit"},
		{
			"junit: nested suites", Pytest, `<testsuite><testsuite><testcase classname="a" name="b"/></testsuite><testcase classname="a" name="c"><failure/></testcase></testsuite>`,
			counts(1, 1, 0), 0, "",
		},
		{"junit: failed, then skipped", Pytest, `<testsuite><testcase classname="a" name="b"><failure/><skipped/></testcase></testsuite>`, counts(0, 1, 0), 0, ""},
		{
			"junit: internal error", Pytest, `<testsuites><testsuite><testcase classname="pytest" name="internal"><error message="internal error"/></testcase></testsuite></testsuites>`,
			counts(0, 0, 0), 1, "",
		},

		{"tap: no plan", TAP, "ok 1\nok 2\n", counts(2, 0, 0), 0, "no plan"},
		{"tap: too few", TAP, "1..3\nok 1\nnot ok 2\n", counts(1, 1, 0), 1, ""},
		{"tap: too many", TAP, "1..1\nok 1\nok 2\n", counts(2, 0, 0), 1, ""},
		{"tap: bail out", TAP, "1..2\nok 1\nBail out! no database\n", counts(1, 0, 0), 1, ""},
		{"tap: nothing to do", TAP, "TAP version 14\n1..0 # SKIP no\n", counts(0, 0, 0), 0, ""},
		{"tap: two in a row", TAP, "1..1\nok\nTAP version 13\nok - b\n1..1\n", counts(2, 0, 0), 0, ""},
		{"tap: words that look like it", TAP, "okay\nnot okay\nok-ish\n1..x\n1..1\nok 1\n", counts(1, 0, 0), 0, ""},
		{"tap: huge plan", TAP, "1..99999999999999999999\n", counts(0, 0, 0), 0, "not believed"},
		{"tap: to be done", TAP, "1..2\nnot ok 1 - a # TODO later\nok 2 - b # todo\n", counts(0, 0, 2), 0, ""},

		{"node: cut off", Node, "TAP version 13\nok 1 - a\n", counts(0, 0, 0), 0, "not complete"},
		{"node: printed by a test", Node, "# tests 9\n# pass 9\n# fail 0\nnot ok 1 - a\n1..1\n# tests 1\n# pass 0\n# fail 1\n", counts(0, 1, 0), 0, ""},
		{"node: contradiction", Node, "1..1\n# tests 3\n# pass 1\n# fail 1\n", counts(1, 1, 0), 0, "speak of 3"},
		{"node: cancelled", Node, "not ok 1 - a\n1..1\n# tests 1\n# pass 0\n# fail 0\n# cancelled 1\n", counts(0, 1, 0), 0, ""},

		{"cargo: other text", Cargo, "hello\n", counts(0, 0, 0), 0, "not that of cargo"},
		{
			"cargo: no tests", Cargo, "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
			counts(0, 0, 0), 0, "",
		},
		{"cargo: terse", Cargo, "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", counts(2, 0, 0), 0, ""},
		{
			"cargo: counts that do not fit", Cargo, "running 2 tests\ntest a ... ok\ntest result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
			counts(1, 0, 0), 1, "",
		},
		{"cargo: printed by a test", Cargo, "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\nrunning 5 tests\n" +
			"test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n\nfailures:\n    a\n\n" +
			"test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n", counts(0, 1, 0), 0, ""},
		{
			"cargo: in colour", Cargo, "running 1 test\ntest a ... \x1b[32mok\x1b[m\n\ntest result: \x1b[32mok\x1b[m. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
			counts(1, 0, 0), 0, "",
		},
		{"cargo: two binaries of doc tests", Cargo, "   Doc-tests a\nrunning 1 test\ntest a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n" +
			"running 1 test\ntest b ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", counts(2, 0, 0), 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := parse(c.runner, []byte(c.in))
			got.sum()
			if got.Results != c.want || got.broken != c.broken {
				t.Errorf("got %+v, %d broken; want %+v, %d broken", got.Results, got.broken, c.want, c.broken)
			}
			if (c.flaw == "") != (got.flaw == "") || !strings.Contains(got.flaw, c.flaw) {
				t.Errorf("got flaw %q, want one with %q", got.flaw, c.flaw)
			}
		})
	}
}

func TestNumbersThatAreNotBelievedAreZero(t *testing.T) {
	t.Parallel()
	var m tdd.Measured
	tl := tally{flaw: "it was cut off"}
	tl.add("a", failed)
	tl.add("b", passed)
	tl.into(&m)
	want := tdd.Measured{Failing: []string{"a"}}
	if d := cmp.Diff(want, m); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var tl tally
	tl.add("login ghp_0123456789abcdefghijABCDEFGHIJ\nnext \x1b[31mred\x1b[0m", failed)
	tl.add(strings.Repeat("ü", 400), failed)
	tl.add("", failed)
	tl.add("twice", passed)
	tl.add("twice", failed)
	tl.add("twice", passed)
	for i := range 2 * maxFailing {
		tl.add(fmt.Sprint("n", i), failed)
	}
	var m tdd.Measured
	tl.into(&m)
	if len(m.Failing) != maxFailing {
		t.Errorf("got %d names, want %d", len(m.Failing), maxFailing)
	}
	want := []string{"login [redacted] next red", strings.Repeat("ü", 299) + "…", "(a test without a name)", "twice"}
	if d := cmp.Diff(want, m.Failing[:4]); d != "" {
		t.Errorf("failing (-want +got):\n%s", d)
	}
	if len(m.Passing) != 0 {
		t.Errorf("passing: got %v; what failed once has not passed", m.Passing)
	}
}

func TestTooManyNamesAreNone(t *testing.T) {
	t.Parallel()
	var tl tally
	for i := range maxNames + 1 {
		tl.add(fmt.Sprint("n", i), passed)
	}
	var m tdd.Measured
	tl.into(&m)
	if !m.Counted || m.Passed != maxNames+1 || m.Passing != nil {
		t.Errorf("counted %v, %d passed, %d names; want all counted and no names", m.Counted, m.Passed, len(m.Passing))
	}
}

func TestLinesAreSplitAndBounded(t *testing.T) {
	t.Parallel()
	var got []string
	s := splitter{feed: func(b []byte) { got = append(got, string(b)) }}
	for _, piece := range []string{"a", "b\n", "\nc\nd", strings.Repeat("x", maxLine), "\n", strings.Repeat("y", maxLine+1), "\nok\n", "last"} {
		if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	s.close()
	if d := cmp.Diff([]string{"ab", "", "c", "ok", "last"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestOutputOfGoIsThatOfWhatFailed(t *testing.T) {
	t.Parallel()
	out := func(test, text string) string {
		return fmt.Sprintf("{\"Action\":\"output\",\"Package\":\"x\",\"Test\":%q,\"Output\":%q}\n", test, text)
	}
	in := event("run", "x", "TestA") + out("TestA", "=== RUN   TestA\n") + out("TestA", "fine\n") + event("pass", "x", "TestA") +
		event("run", "x", "TestB") + out("TestB/sub", "    got 1, token: abcdefgh1234\n") + event("fail", "x", "TestB") +
		out("", "FAIL x\n") + event("fail", "x", "")
	s := newGoStream()
	lines := splitter{feed: s.line}
	_, _ = lines.Write([]byte(in))
	s.finish()
	if got, want := s.text.shown(), "    got 1, [redacted]\nFAIL x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if s.pending != 0 || s.begun != 0 {
		t.Errorf("%d bytes and %d tests are still kept", s.pending, s.begun)
	}
}

func TestEndOfText(t *testing.T) {
	t.Parallel()
	var e ending
	for i := range 100_000 {
		e.add(fmt.Sprintf("line %d ü\n", i))
	}
	got := e.shown()
	if len(got) > 8<<10 || !strings.HasPrefix(got, "…line ") || !strings.HasSuffix(got, "line 99999 ü\n") {
		t.Errorf("got %d bytes: %.40q", len(got), got)
	}
}
