package report

import (
	"fmt"
	"slices"
	"strings"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

const (
	exitPerson  = 4   // a person is needed
	exitSignals = 128 // and above: a signal ended the run
)

// state is how the run ended, for the colour and in a few words.
func (w writer) state() (class, words string) { return State(w.Run, w.Open) }

// State is how a run stands: one of the classes of package sheet, and the words for it. Open
// is set while the run is on.
func State(r ledger.Run, open bool) (class, words string) {
	status := ""
	if r.Termination != nil {
		status = r.Termination.Status
	}
	switch {
	case open:
		return "open", "The run is still on"
	case status == "" && r.ExitCause == "" && r.KillSwitch == nil:
		return "open", "It is not known how the run ended"
	case r.DryRun:
		return "good", "A dry run: nothing was done"
	case status == ledger.Paused || r.ExitCode == exitPerson:
		return "person", "Waits for a person"
	case status == ledger.Interrupted || r.ExitCode > exitSignals:
		return "limit", "Interrupted"
	case r.ExitCode != 0:
		return "bad", "Stopped"
	case status == ledger.Completed || status == "" && r.KillSwitch == nil:
		return "good", "Completed"
	}
	return "limit", "Stopped at a limit"
}

func (w writer) wanted() []string {
	var out []string
	if s := wording.Line(w.Wanted, maxGoal); s != "" {
		out = append(out, s)
	}
	goals := w.Run.Goals
	if len(goals) == 0 && w.Run.Goal != "" {
		goals = []ledger.Goal{{Text: w.Run.Goal}}
	}
	for i, g := range goals {
		s := wording.Line(g.Text, maxGoal)
		if len(goals) > 1 {
			s = wording.Line(g.Text, maxShort)
		}
		switch {
		case i == maxEach:
			return append(out, fmt.Sprintf("and %s more", wording.Count(len(goals)-i, "goal")))
		case s != "" && !slices.Contains(out, s):
			out = append(out, s)
		}
	}
	if n := len(w.Items); n > 0 {
		out = append(out, wording.Count(n, "piece")+" of work in the queue"+w.named(func(Item) bool { return true }))
	}
	if len(out) == 0 {
		out = append(out, "No goal was written down.")
	}
	return out
}

// named lists the items of a kind, as far as they fit.
func (w writer) named(want func(Item) bool) string {
	var names []string
	more := 0
	for _, it := range w.Items {
		switch {
		case !want(it):
		case len(names) == maxEach:
			more++
		default:
			names = append(names, or(name(it.ID), name(it.Title)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("and %s more", wording.Number(int64(more))))
	}
	return ": " + strings.Join(names, ", ")
}

// ended says how the run ended and why.
func (w writer) ended(words string) []string {
	r := w.Run
	if w.Open {
		return []string{words + "."}
	}
	var out []string
	why := ""
	if r.Termination != nil {
		why = long(r.Termination.Summary)
	}
	detail := ""
	if r.KillSwitchDetail != nil {
		detail = long(*r.KillSwitchDetail)
	}
	if !strings.HasPrefix(why, words) {
		out = append(out, words+".")
	}
	if why != "" {
		out = append(out, why)
	}
	if detail != "" && !strings.Contains(why, detail) {
		out = append(out, detail)
	}
	cause := name(r.ExitCause)
	if r.KillSwitch != nil && *r.KillSwitch != "" {
		cause = name(*r.KillSwitch)
	}
	if cause != "" {
		out = append(out, fmt.Sprintf("Reason: %s, exit code %d.", cause, r.ExitCode))
	}
	if s := long(w.Hint); s != "" {
		out = append(out, s)
	}
	return out
}

func (w writer) done() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n := len(w.Items); n > 0 {
		isDone := func(it Item) bool { return it.Status == ItemDone }
		add("%s of %s done%s.", wording.Number(int64(countOf(w.Items, isDone))), wording.Count(n, "piece"), w.named(isDone))
	}
	if goals := w.Run.Goals; len(goals) > 0 {
		achieved := countOf(goals, func(g ledger.Goal) bool { return g.Status == ledger.GoalAchieved })
		add("%s of %s reached.", wording.Number(int64(achieved)), wording.Count(len(goals), "goal"))
	}
	if w.total.sessions == 0 {
		return append(out, "No session was begun.")
	}
	add("%s, of which %s completed.", wording.Count(w.total.sessions, "session"), wording.Number(int64(w.total.completed)))
	if w.total.files > 0 || w.total.commits > 0 {
		add("%s and %s by sessions.", wording.Count(w.total.files, "change")+" to files", wording.Count(w.total.commits, "commit"))
	}
	if n := len(w.Tests); n > 0 {
		add("Tests at the end: %s.", testWords(w.Tests[n-1]))
	}
	if n := w.Publishing.Sent; n > 0 {
		add("%s told to others.", wording.Count(n, "update"))
	}
	return out
}

func countOf[T any](list []T, want func(T) bool) int {
	n := 0
	for _, x := range list {
		if want(x) {
			n++
		}
	}
	return n
}

// toDo is what a person has to do now, the most pressing first.
func (w writer) toDo() []sheet.Line {
	var out []sheet.Line
	more := 0
	add := func(text, command string) {
		if len(out) >= maxToDo {
			more++
			return
		}
		t := sheet.Line{Text: short(text), Command: short(command)}
		if t.Text != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for _, s := range w.ToDo {
		add(s, "")
	}
	t := w.Run.Termination
	if t != nil && !w.Open && t.AwaitingUserInput && t.Question != "" {
		out = append(out, sheet.Line{Text: "Answer: " + long(t.Question)})
	}
	for _, g := range w.Gates {
		if g.Waits() {
			text := "Allow or refuse: " + or(short(g.Subject), name(g.ID))
			switch {
			case g.Status == GateExpired:
				text += " (nobody answered in time)"
			case !g.Until.IsZero():
				text += " (until " + w.at(g.Until) + ")"
			}
			add(text, g.Command)
		}
	}
	w.itemsToDo(add)
	if n := len(w.Tests); n > 0 && w.Tests[n-1].Red() {
		add("Look at the tests, which were red at the end: "+testWords(w.Tests[n-1]), "")
	}
	if n := w.Publishing.Refused; n > 0 {
		add(fmt.Sprintf("See why %s refused", were(n, "update")), "")
	}
	for _, b := range w.Breakers {
		if b.State == "open" {
			why := wording.Count(bounded(b.Failures), "failure") + " in a row"
			if b.Failures <= 0 {
				why = "it limits the rate"
			}
			add(fmt.Sprintf("See whether %s is there again: %s", name(b.Name), why), "")
		}
	}
	if t != nil && !w.Open {
		for _, s := range t.NextSteps {
			add(s, "")
		}
	}
	if more > 0 {
		out = append(out, sheet.Line{Text: fmt.Sprintf("and %s more, see below and in the record of the run", wording.Number(int64(more)))})
	}
	return out
}

// were is a count of things to which something was done.
func were(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " was"
	}
	return wording.Count(n, thing) + " were"
}

func (w writer) itemsToDo(add func(text, command string)) {
	for _, status := range []string{ItemNeedsHuman, ItemFailed} {
		for _, it := range w.Items {
			if it.Status != status {
				continue
			}
			text := "Decide about " + or(name(it.ID), name(it.Title))
			if status == ItemFailed {
				text = "Look at " + or(name(it.ID), name(it.Title)) + ", which failed"
			}
			if why := short(it.Why); why != "" {
				text += ": " + why
			}
			add(text, it.Command)
		}
	}
}
