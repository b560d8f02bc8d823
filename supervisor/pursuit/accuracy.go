package pursuit

import (
	"math"

	"autopilot/reflector"
)

// Parts of the score of a reflection: how near its forecast of the percentage
// was, whether its recommendation fitted what came after, and whether its words
// on progress did.
const (
	shareForecast = 0.4
	shareAdvice   = 0.3
	shareWords    = 0.3
)

const littleGain = 10 // percent between two reflections; up to here progress is slow

// outcome is what came after a reflection.
type outcome struct {
	expected float64 // percent at the velocity of then
	actual   float64
	gain     float64 // percent since
	effect   bool    // a session changed the repository since
}

// score judges an assessment by what came after it, 0..1, and says whether its
// words on progress were right.
func score(a reflector.Assessment, o outcome) (value float64, right bool) {
	switch a.Progress {
	case reflector.Good:
		right = o.effect && o.gain > 0
	case reflector.Slow:
		right = o.effect && o.gain <= littleGain || !o.effect && o.gain > 0
	default:
		right = !o.effect || o.gain <= 0
	}
	moved := o.effect && o.gain > 0
	advice := moved == (a.Recommendation == reflector.Continue)
	value = shareForecast * (1 - min(100, math.Abs(o.expected-o.actual))/100)
	if advice {
		value += shareAdvice
	}
	if right {
		value += shareWords
	}
	return value, right
}

// judgeLast compares the last assessment of a goal with a new one.
func (s *State) judgeLast(g *Goal, now reflector.Assessment) {
	if len(g.Assessments) == 0 || len(g.Points) == 0 {
		return
	}
	was, then := g.Assessments[len(g.Assessments)-1], g.Points[len(g.Points)-1]
	perSession, _ := g.velocity()
	since := g.Totals.Sessions - then.Sessions
	o := outcome{
		expected: min(100, then.Percent+perSession*float64(since)), actual: now.PercentComplete,
		gain: now.PercentComplete - then.Percent,
	}
	for _, x := range last(g.Sessions, since) {
		o.effect = o.effect || x.Effect()
	}
	value, right := score(was, o)
	s.count(value, right)
}

func (s *State) count(value float64, right bool) {
	t := &s.Tally
	t.Score = (t.Score*float64(t.Judged) + value) / float64(t.Judged+1)
	t.Judged++
	if right {
		t.Correct++
	}
}
