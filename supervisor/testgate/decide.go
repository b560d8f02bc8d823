package testgate

import (
	"fmt"
	"slices"
)

// Decision is what follows from a report.
type Decision string

// Decisions.
const (
	Pass   Decision = "pass"
	Again  Decision = "again"  // run the gate once more, without a session
	Fix    Decision = "fix"    // a session that repairs what is red, then the gate
	Person Decision = "person" // stop, and hand over
)

// What is tried before a person is asked.
const (
	MaxFixes = 3 // sessions that repair
	MaxAgain = 1 // repetitions without a session
)

// Decide says what follows from a report, and why in one line: fixes are the sessions
// that tried to repair it so far, again the repetitions without a session. That a test
// fails because of its surroundings is taken from its words, which may be wrong: when it
// does so again, it is one to be repaired. It is pure.
func Decide(r Report, fixes, again int) (Decision, string) {
	switch {
	case r.Passed:
		return Pass, r.Summary
	case r.Class == Transient && again < MaxAgain:
		return Again, "it may be gone when the tests run again: " + r.Summary
	case r.Class == Transient && !r.named():
		return Person, fmt.Sprintf("it was there again after %s: %s", times(again, "repetition"), r.Summary)
	case (r.Class == Fixable || r.Class == Transient) && fixes < MaxFixes:
		return Fix, fmt.Sprintf("repair %d of %d: %s", fixes+1, MaxFixes, r.Summary)
	case r.Class == Fixable || r.Class == Transient:
		return Person, fmt.Sprintf("still red after %s: %s", times(fixes, "repair"), r.Summary)
	case r.Summary == "":
		return Person, "there is no report of the tests"
	}
	why := "no session can change that: " + r.Summary
	for _, f := range r.Failures {
		if f.Class == r.Class && f.Way != "" {
			return Person, why + "; " + f.Way
		}
	}
	return Person, why
}

// named reports whether tests failed, and not the command as a whole.
func (r Report) named() bool {
	return len(r.Failures) > 0 && !slices.ContainsFunc(r.Failures, func(f Failure) bool { return f.Name == "" })
}

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
