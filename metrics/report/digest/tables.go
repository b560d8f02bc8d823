package digest

import (
	"fmt"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

// where are the cells of a table that say which repository it is about: none when there is
// only one.
func (w writer) where(repository string) []string {
	if w.Repository != "" {
		return nil
	}
	return []string{name(repository)}
}

// columns are the columns of a table, behind the one of the repository.
func (w writer) columns(before []string, names ...string) []sheet.Column {
	if w.Repository == "" {
		before = append(before, "Repository")
	}
	return sheet.Columns(append(before, names...)...)
}

func number(n int) string { return wording.Number(int64(wording.Bounded(n))) }

// troubled reports whether a run is one to look at.
func (c counted) troubled() bool { return c.class != sheet.Good }

func (w writer) runTable() sheet.Part {
	p := sheet.Part{ID: "runs", Title: "Runs", Head: w.columns([]string{"#No."}, "Run", "Began", "Took", "Standing", "Why", "#Goals", "#Pieces", "#Tasks", "#Sessions", "#Commits", "#Tokens", "#Cost", "#Progress")}
	p.Fill(len(w.runs), maxRows, func(i int) bool { return w.runs[i].troubled() }, func(i int) sheet.Row {
		c := w.runs[i]
		rec := c.Record
		took, progress := wording.None, wording.None
		if c.seconds > 0 {
			took = wording.Seconds(c.seconds)
		}
		if c.percent != nil {
			progress = wording.Percent(*c.percent)
		}
		sessions, tokens, cost := number(c.sessions), wording.Number(c.tokens), wording.Dollars(c.cost)
		if c.coordinates { // what its stories took stands with them
			sessions, tokens, cost = wording.None, wording.None, wording.None
		}
		cells := append([]string{number(c.number)}, w.where(c.Repository)...)
		cells = append(cells, name(rec.AutopilotRunID), w.when(time.Time(rec.StartedAt)), took, c.words, c.cause, of(c.goalsDone, c.goals), of(c.piecesDone, c.pieces), of(c.TasksDone, c.Tasks),
			sessions, number(c.commits), tokens, cost, progress)
		return sheet.Row{Cells: cells, State: c.class}
	})
	return p
}

// of writes how many of how many.
func of(part, all int) string {
	if all <= 0 {
		return wording.None
	}
	return number(part) + " of " + number(all)
}

func (w writer) needTable() sheet.Part {
	list := w.needs()
	p := sheet.Part{ID: "needs", Title: "What waits for a person", Head: w.columns([]string{"What"}, "About", "Since", "Until", "Command")}
	words := map[string]string{Question: "a question", Gate: "a held call", Item: "a piece that was put aside", Merge: "a branch to merge", Resume: "a run to resume"}
	for _, n := range list[:min(len(list), maxSome)] { // the most pressing ones
		kind := words[n.Kind]
		if kind == "" {
			kind = name(n.Kind)
		}
		cells := append([]string{kind}, w.where(n.Repository)...)
		p.Rows = append(p.Rows, sheet.Row{Cells: append(cells, short(n.Text), w.when(n.At), w.when(n.Until), short(n.Command)), State: sheet.Person})
	}
	if left := len(list) - len(p.Rows); left > 0 {
		p.Left = wording.Number(int64(left)) + " more are not shown."
	}
	return p
}

// evidence is one thing that was looked at as proof.
type evidence struct {
	run   counted
	what  string
	ok    bool
	proof string
}

func (w writer) evidence() []evidence {
	var out []evidence
	for _, c := range w.runs {
		if t := c.Record.Termination; t != nil {
			for _, d := range t.Deliverables {
				out = append(out, evidence{c, d.Name, d.OK, d.Proof})
			}
		}
		if n := len(c.Tests); n > 0 {
			t := c.Tests[n-1]
			words := fmt.Sprintf("%s passed, %s failed", number(t.Passed), number(t.Failed))
			if t.Coverage != nil && wording.Percent(*t.Coverage) != wording.None {
				words += ", coverage " + wording.Percent(*t.Coverage)
			}
			if t.Broken {
				words += ", the run itself failed"
			}
			out = append(out, evidence{c, "tests at the end", !t.Red(), words})
		}
	}
	return out
}

func (w writer) proofTable() sheet.Part {
	list := w.evidence()
	p := sheet.Part{ID: "proof", Title: "Proof", Head: w.columns([]string{"#No."}, "Run", "What", "Result", "Proof")}
	p.Fill(len(list), maxSome, func(i int) bool { return !list[i].ok }, func(i int) sheet.Row {
		e := list[i]
		result, state := "holds", sheet.Good
		if !e.ok {
			result, state = "fails", sheet.Bad
		}
		cells := append([]string{number(e.run.number)}, w.where(e.run.Repository)...)
		return sheet.Row{Cells: append(cells, name(e.run.Record.AutopilotRunID), short(e.what), result, short(e.proof)), State: state}
	})
	return p
}

func (w writer) goalTable() sheet.Part {
	type aim struct {
		run counted
		ledger.Goal
	}
	var list []aim
	for _, c := range w.runs {
		for _, g := range c.Record.Goals {
			list = append(list, aim{c, g})
		}
	}
	p := sheet.Part{ID: "goals", Title: "Goals", Head: w.columns([]string{"#No."}, "Goal", "Standing", "#Progress", "#Sessions", "#Claimed too early")}
	p.Fill(len(list), maxSome, func(i int) bool { return list[i].Status != ledger.GoalAchieved }, func(i int) sheet.Row {
		a := list[i]
		states := map[string]string{ledger.GoalAchieved: sheet.Good, ledger.GoalPaused: sheet.Person, ledger.GoalGivenUp: sheet.Bad}
		cells := append([]string{number(a.run.number)}, w.where(a.run.Repository)...)
		return sheet.Row{Cells: append(cells, short(a.Text), name(a.Status), wording.Percent(a.Percent), number(a.Iterations), number(a.FalseStops)), State: states[a.Status]}
	})
	return p
}

func (w writer) pieceTable() sheet.Part {
	type piece struct {
		run counted
		report.Item
	}
	var list []piece
	for _, c := range w.runs {
		for _, it := range c.Items {
			list = append(list, piece{c, it})
		}
	}
	p := sheet.Part{ID: "pieces", Title: "Pieces of work", Head: w.columns([]string{"#No."}, "Piece", "Title", "Standing", "Why")}
	p.Fill(len(list), maxSome, func(i int) bool { return list[i].Status != report.ItemDone && list[i].Status != report.ItemWaiting }, func(i int) sheet.Row {
		it := list[i]
		states := map[string]string{report.ItemDone: sheet.Good, report.ItemFailed: sheet.Bad, report.ItemNeedsHuman: sheet.Person}
		cells := append([]string{number(it.run.number)}, w.where(it.run.Repository)...)
		return sheet.Row{Cells: append(cells, name(it.ID), short(it.Title), name(it.Status), short(it.Why)), State: states[it.Status]}
	})
	return p
}

func (w writer) dayTable() sheet.Part {
	p := sheet.Part{ID: "days", Title: "By day", Head: sheet.Columns("Day", "#Runs", "#Sessions", "#Tokens", "#Cost")}
	if len(w.days) < 2 {
		return p
	}
	p.Note = "By the day on which a run ended."
	p.Fill(len(w.days), maxFew, func(int) bool { return false }, func(i int) sheet.Row {
		d := w.days[i]
		return sheet.Row{Cells: []string{d.name, number(d.runs), number(d.sessions), wording.Number(d.tokens), wording.Dollars(d.cost)}}
	})
	return p
}

func (w writer) openTable() sheet.Part {
	p := sheet.Part{ID: "open", Title: "Still on", Head: w.columns(nil, "Run", "State")}
	p.Fill(len(w.Open), maxFew, func(int) bool { return false }, func(i int) sheet.Row {
		o := w.Open[i]
		return sheet.Row{Cells: append(w.where(o.Repository), name(o.ID), short(o.Words))}
	})
	return p
}

func (w writer) problemTable() sheet.Part {
	p := sheet.Part{ID: "problems", Title: "What could not be read", Head: sheet.Columns("What")}
	p.Fill(len(w.Problems), maxFew, func(int) bool { return false }, func(i int) sheet.Row { return sheet.Row{Cells: []string{short(w.Problems[i])}} })
	return p
}

// details are the runs in full: those that are to be looked at, and the last ones.
func (w writer) details() ([]sheet.Detail, string) {
	var out []sheet.Detail
	for _, i := range sheet.Choose(len(w.runs), maxDetails, func(i int) bool { return w.runs[i].troubled() }) {
		out = append(out, w.detail(w.runs[i]))
	}
	if left := len(w.runs) - len(out); left > 0 {
		return out, wording.Number(int64(left)) + " more runs are not told in full; 'autopilot report RUN' tells one."
	}
	return out, ""
}

func (w writer) detail(c counted) sheet.Detail {
	rec := c.Record
	d := sheet.Detail{Title: fmt.Sprintf("Run %s: %s", w.ofAll(c.Repository, name(rec.AutopilotRunID)), c.words), Open: c.class == sheet.Bad}
	add := func(what, value string) {
		if value != "" {
			d.Lines = append(d.Lines, sheet.Tile{Name: what, Value: value})
		}
	}
	if t := rec.Termination; t != nil {
		add("How it ended", long(t.Summary))
		add("Asks", long(t.Question))
	}
	if rec.KillSwitchDetail != nil {
		add("Because", long(*rec.KillSwitchDetail))
	}
	if n := len(c.Sessions); n > 0 {
		last := c.Sessions[n-1]
		add("Last report", long(last.Summary))
		add("Next steps", list(last.NextSteps))
	}
	var commits []string
	for _, s := range c.Sessions {
		commits = append(commits, s.Commits...)
	}
	add("Commits", list(commits))
	add("Continues run", name(rec.ResumedFrom))
	if rec.ParentRunID != nil {
		add("Story of run", name(*rec.ParentRunID))
	}
	if c.Continued {
		add("Goes on", "in a later run")
	}
	return d
}
