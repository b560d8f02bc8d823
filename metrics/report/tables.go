package report

import (
	"fmt"
	"strings"

	"autopilot/metrics/forecast"
	"autopilot/metrics/ledger"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

func (w writer) items() sheet.Part {
	p := sheet.Part{ID: "items", Title: "Pieces of work", Head: sheet.Columns("Piece", "Title", "Standing", "#Sessions", "Why")}
	p.Fill(len(w.Items), maxRows, func(i int) bool { return w.Items[i].Status != ItemDone && w.Items[i].Status != ItemWaiting }, func(i int) sheet.Row {
		it := w.Items[i]
		states := map[string]string{ItemDone: "good", ItemFailed: "bad", ItemNeedsHuman: "person"}
		return sheet.Row{Cells: []string{name(it.ID), short(it.Title), standing(it.Status), wording.Number(int64(bounded(it.Sessions))), short(it.Why)}, State: states[it.Status]}
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

func (w writer) goals() sheet.Part {
	p := sheet.Part{ID: "goals", Title: "Goals", Head: sheet.Columns("Goal", "Standing", "#Progress", "#Sessions", "#Claimed too early")}
	goals := w.Run.Goals
	p.Fill(len(goals), maxFew, func(i int) bool { return goals[i].Status != ledger.GoalAchieved }, func(i int) sheet.Row {
		g := goals[i]
		states := map[string]string{ledger.GoalAchieved: "good", ledger.GoalPaused: "person", ledger.GoalGivenUp: "bad"}
		return sheet.Row{Cells: []string{
			short(g.Text), name(g.Status), wording.Percent(g.Percent), wording.Number(int64(bounded(g.Iterations))), wording.Number(int64(bounded(g.FalseStops))),
		}, State: states[g.Status]}
	})
	return p
}

func (w writer) gates() sheet.Part {
	p := sheet.Part{ID: "gates", Title: "What needed a person", Head: sheet.Columns("What", "Rule", "Standing", "Who and when", "Because")}
	p.Fill(len(w.Gates), maxFew, func(i int) bool { return w.Gates[i].Waits() }, func(i int) sheet.Row {
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
		return sheet.Row{Cells: []string{or(short(g.Subject), name(g.ID)), name(g.Rule), standing(g.Status), who, short(g.Because)}, State: state}
	})
	return p
}

// checks are what was looked at at the end as proof.
func (w writer) checks() sheet.Part {
	p := sheet.Part{ID: "checks", Title: "Checks", Head: sheet.Columns("Check", "Result", "Proof")}
	if w.Run.Termination == nil {
		return p
	}
	list := w.Run.Termination.Deliverables
	p.Fill(len(list), maxFew, func(i int) bool { return !list[i].OK }, func(i int) sheet.Row {
		if list[i].OK {
			return sheet.Row{Cells: []string{short(list[i].Name), "holds", short(list[i].Proof)}, State: "good"}
		}
		return sheet.Row{Cells: []string{short(list[i].Name), "fails", short(list[i].Proof)}, State: "bad"}
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

func (w writer) tests() sheet.Part {
	p := sheet.Part{ID: "tests", Title: "Runs of the tests", Head: sheet.Columns("When", "Result", "#Passed", "#Failed", "#Skipped", "#Coverage", "Summary")}
	p.Fill(len(w.Tests), maxFew, func(i int) bool { return w.Tests[i].Red() }, func(i int) sheet.Row {
		t := w.Tests[i]
		coverage, result, state := wording.None, "green", "good"
		if t.Coverage != nil {
			coverage = wording.Percent(*t.Coverage)
		}
		if t.Red() {
			result, state = "red", "bad"
		}
		return sheet.Row{Cells: []string{
			w.at(t.At), result, wording.Number(int64(bounded(t.Passed))), wording.Number(int64(bounded(t.Failed))), wording.Number(int64(bounded(t.Skipped))),
			coverage, short(t.Summary),
		}, State: state}
	})
	return p
}

func (w writer) estimate() sheet.Part {
	p := sheet.Part{ID: "estimate", Title: "Estimate and truth", Head: sheet.Columns("What", "Expected", "Range", "Measured", "Off by")}
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
		p.Rows = append(p.Rows, sheet.Row{Cells: []string{q.name, expected, bounds, took, off}})
	}
	return p
}

func (w writer) publishing() sheet.Part {
	pub := w.Publishing
	p := sheet.Part{ID: "told", Title: "Told to others", Head: sheet.Columns("Where", "What", "Standing", "When", "Address or reason")}
	p.Note = fmt.Sprintf("%s sent, %s to be sent, %s refused.", wording.Number(int64(bounded(pub.Sent))), wording.Number(int64(bounded(pub.Pending))), wording.Number(int64(bounded(pub.Refused))))
	list := pub.Entries
	p.Fill(len(list), maxFew, func(i int) bool { return list[i].State != "sent" }, func(i int) sheet.Row {
		e := list[i]
		state := ""
		if e.State == "refused" {
			state = "bad"
		}
		return sheet.Row{Cells: []string{name(e.Target), name(e.Subject), name(e.State), w.at(e.At), or(short(e.Why), short(e.URL))}, State: state}
	})
	if len(p.Rows) == 0 && (pub.Sent > 0 || pub.Pending > 0 || pub.Refused > 0) {
		p.Rows = []sheet.Row{{Cells: []string{"all targets", wording.None, p.Note, wording.None, ""}}}
		p.Note = ""
	}
	return p
}

func (w writer) breakers() sheet.Part {
	p := sheet.Part{ID: "services", Title: "Services", Head: sheet.Columns("Service", "Standing", "#Failures in a row", "Asked again", "Why")}
	p.Fill(len(w.Breakers), maxFew, func(i int) bool { return w.Breakers[i].State == "open" }, func(i int) sheet.Row {
		b := w.Breakers[i]
		words := map[string]string{"closed": "in order", "open": "not asked at present", "half-open": "being tried"}
		state := ""
		if b.State == "open" {
			state = "bad"
		}
		return sheet.Row{Cells: []string{name(b.Name), or(words[b.State], name(b.State)), wording.Number(int64(bounded(b.Failures))), w.at(b.RetryAt), short(b.Why)}, State: state}
	})
	return p
}

func (w writer) reflections() sheet.Part {
	list := w.Reflections
	p := sheet.Part{ID: "reflections", Title: "Looks back", Head: sheet.Columns("When", "#After session", "Occasion", "Progress", "Decision", "Words")}
	p.Fill(len(list), maxDetails, func(int) bool { return false }, func(i int) sheet.Row {
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
		return sheet.Row{Cells: []string{w.at(r.At), wording.Number(int64(bounded(r.Session))), name(r.Trigger), percent, name(r.Decision), words}, State: state}
	})
	return p
}
