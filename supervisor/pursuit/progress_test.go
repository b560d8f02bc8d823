package pursuit

import (
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
)

func TestVelocity(t *testing.T) {
	t.Parallel()
	point := func(sessions int, hours, percent float64) Point {
		return Point{Sessions: sessions, Active: time.Duration(hours * float64(time.Hour)), Percent: percent}
	}
	for _, c := range []struct {
		name                string
		points              []Point
		perSession, perHour float64
	}{
		{"none", nil, 0, 0},
		{"one", []Point{point(3, 1.5, 30)}, 10, 20},
		{"three, from the beginning", []Point{point(1, 0.5, 10), point(2, 1, 20), point(3, 1.5, 60)}, 20, 40},
		{"four, without the first", []Point{point(1, 0.5, 10), point(2, 1, 20), point(3, 1.5, 60), point(5, 3.5, 70)}, 15, 20},
		{"five, without the first two", []Point{point(1, 0.5, 10), point(2, 1, 20), point(3, 1.5, 60), point(5, 3.5, 70), point(6, 5, 80)}, 15, 15},
		{"a stall", []Point{point(1, 1, 40), point(2, 2, 40), point(3, 3, 40), point(4, 4, 40)}, 0, 0},
		{"a stall that was shorter", []Point{point(1, 1, 10), point(2, 2, 40), point(3, 3, 40), point(4, 4, 40)}, 10, 10},
		{"back to less", []Point{point(1, 1, 40), point(2, 2, 60), point(3, 3, 50), point(4, 4, 30)}, 0, 0},
		{"back, and more than before in all", []Point{point(1, 1, 10), point(2, 2, 60), point(3, 3, 50), point(4, 4, 40)}, 10, 10},
		{"nothing", []Point{point(2, 2, 0)}, 0, 0},
		{"sessions without time", []Point{point(2, 0, 50)}, 25, 0},
		{"no session between", []Point{point(1, 1, 10), point(1, 1, 20), point(1, 1, 30), point(1, 1, 40)}, 0, 0},
	} {
		perSession, perHour := (&Goal{Points: c.points}).velocity()
		same(t, c.name, []float64{c.perSession, c.perHour}, []float64{perSession, perHour})
	}
}

func TestProgressOfOneGoal(t *testing.T) {
	t.Parallel()
	none := Progress{Goals: 1, Goal: 1}
	s := Begin([]Goal{{Text: "g", Milestones: []reflector.Milestone{{Text: "a"}, {Text: "b"}}}}, 1)
	none.Milestones = []reflector.Milestone{{Text: "a"}, {Text: "b"}}
	same(t, "before the first session", none, s.Progress())
	if p := s.Progress(); p.Points == nil {
		t.Error("no points are null in JSON, want an empty list")
	}
	worked(&s, 3)
	same(t, "before the first reflection", none, s.Progress())

	a := good(30)
	a.MilestonesDone = []int{2, 7}
	r := &asked{assessment: a}
	s.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	done := []reflector.Milestone{{Text: "a"}, {Text: "b", Done: true}}
	want := Progress{
		Percent: 30, Known: true, Goal: 1, Goals: 1, Velocity: 10, PerHour: 10, Sessions: 7, Left: 7 * time.Hour, Milestones: done,
		Points: []Point{{3, 3 * time.Hour, 30}}, Last: "because",
	}
	same(t, "after it", want, s.Progress())

	got := s.Progress()
	got.Milestones[0].Text, got.Points[0].Percent = "x", 99
	same(t, "it shares nothing with the state", want, s.Progress())

	back, err := readBack(s)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "read back", want, back.Progress())
	worked(&back, 1)
	r.assessment = good(80)
	back.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	want.Percent, want.Velocity, want.PerHour, want.Sessions, want.Left = 80, 20, 20, 1, time.Hour
	want.Points = append(want.Points, Point{4, 4 * time.Hour, 80})
	same(t, "continued elsewhere", want, back.Progress())

	r.assessment = good(20)
	worked(&back, 1)
	back.reflect(t, Options{Reflector: r}, Occasion{Left: reflector.Left{Sessions: 9}})
	if p := back.Progress(); p.Percent != 20 || p.Velocity != 4 || p.Sessions != 20 {
		t.Errorf("less than before: %+v", p)
	}
}

func TestProgressOfSeveralGoals(t *testing.T) {
	t.Parallel()
	goal := func(status string, percent float64, looked bool) Goal {
		g := Goal{Status: status, Series: reflector.Series{Percent: percent}}
		if looked {
			g.Points = []Point{{1, time.Hour, percent}}
		}
		return g
	}
	const open, done, paused, partial, over = ledger.GoalOpen, ledger.GoalAchieved, ledger.GoalPaused, ledger.GoalPartial, ledger.GoalGivenUp
	for _, c := range []struct {
		name    string
		goals   []Goal
		percent float64
		known   bool
		goal    int
	}{
		{"none", nil, 0, false, 0},
		{"two that are new", []Goal{goal(open, 0, false), goal(open, 0, false)}, 0, false, 1},
		{"one looked at", []Goal{goal(open, 50, true), goal(open, 0, false)}, 25, true, 1},
		{"one reached", []Goal{goal(done, 100, true), goal(open, 0, false), goal(open, 0, false)}, 100.0 / 3, true, 2},
		{"reached by a claim alone", []Goal{goal(done, 0, false), goal(open, 50, true)}, 75, true, 2},
		{"one waits", []Goal{goal(paused, 40, true), goal(open, 20, true)}, 30, true, 2},
		{"none is open", []Goal{goal(partial, 60, true), goal(over, 20, true)}, 40, true, 0},
		{"all reached", []Goal{goal(done, 0, false), goal(done, 100, true)}, 100, true, 0},
		{"a hundred, and not reached", []Goal{goal(open, 100, true)}, 99, true, 1},
		{"nearly all", []Goal{goal(done, 100, true), goal(over, 99, true)}, 99, true, 0},
	} {
		p := (&State{Goals: c.goals}).Progress()
		same(t, c.name, Progress{Percent: c.percent, Known: c.known, Goal: c.goal, Goals: len(c.goals)}, Progress{Percent: p.Percent, Known: p.Known, Goal: p.Goal, Goals: p.Goals})
	}
}

func TestEstimateIsNeverNonsense(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		percent  float64
		elapsed  time.Duration
		sessions int
		left     time.Duration
	}{
		{"as usual", 40, time.Hour, 2, 2 * time.Hour},
		{"a hundred, and not reached", 100, time.Hour, 1, time.Hour},
		{"nothing", 0, time.Hour, 0, 0},
		{"no time", 50, 0, 1, 0},
		{"more sessions than make sense", 1e-12, time.Nanosecond, 0, 0},
		{"many sessions", 0.001, time.Second, 99999, 99999 * time.Second},
		{"more time than a duration holds", 0.001, 1000 * time.Hour, 0, 0},
		{"more time than makes sense", 0.1, 100 * time.Hour, 0, 0},
		{"years", 1, 100 * time.Hour, 99, 9900 * time.Hour},
	} {
		g := Goal{
			Status: ledger.GoalOpen, Series: reflector.Series{Percent: c.percent}, Totals: reflector.Totals{Sessions: 1, Elapsed: c.elapsed},
			Points: []Point{{1, c.elapsed, c.percent}},
		}
		p := (&State{Goals: []Goal{g}}).Progress()
		if p.Sessions != c.sessions || p.Left != c.left {
			t.Errorf("%s: %d sessions and %v, want %d and %v", c.name, p.Sessions, p.Left, c.sessions, c.left)
		}
	}
}
