package pursuit

import (
	"strings"
	"testing"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
)

func TestDue(t *testing.T) {
	t.Parallel()
	// Each word is a session: "w" changed a file, "i" did nothing, and a capital is a call; "|" is a reflection.
	for _, c := range []struct {
		name, sessions string
		interval, left int
		claim          string
		want           reflector.Trigger
	}{
		{"nothing special", "w", 5, 9, "", reflector.NotDue},
		{"no session yet", "", 5, 9, "done", reflector.NotDue},
		{"interval", "w w w", 3, 9, "", reflector.ByInterval},
		{"one short of it", "w w", 3, 9, "", reflector.NotDue},
		{"interval after a reflection", "w w w | w w", 3, 9, "", reflector.NotDue},
		{"again", "w w w | w w w", 3, 9, "", reflector.ByInterval},
		{"a claim comes first", "wAAA", 1, 0, "done", reflector.ByClaim},
		{"a loop", "wAAA", 5, 9, "", reflector.ByLoop},
		{"a loop over two sessions", "wAA wA", 5, 9, "", reflector.ByLoop},
		{"a loop that was looked at", "wAAA | w", 5, 9, "", reflector.NotDue},
		{"and other calls since", "wAAA | wB", 5, 9, "", reflector.NotDue},
		{"a loop that goes on", "wAAA | wA", 5, 9, "", reflector.ByLoop},
		{"a loop in the session before", "wAAA wB", 5, 9, "", reflector.ByLoop},
		{"two idle ones", "w i i", 5, 9, "", reflector.ByIdleness},
		{"one idle one", "w i", 5, 9, "", reflector.NotDue},
		{"idle, then not", "i i w", 5, 9, "", reflector.NotDue},
		{"idleness that was looked at", "i i | i", 5, 9, "", reflector.NotDue},
		{"idleness again", "i i | i i", 5, 9, "", reflector.ByIdleness},
		{"before the last", "w", 5, 1, "", reflector.BeforeLast},
		{"at the end", "w", 5, 0, "", reflector.AtEnd},
		{"interval before the limit", "w w", 2, 1, "", reflector.ByInterval},
		{"off: claim", "w", 0, 9, "done", reflector.ByClaim},
		{"off: interval", "w w w w", 0, 9, "", reflector.NotDue},
		{"off: loop", "wAAA", 0, 9, "", reflector.NotDue},
		{"off: idle", "i i i", 0, 9, "", reflector.NotDue},
		{"off: at the end", "w", 0, 0, "", reflector.NotDue},
	} {
		s := Begin(goals(1), c.interval)
		for word := range strings.FieldsSeq(c.sessions) {
			if word == "|" {
				s.Goals[0].Since = 0
				continue
			}
			x := reflector.Session{Worked: true}
			if word[0] == 'w' {
				x.Files = 1
			}
			one(&s, x, strings.Split(word[1:], "")...)
		}
		if got := s.Due(Occasion{Claim: c.claim, Left: reflector.Left{Sessions: c.left}}); got != c.want {
			t.Errorf("%s: due %q, want %q", c.name, got, c.want)
		}
	}
}

// TestDueWithSeveralGoals has a session ask for a person: what it claims or leaves
// is not the business of the goal that is taken up next.
func TestDueWithSeveralGoals(t *testing.T) {
	t.Parallel()
	s := Begin(goals(2), 1)
	one(&s, reflector.Session{}, "A", "A", "A")
	s.Current().Ask(Question{Text: "which?"})
	for _, left := range []int{0, 1, 9} {
		if got := s.Due(Occasion{Claim: "done", Left: reflector.Left{Sessions: left}}); got != reflector.NotDue {
			t.Errorf("%d left: due %q on a goal without a session", left, got)
		}
	}
	worked(&s, 1)
	if got := s.Due(Occasion{Left: reflector.Left{Sessions: 9}}); got != reflector.ByInterval {
		t.Errorf("after its first session: due %q", got)
	}
	s.Goals[1].Status = ledger.GoalGivenUp
	if got := s.Due(Occasion{Claim: "done"}); got != reflector.NotDue {
		t.Errorf("no goal is open: due %q", got)
	}
}
