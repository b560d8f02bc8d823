package tdd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/tdd"
)

func results(failed, passed int) *tdd.Results {
	return &tdd.Results{Failed: failed, Passed: passed, Total: failed + passed}
}

func measured(failed, passed int) *tdd.Measured {
	return &tdd.Measured{Results: *results(failed, passed), Counted: true, OK: failed == 0, Command: "go test", Detail: "exit"}
}

func broken(n, failed, passed int) *tdd.Measured {
	m := measured(failed, passed)
	m.Broken, m.OK = n, false
	return m
}

func uncounted(ok bool) *tdd.Measured {
	return &tdd.Measured{OK: ok, Command: "make test", Detail: "exit status 2"}
}

func percent(v float64) tdd.Coverage { return tdd.Coverage{Lines: &v} }

func TestJudge(t *testing.T) {
	t.Parallel()
	named := func(m *tdd.Measured, failing ...string) *tdd.Measured { m.Failing = failing; return m }
	passing := func(m *tdd.Measured, names ...string) *tdd.Measured {
		m.Passing = map[string]bool{}
		for _, n := range names {
			m.Passing[n] = true
		}
		return m
	}
	tests := []struct {
		name     string
		phase    tdd.At
		e        tdd.Evidence
		set      tdd.Settings
		red      *tdd.Measured // of the red phase before
		baseline *tdd.Measured
		valid    bool
		want     string // in the message
	}{
		{name: "red as reported", phase: tdd.Red, e: tdd.Evidence{Reported: results(3, 0)}, valid: true, want: "RED phase complete: 3 tests failing as expected"},
		{name: "red beside existing tests", phase: tdd.Red, e: tdd.Evidence{Reported: results(3, 12)}, valid: true, want: "RED phase valid: 3 failing, 12 passing (existing tests)"},
		{name: "red with nothing failing", phase: tdd.Red, e: tdd.Evidence{Reported: results(0, 5)}, want: "RED phase requires failing tests. All tests passed."},
		{name: "red already implemented", phase: tdd.Red, e: tdd.Evidence{Reported: results(0, 5)}, set: tdd.Settings{AlreadyImplemented: true}, valid: true, want: "already implemented"},
		{name: "red with no test is no proof", phase: tdd.Red, e: tdd.Evidence{Measured: measured(0, 0)}, set: tdd.Settings{AlreadyImplemented: true}, want: "requires failing tests"},
		{name: "red measured", phase: tdd.Red, e: tdd.Evidence{Measured: measured(2, 1)}, valid: true, want: "2 failing, 1 passing"},
		{name: "red that does not build", phase: tdd.Red, e: tdd.Evidence{Reported: results(1, 0), Measured: broken(1, 0, 0)}, valid: true, want: "do not build yet"},
		{name: "red that does not build, honestly nothing", phase: tdd.Red, e: tdd.Evidence{Reported: results(0, 0), Measured: broken(1, 0, 0)}, want: "contradicted"},
		{name: "red claimed and green measured", phase: tdd.Red, e: tdd.Evidence{Reported: results(3, 0), Measured: measured(0, 12)}, want: "reported were 3 failed, 0 passed; 'go test' gives 0 failed, 12 passed"},
		{name: "red of a part", phase: tdd.Red, e: tdd.Evidence{Reported: results(3, 0), Measured: measured(3, 12)}, valid: true, want: "3 failing, 12 passing"},
		{name: "more failing claimed than there are", phase: tdd.Red, e: tdd.Evidence{Reported: results(4, 0), Measured: measured(3, 12)}, want: "contradicted"},
		{name: "red by exit status", phase: tdd.Red, e: tdd.Evidence{Reported: results(2, 0), Measured: uncounted(false)}, valid: true, want: "2 tests failing"},
		{name: "red claimed, command succeeds", phase: tdd.Red, e: tdd.Evidence{Reported: results(2, 0), Measured: uncounted(true)}, want: "'make test' succeeds"},
		{name: "command fails for another reason", phase: tdd.Red, e: tdd.Evidence{Measured: func() *tdd.Measured { m := measured(0, 4); m.OK = false; return m }()}, want: "fails without one"},
		{
			name: "only what failed before", phase: tdd.Red, e: tdd.Evidence{Measured: named(measured(1, 4), "old")}, baseline: named(measured(1, 4), "old"),
			want: "What fails failed before the run began: old",
		},
		{name: "one more than before", phase: tdd.Red, e: tdd.Evidence{Measured: named(measured(2, 4), "old", "new")}, baseline: named(measured(1, 4), "old"), valid: true, want: "2 failing"},
		{name: "another one than before", phase: tdd.Red, e: tdd.Evidence{Measured: named(measured(1, 4), "new")}, baseline: named(measured(1, 4), "old"), valid: true, want: "1 failing"},
		{name: "no results at all", phase: tdd.Red, want: "results are required"},
		{name: "numbers that do not add up", phase: tdd.Red, e: tdd.Evidence{Reported: &tdd.Results{Failed: 1, Total: 99}}, want: "do not add up: 0 passed, 1 failed and 0 skipped are 1, and the total is said to be 99"},
		{name: "no numbers", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 0)}, want: "both 0"},

		{name: "green as reported", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3)}, valid: true, want: "GREEN phase complete: 3 tests passing"},
		{name: "green still failing", phase: tdd.Green, e: tdd.Evidence{Reported: results(2, 3)}, want: "GREEN phase incomplete: 2 tests still failing"},
		{name: "green claimed, one fails", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3), Measured: named(measured(1, 2), "p/TestX")}, want: "reported were 0 failed, 3 passed; 'go test' gives 1 failed, 2 passed"},
		{name: "green measured failing", phase: tdd.Green, e: tdd.Evidence{Measured: named(measured(1, 2), "p/TestX")}, want: "1 tests still failing: p/TestX"},
		{name: "green that does not build", phase: tdd.Green, e: tdd.Evidence{Measured: broken(1, 0, 2)}, want: "cannot be built"},
		{name: "green with more claimed than there are", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 30), Measured: measured(0, 3)}, want: "contradicted"},
		{name: "green of a part", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3), Measured: measured(0, 15)}, valid: true, want: "15 tests passing"},
		{name: "green with no test", phase: tdd.Green, e: tdd.Evidence{Measured: measured(0, 0)}, want: "no test has run"},
		{name: "green by exit status", phase: tdd.Green, e: tdd.Evidence{Measured: uncounted(true)}, valid: true, want: "the test command succeeds"},
		{name: "green by exit status, failing", phase: tdd.Green, e: tdd.Evidence{Measured: uncounted(false)}, want: "exit status 2"},
		{name: "exit status hides a report", phase: tdd.Green, e: tdd.Evidence{Reported: results(2, 3), Measured: uncounted(true)}, want: "contradicted"},
		{name: "fewer tests than in red", phase: tdd.Green, e: tdd.Evidence{Measured: measured(0, 4)}, red: measured(1, 4), want: "the red phase had 5 tests, 0 of them skipped; now there are 4"},
		{
			name: "skipped instead of mended", phase: tdd.Green, red: measured(1, 4), want: "1 of them skipped",
			e: tdd.Evidence{Measured: &tdd.Measured{Results: tdd.Results{Passed: 4, Skipped: 1, Total: 5}, Counted: true, OK: true}},
		},
		{name: "renamed away", phase: tdd.Green, e: tdd.Evidence{Measured: passing(measured(0, 5), "a", "b")}, red: named(measured(1, 4), "x"), want: "x failed in the red phase and does not run any more"},
		{name: "the failing one passes", phase: tdd.Green, e: tdd.Evidence{Measured: passing(measured(0, 5), "a", "x")}, red: named(measured(1, 4), "x"), valid: true, want: "5 tests passing"},
		{name: "red did not build", phase: tdd.Green, e: tdd.Evidence{Measured: passing(measured(0, 2), "a")}, red: named(broken(1, 0, 4), "pkg"), valid: true, want: "2 tests passing"},
		{name: "coverage reported too low", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3), Coverage: percent(79.99)}, set: tdd.Settings{Thresholds: percent(80)}, want: "79.9% of lines, 80% are wanted"},
		{name: "coverage reported", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3), Coverage: percent(80)}, set: tdd.Settings{Thresholds: percent(80)}, valid: true, want: "3 tests passing"},
		{
			name: "coverage measured counts", phase: tdd.Green, set: tdd.Settings{Thresholds: percent(80)}, want: "50% of lines",
			e: tdd.Evidence{Reported: results(0, 3), Coverage: percent(99), Measured: func() *tdd.Measured { m := measured(0, 3); m.Coverage = percent(50); return m }()},
		},
		{name: "no coverage, no threshold missed", phase: tdd.Green, e: tdd.Evidence{Reported: results(0, 3)}, set: tdd.Settings{Thresholds: percent(80)}, valid: true, want: "3 tests passing"},
	}
	for _, tt := range tests {
		s := tdd.State{CurrentPhase: tt.phase}
		if tt.red != nil {
			s.Red = &tdd.Run{Measured: tt.red}
		}
		if tt.baseline != nil {
			s.Baseline = &tdd.Run{Measured: tt.baseline}
		}
		v := tdd.Judge(s, tt.e, tt.set)
		if v.Valid != tt.valid || !strings.Contains(v.Message, tt.want) {
			t.Errorf("%s: valid %v, %q; want %v, %q", tt.name, v.Valid, v.Message, tt.valid, tt.want)
		}
		if !v.Valid && v.Suggestion == "" {
			t.Errorf("%s: no suggestion", tt.name)
		}
		if v.Implemented != (tt.valid && strings.Contains(v.Message, "already implemented")) {
			t.Errorf("%s: implemented %v", tt.name, v.Implemented)
		}
	}
	if v := tdd.Judge(tdd.State{CurrentPhase: tdd.Red}, tdd.Evidence{Reported: results(3, 12)}, tdd.Settings{}); v.Warning != "some tests pass: see to it that the new ones are among those that fail" {
		t.Errorf("warning %q", v.Warning)
	}
}

func TestJudgeFinal(t *testing.T) {
	t.Parallel()
	low := measured(0, 9)
	low.Coverage = percent(10)
	for _, tt := range []struct {
		name  string
		m     *tdd.Measured
		valid bool
		want  string
	}{
		{"nothing to run", nil, true, "nothing was run"},
		{"passes", measured(0, 9), true, "0 failed, 9 passed"},
		{"fails", measured(1, 9), false, "the full test suite fails: 1 tests still failing"},
		{"does not build", broken(1, 0, 9), false, "cannot be built"},
		{"by exit status", uncounted(true), true, "passes"},
		{"fails by exit status", uncounted(false), false, "exit status 2"},
		{"covers too little", low, false, "coverage is too low: 10% of lines, 80% are wanted"},
	} {
		v := tdd.JudgeFinal(tdd.State{}, tt.m, tdd.Settings{Thresholds: percent(80)})
		if v.Valid != tt.valid || !strings.Contains(v.Message, tt.want) {
			t.Errorf("%s: %v %q, want %v %q", tt.name, v.Valid, v.Message, tt.valid, tt.want)
		}
	}
}

func TestParseResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want tdd.Results
		err  string
	}{
		{"failed:3,passed:0", tdd.Results{Failed: 3, Total: 3}, ""},
		{"passed:3,failed:0", tdd.Results{Passed: 3, Total: 3}, ""},
		{" Failed: 3 , passed : 12,skipped:2 ", tdd.Results{Failed: 3, Passed: 12, Skipped: 2, Total: 17}, ""},
		{"failed:1,passed:2,total:9", tdd.Results{Failed: 1, Passed: 2, Total: 9}, ""}, // Check refuses it
		{`{"total":4,"passed":1,"failed":3}`, tdd.Results{Failed: 3, Passed: 1, Total: 4}, ""},
		{`{"passed":1,"failed":0,"skipped":2}`, tdd.Results{Passed: 1, Skipped: 2, Total: 3}, ""},
		{"", tdd.Results{}, "is not 'name:number'"},
		{"{}", tdd.Results{}, "passed is missing"},
		{"failed:3", tdd.Results{}, "passed is missing"},
		{"failed:-1,passed:0", tdd.Results{}, "no number of tests"},
		{"failed:1.5,passed:0", tdd.Results{}, "no number of tests"},
		{"failed:NaN,passed:0", tdd.Results{}, "no number of tests"},
		{"failed:1,failed:2,passed:0", tdd.Results{}, "failed is given twice"},
		{"failed:1,passed:0,broken:1", tdd.Results{}, `"broken" is not known`},
		{"failed=1", tdd.Results{}, "is not 'name:number'"},
		{`{"passed":"1","failed":0}`, tdd.Results{}, "no JSON object of numbers"},
		{`{"passed":1,"failed":0} x`, tdd.Results{}, "something follows"},
		{`{"passed":99999999999,"failed":0}`, tdd.Results{}, "no number of tests"},
	} {
		got, err := tdd.ParseResults(tt.in)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseResults(%q) = %+v, %v; want %+v, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestParseCoverage(t *testing.T) {
	t.Parallel()
	branches := percent(92.5)
	branches.Branches = new(85.0)
	for _, tt := range []struct {
		in   string
		want tdd.Coverage
		err  string
	}{
		{"92", percent(92), ""},
		{"92.5%", percent(92.5), ""},
		{"lines:92.5,branches:85%", branches, ""},
		{"0", percent(0), ""},
		{"", tdd.Coverage{}, "no percentage"},
		{"101", tdd.Coverage{}, "no percentage"},
		{"-1", tdd.Coverage{}, "no percentage"},
		{"NaN", tdd.Coverage{}, "no percentage"},
		{"high", tdd.Coverage{}, "no percentage"},
		{"mood:3", tdd.Coverage{}, `"mood" is not known`},
		{"92,93", tdd.Coverage{}, "given twice"},
	} {
		got, err := tdd.ParseCoverage(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseCoverage(%q) = %+v, %v; want error %q (-want +got)\n%s", tt.in, got, err, tt.err, diff)
		}
	}
}
