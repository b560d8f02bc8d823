package rules

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/reflector"
)

var _ reflector.Reflector = Reflector{}

type (
	input   = reflector.Input
	session = reflector.Session
	check   = reflector.Check
)

// Checks that hold and fail, given by a person or derived.
var (
	givenOK   = check{Name: "go test", OK: true, Detail: "exit status 0", Given: true}
	givenBad  = check{Name: "go test", Detail: "exit status 1", Given: true}
	derivedOK = check{Name: "README.md", OK: true, Detail: "is there"}
	derivedNo = check{Name: "README.md", Detail: "is missing"}
)

func sessions(s ...session) []session { return s }

func with(in input, list ...check) input {
	in.Checks = list
	return in
}

func TestAchieved(t *testing.T) {
	t.Parallel()
	effect, idle := session{Worked: true, Commits: 1}, session{Worked: true}
	claimed := input{Claim: "all done", Sessions: sessions(idle)}
	claimedAfter := input{Claim: "all done", Sessions: sessions(effect, idle)}
	worked := input{Sessions: sessions(effect)}
	for _, c := range []struct {
		name string
		in   input
		want reflector.Achieved
	}{
		{"nothing known", input{}, reflector.No},

		{"a claim and nothing else", claimed, reflector.No},
		{"a claim and no session", input{Claim: "all done"}, reflector.No},
		{"a blank claim", input{Claim: " \n", Sessions: sessions(effect)}, reflector.No},
		{"a claim with files", input{Claim: "all done", Sessions: sessions(session{Files: 1})}, reflector.Yes},
		{"a claim with a commit", input{Claim: "all done", Sessions: sessions(effect)}, reflector.Yes},
		{"a claim after an effect", claimedAfter, reflector.Yes},
		{"a claim after an effect of long ago", input{Claim: "all done", Sessions: sessions(idle), Totals: reflector.Totals{Files: 1}}, reflector.Yes},
		{"a claim and a derived check", with(claimed, derivedOK), reflector.Yes},
		{"a claim and a given check", with(claimed, givenOK), reflector.Yes},
		{"a claim and a derived check that fails", with(claimedAfter, derivedNo), reflector.No},
		{"a claim and a given check that fails", with(claimedAfter, givenBad), reflector.No},
		{"a claim, one of two checks fails", with(claimedAfter, givenOK, derivedNo), reflector.Partial},

		{"an effect without a claim", worked, reflector.No},
		{"an effect and a given check", with(worked, givenOK), reflector.Yes},
		{"an effect long ago and a given check", with(input{Sessions: sessions(idle), Totals: reflector.Totals{Commits: 1}}, givenOK), reflector.Yes},
		{"a given check and no effect", with(input{Sessions: sessions(idle)}, givenOK), reflector.No},
		{"an effect and a derived check", with(worked, derivedOK), reflector.Partial},
		{"a given check, and a derived one fails", with(worked, givenOK, derivedNo), reflector.Partial},
		{"a derived check, and a given one fails", with(worked, derivedOK, givenBad), reflector.Partial},
		{"a given check, and work is carried over", with(input{Sessions: sessions(session{Files: 1, CarriedOver: []string{"x"}})}, givenOK), reflector.Partial},
		{"a given check, and work was carried over", with(input{Sessions: sessions(session{Files: 1, CarriedOver: []string{"x"}}, idle)}, givenOK), reflector.Yes},
		{"a given check, and an idea for later", with(input{Sessions: sessions(session{Files: 1, NextSteps: []string{"x"}})}, givenOK), reflector.Yes},

		{"something completed with an effect", input{Sessions: sessions(session{Files: 1, Completed: []string{"x"}})}, reflector.Partial},
		{"something completed without an effect", input{Sessions: sessions(session{Completed: []string{"x"}})}, reflector.No},
		{"a milestone", input{Milestones: []reflector.Milestone{{Text: "a"}, {Text: "b", Done: true}}}, reflector.Partial},
		{"no milestone yet", input{Milestones: []reflector.Milestone{{Text: "a"}}}, reflector.No},
	} {
		a := Assess(c.in)
		if a.GoalAchieved != c.want {
			t.Errorf("%s: got %s, want %s", c.name, a.GoalAchieved, c.want)
		}
		if (a.PercentComplete == 100) != (c.want == reflector.Yes) || (a.Recommendation == reflector.Stop) != (c.want == reflector.Yes) {
			t.Errorf("%s: %g %% and %s with %s", c.name, a.PercentComplete, a.Recommendation, a.GoalAchieved)
		}
	}
}

// report is a session with so many items completed, carried over and left.
func report(completed, carried, next int) session {
	some := func(n int) []string { return strings.Split(strings.Repeat("x", n), "") }
	return session{Worked: true, Files: 1, Completed: some(completed), CarriedOver: some(carried), NextSteps: some(next)}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	crashed := session{Ending: "crashed"}
	milestones := []reflector.Milestone{{Done: true}, {}, {}}
	was := func(percent float64) []reflector.Assessment {
		return []reflector.Assessment{{PercentComplete: 97}, {PercentComplete: percent}}
	}
	for _, c := range []struct {
		name string
		in   input
		want float64
	}{
		{"nothing known", input{}, 0},
		{"nothing known any more", input{Earlier: was(40)}, 40},
		{"one of two checks", with(input{}, derivedOK, givenBad), 50},
		{"one of three milestones", input{Milestones: milestones}, 33},
		{"checks and milestones", with(input{Milestones: milestones}, derivedOK), 50},
		{"words", input{Sessions: sessions(report(3, 1, 0))}, 75},
		{"words about what is left", input{Sessions: sessions(report(1, 1, 2))}, 25},
		{"words, nothing completed", input{Sessions: sessions(report(0, 1, 2))}, 0},
		{"words, everything completed", input{Sessions: sessions(report(4, 0, 0))}, 99},
		{"the last words", input{Sessions: sessions(report(0, 3, 0), report(1, 1, 0))}, 50},
		{"the last words before a crash", input{Sessions: sessions(report(0, 3, 0), report(1, 1, 0), crashed)}, 50},
		{"both", with(input{Sessions: sessions(report(1, 0, 1))}, derivedOK, derivedNo), 50},
		{"facts weigh more", with(input{Sessions: sessions(report(2, 0, 0))}, derivedNo), 30},
		{"words weigh less", with(input{Sessions: sessions(report(0, 2, 0))}, derivedOK), 70},
		{"all facts and words without a claim", with(input{Sessions: sessions(report(2, 0, 0))}, derivedOK), 99},

		{"facts fall", with(input{Sessions: sessions(report(1, 0, 1)), Earlier: was(80)}, derivedOK, derivedNo), 50},
		{"words are missing", with(input{Sessions: sessions(crashed), Earlier: was(80)}, derivedOK, derivedNo), 80},
		{"words are missing, facts rise", with(input{Sessions: sessions(crashed), Earlier: was(20)}, derivedOK, derivedNo), 50},
		{"facts are missing", input{Sessions: sessions(report(1, 0, 1)), Earlier: was(80)}, 80},
		{"facts are missing, words rise", input{Sessions: sessions(report(1, 0, 1)), Earlier: was(20)}, 50},
		{"it was all before", input{Earlier: was(100)}, 99},
		{"reached", with(input{Sessions: sessions(report(1, 0, 3)), Earlier: was(20)}, givenOK), 100},
	} {
		if got := Assess(c.in).PercentComplete; got != c.want {
			t.Errorf("%s: got %g, want %g", c.name, got, c.want)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	effect, idle := session{Worked: true, Files: 1}, session{Worked: true}
	bad := func(ending string) session { return session{Ending: ending, Commits: 1} }
	half := []check{derivedOK, derivedNo}
	was := func(percent float64) []reflector.Assessment {
		return []reflector.Assessment{{PercentComplete: percent}}
	}
	for _, c := range []struct {
		name  string
		in    input
		want  reflector.Progress
		words string // that the reasoning has
	}{
		{"nothing known", input{}, reflector.Good, "no session yet"},
		{"one idle session", input{Sessions: sessions(idle)}, reflector.Good, ""},
		{"two idle sessions", input{Sessions: sessions(effect, idle, idle)}, reflector.Stuck, "The last 2 sessions left nothing behind"},
		{"four idle sessions", input{Sessions: sessions(idle, idle, idle, idle)}, reflector.Stuck, "The last 4 sessions left nothing behind"},
		{"two idle sessions, not the last", input{Sessions: sessions(idle, idle, effect)}, reflector.Good, ""},
		{"idle twice, not in a row", input{Sessions: sessions(idle, effect, idle)}, reflector.Good, ""},

		{"the same failure twice", input{Sessions: sessions(bad("failed"), bad("failed"))}, reflector.Stuck, "same failure: failed."},
		{"two failures", input{Sessions: sessions(bad("failed"), bad("hung"))}, reflector.Good, ""},
		{"the same failure, not in a row", input{Sessions: sessions(bad("hung"), effect, bad("hung"))}, reflector.Good, ""},
		{"the same failure long ago", input{Sessions: sessions(bad("hung"), bad("hung"), effect)}, reflector.Good, ""},
		{"the same good ending twice", input{Sessions: sessions(session{Ending: "completed", Worked: true, Files: 1}, session{Ending: "completed", Worked: true, Files: 1})}, reflector.Good, ""},
		{"a limit twice", input{Sessions: sessions(bad("limited"), bad("limited"))}, reflector.Good, ""},
		{"an overload twice", input{Sessions: sessions(bad("overloaded"), bad("overloaded"))}, reflector.Good, ""},
		{"interrupted twice", input{Sessions: sessions(bad("cancelled"), bad("cancelled"))}, reflector.Good, ""},
		{"unknown endings", input{Sessions: sessions(bad(""), bad(""))}, reflector.Good, ""},

		{"a loop with an effect", input{Sessions: sessions(effect), Loop: "Bash x, 3 times"}, reflector.Good, "Tool calls repeat: Bash x, 3 times."},
		{"a loop without an effect", input{Sessions: sessions(effect, idle), Loop: "Bash x, 3 times"}, reflector.Stuck, "without effect: Bash x, 3 times."},
		{"a loop and no session", input{Loop: "Bash x, 3 times"}, reflector.Stuck, "without effect"},

		{"it rises", with(input{Sessions: sessions(effect), Earlier: was(49)}, half...), reflector.Good, "It was 49 % before."},
		{"it stays", with(input{Sessions: sessions(effect), Earlier: was(50)}, half...), reflector.Slow, "It was 50 % before."},
		{"it falls", with(input{Sessions: sessions(effect, report(1, 0, 1)), Earlier: was(51)}, half...), reflector.Slow, ""},
		{"it stays, and one idle session", with(input{Sessions: sessions(effect, idle), Earlier: was(50)}, half...), reflector.Slow, ""},
		{"it stays, and two idle sessions", with(input{Sessions: sessions(idle, idle), Earlier: was(50)}, half...), reflector.Stuck, ""},
		{"only the last assessment counts", with(input{Sessions: sessions(effect), Earlier: append(was(90), was(10)...)}, half...), reflector.Good, ""},

		{"reached after idle sessions", with(input{Sessions: sessions(effect, idle, idle), Claim: "done", Loop: "x", Earlier: was(100)}, givenOK), reflector.Good, "nothing is left"},
	} {
		a := Assess(c.in)
		if a.Progress != c.want || !strings.Contains(a.Reasoning, c.words) {
			t.Errorf("%s: got %s, %q, want %s, %q", c.name, a.Progress, a.Reasoning, c.want, c.words)
		}
		if (a.Recommendation == reflector.AskUser) != (c.want == reflector.Stuck) || a.LoopDetected != (c.in.Loop != "") {
			t.Errorf("%s: recommends %s, loop %t", c.name, a.Recommendation, a.LoopDetected)
		}
	}
}

func TestReflect(t *testing.T) {
	t.Parallel()
	in := input{
		Milestones: []reflector.Milestone{{Text: "a", Done: true}, {Text: "b"}, {Text: "c", Done: true}},
		Sessions: sessions(
			session{Worked: true, Files: 9, Commits: 9, CarriedOver: []string{"forgotten"}},
			session{
				Worked: true, Ending: "completed", Files: 4, Commits: 1, Completed: []string{"lexer", "parser"},
				CarriedOver: []string{"carry  one", "README.md: is missing"}, NextSteps: []string{"next\none", " ", "carry one"},
			},
		),
		Earlier: []reflector.Assessment{{PercentComplete: 12.5}},
	}
	in = with(in, derivedNo, givenOK, givenBad)
	want := reflector.Reflection{Assessment: reflector.Assessment{
		GoalAchieved: reflector.Partial, Progress: reflector.Good, PercentComplete: 44, Recommendation: reflector.Continue,
		Reasoning: "1 of 3 checks hold. 2 of 3 milestones reached. The last report has 2 completed, 2 carried over and 3 next steps. " +
			"The last session changed 4 files and made 1 commit. It was 12.5 % before.",
		NextSteps:      []string{"README.md: is missing", "go test: exit status 1", "carry one", "next one"},
		MilestonesDone: []int{1, 3},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody is asked, so it does not matter
	got, err := Reflector{}.Reflect(ctx, in)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if n := (Reflector{}).Name(); n != "rules" {
		t.Errorf("its name is %q", n)
	}
}

func TestNextStepsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 400)
	var in input
	for range 30 {
		long += "x"
		in.Checks = append(in.Checks, check{Name: "c" + long[len(long)-1:], Detail: long})
	}
	in.Sessions = sessions(report(0, 30, 30))
	a := Assess(in)
	if len(a.NextSteps) != 2 || a.NextSteps[0] != "cx: "+strings.Repeat("é", 295)+"…" || a.NextSteps[1] != "x" {
		t.Errorf("got %d steps: %q", len(a.NextSteps), a.NextSteps)
	}
	for i := range in.Checks {
		in.Checks[i].Name = strings.Repeat("c", i+1)
	}
	if a = Assess(in); len(a.NextSteps) != 20 {
		t.Errorf("got %d steps, want 20", len(a.NextSteps))
	}
}

func TestReflectLeavesTheInputAlone(t *testing.T) {
	t.Parallel()
	carried := make([]string, 1, 9)
	carried[0] = "a"
	in := with(input{Sessions: sessions(session{CarriedOver: carried, NextSteps: []string{"b"}})}, derivedNo)
	Assess(in)
	if diff := cmp.Diff([]string{"a", ""}, carried[:2]); diff != "" || in.Checks[0] != derivedNo {
		t.Errorf("the input has changed: %s", diff)
	}
}

func TestAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		a := Assess(in)
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := reflector.ParseAssessment(data)
		if diff := cmp.Diff(a, again); err != nil || diff != "" {
			t.Fatalf("error %v (-written +read):\n%s", err, diff)
		}
		if a.Reasoning == "" || a.GoalAchieved == reflector.Yes && len(in.FailedChecks()) > 0 {
			t.Errorf("%+v of %+v", a, in)
		}
		if a.GoalAchieved == reflector.Yes && in.Claim == "" {
			given, effect := false, in.Totals.Files+in.Totals.Commits > 0
			for _, c := range in.Checks {
				given = given || c.Given
			}
			for _, s := range in.Sessions {
				effect = effect || s.Effect()
			}
			if !given || !effect {
				t.Errorf("reached without a claim, a given check (%t) or an effect (%t)", given, effect)
			}
		}
	})
}

// One more check that holds makes nothing worse.
func TestMonotoneInChecks(t *testing.T) {
	t.Parallel()
	achieved := map[reflector.Achieved]int{reflector.No: 0, reflector.Partial: 1, reflector.Yes: 2}
	progress := map[reflector.Progress]int{reflector.Stuck: 0, reflector.Slow: 1, reflector.Good: 2}
	advice := map[reflector.Recommendation]int{reflector.AskUser: 0, reflector.Continue: 1, reflector.Stop: 2}
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		in.Checks = append(in.Checks, check{Name: "one more", Given: rapid.Bool().Draw(t, "given")})
		before := Assess(in)
		in.Checks[len(in.Checks)-1].OK = true
		after := Assess(in)
		if achieved[after.GoalAchieved] < achieved[before.GoalAchieved] || progress[after.Progress] < progress[before.Progress] ||
			advice[after.Recommendation] < advice[before.Recommendation] || after.PercentComplete < before.PercentComplete {
			t.Errorf("from %+v to %+v", before, after)
		}
	})
}

// What is not known any more lowers nothing that was known.
func TestMissingInformationLowersNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput().Draw(t, "input")
		before := Assess(in)
		if before.GoalAchieved == reflector.Yes {
			t.Skip("a claim that is taken back does lower it")
		}
		in.Earlier = append(in.Earlier, before)
		switch rapid.SampledFrom([]string{"crash", "no facts", "no words", "nothing"}).Draw(t, "missing") {
		case "crash":
			in.Sessions, in.Claim = append(in.Sessions, session{Ending: "crashed"}), ""
		case "no facts":
			in.Checks, in.Milestones = nil, nil
		case "no words":
			for i := range in.Sessions {
				in.Sessions[i].Completed, in.Sessions[i].CarriedOver, in.Sessions[i].NextSteps = nil, nil, nil
			}
		default:
			in = input{Earlier: in.Earlier}
		}
		if got := Assess(in).PercentComplete; got < before.PercentComplete {
			t.Errorf("from %g to %g", before.PercentComplete, got)
		}
	})
}

func anyInput() *rapid.Generator[input] {
	text := rapid.OneOf(rapid.SampledFrom([]string{"", " ", "a", "b\n c", "\xff", "\u2028", strings.Repeat("é ", 400)}), rapid.String())
	list := rapid.SliceOfN(text, 0, 4)
	number := rapid.SampledFrom([]int{0, 0, 1, 7})
	return rapid.Custom(func(t *rapid.T) input {
		var in input
		for range rapid.IntRange(0, 3).Draw(t, "checks") {
			in.Checks = append(in.Checks, check{
				Name: text.Draw(t, "name"), OK: rapid.Bool().Draw(t, "ok"), Detail: text.Draw(t, "detail"), Given: rapid.Bool().Draw(t, "given"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "milestones") {
			in.Milestones = append(in.Milestones, reflector.Milestone{Text: "m", Done: rapid.Bool().Draw(t, "done")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "sessions") {
			in.Sessions = append(in.Sessions, session{
				Ending: rapid.SampledFrom([]string{"", "completed", "failed", "hung", "limited", strings.Repeat("x\n", 3000)}).Draw(t, "ending"),
				Worked: rapid.Bool().Draw(t, "worked"), Completed: list.Draw(t, "completed"), CarriedOver: list.Draw(t, "carried"), NextSteps: list.Draw(t, "next"),
				Files: number.Draw(t, "files"), Commits: number.Draw(t, "commits"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "earlier") {
			in.Earlier = append(in.Earlier, reflector.Assessment{PercentComplete: rapid.Float64Range(0, 100).Draw(t, "percent")})
		}
		in.Claim = rapid.SampledFrom([]string{"", "done"}).Draw(t, "claim")
		in.Loop = rapid.SampledFrom([]string{"", "Bash x", strings.Repeat("y ", 3000)}).Draw(t, "loop")
		in.Totals.Files = number.Draw(t, "files of all")
		return in
	})
}
