package ending

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/pursuit"

	"github.com/google/go-cmp/cmp"
)

const resume = "'autopilot resume' goes on"

var (
	holds = ledger.Deliverable{Name: "make test", OK: true, Proof: "exit status 0"}
	fails = ledger.Deliverable{Name: "notes.md", Proof: "does not exist"}
)

func goal(text, status string, percent float64, proof ...ledger.Deliverable) pursuit.Goal {
	return pursuit.Goal{
		Text: text, Status: status, Proof: proof, Series: reflector.Series{Percent: percent}, Points: []pursuit.Point{{Sessions: 1, Active: time.Hour, Percent: percent}},
	}
}

func state(goals ...pursuit.Goal) pursuit.State { return pursuit.State{Goals: goals} }

// waits is a goal that waits for a person.
func waits(reason string, options ...string) pursuit.Goal {
	g := goal("g", ledger.GoalPaused, 40)
	g.Question = &pursuit.Question{Text: "which?", Options: options, Reason: reason}
	return g
}

func TestStatusReasonGuard(t *testing.T) {
	t.Parallel()
	type want struct{ status, reason, guard string }
	switches := map[killswitch.Reason]want{
		killswitch.UserAbort:           {"interrupted", "user_stop", "USER_INTERRUPT"},
		killswitch.MaxSessionsReached:  {"stopped", "max_iterations", "MAX_ITERATIONS"},
		killswitch.MaxHoursExceeded:    {"stopped", "timeout", "TIMEOUT"},
		killswitch.TokenBudgetExceeded: {"stopped", "cost_limit", "COST_LIMIT"},
		killswitch.ResourceOverload:    {"stopped", "resource_overload", ""},
		killswitch.LowConfidence:       {"paused", "low_confidence", ""},
		killswitch.StallTimeout:        {"stopped", "stall_timeout", ""},
		killswitch.Spiral:              {"stopped", "spiral", ""},
		killswitch.FailedWave:          {"stopped", "failed_wave", ""},
		killswitch.CarryoverTooHigh:    {"stopped", "carryover_too_high", ""},
		"of-a-later-version":           {"stopped", "of_a_later_version", ""},
	}
	check := func(name string, f Facts, want want) {
		t.Helper()
		got := Of(f)
		if got.Status != want.status || got.Reason != want.reason || got.Guard != want.guard {
			t.Errorf("%s: %s, %s, %q, want %s, %s, %q", name, got.Status, got.Reason, got.Guard, want.status, want.reason, want.guard)
		}
	}
	for _, r := range killswitch.All() {
		if _, ok := switches[r]; !ok {
			t.Errorf("%s is not in the table", r)
		}
	}
	for r, w := range switches {
		check(string(r), Facts{Reason: r, Cause: string(r)}, w)
		check(string(r)+", whatever the cause says", Facts{Reason: r, Cause: CauseDone}, w)
		if r == killswitch.FailedWave {
			w = want{"stopped", "error_threshold", "ERROR_THRESHOLD"}
		}
		check(string(r)+" with errors in a row", Facts{Reason: r, Cause: string(r), Errors: true}, w)
	}
	for cause, w := range map[string]want{
		CauseDone:     {"completed", "goal_achieved", ""},
		CausePerson:   {"paused", "question", ""},
		CauseManual:   {"paused", "low_confidence", ""},
		CauseGivenUp:  {"stopped", "given_up", ""},
		CauseKilled:   {"interrupted", "killed", ""},
		CauseError:    {"stopped", "error", ""},
		"":            {"stopped", "error", ""},
		"of a future": {"stopped", "error", ""},
	} {
		check("cause "+cause, Facts{Cause: cause}, w)
	}
	for _, reason := range []string{"stuck", "too_slow", "question"} {
		check("asked because of "+reason, Facts{Cause: CausePerson, Goals: state(goal("first", ledger.GoalAchieved, 100), waits(reason))}, want{"paused", reason, ""})
	}
	check("asked for no reason", Facts{Cause: CausePerson, Goals: state(waits(""))}, want{"paused", "question", ""})
}

func TestSummary(t *testing.T) {
	t.Parallel()
	const done, open = ledger.GoalAchieved, ledger.GoalOpen
	hour := Facts{Reason: killswitch.MaxHoursExceeded, Detail: "elapsed=2.01h >= max-hours=2.00h", Iterations: 4}
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"proved", Facts{Cause: CauseDone, Goals: state(goal("make it work", done, 100, holds))}, "Reached: make it work"},
		{"no check", Facts{Cause: CauseDone, Goals: state(goal("make it work", done, 100))}, "Reached: make it work (no check proves it; --verify and --expect-file would)"},
		{"not proved", Facts{Cause: CauseDone, Goals: state(goal("make it work", done, 100, holds, fails))}, "Reached: make it work (not proved: notes.md)"},
		{"several are not proved", Facts{Cause: CauseDone, Goals: state(goal("g", done, 100, fails, fails))}, "Reached: g (not proved: notes.md, notes.md)"},
		{"several goals", Facts{Cause: CauseDone, Goals: state(goal("a", done, 100, holds), goal("b", done, 100, holds))}, "Reached all 2 goals"},
		{"one of them without a check", Facts{Cause: CauseDone, Goals: state(goal("a", done, 100, holds), goal("b", done, 100))}, "Reached all 2 goals (no check proves goal 2; --verify and --expect-file would)"},
		{
			"all that can be wrong",
			Facts{Cause: CauseDone, Goals: state(goal("a", done, 100), goal("b", done, 100), goal("c", done, 100, holds, fails))},
			"Reached all 3 goals (no check proves goals 1, 2; --verify and --expect-file would; not proved: notes.md)",
		},
		{"none has a check", Facts{Cause: CauseDone, Goals: state(goal("a", done, 100), goal("b", done, 100))}, "Reached all 2 goals (no check proves it; --verify and --expect-file would)"},
		{"without a goal", Facts{Cause: CauseDone}, "Reached: nothing is left to do"},
		{"a goal of several lines", Facts{Cause: CauseDone, Goals: state(goal("make\n\n  it work\n", done, 100, holds))}, "Reached: make it work"},
		{"a limit", hour, "Stopped after 4 sessions: elapsed=2.01h >= max-hours=2.00h"},
		{"one session", with(hour, func(f *Facts) { f.Iterations = 1 }), "Stopped after 1 session: elapsed=2.01h >= max-hours=2.00h"},
		{"no session", with(hour, func(f *Facts) { f.Iterations = 0 }), "Stopped before the first session: elapsed=2.01h >= max-hours=2.00h"},
		{
			"how far it is", with(hour, func(f *Facts) { f.Goals = state(goal("g", open, 66.6)) }),
			"Stopped after 4 sessions, 67% complete: elapsed=2.01h >= max-hours=2.00h",
		},
		{"no detail", Facts{Cause: CauseError, Iterations: 2}, "Stopped after 2 sessions"},
		{"paused", Facts{Cause: CausePerson, Iterations: 30, Detail: "Stuck in loop:\nbecause"}, "Waits for a person after 30 sessions: Stuck in loop: because"},
		{"by hand", Facts{Cause: CauseManual, Detail: "confidence=0.5 < threshold=0.85"}, "Waits for a person before the first session: confidence=0.5 < threshold=0.85"},
		{"interrupted", Facts{Reason: killswitch.UserAbort, Iterations: 25, Detail: "received interrupt"}, "Ended at session 25: received interrupt"},
		{"interrupted at once", Facts{Reason: killswitch.UserAbort, Detail: "received interrupt"}, "Ended before the first session: received interrupt"},
		{"killed", Facts{Cause: CauseKilled, Iterations: 3, Detail: "the supervisor was killed"}, "Ended at session 3: the supervisor was killed"},
		{"given up", Facts{Cause: CauseGivenUp, Iterations: 3, Detail: "there is no such library", Goals: state(goal("g", ledger.GoalGivenUp, 20))}, "Stopped after 3 sessions, 20% complete: there is no such library"},
	} {
		if got := Of(c.facts).Summary; got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	long := strings.Repeat("very ", 1000)
	for name, f := range map[string]Facts{"goal": {Cause: CauseDone, Goals: state(goal(long, done, 100, holds))}, "detail": {Cause: CauseError, Detail: long}} {
		if n := utf8.RuneCountInString(Of(f).Summary); n > 600 {
			t.Errorf("a long %s makes a summary of %d characters", name, n)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	const done, open = ledger.GoalAchieved, ledger.GoalOpen
	unknown := pursuit.Goal{Status: open}
	limit := killswitch.MaxSessionsReached
	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"no goal", Facts{Reason: limit}, ""},
		{"no reflection yet", Facts{Reason: limit, Goals: state(unknown)}, ""},
		{"two thirds", Facts{Reason: limit, Goals: state(goal("g", open, 200.0/3))}, "67% complete"},
		{"nothing", Facts{Reason: limit, Goals: state(goal("g", open, 0))}, "0% complete"},
		{"a hundred, and not reached", Facts{Reason: limit, Goals: state(goal("g", open, 100))}, "99% complete"},
		{"nearly", Facts{Reason: limit, Goals: state(goal("g", open, 99.9))}, "99% complete"},
		{"nearly all", Facts{Reason: limit, Goals: state(goal("g", done, 100), goal("g", open, 99))}, "99% complete"},
		{"one of two", Facts{Reason: killswitch.UserAbort, Goals: state(goal("g", done, 100), unknown)}, "50% complete"},
		{"reached", Facts{Cause: CauseDone, Goals: state(goal("g", done, 40))}, "100% complete"},
		{"reached by a claim alone", Facts{Cause: CauseDone, Goals: state(pursuit.Goal{Status: done})}, "100% complete"},
	} {
		if got := Of(c.facts).Progress; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPartial(t *testing.T) {
	t.Parallel()
	assessed := func(status string, list ...reflector.Achieved) pursuit.Goal {
		g := goal("g", status, 50)
		for _, a := range list {
			g.Assessments = append(g.Assessments, reflector.Assessment{GoalAchieved: a})
		}
		return g
	}
	const yes, no, partial = reflector.Yes, reflector.No, reflector.Partial
	limit := Facts{Reason: killswitch.MaxSessionsReached}
	for _, c := range []struct {
		name  string
		facts Facts
		goals []pursuit.Goal
		want  bool
	}{
		{"nothing", limit, []pursuit.Goal{assessed(ledger.GoalOpen, no)}, false},
		{"never looked at", limit, []pursuit.Goal{assessed(ledger.GoalOpen)}, false},
		{"a limit, and the last look found a part", limit, []pursuit.Goal{assessed(ledger.GoalOpen, no, partial)}, true},
		{"an earlier one did", limit, []pursuit.Goal{assessed(ledger.GoalOpen, partial, no)}, false},
		{"said to be reached, and a check fails", limit, []pursuit.Goal{assessed(ledger.GoalOpen, yes)}, false},
		{"stopped with a part", Facts{Cause: CauseGivenUp}, []pursuit.Goal{assessed(ledger.GoalPartial)}, true},
		{"given up with a part", Facts{Cause: CauseGivenUp}, []pursuit.Goal{assessed(ledger.GoalGivenUp, partial)}, true},
		{"given up", Facts{Cause: CauseGivenUp}, []pursuit.Goal{assessed(ledger.GoalGivenUp, no)}, false},
		{"one goal of two", limit, []pursuit.Goal{assessed(ledger.GoalAchieved, yes), assessed(ledger.GoalOpen)}, true},
		{"the other one asks", Facts{Cause: CausePerson}, []pursuit.Goal{waits("stuck"), assessed(ledger.GoalAchieved)}, true},
		{"all", Facts{Cause: CauseDone}, []pursuit.Goal{assessed(ledger.GoalAchieved, partial)}, false},
	} {
		c.facts.Goals = state(c.goals...)
		if got := Of(c.facts).Partial; got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestNextSteps(t *testing.T) {
	t.Parallel()
	open := func(status string) pursuit.Goal {
		g := goal("g", status, 10)
		g.First, g.Steps = []string{"make test: exit status 1"}, []string{"write it", "test it"}
		return g
	}
	told := []string{"make test: exit status 1", "write it", "test it"}
	asked := waits("stuck", "this", "that")
	asked.First, asked.Steps = []string{"make test: exit status 1"}, []string{"this", "that"}
	const answer = "answer with 'autopilot answer TEXT', or with the letter of an option"
	for _, c := range []struct {
		name  string
		facts Facts
		goals []pursuit.Goal
		want  []string
	}{
		{"reached", Facts{Cause: CauseDone}, []pursuit.Goal{open(ledger.GoalAchieved)}, nil},
		{"time", Facts{Reason: killswitch.MaxHoursExceeded}, []pursuit.Goal{open(ledger.GoalOpen)}, append(slices.Clone(told), "'autopilot resume --max-hours H' goes on with a higher limit")},
		{"sessions", Facts{Reason: killswitch.MaxSessionsReached}, nil, []string{"'autopilot resume --max-sessions N' goes on with a higher limit"}},
		{"cost", Facts{Reason: killswitch.TokenBudgetExceeded}, nil, []string{"'autopilot resume --max-tokens N' or '--max-cost-usd X' goes on with a higher limit"}},
		{"errors", Facts{Reason: killswitch.FailedWave, Errors: true}, nil, []string{resume}},
		{"interrupted", Facts{Reason: killswitch.UserAbort}, []pursuit.Goal{open(ledger.GoalAchieved), open(ledger.GoalOpen)}, append(slices.Clone(told), resume)},
		{"killed", Facts{Cause: CauseKilled}, nil, []string{resume}},
		{"given up", Facts{Cause: CauseGivenUp}, []pursuit.Goal{open(ledger.GoalGivenUp)}, append(slices.Clone(told), "'autopilot resume' goes on all the same, 'autopilot answer TEXT' does so with your advice")},
		{"asked", Facts{Cause: CausePerson}, []pursuit.Goal{asked}, []string{told[0], answer}},
		{"asked without options", Facts{Cause: CausePerson}, []pursuit.Goal{waits("question")}, []string{"answer with 'autopilot answer TEXT'"}},
		{"asked and given up", Facts{Cause: CausePerson}, []pursuit.Goal{waits("question"), open(ledger.GoalGivenUp)}, append(slices.Clone(told), "answer with 'autopilot answer TEXT'")},
		{
			"a limit, and one goal asks",
			Facts{Reason: killswitch.MaxHoursExceeded},
			[]pursuit.Goal{waits("stuck", "this"), open(ledger.GoalOpen)},
			append(slices.Clone(told), answer, "'autopilot resume --max-hours H' goes on with a higher limit"),
		},
		{"by hand", Facts{Cause: CauseManual}, []pursuit.Goal{{Status: ledger.GoalOpen}}, []string{resume}},
	} {
		c.facts.Goals, c.facts.Iterations, c.facts.Saved = state(c.goals...), 3, true
		if diff := cmp.Diff(c.want, Of(c.facts).NextSteps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		c.facts.Saved = false
		for _, step := range Of(c.facts).NextSteps {
			if strings.Contains(step, "autopilot") {
				t.Errorf("%s: it cannot be continued, and says %q", c.name, step)
			}
		}
	}
}

func TestResumable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts Facts
		want  bool
	}{
		{Facts{Cause: CauseDone, Iterations: 3, Saved: true}, false},
		{Facts{Cause: CausePerson, Iterations: 3, Saved: true}, true},
		{Facts{Cause: CauseGivenUp, Iterations: 3, Saved: true}, true},
		{Facts{Cause: CauseKilled, Iterations: 3, Saved: true}, true},
		{Facts{Cause: CauseKilled, Iterations: 3}, false},
		{Facts{Cause: CauseError, Saved: true}, true},
		{Facts{Cause: CauseManual, Saved: true}, false},
		{Facts{Cause: CauseManual, Iterations: 3, Saved: true}, true}, // those of the run that it continues
		{Facts{Reason: killswitch.LowConfidence, Iterations: 3, Saved: true}, true},
		{Facts{Reason: killswitch.UserAbort, Saved: true}, true},
		{Facts{Reason: killswitch.MaxSessionsReached, Iterations: 3, Saved: true}, true},
	} {
		if got := Of(c.facts); got.Resumable != c.want || got.CheckpointSaved != c.facts.Saved {
			t.Errorf("%s%s after %d, saved %t: resumable %t, checkpoint %t, want %t", c.facts.Cause, c.facts.Reason, c.facts.Iterations, c.facts.Saved, got.Resumable, got.CheckpointSaved, c.want)
		}
	}
}

// TestEverything has all fields of one end compared.
func TestEverything(t *testing.T) {
	t.Parallel()
	first, second := goal("first", ledger.GoalAchieved, 100, holds), waits("stuck", "this", "that")
	second.Proof = []ledger.Deliverable{fails}
	got := Of(Facts{
		Cause: CausePerson, Detail: "which?", Goals: state(first, second), Iterations: 42, Active: 83 * time.Minute,
		Outcomes: ledger.Outcomes{Successes: 38, Failures: 4}, Saved: true,
	})
	want := ledger.Termination{
		Status: "paused", Reason: "stuck", Summary: "Waits for a person after 42 sessions, 70% complete: which?", Progress: "70% complete", Iterations: 42, TimeElapsed: "1h 23m",
		Outcomes: ledger.Outcomes{Successes: 38, Failures: 4}, Deliverables: []ledger.Deliverable{holds, fails}, Suggestions: []string{"this", "that"},
		Question: "which?", Options: []string{"this", "that"}, AwaitingUserInput: true,
		NextSteps: []string{"answer with 'autopilot answer TEXT', or with the letter of an option"}, Partial: true, CheckpointSaved: true, Resumable: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Of(Facts{Cause: CauseError}).Deliverables; got == nil {
		t.Error("no deliverables are null in JSON, want an empty list")
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "0s", 499 * time.Millisecond: "0s", 500 * time.Millisecond: "1s", 42 * time.Second: "42s", 59 * time.Second: "59s",
		59*time.Second + 600*time.Millisecond: "1m", time.Minute: "1m", 61 * time.Second: "1m", 119 * time.Second: "1m", 7 * time.Minute: "7m",
		59*time.Minute + 59*time.Second: "59m", time.Hour - time.Millisecond: "1h 0m", time.Hour: "1h 0m", 83*time.Minute + 59*time.Second: "1h 23m",
		2 * time.Hour: "2h 0m", 30 * time.Hour: "30h 0m", 10*day + 59*time.Minute: "240h 59m", -time.Nanosecond: "0s", -time.Second: "0s", -30 * time.Hour: "0s",
		1<<63 - 1: "2562047h 47m", -1 << 63: "0s",
	} {
		if got := Elapsed(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	second := waits("stuck", "use the container", "skip\nit")
	second.Proof, second.First = []ledger.Deliverable{fails}, []string{"notes.md: does not exist", "make test: exit status 0"}
	second.Question.Text = "Stuck in loop:\nno module jwt"
	for _, c := range []struct {
		name  string
		facts Facts
		want  string
	}{
		{"reached", Facts{Cause: CauseDone, Iterations: 2, Goals: state(goal("make it work", ledger.GoalAchieved, 100, holds))}, `
  status      completed, goal_achieved: Reached: make it work
  check       make test holds: exit status 0
`},
		{"a limit", Facts{Reason: killswitch.MaxHoursExceeded, Detail: "elapsed=2.01h >= max-hours=2.00h", Iterations: 4, Goals: state(goal("g", ledger.GoalOpen, 66.6))}, `
  status      stopped, timeout (guardrail TIMEOUT): Stopped after 4 sessions, 67% complete: elapsed=2.01h >= max-hours=2.00h
  next        'autopilot resume --max-hours H' goes on with a higher limit
`},
		{"asked", Facts{Cause: CausePerson, Detail: second.Question.Text, Iterations: 30, Goals: state(goal("first", ledger.GoalAchieved, 100, holds), second)}, `
  status      paused, stuck: Waits for a person after 30 sessions, 70% complete: Stuck in loop: no module jwt
  check       make test holds: exit status 0
  check       notes.md FAILS: does not exist
  question    Stuck in loop: no module jwt
              A) use the container
              B) skip it
  next        make test: exit status 0
  next        answer with 'autopilot answer TEXT', or with the letter of an option
`},
		{"interrupted", Facts{Reason: killswitch.UserAbort, Detail: "received interrupt", Iterations: 25}, `
  status      interrupted, user_stop (guardrail USER_INTERRUPT): Ended at session 25: received interrupt
  next        'autopilot resume' goes on
`},
	} {
		c.facts.Saved = true
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), Text(Of(c.facts))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTextOfMuch(t *testing.T) {
	t.Parallel()
	numbered := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("s", i+1))
		}
		return out
	}
	got := func(steps []string) []string {
		var out []string
		for line := range strings.Lines(Text(ledger.Termination{NextSteps: steps})) {
			if step, ok := strings.CutPrefix(line, "  next        "); ok {
				out = append(out, strings.TrimSuffix(step, "\n"))
			}
		}
		return out
	}
	for n, want := range map[int][]string{
		0: nil, 1: {"s1"}, 6: numbered(6),
		7:  {"s1", "s2", "s3", "s4", "s5", "(1 more are in the record)", "s7"},
		40: {"s1", "s2", "s3", "s4", "s5", "(34 more are in the record)", "s40"},
	} {
		if diff := cmp.Diff(want, got(numbered(n))); diff != "" {
			t.Errorf("%d steps (-want +got):\n%s", n, diff)
		}
	}
	text := Text(ledger.Termination{Question: "q", Options: numbered(28)})
	for _, want := range []string{"\n              A) s1\n", "\n              Z) s26\n", "\n              -  s27\n", "\n              -  s28\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
