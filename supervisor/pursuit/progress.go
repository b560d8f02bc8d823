package pursuit

import (
	"math"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
)

const (
	unreached    = 99                        // percent at most while a goal is not achieved, whatever a reflection says
	mostSessions = 1_000_000                 // more is no estimate
	mostLeft     = 10 * 365 * 24 * time.Hour // likewise
)

// Progress is how far a run is with its goals.
type Progress struct {
	Percent    float64               `json:"percent"`             // mean over the goals; 100 when all are achieved, else 0..99
	Known      bool                  `json:"known"`               // false before the first reflection
	Goal       int                   `json:"goal"`                // number of the current goal, from 1; 0 when none is open
	Goals      int                   `json:"goals"`               // how many there are
	Velocity   float64               `json:"percent_per_session"` // of the current goal; 0 when unknown
	PerHour    float64               `json:"percent_per_hour"`
	Sessions   int                   `json:"sessions_left"` // at this velocity; 0 when unknown or beyond all sense
	Left       time.Duration         `json:"left_ns"`       // likewise
	Milestones []reflector.Milestone `json:"milestones"`    // of the current goal
	Points     []Point               `json:"points"`        // likewise
	Last       string                `json:"last"`          // the last reflection in a few words
}

// Progress sums up how far the goals are.
func (s *State) Progress() Progress {
	p := Progress{Goals: len(s.Goals), Milestones: []reflector.Milestone{}, Points: []Point{}}
	if len(s.Goals) == 0 {
		return p
	}
	most := 100.0
	for i, g := range s.Goals {
		if g.Status == ledger.GoalAchieved {
			p.Percent += 100
			p.Known = true
			continue
		}
		most = unreached
		p.Percent += g.Series.Percent
		p.Known = p.Known || len(g.Points) > 0
		if p.Goal == 0 && g.Status == ledger.GoalOpen {
			p.Goal = i + 1
		}
	}
	p.Percent = min(p.Percent/float64(len(s.Goals)), most)
	g := s.Current()
	if g == nil {
		return p
	}
	p.Milestones = append(p.Milestones, g.Milestones...)
	p.Points = append(p.Points, g.Points...)
	p.Velocity, p.PerHour = g.velocity()
	if n := len(g.Assessments); n > 0 {
		p.Last = g.Assessments[n-1].Reasoning
	}
	p.Sessions, p.Left = g.left(p.Velocity)
	return p
}

// left estimates what the goal still takes. Both are 0 when that is unknown, or more
// than an estimate can say.
func (g *Goal) left(velocity float64) (sessions int, left time.Duration) {
	if velocity <= 0 {
		return 0, 0
	}
	n := math.Ceil((100 - min(g.Series.Percent, unreached)) / velocity)
	if n > mostSessions || n*g.perSession().Hours() > mostLeft.Hours() {
		return 0, 0
	}
	return int(n), time.Duration(n) * g.perSession()
}

// velocity is percent per session and per hour of active time, over the last
// three points, or from the beginning when there are fewer. Both are 0 when it
// does not go forward.
func (g *Goal) velocity() (perSession, perHour float64) {
	const over = 3
	if len(g.Points) == 0 {
		return 0, 0
	}
	var from Point // a goal begins at nothing
	if n := len(g.Points); n > over {
		from = g.Points[n-1-over]
	}
	to := g.Points[len(g.Points)-1]
	gain := to.Percent - from.Percent
	if gain <= 0 || to.Sessions <= from.Sessions {
		return 0, 0
	}
	perSession = gain / float64(to.Sessions-from.Sessions)
	if d := (to.Active - from.Active).Hours(); d > 0 {
		perHour = gain / d
	}
	return perSession, perHour
}

// perSession is the mean active time of a session of the goal.
func (g *Goal) perSession() time.Duration {
	if g.Totals.Sessions == 0 {
		return 0
	}
	return g.Totals.Elapsed / time.Duration(g.Totals.Sessions)
}
