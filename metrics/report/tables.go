package report

import (
	"fmt"
	"strings"

	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/wording"
)

// choose picks at most a number of places out of n, in order: those that matter, the
// latest of them first, and then the latest of the others.
func choose(n, most int, matters func(int) bool) []int {
	keep := make([]bool, n)
	left := most
	for _, important := range []bool{true, false} {
		for i := n - 1; i >= 0 && left > 0; i-- {
			if !keep[i] && matters(i) == important {
				keep[i], left = true, left-1
			}
		}
	}
	var out []int
	for i, k := range keep {
		if k {
			out = append(out, i)
		}
	}
	return out
}

// fill makes the rows of a table out of those of n that fit into it.
func (p *part) fill(n, most int, matters func(int) bool, one func(int) row) {
	for _, i := range choose(n, most, matters) {
		p.Rows = append(p.Rows, one(i))
	}
	if left := n - len(p.Rows); left > 0 {
		p.Left = wording.Number(int64(left)) + " more are not shown."
	}
}

func (w writer) items() part {
	p := part{ID: "items", Title: "Pieces of work", Head: texts("Piece", "Title", "Standing", "#Sessions", "Why")}
	p.fill(len(w.Items), maxRows, func(i int) bool { return w.Items[i].Status != ItemDone && w.Items[i].Status != ItemWaiting }, func(i int) row {
		it := w.Items[i]
		states := map[string]string{ItemDone: "good", ItemFailed: "bad", ItemNeedsHuman: "person"}
		return row{[]string{name(it.ID), short(it.Title), standing(it.Status), wording.Number(int64(bounded(it.Sessions))), short(it.Why)}, states[it.Status]}
	})
	return p
}

// standing writes a status as words.
func standing(s string) string {
	switch s {
	case ItemInProgress:
		return "in progress"
	case ItemNeedsHuman:
		return "needs a person"
	case GatePending:
		return "waits for an answer"
	case GateUsed:
		return "approved, and done since"
	case GateExpired:
		return "not answered in time, so refused"
	}
	return name(s)
}

func (w writer) goals() part {
	p := part{ID: "goals", Title: "Goals", Head: texts("Goal", "Standing", "#Progress", "#Sessions", "#Claimed too early")}
	goals := w.Run.Goals
	p.fill(len(goals), maxFew, func(i int) bool { return goals[i].Status != ledger.GoalAchieved }, func(i int) row {
		g := goals[i]
		states := map[string]string{ledger.GoalAchieved: "good", ledger.GoalPaused: "person", ledger.GoalGivenUp: "bad"}
		return row{[]string{
			short(g.Text), name(g.Status), wording.Percent(g.Percent), wording.Number(int64(bounded(g.Iterations))), wording.Number(int64(bounded(g.FalseStops))),
		}, states[g.Status]}
	})
	return p
}

func (w writer) gates() part {
	p := part{ID: "gates", Title: "What needed a person", Head: texts("What", "Rule", "Standing", "Who and when", "Because")}
	p.fill(len(w.Gates), maxFew, func(i int) bool { return w.Gates[i].Waits() }, func(i int) row {
		g := w.Gates[i]
		who := name(g.By)
		switch {
		case !g.Answered.IsZero():
			who = strings.TrimSpace(who + " " + w.at(g.Answered))
		case !g.Asked.IsZero():
			who = "asked " + w.at(g.Asked)
		}
		state := ""
		if g.Waits() {
			state = "person"
		}
		return row{[]string{or(short(g.Subject), name(g.ID)), name(g.Rule), standing(g.Status), who, short(g.Because)}, state}
	})
	return p
}

// checks are what was looked at at the end as proof.
func (w writer) checks() part {
	p := part{ID: "checks", Title: "Checks", Head: texts("Check", "Result", "Proof")}
	if w.Run.Termination == nil {
		return p
	}
	list := w.Run.Termination.Deliverables
	p.fill(len(list), maxFew, func(i int) bool { return !list[i].OK }, func(i int) row {
		if list[i].OK {
			return row{[]string{short(list[i].Name), "holds", short(list[i].Proof)}, "good"}
		}
		return row{[]string{short(list[i].Name), "fails", short(list[i].Proof)}, "bad"}
	})
	return p
}

// testWords is a run of the test gate in words.
func testWords(t TestRun) string {
	out := wording.Number(int64(bounded(t.Passed))) + " passed, " + wording.Number(int64(bounded(t.Failed))) + " failed"
	if t.Skipped > 0 {
		out += ", " + wording.Number(int64(bounded(t.Skipped))) + " skipped"
	}
	if t.Broken {
		out += ", the run itself failed"
	}
	if t.Coverage != nil {
		if c := wording.Percent(*t.Coverage); c != wording.None {
			out += ", coverage " + c
		}
	}
	return out
}

func (w writer) tests() part {
	p := part{ID: "tests", Title: "Runs of the tests", Head: texts("When", "Result", "#Passed", "#Failed", "#Skipped", "#Coverage", "Summary")}
	p.fill(len(w.Tests), maxFew, func(i int) bool { return w.Tests[i].Red() }, func(i int) row {
		t := w.Tests[i]
		coverage, result, state := wording.None, "green", "good"
		if t.Coverage != nil {
			coverage = wording.Percent(*t.Coverage)
		}
		if t.Red() {
			result, state = "red", "bad"
		}
		return row{[]string{
			w.at(t.At), result, wording.Number(int64(bounded(t.Passed))), wording.Number(int64(bounded(t.Failed))), wording.Number(int64(bounded(t.Skipped))),
			coverage, short(t.Summary),
		}, state}
	})
	return p
}

func (w writer) estimate() part {
	p := part{ID: "estimate", Title: "Estimate and truth", Head: texts("What", "Expected", "Range", "Measured", "Off by")}
	e := w.Estimate
	if e == nil {
		e = w.Run.Forecast
	}
	if e == nil {
		return p
	}
	truth := forecast.TruthOf(w.Run)
	if w.Measured != nil {
		truth = *w.Measured
	}
	p.Note = "The estimate was a guess: no earlier run stood behind it."
	if e.Runs > 0 {
		p.Note = "The estimate was made from " + wording.Count(bounded(e.Runs), "earlier run") + "."
	}
	if w.Open {
		p.Note += " What was measured is what the run took so far."
	}
	c := forecast.Compare(*e, truth)
	for _, q := range []struct {
		name string
		j    forecast.Judged
		word func(float64) string
	}{
		{"Sessions", c.Sessions, wording.Rounded},
		{"Time without waiting", c.Seconds, wording.Seconds},
		{"Tokens without cache reads", c.Tokens, wording.Rounded},
		{"Cost", c.CostUSD, wording.Dollars},
	} {
		took := wording.None
		if q.j.Truth > 0 {
			took = q.word(q.j.Truth)
		}
		expected, bounds := wording.None, wording.None
		if q.j.Range != (ledger.Range{}) {
			expected, bounds = q.word(q.j.Range.Likely), q.word(q.j.Range.Low)+" to "+q.word(q.j.Range.High)
		}
		off := or(q.j.Off(), "not known")
		if q.j.Verdict == forecast.Above || q.j.Verdict == forecast.Below {
			off += fmt.Sprintf(", %s the range", q.j.Verdict)
		}
		p.Rows = append(p.Rows, row{Cells: []string{q.name, expected, bounds, took, off}})
	}
	return p
}

func (w writer) publishing() part {
	pub := w.Publishing
	p := part{ID: "told", Title: "Told to others", Head: texts("Where", "What", "Standing", "When", "Address or reason")}
	p.Note = fmt.Sprintf("%s sent, %s to be sent, %s refused.", wording.Number(int64(bounded(pub.Sent))), wording.Number(int64(bounded(pub.Pending))), wording.Number(int64(bounded(pub.Refused))))
	list := pub.Entries
	p.fill(len(list), maxFew, func(i int) bool { return list[i].State != "sent" }, func(i int) row {
		e := list[i]
		state := ""
		if e.State == "refused" {
			state = "bad"
		}
		return row{[]string{name(e.Target), name(e.Subject), name(e.State), w.at(e.At), or(short(e.Why), short(e.URL))}, state}
	})
	if len(p.Rows) == 0 && (pub.Sent > 0 || pub.Pending > 0 || pub.Refused > 0) {
		p.Rows = []row{{Cells: []string{"all targets", wording.None, p.Note, wording.None, ""}}}
		p.Note = ""
	}
	return p
}

func (w writer) breakers() part {
	p := part{ID: "services", Title: "Services", Head: texts("Service", "Standing", "#Failures in a row", "Asked again", "Why")}
	p.fill(len(w.Breakers), maxFew, func(i int) bool { return w.Breakers[i].State == "open" }, func(i int) row {
		b := w.Breakers[i]
		words := map[string]string{"closed": "in order", "open": "not asked at present", "half-open": "being tried"}
		state := ""
		if b.State == "open" {
			state = "bad"
		}
		return row{[]string{name(b.Name), or(words[b.State], name(b.State)), wording.Number(int64(bounded(b.Failures))), w.at(b.RetryAt), short(b.Why)}, state}
	})
	return p
}

func (w writer) reflections() part {
	list := w.Reflections
	p := part{ID: "reflections", Title: "Looks back", Head: texts("When", "#After session", "Occasion", "Progress", "Decision", "Words")}
	p.fill(len(list), maxDetails, func(int) bool { return false }, func(i int) row {
		r := list[i]
		percent := wording.None
		if r.Percent != nil {
			percent = wording.Percent(*r.Percent)
		}
		words, state := wording.Line(r.Reasoning, 2*maxShort), ""
		if r.Error != "" {
			words, state = "came to nothing: "+short(r.Error), "bad"
		}
		if p := name(r.Progress); p != "" {
			percent += " " + p
		}
		return row{[]string{w.at(r.At), wording.Number(int64(bounded(r.Session))), name(r.Trigger), percent, name(r.Decision), words}, state}
	})
	return p
}
