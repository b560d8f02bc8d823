package reflector

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plain is what the original decision function returns.
type plain struct {
	Action, Reason                                             string
	Graceful, Guidance, Estimate, Refinement, Options, Monitor bool
}

// original is a second writing of the basic rules, straight down and without any
// of the types and tables of this package.
func original(achieved, progress string, percent float64, loop bool, recommendation, reasoning string, slow int) plain {
	if achieved == "YES" {
		return plain{Action: "STOP", Reason: "Goal achieved", Graceful: true}
	}
	if loop && progress == "STUCK" {
		return plain{Action: "ASK_USER", Reason: "Stuck in loop", Guidance: true}
	}
	if progress == "GOOD" && percent < 90 {
		return plain{Action: "CONTINUE", Reason: "Making progress", Estimate: true}
	}
	if progress == "SLOW" && slow >= 3 {
		return plain{Action: "ASK_USER", Reason: "Progress too slow", Refinement: true}
	}
	if recommendation == "ASK_USER" {
		return plain{Action: "ASK_USER", Reason: reasoning, Options: true}
	}
	return plain{Action: "CONTINUE", Reason: "Progress detected", Monitor: true}
}

func plainly(d Decision) plain {
	return plain{
		string(d.Action), d.Reason, d.Graceful, d.Guidance != nil, d.Estimate != nil, d.Refinement, d.Options != nil, d.Monitor,
	}
}

// everyCase calls f with all combinations of what the basic rules read.
func everyCase(f func(a Assessment, slow int)) {
	for _, achieved := range []Achieved{Yes, No, Partial} {
		for _, progress := range []Progress{Good, Slow, Stuck} {
			for _, percent := range []float64{0, 50, 89, 90, 100} {
				for _, loop := range []bool{false, true} {
					for _, recommendation := range []Recommendation{Continue, Stop, AskUser} {
						for _, slow := range []int{0, 2, 3} {
							f(Assessment{achieved, progress, percent, loop, recommendation, "because", []string{"step one", "step two"}, nil}, slow)
						}
					}
				}
			}
		}
	}
}

func name(a Assessment, slow int) string {
	return fmt.Sprintf("%s/%s/%g/%t/%s/%d", a.GoalAchieved, a.Progress, a.PercentComplete, a.LoopDetected, a.Recommendation, slow)
}

func TestStrictIsTheOriginal(t *testing.T) {
	t.Parallel()
	cases, totals := 0, map[Action]int{}
	everyCase(func(a Assessment, slow int) {
		cases++
		d := Decide(a, Context{Slow: slow}, Strict)
		totals[d.Action]++
		want := original(string(a.GoalAchieved), string(a.Progress), a.PercentComplete, a.LoopDetected, string(a.Recommendation), a.Reasoning, slow)
		if diff := cmp.Diff(want, plainly(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name(a, slow), diff)
		}
		for _, list := range [][]string{d.Guidance, d.Options} {
			if list != nil && !cmp.Equal(list, a.NextSteps) {
				t.Errorf("%s: lists %q, want the next steps", name(a, slow), list)
			}
		}
		if d.Estimate != nil && d.Estimate.PercentRemaining != 100-a.PercentComplete {
			t.Errorf("%s: %g %% remain, want %g", name(a, slow), d.Estimate.PercentRemaining, 100-a.PercentComplete)
		}
		if d.Extension || d.Partial {
			t.Errorf("%s: extension %t, partial %t, want neither", name(a, slow), d.Extension, d.Partial)
		}
	})
	want := map[Action]int{ActionStop: 270, ActionAsk: 244, ActionContinue: 296}
	if diff := cmp.Diff(want, totals); diff != "" || cases != 810 {
		t.Errorf("%d cases, totals (-want +got):\n%s", cases, diff)
	}
}

// What the strict rules do not know must not change what they decide.
func TestStrictReadsNothingElse(t *testing.T) {
	t.Parallel()
	everyCase(func(a Assessment, slow int) {
		full := Context{
			Slow: slow, Stuck: 9, LoopSeen: true, Idle: 9, AtLimit: true, FailedChecks: []string{"build: exit status 1"},
		}
		if diff := cmp.Diff(Decide(a, Context{Slow: slow}, Strict), Decide(a, full, Strict)); diff != "" {
			t.Errorf("%s (-empty context +full):\n%s", name(a, slow), diff)
		}
	})
}

func TestExtendedDiffersOnlyWhereItSays(t *testing.T) {
	t.Parallel()
	stops, nearly := 0, 0
	everyCase(func(a Assessment, slow int) {
		c := Context{Slow: slow}
		strict, extended := Decide(a, c, Strict), Decide(a, c, Extended)
		switch {
		case a.GoalAchieved != Yes && a.Recommendation == Stop:
			stops++
			if extended.Action != ActionStop || extended.Graceful || extended.Rule != "stop-recommended" || !extended.Extension {
				t.Errorf("%s: got %+v, want a stop that is not graceful", name(a, slow), extended)
			}
			if extended.Partial != (a.GoalAchieved == Partial) {
				t.Errorf("%s: partial is %t", name(a, slow), extended.Partial)
			}
		case a.GoalAchieved != Yes && a.Progress == Good && a.PercentComplete >= 90 && a.Recommendation == Continue:
			nearly++
			if extended.Action != ActionContinue || extended.Rule != "nearly-done" || extended.Estimate == nil || !extended.Monitor {
				t.Errorf("%s: got %+v, want to go on with an estimate and a closer look", name(a, slow), extended)
			}
		default:
			if diff := cmp.Diff(strict, extended); diff != "" {
				t.Errorf("%s (-strict +extended):\n%s", name(a, slow), diff)
			}
		}
	})
	if stops != 180 || nearly != 24 {
		t.Errorf("%d cases with STOP and %d nearly done, want 180 and 24", stops, nearly)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	steps := []string{"try the other parser"}
	assess := func(g Achieved, p Progress, percent float64, r Recommendation) Assessment {
		return Assessment{GoalAchieved: g, Progress: p, PercentComplete: percent, Recommendation: r, Reasoning: "because", NextSteps: steps}
	}
	failed := []string{"build: exit status 1", "README.md: is missing"}
	for _, c := range []struct {
		name         string
		a            Assessment
		c            Context
		want         Decision
		below        Assessment // the case that the rule just does not hold for
		belowContext Context
		belowRule    string
		strict       string // the rule that decides without extensions
	}{
		{
			"a claim with failed checks", assess(Yes, Good, 100, Stop),
			Context{FailedChecks: failed, Slow: 9, Stuck: 9, AtLimit: true},
			Decision{Action: ActionContinue, Reason: "The goal is said to be reached, and its checks fail", Guidance: failed, Rule: "checks-failed"},
			assess(Yes, Good, 100, Stop),
			Context{},
			"achieved", "achieved",
		},
		{
			"failed checks without a claim", assess(Yes, Slow, 100, Continue),
			Context{FailedChecks: failed[:1]},
			Decision{Action: ActionContinue, Reason: "The goal is said to be reached, and its checks fail", Guidance: failed[:1], Rule: "checks-failed"},
			assess(Partial, Slow, 100, Continue),
			Context{FailedChecks: failed[:1]},
			"default", "achieved",
		},
		{
			"a stop is recommended", assess(No, Good, 10, Stop),
			Context{},
			Decision{Action: ActionStop, Reason: "because", Guidance: steps, Rule: "stop-recommended"},
			assess(No, Good, 10, Continue),
			Context{},
			"good", "good",
		},
		{
			"a stop is recommended halfway", assess(Partial, Slow, 60, Stop),
			Context{Slow: 3, Stuck: 3, AtLimit: true},
			Decision{Action: ActionStop, Reason: "because", Guidance: steps, Partial: true, Rule: "stop-recommended"},
			assess(Partial, Slow, 60, AskUser),
			Context{},
			"asked", "slow",
		},
		{
			"stuck twice", assess(No, Stuck, 40, Continue),
			Context{Stuck: 2},
			Decision{Action: ActionAsk, Reason: "Stuck in 2 reflections in a row", Guidance: steps, Rule: "stuck-twice"},
			assess(No, Stuck, 40, Continue),
			Context{Stuck: 1},
			"default", "default",
		},
		{
			"stuck once, after others", assess(No, Stuck, 40, Continue),
			Context{Stuck: 3, Slow: 7},
			Decision{Action: ActionAsk, Reason: "Stuck in 3 reflections in a row", Guidance: steps, Rule: "stuck-twice"},
			assess(No, Slow, 40, Continue),
			Context{Stuck: 3, Slow: 2},
			"default", "default",
		},
		{
			"a loop and two idle sessions", assess(No, Good, 40, Continue),
			Context{LoopSeen: true, Idle: 2},
			Decision{
				Action: ActionAsk, Reason: "The same calls again and again, and 2 sessions without effect", Guidance: steps, Rule: "loop-without-effect",
			},
			assess(No, Good, 40, Continue),
			Context{LoopSeen: true, Idle: 1},
			"good", "good",
		},
		{
			"idle sessions and a loop", assess(No, Slow, 40, Continue),
			Context{LoopSeen: true, Idle: 5},
			Decision{
				Action: ActionAsk, Reason: "The same calls again and again, and 5 sessions without effect", Guidance: steps, Rule: "loop-without-effect",
			},
			assess(No, Slow, 40, Continue),
			Context{Idle: 5},
			"default", "default",
		},
		{
			"a part, and the limit", assess(Partial, Good, 70, Continue),
			Context{AtLimit: true},
			Decision{Action: ActionStop, Reason: "Part of the goal is reached, and the limit as well", Guidance: steps, Partial: true, Rule: "partial-at-limit"},
			assess(Partial, Good, 70, Continue),
			Context{},
			"good", "good",
		},
		{
			"nothing, and the limit", assess(Partial, Slow, 70, AskUser),
			Context{AtLimit: true},
			Decision{Action: ActionStop, Reason: "Part of the goal is reached, and the limit as well", Guidance: steps, Partial: true, Rule: "partial-at-limit"},
			assess(No, Slow, 70, AskUser),
			Context{AtLimit: true},
			"asked", "asked",
		},
		{
			"nearly done", assess(Partial, Good, 90, Continue),
			Context{},
			Decision{
				Action: ActionContinue, Reason: "Nearly done", Estimate: &Estimate{PercentRemaining: 10}, Monitor: true, Rule: "nearly-done",
			},
			assess(Partial, Good, 89.9, Continue),
			Context{},
			"good", "default",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.want.Extension = true
			if diff := cmp.Diff(c.want, Decide(c.a, c.c, Extended)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := Decide(c.below, c.belowContext, Extended); got.Rule != c.belowRule {
				t.Errorf("just below it %q decides, want %q", got.Rule, c.belowRule)
			}
			if got := Decide(c.a, c.c, Strict); got.Rule != c.strict || got.Extension {
				t.Errorf("strict: %q decides, extension %t, want %q", got.Rule, got.Extension, c.strict)
			}
		})
	}
}

func TestWordsWithoutReasoning(t *testing.T) {
	t.Parallel()
	for recommendation, want := range map[Recommendation]string{Stop: "Going on is of no use", AskUser: "A person is needed"} {
		d := Decide(Assessment{GoalAchieved: No, Progress: Slow, Recommendation: recommendation}, Context{}, Extended)
		if d.Reason != want {
			t.Errorf("%s: %q, want %q", recommendation, d.Reason, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		percent, velocity float64
		per               time.Duration
		want              Estimate
	}{
		{"unknown", 40, 0, time.Hour, Estimate{PercentRemaining: 60}},
		{"backwards", 40, -5, time.Hour, Estimate{PercentRemaining: 60}},
		{"even", 40, 20, 90 * time.Second, Estimate{PercentRemaining: 60, Sessions: 3, Seconds: 270}},
		{"rounded up", 40, 25, time.Minute, Estimate{PercentRemaining: 60, Sessions: 3, Seconds: 180}},
		{"no time known", 40, 25, 0, Estimate{PercentRemaining: 60, Sessions: 3}},
		{"nothing remains", 100, 25, time.Minute, Estimate{}},
		{"longer than a duration can be", 0, 0.0001, 24 * time.Hour, Estimate{PercentRemaining: 100, Sessions: 1_000_000, Seconds: 86_400_000_000}},
		{"hardly moving", 0, 1e-300, time.Hour, Estimate{PercentRemaining: 100}},
	} {
		got := *estimate(Assessment{PercentComplete: c.percent}, Context{Velocity: c.velocity, PerSession: c.per})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestTableEndsWithARuleThatHolds(t *testing.T) {
	t.Parallel()
	list, seen := rules(), map[string]bool{}
	for _, r := range list {
		if r.name == "" || seen[r.name] {
			t.Errorf("rule %q has no name of its own", r.name)
		}
		seen[r.name] = true
	}
	last := list[len(list)-1]
	if last.extension {
		t.Errorf("the last rule, %s, is an extension", last.name)
	}
	rapid.Check(t, func(t *rapid.T) {
		if a, c := anyAssessment().Draw(t, "assessment"), anyContext().Draw(t, "context"); !last.holds(a, c) {
			t.Errorf("%s does not hold for %+v, %+v", last.name, a, c)
		}
	})
}

func TestDecisionsAreWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, c := anyAssessment().Draw(t, "assessment"), anyContext().Draw(t, "context")
		m := rapid.SampledFrom([]Matrix{Strict, Extended}).Draw(t, "matrix")
		d := Decide(a, c, m)
		if d.Action == "" || d.Reason == "" || d.Rule == "" {
			t.Errorf("%+v lacks an action, a reason or a rule", d)
		}
		if m == Extended && d.Action == ActionStop && d.Graceful && len(c.FailedChecks) > 0 {
			t.Errorf("%+v ends well with failed checks", d)
		}
		if d.Graceful && (d.Action != ActionStop || a.GoalAchieved != Yes) {
			t.Errorf("%+v is graceful without a reached goal", d)
		}
		if d.Extension && m == Strict {
			t.Errorf("%+v is an extension although the rules are strict", d)
		}
	})
}

func anyAssessment() *rapid.Generator[Assessment] {
	return rapid.Custom(func(t *rapid.T) Assessment {
		return Assessment{
			GoalAchieved:    rapid.SampledFrom([]Achieved{Yes, No, Partial}).Draw(t, "achieved"),
			Progress:        rapid.SampledFrom([]Progress{Good, Slow, Stuck}).Draw(t, "progress"),
			PercentComplete: rapid.Float64Range(0, 100).Draw(t, "percent"),
			LoopDetected:    rapid.Bool().Draw(t, "loop"),
			Recommendation:  rapid.SampledFrom([]Recommendation{Continue, Stop, AskUser}).Draw(t, "recommendation"),
			Reasoning:       rapid.SampledFrom([]string{"", "because"}).Draw(t, "reasoning"),
			NextSteps:       rapid.SliceOfN(rapid.StringN(1, 8, -1), 0, 3).Draw(t, "steps"),
		}
	})
}

func anyContext() *rapid.Generator[Context] {
	return rapid.Custom(func(t *rapid.T) Context {
		return Context{
			Slow:         rapid.IntRange(0, 4).Draw(t, "slow"),
			Stuck:        rapid.IntRange(0, 4).Draw(t, "stuck"),
			LoopSeen:     rapid.Bool().Draw(t, "loop seen"),
			Idle:         rapid.IntRange(0, 4).Draw(t, "idle"),
			AtLimit:      rapid.Bool().Draw(t, "at limit"),
			FailedChecks: rapid.SliceOfN(rapid.StringN(1, 8, -1), 0, 2).Draw(t, "failed"),
			Velocity:     rapid.Float64().Draw(t, "velocity"),
			PerSession:   time.Duration(rapid.Int64().Draw(t, "per session")),
		}
	})
}
