package pursuit

import (
	"context"
	"slices"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/supervisor/gate"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// turn is one session and what comes after it.
type turn struct {
	session    reflector.Session
	calls      []string
	claim      string
	asks       bool // the session has a question
	left       int
	failing    []string
	assessment reflector.Assessment
	err        error
	again      bool // the error asks for another try, which then has none
	interval   int  // negative leaves it
	answer     string
	resume     bool
}

// withChecks are two goals with checks of both kinds, and one without.
func withChecks() []Goal {
	checks := []gate.Check{command("given", true), command("derived", false), command("other", false)}
	g := goals(3)
	g[0].Checks, g[1].Checks = checks, checks[:2]
	g[0].Text, g[0].Criteria, g[0].Milestones = "with "+secret, []string{"a " + secret}, []reflector.Milestone{{Text: "a"}, {Text: "b"}}
	return g
}

func drawTurn(t *rapid.T) turn {
	some := func(name string, list ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(list), 0, len(list)).Draw(t, name)
	}
	x := turn{
		session: reflector.Session{
			Iteration: 1, Worked: rapid.Bool().Draw(t, "worked"), Files: rapid.IntRange(0, 2).Draw(t, "files"),
			Duration: time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "duration")),
		},
		calls: some("calls", "A", "B", "C", "D", "A", "A"), left: rapid.IntRange(0, 30).Draw(t, "left"), failing: some("failing", "given", "derived", "other"),
		asks: rapid.IntRange(0, 9).Draw(t, "asks") == 0, interval: rapid.SampledFrom([]int{-1, -1, -1, -1, 0, 1, 3}).Draw(t, "interval"),
		resume: rapid.Bool().Draw(t, "resume"), answer: rapid.SampledFrom([]string{"", "so"}).Draw(t, "answer"),
		assessment: reflector.Assessment{
			GoalAchieved:    rapid.SampledFrom([]reflector.Achieved{reflector.Yes, reflector.Yes, reflector.No, reflector.Partial}).Draw(t, "achieved"),
			Progress:        rapid.SampledFrom([]reflector.Progress{reflector.Good, reflector.Slow, reflector.Stuck}).Draw(t, "progress"),
			PercentComplete: rapid.OneOf(rapid.Float64Range(0, 100), rapid.SampledFrom([]float64{0, 1e-300, 1e-6, 100})).Draw(t, "percent"),
			LoopDetected:    rapid.Bool().Draw(t, "loop"),
			Recommendation:  rapid.SampledFrom([]reflector.Recommendation{reflector.Continue, reflector.Continue, reflector.Stop, reflector.AskUser}).Draw(t, "recommendation"),
			Reasoning:       rapid.SampledFrom([]string{"", "because"}).Draw(t, "reasoning"),
			NextSteps:       some("steps", "this", "that"),
			MilestonesDone:  rapid.SliceOfN(rapid.IntRange(1, 4), 0, 2).Draw(t, "milestones"),
		},
	}
	if rapid.IntRange(0, 2).Draw(t, "claims") == 0 {
		x.claim = "done"
	}
	if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
		x.err, x.again = errSilent, rapid.Bool().Draw(t, "again")
	}
	return x
}

// play has a run do one turn and returns what was reflected on, if anything.
func (x turn) play(t *rapid.T, s *State) (Record, bool) {
	one(s, x.session, x.calls...)
	if x.interval >= 0 {
		s.SetInterval(x.interval)
	}
	if g := s.Current(); g != nil && x.asks {
		g.Ask(Question{Text: "which?", Reason: "question"})
	}
	at := Occasion{Iteration: 1, Session: "s", Claim: x.claim, Left: reflector.Left{Sessions: x.left}}
	why := s.Due(at)
	if why == reflector.NotDue {
		return Record{}, false
	}
	again := x.again
	o := Options{
		Reflector: &asked{assessment: x.assessment, err: x.err}, Matrix: reflector.Extended, Check: checking(x.failing...), Retry: func(error) bool { return again },
	}
	rec, err := s.Reflect(context.Background(), o, at, why)
	if err != nil {
		again = false
		if rec, err = s.Reflect(context.Background(), o, at, why); err != nil {
			t.Fatalf("the second try: %v", err)
		}
	}
	return rec, true
}

func (x turn) takeUp(s *State) {
	for i := range s.Goals {
		if g := &s.Goals[i]; x.resume && !slices.Contains([]string{ledger.GoalOpen, ledger.GoalAchieved}, g.Status) {
			g.Resume(x.answer)
		}
	}
}

// believed says by another way than the package whether a check stands against a
// goal: one that a person gave always does, another one until goals were said to be
// reached twice while none but such failed.
func (x turn) believed(g Goal, refuted int) (any, given bool) {
	for _, c := range g.Checks {
		if slices.Contains(x.failing, c.Command) {
			given = given || c.Given
			any = any || c.Given || refuted < 2
		}
	}
	return any, given
}

func TestAnyRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Begin(withChecks(), rapid.IntRange(0, 4).Draw(t, "interval"))
		turns := rapid.SliceOfN(rapid.Custom(drawTurn), 1, 20).Draw(t, "turns")
		away := rapid.IntRange(0, len(turns)-1).Draw(t, "read back before")
		var elsewhere State
		refuted := map[int]int{}
		for i, x := range turns {
			if i == away {
				var err error
				if elsewhere, err = readBack(s); err != nil {
					t.Fatal(err)
				}
				elsewhere.Refresh(withChecks())
			}
			before := statuses(s)
			rec, reflected := x.play(t, &s)
			if reflected {
				judge(t, x, rec, before, s, refuted)
			}
			invariants(t, s)
			x.takeUp(&s)
			if i < away {
				continue
			}
			again, too := x.play(t, &elsewhere)
			x.takeUp(&elsewhere)
			if diff := cmp.Diff(rec, again, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Record{}, "At", "TookMS")); diff != "" || reflected != too {
				t.Fatalf("the record of a run that was read back differs (-here +elsewhere):\n%s", diff)
			}
			if diff := cmp.Diff(s, elsewhere, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Question{}, "At")); diff != "" {
				t.Fatalf("the state of a run that was read back differs (-here +elsewhere):\n%s", diff)
			}
		}
	})
}

// judge checks one reflection against what is promised about checks.
func judge(t *rapid.T, x turn, rec Record, before []string, s State, refuted map[int]int) {
	i := rec.Goal - 1
	g := s.Goals[i]
	against, given := x.believed(g, refuted[i])
	said := x.claim != "" || rec.Assessment != nil && rec.Assessment.GoalAchieved == reflector.Yes
	if rec.FalseStop != (said && against) {
		t.Fatalf("false stop %t, said to be reached %t, a check stands against it %t", rec.FalseStop, said, against)
	}
	if rec.FalseStop && !given {
		refuted[i]++
	}
	if g.Status == ledger.GoalAchieved && (against || !said) {
		t.Fatalf("achieved; said to be so %t, a check stands against it %t", said, against)
	}
	if yes := rec.Assessment != nil && rec.Assessment.GoalAchieved == reflector.Yes || rec.Assessment == nil && x.claim != ""; yes && !against && g.Status != ledger.GoalAchieved {
		t.Fatalf("%s, though nothing stands against it", g.Status)
	}
	if before[i] != ledger.GoalOpen {
		t.Fatalf("goal %d was looked at in state %s", rec.Goal, before[i])
	}
	for j, status := range statuses(s) {
		if j != i && status != before[j] && !x.asks {
			t.Fatalf("goal %d became %s by a look at goal %d", j+1, status, i+1)
		}
	}
}

// invariants checks what holds at any time.
func invariants(t *rapid.T, s State) {
	for i, g := range s.Goals {
		if (g.Status == ledger.GoalPaused) != (g.Question != nil) || g.Question != nil && (g.Question.Text == "" || g.Question.Options == nil) {
			t.Fatalf("goal %d: %s with question %+v", i+1, g.Status, g.Question)
		}
		if len(g.Sessions) > 10 || len(g.Past) > 10 || len(g.Calls) > 40 || len(g.Assessments) > 3 || len(g.Points) > 60 {
			t.Fatalf("goal %d keeps too much", i+1)
		}
		if g.Unproven > 2 || g.Unproven > g.FalseStops {
			t.Fatalf("goal %d: %d false stops by derived checks, %d in all", i+1, g.Unproven, g.FalseStops)
		}
		if g.Status == ledger.GoalAchieved && g.Series.Percent != 100 {
			t.Fatalf("goal %d: achieved at %v %%", i+1, g.Series.Percent)
		}
	}
	p := s.Progress()
	all := !slices.ContainsFunc(s.Goals, func(g Goal) bool { return g.Status != ledger.GoalAchieved })
	if !(p.Percent >= 0 && p.Percent <= 99 || all && p.Percent == 100) || !(p.Velocity >= 0 && p.PerHour >= 0) || p.Sessions < 0 || p.Left < 0 {
		t.Fatalf("progress %+v", p)
	}
	if p.Goal != s.number(s.Current()) || (p.Goal == 0) != (s.Current() == nil) {
		t.Fatalf("goal %d is shown, %d is current", p.Goal, s.number(s.Current()))
	}
	y := s.Tally
	by := 0
	for _, n := range y.By {
		by += n
	}
	if by != y.Count || y.Failed > y.Count || y.Judged > y.Count || y.Correct > y.Judged || !(y.Score >= 0 && y.Score <= 1+1e-9) {
		t.Fatalf("tally %+v", y)
	}
}
