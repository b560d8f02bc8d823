package testgate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/testgate"
)

func red(class testgate.Class, name string) testgate.Report {
	return testgate.Report{Class: class, Summary: "red", Failures: []testgate.Failure{{Suite: testgate.Unit, Name: name, Class: class, Way: "a way"}}}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r            testgate.Report
		fixes, again int
		want         testgate.Decision
	}{
		{testgate.Report{Passed: true, Summary: "green"}, 0, 0, testgate.Pass},
		{testgate.Report{Passed: true, Summary: "green"}, 9, 9, testgate.Pass},
		{testgate.Report{}, 0, 0, testgate.Person},
		{red("", ""), 0, 0, testgate.Person},
		{red(testgate.Transient, ""), 0, 0, testgate.Again},
		{red(testgate.Transient, ""), 3, 0, testgate.Again},
		{red(testgate.Transient, ""), 0, 1, testgate.Person},
		{red(testgate.Transient, "TestA"), 0, 0, testgate.Again},
		{red(testgate.Transient, "TestA"), 2, 1, testgate.Fix},
		{red(testgate.Transient, "TestA"), 3, 1, testgate.Person},
		{red(testgate.Fixable, ""), 0, 0, testgate.Fix},
		{red(testgate.Fixable, "TestA"), 2, 1, testgate.Fix},
		{red(testgate.Fixable, "TestA"), 3, 0, testgate.Person},
		{red(testgate.Structural, ""), 0, 0, testgate.Person},
		{red(testgate.External, ""), 0, 0, testgate.Person},
		{red(testgate.Unfixable, ""), 0, 0, testgate.Person},
	} {
		got, why := testgate.Decide(c.r, c.fixes, c.again)
		if got != c.want || why == "" || strings.Contains(why, "\n") {
			t.Errorf("%s, %d fixes, %d repetitions: got %s (%s), want %s", c.r.Class, c.fixes, c.again, got, why, c.want)
		}
	}
}

// TestDecideEnds: whatever each run shows, a person or a pass comes after a number of
// steps that is known.
func TestDecideEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fixes, again := 0, 0
		for range testgate.MaxFixes + testgate.MaxAgain + 1 {
			class := rapid.SampledFrom([]testgate.Class{"", testgate.Transient, testgate.Fixable, testgate.Structural, testgate.External, testgate.Unfixable}).Draw(t, "class")
			d, _ := testgate.Decide(red(class, rapid.SampledFrom([]string{"", "TestA"}).Draw(t, "name")), fixes, again)
			switch d {
			case testgate.Again:
				again++
			case testgate.Fix:
				fixes++
			case testgate.Person:
				return
			default:
				t.Fatalf("%q for a red report", d)
			}
		}
		t.Fatalf("no end after %d fixes and %d repetitions", fixes, again)
	})
}

// huge is a report with more of everything than can be told.
func huge() testgate.Report {
	r := testgate.Report{Class: testgate.Fixable, Summary: "red: much", More: 7, Warnings: []string{"one test is flaky"}, Threshold: 80, CoverageWhy: "no reason"}
	for i := range 200 {
		r.Failures = append(r.Failures, testgate.Failure{
			Suite: testgate.Unit, Name: fmt.Sprintf("Test%03d", i), File: "a_test.go:1", Class: testgate.Fixable, Way: fmt.Sprintf("way %d", i%3),
			Detail: fmt.Sprintf("detail of %03d\n", i) + strings.Repeat("é", 1900),
		})
	}
	for _, name := range []testgate.Level{testgate.Unit, testgate.Integration, testgate.EndToEnd} {
		r.Suites = append(r.Suites, testgate.Suite{Name: name, Command: "run `it`", Detail: "exit status 1", Output: strings.Repeat("an early line\n", 2500) + "```\nthe end of " + string(name) + "\n"})
	}
	return r
}

func TestFixPrompt(t *testing.T) {
	t.Parallel()
	got := huge().FixPrompt(2)
	for _, part := range []string{
		"attempt 2 of 3", "red: much", "`` run `it` ``", "unit: `Test000` at `a_test.go:1`\n\n```\ndetail of 000\n", "- unit: `Test039`", "- and 167 more\n",
		"````\n…an early line\n", "the end of unit\n````", "the end of end-to-end\n````", "Do not weaken, skip, disable or remove tests", "run again from outside",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the prompt lacks %q", part)
		}
	}
	if strings.Contains(got, "Test040") || len(got) > 50<<10 {
		t.Errorf("the prompt has %d bytes", len(got))
	}
	if t.Failed() {
		t.Log(got)
	}
	coverage := testgate.Report{Summary: "red", Suites: []testgate.Suite{{Name: testgate.Unit, Command: "c", OK: true, Output: "all is well\n"}}, Failures: []testgate.Failure{{Suite: testgate.Whole, Detail: "40 % of lines"}}}
	if got := coverage.FixPrompt(1); !strings.Contains(got, "- gate: `40 % of lines`\n") || strings.Contains(got, "all is well") {
		t.Errorf("a prompt for coverage:\n%s", got)
	}
}

func TestHandover(t *testing.T) {
	t.Parallel()
	got := huge().Handover()
	for _, part := range []string{
		"# Tests are red\n\nred: much\n", "- way 0\n- way 1\n- way 2\n\n", "not measured, 80 % are asked for (no reason)", "- one test is flaky\n",
		"- unit: `Test000` at `a_test.go:1`", "- and 167 more\n", "the end of integration\n",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("the handover lacks %q", part)
		}
	}
	if len(got) > 50<<10 {
		t.Errorf("the handover has %d bytes", len(got))
	}
	if got := (testgate.Report{Passed: true, Summary: "green: 3"}).Handover(); got != "# Tests are green\n\ngreen: 3\n" {
		t.Errorf("got %q", got)
	}
}

func TestShrunk(t *testing.T) {
	t.Parallel()
	counted := func(name testgate.Level, passed, skipped int) testgate.Suite {
		return testgate.Suite{Name: name, Counted: true, OK: true, Passed: passed, Skipped: skipped, Total: passed + skipped}
	}
	green := func(s ...testgate.Suite) testgate.Report { return testgate.Report{Passed: true, Suites: s} }
	before := green(counted(testgate.Unit, 10, 1), counted(testgate.EndToEnd, 4, 0))
	for name, c := range map[string]struct {
		now, before testgate.Report
		want        string
	}{
		"same":      {before, before, ""},
		"more":      {green(counted(testgate.Unit, 12, 0), counted(testgate.EndToEnd, 4, 0)), before, ""},
		"fewer":     {green(counted(testgate.Unit, 9, 1), counted(testgate.EndToEnd, 4, 0)), before, "10 unit tests, 11 before"},
		"skipped":   {green(counted(testgate.Unit, 9, 2), counted(testgate.EndToEnd, 4, 0)), before, "2 of the unit tests are skipped, 1 before"},
		"both":      {green(counted(testgate.Unit, 1, 2), counted(testgate.EndToEnd, 4, 0)), before, "3 unit tests, 11 before; 2 of the unit tests are skipped, 1 before"},
		"gone":      {green(counted(testgate.Unit, 10, 1)), before, "there are no end-to-end tests, 4 before"},
		"uncounted": {green(counted(testgate.Unit, 10, 1), testgate.Suite{Name: testgate.EndToEnd, OK: true}), before, "the end-to-end tests are not counted, 4 before"},
		"red":       {testgate.Report{Suites: []testgate.Suite{counted(testgate.Unit, 1, 0)}}, before, ""},
		"no before": {before, testgate.Report{}, ""},
		"not run":   {before, testgate.Report{Suites: []testgate.Suite{{Name: testgate.Integration, NotRun: true, Total: 9}}}, ""},
		"after red": {green(counted(testgate.Unit, 9, 0)), testgate.Report{Suites: []testgate.Suite{{Name: testgate.Unit, Counted: true, Passed: 9, Failed: 1, Total: 10}}}, "9 unit tests, 10 before"},
	} {
		if got := c.now.Shrunk(c.before); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "runs", "r1")
	now := time.Date(2026, 1, 2, 4, 4, 5, 678_900_000, time.FixedZone("east", 3600))
	want := huge()
	coverage := 81.5
	want.Coverage = &coverage
	var names []string
	for range 3 {
		path, err := want.Save(dir, now)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(path))
		var got testgate.Report
		if err := statedir.LoadJSON(path, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode is %v (%v)", info.Mode(), err)
		}
	}
	if d := cmp.Diff([]string{"20260102T030405.678Z.json", "20260102T030405.678Z_2.json", "20260102T030405.678Z_3.json"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	entries, err := os.ReadDir(filepath.Join(dir, testgate.Folder))
	if err != nil || len(entries) != 3 {
		t.Errorf("%d files (%v), want 3", len(entries), err)
	}
	put(t, filepath.Join(dir, "file"), "")
	if _, err := want.Save(filepath.Join(dir, "file"), now); err == nil || !strings.Contains(err.Error(), "save test results") {
		t.Errorf("error is %v", err)
	}
}

// TestJSON names the keys that readers of saved reports rely on.
func TestJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(huge())
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if d := cmp.Diff([]string{"class", "coverage_why", "failures", "more_failures", "passed", "suites", "summary", "threshold", "took_ns", "warnings"}, keys); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
