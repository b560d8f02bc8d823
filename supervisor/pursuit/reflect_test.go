package pursuit

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/reflector/loops"
	"autopilot/supervisor/gate"
)

var (
	yes = assessment(reflector.Yes, reflector.Good, 100, reflector.Stop)
	no  = assessment(reflector.No, reflector.Good, 40, reflector.Continue, "go on")
)

// TestReached has every way in which a goal is said to be reached meet the checks.
func TestReached(t *testing.T) {
	t.Parallel()
	const open, done = ledger.GoalOpen, ledger.GoalAchieved
	given, derived := command("given", true), command("derived", false)
	for _, c := range []struct {
		name       string
		checks     []gate.Check
		failing    []string
		interval   int
		reflector  *asked // nil is none
		claim      string
		matrix     reflector.Matrix
		status     string
		rule       string
		falseStops []int // all, by derived checks alone
	}{
		{"yes without checks", nil, nil, 5, &asked{assessment: yes}, "", "", done, "achieved", []int{0, 0}},
		{"yes, and checks hold", []gate.Check{given, derived}, nil, 5, &asked{assessment: yes}, "", "", done, "achieved", []int{0, 0}},
		{"yes, and a given one fails", []gate.Check{given, derived}, []string{"given"}, 5, &asked{assessment: yes}, "", "", open, "checks-failed", []int{1, 0}},
		{"yes, and a derived one fails", []gate.Check{given, derived}, []string{"derived"}, 5, &asked{assessment: yes}, "", "", open, "checks-failed", []int{1, 1}},
		{"yes, and both fail", []gate.Check{derived, given}, []string{"given", "derived"}, 5, &asked{assessment: yes}, "", "", open, "checks-failed", []int{1, 0}},
		{"yes by the strict rules", []gate.Check{given}, []string{"given"}, 5, &asked{assessment: yes}, "", reflector.Strict, done, "achieved", []int{1, 0}},
		{"a claim, and the reflector says yes", []gate.Check{given}, nil, 5, &asked{assessment: yes}, "done", "", done, "achieved", []int{0, 0}},
		{"a claim, and the reflector says no", []gate.Check{given}, nil, 5, &asked{assessment: no}, "done", "", open, "good", []int{0, 0}},
		{"a claim, and it says no as the check does", []gate.Check{given}, []string{"given"}, 5, &asked{assessment: no}, "done", "", open, "good", []int{1, 0}},
		{"no, and a check fails", []gate.Check{given}, []string{"given"}, 5, &asked{assessment: no}, "", "", open, "good", []int{0, 0}},
		{"a claim without a reflector", []gate.Check{given}, nil, 5, nil, "done", "", done, RuleClaim, []int{0, 0}},
		{"a claim that is refuted without one", []gate.Check{given}, []string{"given"}, 5, nil, "done", "", open, RuleRefuted, []int{1, 0}},
		{"a claim in fixed mode", []gate.Check{given}, nil, 0, &asked{assessment: no}, "done", "", done, RuleClaim, []int{0, 0}},
		{"a claim in fixed mode without checks", nil, nil, 0, &asked{assessment: no}, "done", "", done, RuleClaim, []int{0, 0}},
		{"a claim that is refuted in fixed mode", []gate.Check{derived}, []string{"derived"}, 0, &asked{assessment: yes}, "done", "", open, RuleRefuted, []int{1, 1}},
		{"the reflector fails", []gate.Check{given}, nil, 5, &asked{assessment: yes, err: errSilent}, "", "", open, RuleFixed, []int{0, 0}},
		{"it fails, and a check as well", []gate.Check{given}, []string{"given"}, 5, &asked{assessment: yes, err: errSilent}, "", "", open, RuleFixed, []int{0, 0}},
		{"it fails after a claim", []gate.Check{given}, nil, 5, &asked{assessment: no, err: errSilent}, "done", "", done, RuleClaim, []int{0, 0}},
		{"it fails after a claim that is refuted", []gate.Check{given}, []string{"given"}, 5, &asked{assessment: yes, err: errSilent}, "done", "", open, RuleRefuted, []int{1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Begin([]Goal{{Text: "g", Checks: c.checks, Milestones: []reflector.Milestone{{Text: "m"}}}}, c.interval)
			worked(&s, 3)
			o := Options{Check: checking(c.failing...), Matrix: c.matrix}
			if c.reflector != nil {
				o.Reflector = c.reflector
			}
			rec := s.reflect(t, o, Occasion{Iteration: 3, Session: "s", Claim: c.claim, Left: reflector.Left{Sessions: 9}})
			g := s.Goals[0]
			if g.Status != c.status || rec.Decision.Rule != c.rule || g.Since != 0 {
				t.Errorf("status %s by %s, %d since; want %s by %s and none", g.Status, rec.Decision.Rule, g.Since, c.status, c.rule)
			}
			same(t, "false stops", c.falseStops, []int{g.FalseStops, g.Unproven})
			if rec.FalseStop != (c.falseStops[0] > 0) {
				t.Errorf("false stop %t", rec.FalseStop)
			}
			if got := g.Milestones[0].Done; got != (c.status == done) {
				t.Errorf("milestone done %t, status %s", got, c.status)
			}
			if got := g.Status == done && g.Series.Percent != 100; got {
				t.Errorf("achieved at %v %%", g.Series.Percent)
			}
			var first []string
			if rec.FalseStop && c.status == open {
				for _, f := range c.failing {
					first = append(first, f+": exit status 1")
				}
			}
			slices.Sort(first)
			got := slices.Clone(g.First)
			slices.Sort(got)
			same(t, "what the next session has to see to", first, got)
			if len(g.Proof) != len(c.checks) {
				t.Errorf("proof %+v of %d checks", g.Proof, len(c.checks))
			}
			wantAsked := c.interval > 0 && c.reflector != nil
			if c.reflector != nil && (len(c.reflector.inputs) == 1) != wantAsked {
				t.Errorf("asked %d times, want it: %t", len(c.reflector.inputs), wantAsked)
			}
			if (rec.Reflector == "oracle") != wantAsked || (s.Tally.Count == 1) != wantAsked {
				t.Errorf("record names %q, tally %+v", rec.Reflector, s.Tally)
			}
			failed := c.reflector != nil && c.reflector.err != nil
			if (rec.Error != "") != failed || (s.Tally.Failed == 1) != failed || (g.Series.Failed == 1) != failed || (rec.Assessment != nil) != (wantAsked && !failed) {
				t.Errorf("error %q, tally %+v, %d failed, assessment %v", rec.Error, s.Tally, g.Series.Failed, rec.Assessment)
			}
		})
	}
}

// TestGoalStates has a decision of each kind change the goal.
func TestGoalStates(t *testing.T) {
	t.Parallel()
	a := func(achieved reflector.Achieved, p reflector.Progress, r reflector.Recommendation) reflector.Assessment {
		return assessment(achieved, p, 50, r, "this", "that")
	}
	loop := a(reflector.No, reflector.Stuck, reflector.Continue)
	loop.LoopDetected = true
	silent := loop
	silent.Reasoning = ""
	mute := a(reflector.No, reflector.Stuck, reflector.AskUser)
	mute.Reasoning = ""
	question := func(text, reason string) *Question {
		return &Question{Text: text, Options: []string{"this", "that"}, Reason: reason, Session: "s"}
	}
	for _, c := range []struct {
		name       string
		assessment reflector.Assessment
		series     reflector.Series // before
		left       int
		rule       string
		status     string
		question   *Question
	}{
		{"continue", a(reflector.No, reflector.Good, reflector.Continue), reflector.Series{}, 9, "good", ledger.GoalOpen, nil},
		{"stop", a(reflector.No, reflector.Good, reflector.Stop), reflector.Series{}, 9, "stop-recommended", ledger.GoalGivenUp, nil},
		{"stop with a part", a(reflector.Partial, reflector.Good, reflector.Stop), reflector.Series{}, 9, "stop-recommended", ledger.GoalPartial, nil},
		{"a part at the limit", a(reflector.Partial, reflector.Good, reflector.Continue), reflector.Series{}, 0, "partial-at-limit", ledger.GoalPartial, nil},
		{"a part before the limit", a(reflector.Partial, reflector.Good, reflector.Continue), reflector.Series{}, 1, "good", ledger.GoalOpen, nil},
		{"a loop", loop, reflector.Series{}, 9, "stuck-in-loop", ledger.GoalPaused, question("Stuck in loop: because", "stuck")},
		{"a loop without reasoning", silent, reflector.Series{}, 9, "stuck-in-loop", ledger.GoalPaused, question("Stuck in loop", "stuck")},
		{"stuck once", a(reflector.No, reflector.Stuck, reflector.Continue), reflector.Series{}, 9, "default", ledger.GoalOpen, nil},
		{
			"stuck twice", a(reflector.No, reflector.Stuck, reflector.Continue),
			reflector.Series{Stuck: 1},
			9, "stuck-twice", ledger.GoalPaused,
			question("Stuck in 2 reflections in a row: because", "stuck"),
		},
		{"slow twice", a(reflector.No, reflector.Slow, reflector.Continue), reflector.Series{Slow: 1}, 9, "default", ledger.GoalOpen, nil},
		{
			"slow three times", a(reflector.No, reflector.Slow, reflector.Continue),
			reflector.Series{Slow: 2},
			9, "slow", ledger.GoalPaused,
			question("Progress too slow: because", "too_slow"),
		},
		{"asked", a(reflector.No, reflector.Slow, reflector.AskUser), reflector.Series{}, 9, "asked", ledger.GoalPaused, question("because", "question")},
		{"asked, being stuck", a(reflector.No, reflector.Stuck, reflector.AskUser), reflector.Series{}, 9, "asked", ledger.GoalPaused, question("Stuck: because", "stuck")},
		{"asked without words", mute, reflector.Series{}, 9, "asked", ledger.GoalPaused, question("A person is needed", "stuck")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Begin(goals(1), 5)
			worked(&s, 1)
			g := &s.Goals[0]
			g.Series, g.Steps = c.series, []string{"an old one"}
			rec := s.reflect(t, Options{Reflector: &asked{assessment: c.assessment}}, Occasion{Session: "s", Left: reflector.Left{Sessions: c.left}})
			if rec.Decision.Rule != c.rule || g.Status != c.status {
				t.Errorf("%s by %s, want %s by %s", g.Status, rec.Decision.Rule, c.status, c.rule)
			}
			if g.Question != nil {
				if !g.Question.At.Equal(rec.At) || rec.At.IsZero() {
					t.Errorf("asked at %v, reflected at %v", g.Question.At, rec.At)
				}
				g.Question.At = time.Time{}
			}
			same(t, "question", c.question, g.Question)
			same(t, "steps", []string{"this", "that"}, g.Steps)
			same(t, "percent", 50.0, g.Series.Percent)
		})
	}
}

func TestLoopWithoutEffectAsks(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 5)
	for range 2 {
		one(&s, reflector.Session{Worked: true}, "A", "A")
	}
	r := &asked{assessment: no}
	rec := s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	want := &loops.Finding{Kind: loops.Repeat, Words: `Bash "A", 4 times in a row`, Iteration: 2}
	same(t, "loop", want, rec.Loop)
	if rec.Decision.Rule != "loop-without-effect" || s.Goals[0].Status != ledger.GoalPaused || r.inputs[0].Loop != want.Words {
		t.Errorf("%s by %s; the reflector was told %q", s.Goals[0].Status, rec.Decision.Rule, r.inputs[0].Loop)
	}
}

// TestDerivedChecksAreSetAside has a check that follows from the words of the goal
// stand against it twice.
func TestDerivedChecksAreSetAside(t *testing.T) {
	t.Parallel()
	given, derived := command("given", true), command("derived", false)
	s := Begin([]Goal{{Text: "g", Checks: []gate.Check{given, derived}}}, 5)
	r := &asked{assessment: yes}
	for i, c := range []struct {
		failing  []string
		status   string
		unproven int
		shown    int // checks that the reflector sees
		aside    []string
	}{
		{[]string{"given", "derived"}, ledger.GoalOpen, 0, 2, nil}, // the given one stands against it
		{[]string{"derived"}, ledger.GoalOpen, 1, 2, nil},
		{[]string{"derived"}, ledger.GoalOpen, 2, 2, nil},
		{[]string{"given", "derived"}, ledger.GoalOpen, 2, 1, []string{"derived: exit status 1"}},
		{[]string{"given"}, ledger.GoalOpen, 2, 2, nil}, // it holds again and is seen again
		{[]string{"given", "derived"}, ledger.GoalOpen, 2, 1, []string{"derived: exit status 1"}},
		{[]string{"derived"}, ledger.GoalAchieved, 2, 1, []string{"derived: exit status 1"}},
	} {
		worked(&s, 1)
		rec := s.reflect(t, Options{Reflector: r, Check: checking(c.failing...)}, Occasion{Left: reflector.Left{Sessions: 9}})
		g := s.Goals[0]
		if g.Status != c.status || g.Unproven != c.unproven || len(r.inputs[i].Checks) != c.shown || len(rec.Checks) != 2 {
			t.Errorf("%d: %s, %d unproven, the reflector sees %d, the record %d", i, g.Status, g.Unproven, len(r.inputs[i].Checks), len(rec.Checks))
		}
		same(t, "set aside", c.aside, rec.SetAside)
	}
	same(t, "proof", []ledger.Deliverable{{Name: "given", OK: true, Proof: "exit status 0"}, {Name: "derived", Proof: "exit status 1"}}, s.Goals[0].Proof)
	if s.Goals[0].FalseStops != 6 {
		t.Errorf("%d false stops, want 6", s.Goals[0].FalseStops)
	}
}

func TestDerivedChecksAreSetAsideInFixedMode(t *testing.T) {
	t.Parallel()
	s := Begin([]Goal{{Text: "g", Checks: []gate.Check{command("derived", false)}}}, 0)
	var got []string
	for range 3 {
		worked(&s, 1)
		s.reflect(t, Options{Check: checking("derived")}, Occasion{Claim: "done"})
		got = append(got, s.Goals[0].Status)
	}
	same(t, "states", []string{ledger.GoalOpen, ledger.GoalOpen, ledger.GoalAchieved}, got)
}

// TestNothingChangesWhenItIsToBeTriedAgain also holds when the run is to end meanwhile.
func TestNothingChangesWhenItIsToBeTriedAgain(t *testing.T) {
	t.Parallel()
	later := &reflector.LaterError{At: time.Unix(1, 0), Err: errSilent}
	retry := func(err error) bool {
		_, ok := errors.AsType[*reflector.LaterError](err)
		return ok
	}
	for _, c := range []struct {
		name string
		make func(cancel func()) Options
		want error
	}{
		{"a limit", func(func()) Options { return Options{Reflector: &asked{err: later, usage: reflector.Usage{Output: 3}}} }, later},
		{"cancelled during the checks", func(cancel func()) Options {
			return Options{Reflector: &asked{assessment: yes}, Check: func(ctx context.Context, checks []gate.Check) []gate.Result {
				cancel()
				return checking("given")(ctx, checks)
			}}
		}, context.Canceled},
		{"cancelled during the reflector", func(cancel func()) Options { return Options{Reflector: &asked{err: errSilent, then: cancel}} }, errSilent},
		{"cancelled while it waits for a limit", func(cancel func()) Options { return Options{Reflector: &asked{err: later, then: cancel}} }, later},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Begin([]Goal{{
				Text: "g " + secret, Checks: []gate.Check{command("given "+secret, true), command("given", true)}, Milestones: []reflector.Milestone{{Text: "m"}},
			}}, 3)
			worked(&s, 2)
			s.reflect(t, Options{Reflector: &asked{assessment: good(30)}}, Occasion{Left: reflector.Left{Sessions: 9}})
			one(&s, reflector.Session{Files: 1}, "A", "B")
			s.Goals[0].First, s.Goals[0].Steps = []string{"x"}, []string{"y"}
			before := copied(t, s)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := c.make(cancel)
			o.Retry, o.Matrix = retry, reflector.Extended
			if o.Check == nil {
				o.Check = checking("given")
			}
			rec, err := s.Reflect(ctx, o, Occasion{Claim: "done"}, reflector.ByClaim)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			same(t, "state", before, s)
			if want := o.Reflector.(*asked).usage; rec.Usage != want {
				t.Errorf("usage %+v, want %+v", rec.Usage, want)
			}
			if o.Reflector.(*asked).then == nil && c.want == context.Canceled && len(o.Reflector.(*asked).inputs) > 0 {
				t.Error("it was asked though the run is to end")
			}
		})
	}
}

// TestALimitThatNobodyWaitsFor is like any other failure.
func TestALimitThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]func(error) bool{"no retry": nil, "not this time": func(error) bool { return false }} {
		s := Begin(goals(1), 3)
		worked(&s, 1)
		later := &reflector.LaterError{Err: errors.New("limit for " + secret)}
		rec := s.reflect(t, Options{Reflector: &asked{err: later}, Retry: retry}, Occasion{Claim: "done"})
		if rec.Error != "limit for "+hidden || s.Goals[0].Status != ledger.GoalAchieved || s.Tally.Failed != 1 {
			t.Errorf("%s: error %q, %s, %d failed", name, rec.Error, s.Goals[0].Status, s.Tally.Failed)
		}
	}
}

// TestFailureKeepsWhatTheLastReflectionProposed counts failures in a row as well.
func TestFailureKeepsWhatTheLastReflectionProposed(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 3)
	r := &asked{assessment: no}
	g := &s.Goals[0]
	var failed []int
	for _, err := range []error{nil, errSilent, errSilent, nil} {
		worked(&s, 1)
		r.err = err
		s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
		failed = append(failed, g.Series.Failed)
		same(t, "steps", []string{"go on"}, g.Steps)
	}
	same(t, "failed in a row", []int{0, 1, 2, 0}, failed)
	if len(g.Points) != 2 || len(g.Assessments) != 2 {
		t.Errorf("%d points, %d assessments, want those of two", len(g.Points), len(g.Assessments))
	}
}

func TestSeveralGoals(t *testing.T) {
	t.Parallel()
	given := goals(3)
	for i := range given {
		given[i].Checks = []gate.Check{command(given[i].Text, true)}
	}
	s := Begin(given, 1)
	r := &asked{}
	var numbers []int
	step := func(a reflector.Assessment, failing string) {
		t.Helper()
		worked(&s, 1)
		r.assessment = a
		rec := s.reflect(t, Options{Reflector: r, Check: checking(failing)}, Occasion{Left: reflector.Left{Sessions: 9}})
		numbers = append(numbers, rec.Goal)
		if len(rec.Checks) != 1 || r.inputs[len(r.inputs)-1].Goal != given[rec.Goal-1].Text {
			t.Errorf("goal %d: checks %+v, input %+v", rec.Goal, rec.Checks, r.inputs[len(r.inputs)-1])
		}
	}
	step(assessment(reflector.No, reflector.Slow, 10, reflector.AskUser), "")
	same(t, "one asked", []string{ledger.GoalPaused, ledger.GoalOpen, ledger.GoalOpen}, statuses(s))
	step(yes, "goal 1") // a check of another goal
	same(t, "one reached", []string{ledger.GoalPaused, ledger.GoalAchieved, ledger.GoalOpen}, statuses(s))
	step(no, "")
	step(assessment(reflector.No, reflector.Slow, 10, reflector.Stop), "")
	same(t, "one given up", []string{ledger.GoalPaused, ledger.GoalAchieved, ledger.GoalGivenUp}, statuses(s))
	if s.Current() != nil || s.Asked() != &s.Goals[0] {
		t.Error("want no current goal, and the first one asked")
	}
	s.Goals[0].Resume("so")
	step(yes, "goal 3")
	same(t, "goals that were looked at", []int{1, 2, 3, 3, 1}, numbers)
	same(t, "iterations", []int{2, 1, 2}, []int{s.Goals[0].Totals.Sessions, s.Goals[1].Totals.Sessions, s.Goals[2].Totals.Sessions})
}

// TestInput has the reflector see what happened with this goal alone.
func TestInput(t *testing.T) {
	t.Parallel()
	s := Begin([]Goal{{
		Text: "use " + secret, Criteria: []string{"c"}, Milestones: []reflector.Milestone{{Text: "m"}}, Base: "abc",
		Checks: []gate.Check{command("a", true), {Kind: gate.File, File: "f"}},
	}}, 3)
	one(&s, reflector.Session{Files: 2, Summary: "did it"}, "A")
	r := &asked{assessment: good(30)}
	from := ""
	o := Options{Reflector: r, Check: checking("a"), Diff: func(_ context.Context, base string) string { from = base; return "the diff" }}
	at := Occasion{Iteration: 7, Session: "s", Claim: "done", Left: reflector.Left{Sessions: 4, Time: time.Hour, Tokens: -1}}
	rec := s.reflect(t, o, at)
	want := reflector.Input{
		Goal: "use " + hidden, Criteria: []string{"c"}, Milestones: []reflector.Milestone{{Text: "m"}}, Why: reflector.ByInterval, Diff: "the diff", Claim: "done",
		Sessions: []reflector.Session{{Iteration: 1, Files: 2, Summary: "did it"}}, Calls: []reflector.Call{{Iteration: 1, Tool: "Bash", Brief: "A", Same: "A"}},
		Totals: reflector.Totals{Sessions: 1, Failures: 1, Files: 2}, Left: at.Left,
		Checks: []reflector.Check{{Name: "a", Detail: "exit status 1", Given: true}, {Name: "f", OK: true, Detail: "exit status 0"}},
	}
	same(t, "input", want, r.inputs[0])
	if from != "abc" || rec.Iteration != 7 || rec.Goal != 1 || rec.Trigger != reflector.ByInterval || rec.Model != "m" || rec.Attempts != 2 || rec.TookMS < 0 {
		t.Errorf("diff from %q, record %+v", from, rec)
	}
	worked(&s, 1)
	s.reflect(t, o, at)
	same(t, "earlier", []reflector.Assessment{good(30)}, r.inputs[1].Earlier)
}

// TestRecordKeepsNoSecret looks for one in everything that is written down.
func TestRecordKeepsNoSecret(t *testing.T) {
	t.Parallel()
	s := Begin([]Goal{{Text: "g " + secret, Criteria: []string{secret}, Milestones: []reflector.Milestone{{Text: secret}}, Checks: []gate.Check{command("echo "+secret, true)}}}, 3)
	worked(&s, 1)
	a := assessment(reflector.No, reflector.Slow, 10, reflector.AskUser, "try "+secret)
	a.Reasoning = "it says " + secret
	rec := s.reflect(t, Options{Reflector: &asked{assessment: a}, Check: checking("echo " + secret)}, Occasion{Claim: "done", Left: reflector.Left{Sessions: 9}})
	for name, v := range map[string]any{"record": rec, "state": s, "ledger": s.Records()} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), secret) || !strings.Contains(string(data), hidden) {
			t.Errorf("%s: %s", name, data)
		}
	}
	if got := s.Goals[0].Checks[0].Command; got != "echo "+secret {
		t.Errorf("the check became %q", got)
	}
	if a.NextSteps[0] != "try "+secret {
		t.Error("the reflector's own answer was changed")
	}
}

// TestIntervalFollowsTheBase has it change with each reflection, always from the base
// and not from what it has become.
func TestIntervalFollowsTheBase(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 8)
	var got []int
	for _, p := range []reflector.Progress{reflector.Good, reflector.Good, reflector.Slow, reflector.Slow, reflector.Good} {
		worked(&s, 1)
		s.reflect(t, Options{Reflector: &asked{assessment: assessment(reflector.No, p, 10, reflector.Continue)}}, Occasion{Left: reflector.Left{Sessions: 9}})
		got = append(got, s.Goals[0].Series.Interval)
	}
	same(t, "intervals", []int{16, 16, 4, 4, 16}, got)
}
