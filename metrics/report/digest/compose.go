package digest

import (
	"fmt"
	"strings"

	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

func compose(f Facts) sheet.Sheet {
	w := newWriter(f)
	m := sheet.Sheet{Title: w.title(), Tiles: w.tiles(), Figures: w.figures(), FootTitle: "About the digest", Foot: w.foot(), DetailsTitle: "Runs in full"}
	m.State, m.Ending = w.state()
	m.Lead = []sheet.Section{{Title: "Done", Lines: sheet.Lines(w.done())}}
	if w.total.runs > 0 {
		m.Lead = append(m.Lead, sheet.Section{Title: "Proof", Lines: sheet.Lines(w.proof())}, sheet.Section{Title: "Cost", Lines: sheet.Lines(w.cost())},
			sheet.Section{Title: "Why runs stopped", Lines: sheet.Lines(w.stopped())})
	}
	m.Lead = append(m.Lead, sheet.Section{Title: "For a person to do now", Lines: w.toDo(), Now: true})
	for _, p := range []sheet.Part{w.runTable(), w.needTable(), w.proofTable(), w.goalTable(), w.pieceTable(), w.dayTable(), w.openTable(), w.problemTable()} {
		if len(p.Rows) > 0 {
			m.Parts = append(m.Parts, p)
		}
	}
	m.Details, m.Left = w.details()
	return m
}

func (w writer) title() string {
	where := ""
	if w.Repository != "" {
		where = " of " + name(w.Repository)
	}
	if w.total.runs == 0 {
		return fmt.Sprintf("No run%s ended since %s", where, w.when(w.Since))
	}
	return fmt.Sprintf("%s%s since %s", wording.Count(w.total.runs, "run"), where, w.when(w.Since))
}

// state is the worst of how the runs ended.
func (w writer) state() (class, words string) {
	of := w.total.classes
	switch {
	case len(w.Needs) > 0:
		return sheet.Person, "Something waits for a person"
	case w.total.runs == 0:
		return sheet.Open, "Nothing ended in this time"
	case of[sheet.Bad] > 0:
		return sheet.Bad, "Not all of it went well"
	case of[sheet.Person] > 0:
		return sheet.Person, "A run stopped for a person"
	case of[sheet.Limit] > 0:
		return sheet.Limit, "Some was stopped half-way"
	case of[sheet.Open] > 0:
		return sheet.Open, "Of some it is not known how they ended"
	}
	return sheet.Good, "All of it went well"
}

// share is so many of so many things: 2 of 3 goals.
func share(part, of int64, one string) string {
	return wording.Number(part) + " of " + wording.Count(int(of), one)
}

func (w writer) done() []string {
	t := w.total
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if t.runs == 0 {
		add("No run ended since %s.", w.when(w.Since))
	}
	if t.goals > 0 {
		add("%s reached.", share(t.goalsDone, t.goals, "goal"))
	}
	if t.pieces > 0 {
		add("%s of work done.", share(int64(t.piecesDone), int64(t.pieces), "piece"))
	}
	if t.tasks > 0 {
		add("%s over.", share(int64(t.tasksDone), int64(t.tasks), "task"))
	}
	if t.sessions > 0 {
		add("%s, of which %s completed.", wording.Count(t.sessions, "session"), wording.Number(int64(t.completed)))
	}
	if t.files > 0 || t.commits > 0 {
		add("%s to files and %s by sessions.", wording.Count(t.files, "change"), wording.Count(t.commits, "commit"))
	}
	if n := len(w.Open); n > 0 {
		add("%s still on.", isOn(n))
	}
	return out
}

func isOn(n int) string {
	if n == 1 {
		return "1 run is"
	}
	return wording.Count(n, "run") + " are"
}

func (w writer) proof() []string {
	t := w.total
	var out []string
	if t.checks > 0 {
		out = append(out, share(int64(t.checksHold), int64(t.checks), "check")+" held at the end.")
	}
	if t.tested > 0 {
		out = append(out, fmt.Sprintf("Tests were green at the end of %s that ran them.", share(int64(t.green), int64(t.tested), "run")))
	}
	if t.falseStops > 0 {
		out = append(out, "A goal was said to be reached too early "+wording.Count(int(t.falseStops), "time")+".")
	}
	if len(out) == 0 {
		out = append(out, "No checks and no tests are part of the records of these runs.")
	}
	return out
}

func (w writer) cost() []string {
	t := w.total
	out := []string{fmt.Sprintf("%s and %s tokens without cache reads.", wording.Dollars(t.cost), wording.Number(t.tokens))}
	if v, ok := w.perDay(); ok {
		out = append(out, wording.Dollars(v)+" a day in the mean.")
	}
	top := -1
	for i, r := range w.runs {
		if r.cost > 0 && (top < 0 || r.cost > w.runs[top].cost) {
			top = i
		}
	}
	if top >= 0 && t.runs > 1 {
		r := w.runs[top]
		out = append(out, fmt.Sprintf("Most of a run: %s of %s.", wording.Dollars(r.cost), w.ofAll(r.Repository, name(r.Record.AutopilotRunID))))
	}
	return out
}

func (w writer) stopped() []string {
	var out []string
	rest := 0
	for i, cause := range byCount(w.total.causes) {
		if i >= maxReasons {
			rest += w.total.causes[cause]
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s.", cause, wording.Count(w.total.causes[cause], "run")))
	}
	if rest > 0 {
		out = append(out, fmt.Sprintf("for other reasons: %s.", wording.Count(rest, "run")))
	}
	return out
}

// needWords is what a need asks of a person.
func (w writer) needWords(n Need) string {
	verb := map[string]string{Question: "Answer: ", Gate: "Allow or refuse: ", Item: "Decide about ", Merge: "Look at and merge ", Resume: "Go on with "}[n.Kind]
	words := w.ofAll(n.Repository, verb+short(n.Text))
	if sane(n.Until) {
		words += " (until " + w.when(n.Until) + ")"
	}
	return words
}

func (w writer) toDo() []sheet.Line {
	var out []sheet.Line
	list := w.needs()
	for _, n := range list[:min(len(list), maxNeeds)] {
		out = append(out, sheet.Line{Text: w.needWords(n), Command: long(n.Command)})
	}
	if more := len(list) - len(out); more > 0 {
		out = append(out, sheet.Line{Text: fmt.Sprintf("and %s more, see below", wording.Number(int64(more)))})
	}
	return out
}

func (w writer) tiles() []sheet.Tile {
	t := w.total
	if t.runs == 0 {
		return nil
	}
	out := []sheet.Tile{
		{Name: "Runs", Value: wording.Number(int64(t.runs))},
		{Name: "Sessions", Value: wording.Number(int64(t.sessions))},
		{Name: "Time of all runs", Value: wording.Seconds(t.seconds)},
		{Name: "Tokens, without cache reads", Value: wording.Number(t.tokens)},
		{Name: "Cost", Value: wording.Dollars(t.cost)},
	}
	if t.goals > 0 {
		out = append(out, sheet.Tile{Name: "Goals reached", Value: wording.Number(t.goalsDone) + " of " + wording.Number(t.goals)})
	}
	if t.checks > 0 {
		out = append(out, sheet.Tile{Name: "Checks that held", Value: wording.Number(int64(t.checksHold)) + " of " + wording.Number(int64(t.checks))})
	}
	return append(out, sheet.Tile{Name: "Waits for a person", Value: wording.Number(int64(len(w.Needs)))})
}

func (w writer) foot() []sheet.Tile {
	var out []sheet.Tile
	add := func(what, value string) {
		if value != "" && value != wording.None {
			out = append(out, sheet.Tile{Name: what, Value: value})
		}
	}
	where := name(w.Repository)
	if where == "" {
		where = "all of this machine"
	}
	add("Repository", where)
	add("From", w.when(w.Since))
	add("Until", w.when(w.Generated))
	if w.total.waited > 0 {
		add("Waiting for limits", wording.Seconds(float64(w.total.waited)))
	}
	if w.total.slept > 0 {
		add("Machine asleep", wording.Seconds(float64(w.total.slept)))
	}
	k := w.total.kinds
	for _, x := range []struct {
		what string
		n    int64
	}{{"Input tokens", k.Input}, {"Output tokens", k.Output}, {"Cache writes", k.CacheCreation}, {"Cache reads", k.CacheRead}} {
		if x.n > 0 {
			add(x.what, wording.Number(x.n))
		}
	}
	for _, t := range w.machine() {
		add(t.Name, t.Value)
	}
	add("autopilot", name(w.Version))
	add("Times are in", wording.Line(w.Generated.In(w.zone).Format("MST"), maxName))
	return out
}

// list writes the first of some texts, and how many more there are.
func list(texts []string) string {
	var out []string
	for _, s := range texts[:min(len(texts), maxEach)] {
		if s = name(s); s != "" {
			out = append(out, s)
		}
	}
	if more := len(texts) - len(out); more > 0 && len(out) > 0 {
		out = append(out, "and "+wording.Number(int64(more))+" more")
	}
	return strings.Join(out, "; ")
}
