package pursuit

import (
	"strings"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
)

const (
	secret = "sk-0123456789abcdefghij"
	hidden = "[redacted]"
)

func TestBeginKeepsNoSecretAndLeavesTheGoalsAlone(t *testing.T) {
	t.Parallel()
	given := []Goal{{
		Text: "use " + secret, Criteria: []string{"with " + secret}, Milestones: []reflector.Milestone{{Text: "has " + secret}},
		Checks: []gate.Check{command("echo "+secret, true)}, Size: 3,
	}, {Text: "plain"}}
	s := Begin(given, 7)

	want := Goal{
		Text: "use " + hidden, Words: "use " + secret, Criteria: []string{"with " + hidden}, Milestones: []reflector.Milestone{{Text: "has " + hidden}},
		Checks: []gate.Check{command("echo "+secret, true)}, Size: 3, Status: ledger.GoalOpen, Series: reflector.Series{Interval: 7},
	}
	same(t, "first goal", want, s.Goals[0])
	same(t, "statuses", []string{ledger.GoalOpen, ledger.GoalOpen}, statuses(s))
	if s.Interval != 7 || s.Tally.By == nil {
		t.Errorf("interval %d, tally %+v", s.Interval, s.Tally)
	}
	if got := s.Goals[0].Wording(); got != "use "+secret {
		t.Errorf("a session is told %q", got)
	}
	if given[0].Criteria[0] != "with "+secret || given[0].Milestones[0].Text != "has "+secret {
		t.Errorf("the goals that were handed in are changed: %+v", given[0])
	}
	back, err := readBack(s)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Goals[0].Wording(); got != "use "+hidden || back.Goals[0].Checks != nil {
		t.Errorf("read back: wording %q, checks %v", got, back.Goals[0].Checks)
	}
}

func TestMilestonesOfTheCallerStayAsTheyAre(t *testing.T) {
	t.Parallel()
	given := []Goal{{Text: "g", Milestones: []reflector.Milestone{{Text: "a"}}}}
	s := Begin(given, 1)
	worked(&s, 1)
	a := good(50)
	a.MilestonesDone = []int{1}
	s.reflect(t, Options{Reflector: &asked{assessment: a}}, Occasion{Left: reflector.Left{Sessions: 5}})
	if !s.Goals[0].Milestones[0].Done || given[0].Milestones[0].Done {
		t.Errorf("milestone of the state %+v, of the caller %+v", s.Goals[0].Milestones, given[0].Milestones)
	}
}

func TestSessionCounts(t *testing.T) {
	t.Parallel()
	s := Begin(goals(2), 1)
	g := &s.Goals[0]
	g.First, g.Answer, g.Asked, g.Steps = []string{"a check"}, "yes", "really?", []string{"a step"}
	used := Used{Tokens: 5, Tools: map[string]int{"Bash": 2, "Read": 1}}
	s.Session(reflector.Session{Iteration: 1, Worked: true, Files: 2, Commits: 1, Duration: time.Minute, CostUSD: 0.5},
		[]reflector.Call{{Tool: "Bash"}, {Tool: "Read"}}, prompt.Past{Iteration: 1}, used)
	s.Session(reflector.Session{Iteration: 2, Files: 1, Duration: time.Second, CostUSD: 0.25}, nil, prompt.Past{Iteration: 2}, Used{Tokens: 7, Tools: map[string]int{"Bash": 1}})

	want := reflector.Totals{
		Sessions: 2, Successes: 1, Failures: 1, Tools: map[string]int{"Bash": 3, "Read": 1}, Elapsed: 61 * time.Second, Tokens: 12, CostUSD: 0.75, Files: 3, Commits: 1,
	}
	same(t, "totals", want, g.Totals)
	if g.Since != 2 || len(g.Sessions) != 2 || len(g.Calls) != 2 || len(g.Past) != 2 || g.Past[1].Iteration != 2 || g.Sessions[1].Iteration != 2 {
		t.Errorf("goal %+v", *g)
	}
	if g.First != nil || g.Answer != "" || g.Asked != "" {
		t.Errorf("first %v, answer %q to %q: want them gone with the session that saw them", g.First, g.Answer, g.Asked)
	}
	same(t, "steps hold until the next reflection", []string{"a step"}, g.Steps)
	same(t, "used", map[string]int{"Bash": 2, "Read": 1}, used.Tools)
	same(t, "second goal", reflector.Totals{}, s.Goals[1].Totals)

	s.Goals[0].Status, s.Goals[1].Status = ledger.GoalAchieved, ledger.GoalPaused
	before := copied(t, s)
	worked(&s, 1)
	same(t, "a session without a goal", before, s)
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	s := Begin(goals(1), 1)
	g := &s.Goals[0]
	r := &asked{assessment: good(50)}
	for i := range 500 {
		r.assessment.PercentComplete = float64(i % 80)
		one(&s, reflector.Session{Files: 1}, strings.Split(strings.Repeat("c ", i%60), " ")...)
		s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	}
	same(t, "lengths", []int{10, 40, 10, 3, 60}, []int{len(g.Sessions), len(g.Calls), len(g.Past), len(g.Assessments), len(g.Points)})
	same(t, "capacities do not grow", true, max(cap(g.Sessions), cap(g.Past), cap(g.Assessments)) <= 64 && max(cap(g.Calls), cap(g.Points)) <= 512)
	if g.Sessions[0].Iteration != 491 || g.Sessions[9].Iteration != 500 || g.Past[9].Iteration != 500 || g.Calls[39].Iteration != 500 {
		t.Errorf("sessions %d to %d, past to %d, calls to %d; want the last ones", g.Sessions[0].Iteration, g.Sessions[9].Iteration, g.Past[9].Iteration, g.Calls[39].Iteration)
	}
	if g.Points[59].Sessions != 500 || g.Points[0].Sessions != 441 || g.Assessments[2].PercentComplete != float64(499%80) {
		t.Errorf("points %d to %d, last assessment %+v", g.Points[0].Sessions, g.Points[59].Sessions, g.Assessments[2])
	}
	if g.Totals.Sessions != 500 || g.Since != 0 {
		t.Errorf("%d sessions, %d since the last reflection", g.Totals.Sessions, g.Since)
	}
}

func TestCurrentAndAsked(t *testing.T) {
	t.Parallel()
	const open, done, paused, partial, over = ledger.GoalOpen, ledger.GoalAchieved, ledger.GoalPaused, ledger.GoalPartial, ledger.GoalGivenUp
	for _, c := range []struct {
		statuses       []string
		current, asked int // from 1; 0 is none
	}{
		{nil, 0, 0},
		{[]string{open}, 1, 0},
		{[]string{done, open, open}, 2, 0},
		{[]string{paused, open}, 2, 1},
		{[]string{partial, over, done}, 0, 0},
		{[]string{over, paused, paused}, 0, 2},
	} {
		s := Begin(goals(len(c.statuses)), 1)
		for i, status := range c.statuses {
			s.Goals[i].Status = status
		}
		if got := s.number(s.Current()); got != c.current {
			t.Errorf("%v: current %d, want %d", c.statuses, got, c.current)
		}
		if got := s.number(s.Asked()); got != c.asked {
			t.Errorf("%v: asked %d, want %d", c.statuses, got, c.asked)
		}
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	s := Begin(goals(2), 1)
	g := &s.Goals[0]
	g.Status, g.Series.Percent, g.Totals.Sessions, g.FalseStops = ledger.GoalPartial, 40, 3, 2
	g.Proof = []ledger.Deliverable{{Name: "n", OK: true, Proof: "p"}}
	want := []ledger.Goal{
		{Text: "goal 1", Status: ledger.GoalPartial, Percent: 40, Iterations: 3, FalseStops: 2, Deliverables: []ledger.Deliverable{{Name: "n", OK: true, Proof: "p"}}},
		{Text: "goal 2", Status: ledger.GoalOpen, Deliverables: []ledger.Deliverable{}},
	}
	got := s.Records()
	same(t, "records", want, got)
	if got[1].Deliverables == nil {
		t.Error("no deliverables are null in JSON, want an empty list")
	}
	got[0].Deliverables[0].Name = "other"
	if g.Proof[0].Name != "n" {
		t.Error("a record shares its list with the state")
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	given := []Goal{{Text: "use " + secret, Checks: []gate.Check{command("a", true)}}, {Text: "second", Checks: []gate.Check{command("b", false)}}}
	s, err := readBack(Begin(given, 1))
	if err != nil {
		t.Fatal(err)
	}
	s.Refresh(given)
	same(t, "refreshed", []string{"use " + secret, "second", "a", "b"},
		[]string{s.Goals[0].Wording(), s.Goals[1].Wording(), s.Goals[0].Checks[0].Command, s.Goals[1].Checks[0].Command})

	s, err = readBack(Begin(given, 1))
	if err != nil {
		t.Fatal(err)
	}
	s.Refresh([]Goal{{Text: "another goal", Checks: []gate.Check{command("c", true)}}})
	if got := s.Goals[0].Wording(); got != "use "+hidden || s.Goals[0].Checks[0].Command != "c" || s.Goals[1].Checks != nil {
		t.Errorf("other settings: wording %q, goals %+v", got, s.Goals)
	}
	s.Refresh(append(given, Goal{Text: "third"}))
	if len(s.Goals) != 2 {
		t.Errorf("%d goals, want two", len(s.Goals))
	}
}

func TestSetInterval(t *testing.T) {
	t.Parallel()
	s := Begin(goals(2), 8)
	s.Goals[0].Series.Interval = 4 // as a slow reflection leaves it
	s.SetInterval(8)
	same(t, "the same base keeps what it has become", []int{8, 4, 8}, []int{s.Interval, s.Goals[0].Series.Interval, s.Goals[1].Series.Interval})
	s.SetInterval(3)
	same(t, "another base", []int{3, 3, 3}, []int{s.Interval, s.Goals[0].Series.Interval, s.Goals[1].Series.Interval})
	s.SetInterval(0)
	worked(&s, 9)
	if got := s.Due(Occasion{}); got != reflector.NotDue {
		t.Errorf("switched off: due %q", got)
	}
	s.SetInterval(5)
	if got := s.Due(Occasion{Left: reflector.Left{Sessions: 5}}); got != reflector.ByInterval {
		t.Errorf("switched on: due %q", got)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	paused := Goal{
		Status: ledger.GoalPaused, Question: &Question{Text: "which?", Reason: "stuck"}, Series: reflector.Series{Slow: 3, Stuck: 2, Failed: 1, Interval: 5, Percent: 40},
		Calls: []reflector.Call{{Tool: "Bash"}}, Steps: []string{"this", "that"}, First: []string{"a check"}, Asked: "an older one", Since: 2, Unproven: 1,
	}
	answered := paused
	answered.Status, answered.Question, answered.Asked, answered.Answer, answered.Calls, answered.Steps = ledger.GoalOpen, nil, "which?", "that", nil, nil
	answered.Series = reflector.Series{Failed: 1, Interval: 5, Percent: 40}
	got := paused
	got.Resume("that")
	same(t, "answered", answered, got)

	without := answered
	without.Answer, without.Steps = "", paused.Steps
	got = paused
	got.Resume("")
	same(t, "without an answer", without, got)

	over := Goal{Status: ledger.GoalGivenUp, Asked: "an older one"}
	over.Resume("try the other way")
	same(t, "given up", Goal{Status: ledger.GoalOpen, Answer: "try the other way"}, over)
}

func TestAskKeepsNoSecret(t *testing.T) {
	t.Parallel()
	var g Goal
	at := time.Unix(1, 0)
	g.Ask(Question{Text: "is " + secret + " right?", Options: []string{"yes", secret}, Reason: "question", At: at, Session: "c"})
	want := Goal{Status: ledger.GoalPaused, Question: &Question{Text: "is " + hidden + " right?", Options: []string{"yes", hidden}, Reason: "question", At: at, Session: "c"}}
	same(t, "asked", want, g)
	g.Ask(Question{Text: "what?"})
	if g.Question.Options == nil {
		t.Error("no options are null in JSON, want an empty list")
	}
}

// TestBrokenSessionHeedsNothing is a session that broke: what it was to see to
// first, and a person's answer, are told to the next one as well.
func TestBrokenSessionHeedsNothing(t *testing.T) {
	t.Parallel()
	s := Begin([]Goal{{Text: "g"}}, 0)
	g := s.Current()
	g.First, g.Answer, g.Asked = []string{"make test fails"}, "by hand", "how?"
	s.Session(reflector.Session{Iteration: 1, Ending: "crashed"}, nil, prompt.Past{}, Used{})
	if len(g.First) != 1 || g.Answer != "by hand" || g.Asked != "how?" {
		t.Errorf("after a session that broke: %+v", g)
	}
	s.Session(reflector.Session{Iteration: 2, Ending: "completed", Worked: true}, nil, prompt.Past{}, Used{})
	if g.First != nil || g.Answer != "" || g.Asked != "" {
		t.Errorf("after one that worked: %+v", g)
	}
}
