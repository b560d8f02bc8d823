package stats

import (
	"math"
	"strings"
	"time"

	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
)

const (
	perDollar = 1e6 // what money is counted in
	perScore  = 1e9
	most      = 1 << 62 // of anything
)

// Collector gathers records. The zero value is ready for use; it is not for use
// by several goroutines at once.
type Collector struct {
	// Size is the size of a goal for Samples; nil makes each of size 1.
	Size func(goal string) int

	byID     map[string]int32
	attempts []*attempt
	names    map[string]string // each reason and reflector is kept once
}

// attempt is what is kept of one record.
type attempt struct {
	id    string
	known bool  // the record was added; else it was only named by another
	from  int32 // index of the run that it continues; -1 for none
	ended int64 // milliseconds; 0 when unknown

	hasGoal, achieved bool
	size, goals, done int32
	iterations, stops int64 // of the achieved goals, of all goals

	reason                         string
	count, failed, judged, correct int64
	score                          int64
	by                             []share

	spent
	seconds int64 // wall clock

	forecast *ledger.Forecast
}

// spent is what runs took.
type spent struct{ sessions, work, tokens, micros int64 } // work is seconds without waiting

func (s *spent) add(t spent) {
	s.sessions, s.work = plus(s.sessions, t.sessions), plus(s.work, t.work)
	s.tokens, s.micros = plus(s.tokens, t.tokens), plus(s.micros, t.micros)
}

func (s spent) dollars() float64 { return float64(s.micros) / perDollar }

// share is how many reflections one reflector made.
type share struct {
	name string
	n    int64
}

// Add counts a record. Of two with the same id the one that ended later counts,
// of equals the first. A run that coordinated others counts in theirs.
func (c *Collector) Add(r ledger.Run) {
	if r.AutopilotRunID == "" || r.DryRun || r.Coordinates() || !ended(r) {
		return
	}
	i := c.index(r.AutopilotRunID)
	a := c.attempt(r)
	if old := c.attempts[i]; old.known && a.ended <= old.ended {
		return
	}
	a.id, a.from = c.attempts[i].id, -1
	if r.ResumedFrom != "" {
		a.from = c.index(r.ResumedFrom)
	}
	*c.attempts[i] = a
}

// index is the place of a run, which need not have been added.
func (c *Collector) index(id string) int32 {
	if i, ok := c.byID[id]; ok {
		return i
	}
	if c.byID == nil {
		c.byID = map[string]int32{}
	}
	i := int32(len(c.attempts))
	id = strings.Clone(id) // it may be part of a longer text
	c.byID[id] = i
	c.attempts = append(c.attempts, &attempt{id: id, from: -1})
	return i
}

// name returns the one copy of a name.
func (c *Collector) name(s string) string {
	if n, ok := c.names[s]; ok {
		return n
	}
	if c.names == nil {
		c.names = map[string]string{}
	}
	s = strings.Clone(s)
	c.names[s] = s
	return s
}

// ended reports whether a record is of a run that is over.
func ended(r ledger.Run) bool {
	return r.Termination != nil || r.ExitCause != "" || r.KillSwitch != nil || !time.Time(r.CompletedAt).IsZero()
}

func (c *Collector) attempt(r ledger.Run) attempt {
	a := attempt{known: true, reason: c.name(Class(r))}
	if t := time.Time(r.CompletedAt); !t.IsZero() {
		a.ended = t.UnixMilli()
	}
	truth := forecast.TruthOf(r)
	a.spent = spent{int64(truth.Sessions), int64(min(truth.Seconds, most)), max(0, r.TotalTokensUsed), parts(r.TotalCostUSD, perDollar)}
	a.seconds = max(0, r.DurationSeconds)
	c.countGoals(&a, r)
	c.countReflections(&a, r.Reflections)
	if r.Forecast != nil {
		a.forecast = new(*r.Forecast)
	}
	return a
}

func (c *Collector) countGoals(a *attempt, r ledger.Run) {
	if len(r.Goals) == 0 && strings.TrimSpace(r.Goal) == "" {
		return
	}
	a.hasGoal, a.size = true, int32(forecast.SizeOf(r, c.Size))
	if len(r.Goals) == 0 {
		a.goals = 1
		if a.achieved = a.reason == Completed; a.achieved {
			a.done, a.iterations = 1, a.sessions
			if r.Termination != nil { // counts the runs that it continues as well
				a.iterations = max(a.sessions, int64(r.Termination.Iterations))
			}
		}
		return
	}
	for _, g := range r.Goals {
		a.goals++
		a.stops = plus(a.stops, int64(g.FalseStops))
		if g.Status == ledger.GoalAchieved {
			a.done++
			a.iterations = plus(a.iterations, int64(g.Iterations))
		}
	}
	a.achieved = a.done == a.goals || a.reason == Completed
}

func (c *Collector) countReflections(a *attempt, r *ledger.Reflections) {
	if r == nil {
		return
	}
	a.count, a.failed, a.judged = max(0, int64(r.Count)), max(0, int64(r.Failed)), max(0, int64(r.Judged))
	a.correct = min(max(0, int64(r.Correct)), a.judged)
	if a.judged > 0 {
		a.score = parts(min(r.Score, 1)*float64(a.judged), perScore)
	}
	for name, n := range r.By {
		if n > 0 {
			a.by = append(a.by, share{c.name(label(name)), int64(n)})
		}
	}
}

// parts counts an amount in whole parts of one, so that a sum does not depend on
// its order. What cannot be is zero.
func parts(v, perOne float64) int64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return int64(min(math.Round(v*perOne), most))
}

// plus adds two counts; a negative one is none, and the sum does not turn over.
func plus(sum, n int64) int64 {
	n = max(0, n)
	if sum > math.MaxInt64-n {
		return math.MaxInt64
	}
	return sum + n
}
