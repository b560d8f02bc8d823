package tdd

import (
	"fmt"
	"slices"
	"strings"
)

// Evidence is all that is known about the tests at the end of a step.
type Evidence struct {
	Reported *Results
	Measured *Measured // nil when nothing was run
	Coverage Coverage  // as reported
	Gone     []string  // test files of the red step that are not there any more
}

// Verdict is what follows from the evidence.
type Verdict struct {
	Valid       bool
	Implemented bool // valid although nothing fails: there is nothing to implement
	Message     string
	Suggestion  string
	Warning     string
}

func refuse(suggestion, format string, args ...any) Verdict {
	return Verdict{Message: fmt.Sprintf(format, args...), Suggestion: suggestion}
}

// Judge says whether a red or green step is done. The state gives what the tests said
// in earlier steps.
func Judge(s State, e Evidence, set Settings) Verdict {
	if e.Reported != nil {
		if err := e.Reported.Check(); err != nil && !e.excused() {
			return refuse("Run the tests and report what they say: --results failed:3,passed:0", "the reported results cannot be true: %v", err)
		}
	}
	if e.Reported == nil && e.Measured == nil {
		return refuse("Run the tests and report what they say: --results failed:3,passed:0", "test results are required to complete the %s phase", strings.ToUpper(string(s.CurrentPhase)))
	}
	if why := e.contradiction(); why != "" {
		return refuse("Run the tests with the same command and report what they say.", "the report is contradicted: %s", why)
	}
	if s.CurrentPhase == Red {
		return judgeRed(s, e, set)
	}
	return judgeGreen(s, e, set)
}

// excused reports whether numbers that cannot be those of a run are explained: where
// tests do not build, none is counted.
func (e Evidence) excused() bool {
	return e.Measured != nil && e.Measured.Broken > 0 && e.Reported.Total == e.Reported.Sum() && e.Reported.Passed+e.Reported.Failed == 0
}

// contradiction says in which way the measurement does not bear out the report. A
// report may be about a part of the tests: it is contradicted when it claims more than
// there is.
func (e Evidence) contradiction() string {
	r, m := e.Reported, e.Measured
	if r == nil || m == nil {
		return ""
	}
	if !m.Counted {
		switch {
		case r.Failed > 0 && m.OK:
			return fmt.Sprintf("reported were %s, but %s succeeds", r.Words(), m.what())
		case r.Failed == 0 && !m.OK:
			return fmt.Sprintf("reported were %s, but %s fails (%s)", r.Words(), m.what(), m.Detail)
		}
		return ""
	}
	both := fmt.Sprintf("reported were %s; %s gives %s", r.Words(), m.what(), m.Words())
	if m.Broken > 0 {
		both += fmt.Sprintf(", and %d that cannot be built or loaded", m.Broken)
	}
	switch {
	case r.Failed == 0 && m.Bad():
		return both
	case m.Broken > 0:
		return "" // how many tests are in there is not known
	case r.Failed > m.Failed, r.Passed > m.Passed:
		return both
	}
	return ""
}

func (m Measured) what() string {
	if m.Command == "" {
		return "the test command"
	}
	return "'" + m.Command + "'"
}

func judgeRed(s State, e Evidence, set Settings) Verdict {
	failed, passed, unbuilt := 0, 0, 0
	switch m := e.Measured; {
	case m == nil:
		failed, passed = e.Reported.Failed, e.Reported.Passed
	case m.Counted:
		failed, passed, unbuilt = m.Failed, m.Passed, m.Broken
		if failed+unbuilt == 0 && !m.OK {
			return refuse("Make the test command work first; a failing test has to be the only reason why it fails.", "RED phase requires failing tests. %s fails without one: %s", m.what(), m.Detail)
		}
	case s.Baseline != nil && s.Baseline.Measured != nil && s.Baseline.Measured.Counted:
		return refuse("Make the test command work as it did; a failing test has to be the reason why it fails.", "RED phase requires failing tests. The results of %s could be counted before the run began and cannot be now: %s", m.what(), m.Detail)
	case !m.OK && m.Exit < 0:
		return refuse("Make sure that the tests come to an end.", "RED phase requires failing tests. %s did not end by itself: %s", m.what(), m.Detail)
	case !m.OK:
		failed = 1
		if e.Reported != nil {
			failed, passed = e.Reported.Failed, e.Reported.Passed
		}
	}
	if failed+unbuilt == 0 {
		if set.AlreadyImplemented && passed > 0 {
			return Verdict{Valid: true, Implemented: true, Message: fmt.Sprintf("Nothing fails and %d tests pass: recorded as already implemented", passed)}
		}
		return refuse("See whether the tests ask for what is not there yet: they have to fail before the code is written. Where it is there already, a person can allow that with the setting already-implemented.",
			"RED phase requires failing tests. %s", map[bool]string{true: "No test has run.", false: "All tests passed."}[passed == 0])
	}
	if m, base := e.Measured, s.Baseline; m != nil && m.Counted && base != nil && base.Measured != nil {
		if !m.fresh(*base.Measured) {
			return refuse("Write a test for this subtask that fails.", "RED phase requires new failing tests. What fails failed before the run began: %s", strings.Join(m.Failing[:min(3, len(m.Failing))], ", "))
		}
	}
	v := Verdict{Valid: true, Message: fmt.Sprintf("RED phase complete: %d tests failing as expected", failed)}
	switch {
	case failed == 0:
		v.Message = fmt.Sprintf("RED phase complete: the tests do not build yet (%d)", unbuilt)
	case passed > 0:
		v.Message = fmt.Sprintf("RED phase valid: %d failing, %d passing (existing tests)", failed, passed)
		if e.Measured == nil || !e.Measured.Counted || s.Baseline == nil { // else what fails is known to be new
			v.Warning = "some tests pass: see to it that the new ones are among those that fail"
		}
	}
	return v
}

// fresh reports whether something fails that did not before.
func (m Measured) fresh(before Measured) bool {
	return m.Failed+m.Broken > before.Failed+before.Broken ||
		slices.ContainsFunc(m.Failing, func(name string) bool { return !slices.Contains(before.Failing, name) })
}

func judgeGreen(s State, e Evidence, set Settings) Verdict {
	const goOn = "Go on until every test passes, and report again."
	passed := 0
	switch m := e.Measured; {
	case m == nil:
		if e.Reported.Failed > 0 {
			return refuse(goOn, "GREEN phase incomplete: %d tests still failing", e.Reported.Failed)
		}
		passed = e.Reported.Passed
	case m.Counted && m.Bad():
		if m.Failed+m.Broken == 0 {
			return refuse("Make the test command succeed.", "GREEN phase incomplete: %s fails although no test does: %s", m.what(), m.Detail)
		}
		return refuse(goOn, "GREEN phase incomplete: %s", m.still())
	case !m.OK:
		return refuse(goOn, "GREEN phase incomplete: %s fails: %s", m.what(), m.Detail)
	case m.Counted:
		if v := missing(s, *m, e.Gone); v.Message != "" {
			return v
		}
		passed = m.Passed
	case e.Reported != nil:
		if e.Reported.Failed > 0 {
			return refuse(goOn, "GREEN phase incomplete: %d tests still failing", e.Reported.Failed)
		}
		passed = e.Reported.Passed
	}
	if low := e.coverage().Below(set.Thresholds); low != "" {
		return refuse("Add tests for what is not covered, or lower the threshold (coverage-lines and its like).", "GREEN phase incomplete: coverage is too low: %s", low)
	}
	v := Verdict{Valid: true, Message: fmt.Sprintf("GREEN phase complete: %d tests passing", passed)}
	if e.Measured != nil && !e.Measured.Counted && e.Reported == nil {
		v.Message = "GREEN phase complete: the test command succeeds"
	}
	return v
}

func (m Measured) still() string {
	words := fmt.Sprintf("%d tests still failing", m.Failed)
	if m.Broken > 0 {
		words = fmt.Sprintf("%d tests failing, %d packages or files that cannot be built or loaded", m.Failed, m.Broken)
	}
	if n := min(len(m.Failing), 5); n > 0 {
		words += ": " + strings.Join(m.Failing[:n], ", ")
	}
	return words
}

// missing looks for tests that were made to pass by taking them away.
func missing(s State, m Measured, gone []string) Verdict {
	const way = "Bring the tests of the red phase back and make them pass."
	if len(gone) > 0 {
		return refuse(way, "GREEN phase incomplete: test files of the red phase are gone: %s", strings.Join(gone[:min(5, len(gone))], ", "))
	}
	if m.Passed+m.Failed == 0 {
		return refuse("Make sure that the test command finds the tests.", "GREEN phase incomplete: no test has run")
	}
	if s.Red == nil || s.Red.Measured == nil || !s.Red.Measured.Counted {
		return Verdict{}
	}
	if s.Red.Measured.Broken > 0 { // which tests were in there was not known
		switch was := s.Passed; {
		case was != nil && m.Passed <= was.Passed:
			return refuse(way, "GREEN phase incomplete: before this subtask %d tests passed, and now %d do: the tests of the red phase do not run", was.Passed, m.Passed)
		case was != nil && m.Skipped > was.Skipped:
			return refuse(way, "GREEN phase incomplete: %d tests are skipped, %d were before this subtask", m.Skipped, was.Skipped)
		}
		return Verdict{}
	}
	if m.Passing != nil {
		for _, name := range s.Red.Measured.Failing {
			if !m.Passing[name] {
				return refuse(way, "GREEN phase incomplete: %s failed in the red phase and does not run any more", name)
			}
		}
	}
	if was := s.Red.Measured; m.Total < was.Total || m.Skipped > was.Skipped {
		return refuse(way, "GREEN phase incomplete: the red phase had %d tests, %d of them skipped; now there are %d, %d of them skipped", was.Total, was.Skipped, m.Total, m.Skipped)
	}
	return Verdict{}
}

// coverage is what was measured, and what was reported where nothing was.
func (e Evidence) coverage() Coverage {
	if e.Measured == nil {
		return e.Coverage
	}
	return e.Measured.Coverage.Over(e.Coverage)
}

// Lost are tests that passed before the current subtask and do not run any more, as far
// as names are known.
func Lost(s State, m *Measured) []string {
	if m == nil || !m.Counted || m.Passing == nil || m.Broken > 0 {
		return nil
	}
	var out []string
	for _, name := range s.Passing {
		if !m.Passing[name] && !slices.Contains(m.Failing, name) {
			out = append(out, name)
		}
	}
	return out
}

// JudgeFinal says whether the whole suite lets a run end.
func JudgeFinal(s State, m *Measured, set Settings) Verdict {
	if m == nil {
		return Verdict{Valid: true, Message: "the workflow is complete; no test command is known, so nothing was run at the end"}
	}
	e := Evidence{Measured: m}
	if s.Green != nil && m.Coverage.Lines == nil {
		e.Coverage = s.Green.Coverage
	}
	switch low := e.coverage().Below(set.Thresholds); {
	case m.Counted && m.Failed+m.Broken > 0:
		return refuse("Mend it, commit it with 'autopilot tdd commit', and finalize again.", "the full test suite fails: %s", m.still())
	case !m.OK:
		return refuse("Mend it, commit it with 'autopilot tdd commit', and finalize again.", "the full test suite fails: %s: %s", m.what(), m.Detail)
	case m.Counted && m.Passed == 0:
		return refuse("Make sure that the test command finds the tests.", "the full test suite has no test that passes")
	case m.Counted && s.Green != nil && s.Green.Measured != nil && s.Green.Measured.Counted && m.Passed < s.Green.Measured.Passed:
		return refuse("Bring the tests back, commit them with 'autopilot tdd commit', and finalize again.", "the full test suite has %d passing tests, and it had %d when the last subtask was done", m.Passed, s.Green.Measured.Passed)
	case low != "":
		return refuse("Add tests for what is not covered, commit them with 'autopilot tdd commit', and finalize again.", "coverage is too low: %s", low)
	case m.Counted:
		return Verdict{Valid: true, Message: fmt.Sprintf("the full test suite passes: %s", m.Words())}
	}
	return Verdict{Valid: true, Message: "the full test suite passes"}
}
