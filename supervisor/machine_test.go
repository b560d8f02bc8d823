package supervisor

import (
	"os"
	"strings"
	"testing"

	"autopilot/supervisor/killswitch"
)

func TestTransitions(t *testing.T) {
	t.Parallel()
	table := transitions()
	known := map[state]bool{finished: true}
	for s := range table {
		known[s] = true
	}
	if len(known) != 9 || len(table[finished]) != 0 {
		t.Errorf("%d states, and %d ways out of finished; want 9 and none", len(known), len(table[finished]))
	}
	reached := map[state]bool{checking: true}
	todo := []state{checking}
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for e, to := range table[s] {
			if !known[to] || e == "" {
				t.Errorf("%q leads from %s to %q", e, s, to)
			}
			if got, err := next(s, e); got != to || err != nil {
				t.Errorf("next(%s, %s) = %q, %v; want %s", s, e, got, err, to)
			}
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	for s := range known {
		if !reached[s] {
			t.Errorf("%s cannot be reached", s)
		}
		if s != finished && !leads(table, s) {
			t.Errorf("from %s there is no way to the end", s)
		}
	}
}

// leads reports whether the end can be reached from a state.
func leads(table map[state]map[event]state, from state) bool {
	seen := map[state]bool{}
	var walk func(s state) bool
	walk = func(s state) bool {
		if s == finished {
			return true
		}
		if seen[s] {
			return false
		}
		seen[s] = true
		for _, to := range table[s] {
			if walk(to) {
				return true
			}
		}
		return false
	}
	return walk(from)
}

func TestUnknownEvents(t *testing.T) {
	t.Parallel()
	table := transitions()
	events := []event{clear, hit, assigned, ended, limited, resume, recorded, written, "", "nonsense"}
	for _, s := range []state{checking, selecting, running, waiting, recording, judging, looking, finishing, finished, "", "nonsense"} {
		for _, e := range events {
			if _, ok := table[s][e]; ok {
				continue
			}
			if to, err := next(s, e); err == nil || !strings.HasPrefix(err.Error(), "internal error: ") || to != "" {
				t.Errorf("next(%q, %q) = %q, %v; want an internal error", s, e, to, err)
			}
		}
	}
}

// TestDiagram keeps the picture in the package's description and the table one.
func TestDiagram(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "# The machine")
	diagram, _, end := strings.Cut(rest, "# Order of writing")
	if !found || !end {
		t.Fatal("the description has no part on the machine")
	}
	for s, events := range transitions() {
		if !strings.Contains(diagram, string(s)) {
			t.Errorf("state %s is not in the diagram", s)
		}
		for e, to := range events {
			if !strings.Contains(diagram, string(e)) || !strings.Contains(diagram, string(to)) {
				t.Errorf("event %s to %s is not in the diagram", e, to)
			}
		}
	}
}

// TestExitCodes is the table that the program documents.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for cause, want := range map[Cause]int{
		Cause(killswitch.UserAbort): 130, Cause(killswitch.MaxSessionsReached): 0, Cause(killswitch.MaxHoursExceeded): 0, Cause(killswitch.TokenBudgetExceeded): 6,
		Cause(killswitch.ResourceOverload): 5, Cause(killswitch.LowConfidence): 4, Cause(killswitch.StallTimeout): 3, Cause(killswitch.Spiral): 3,
		Cause(killswitch.FailedWave): 3, Cause(killswitch.CarryoverTooHigh): 3,
		CauseManual: 4, CauseWorkDone: 0, CausePerson: 4, CauseGivenUp: 3, CauseError: 1, CauseKilled: 137,
	} {
		if got := exitCode(cause); got != want {
			t.Errorf("%s: got %d, want %d", cause, got, want)
		}
	}
	for _, r := range killswitch.All() {
		if graceful := exitCode(Cause(r)) == ExitWanted; graceful != r.Graceful() {
			t.Errorf("%s: exit code %d, graceful %v", r, exitCode(Cause(r)), r.Graceful())
		}
	}
}
