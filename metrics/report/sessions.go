package report

import (
	"fmt"
	"strings"

	"autopilot/metrics/report/sheet"
	"autopilot/metrics/report/wording"
)

// trouble reports whether a session is one to look at.
func trouble(s SessionFacts) bool { return s.Ending != endingCompleted || denialCount(s) > 0 }

func (w writer) sessions() sheet.Part {
	list := w.Sessions
	p := sheet.Part{ID: "sessions", Title: "Sessions", Head: sheet.Columns("#Session", "Began", "Took", "Ended", "#Tokens", "#Cache reads", "#Cost", "#Files", "#Commits", "Why")}
	p.Fill(len(list), maxRows, func(i int) bool { return trouble(list[i]) }, func(i int) sheet.Row {
		s := list[i]
		took, state := wording.None, "good"
		if !s.Started.IsZero() && !s.Ended.Before(s.Started) {
			took = wording.Duration(s.Ended.Sub(s.Started))
		}
		if s.Ending != endingCompleted {
			state = "bad"
		}
		t := sound(s.Tokens)
		why := short(s.Cause)
		if n := denialCount(s); n > 0 {
			why = strings.TrimSuffix(fmt.Sprintf("%s refused; %s", wording.Number(int64(n)), why), "; ")
		}
		return sheet.Row{Cells: []string{
			wording.Number(int64(bounded(s.Number))), w.at(s.Started), took, or(name(s.Ending), wording.None), wording.Number(t.Budgeted()), wording.Number(t.CacheRead),
			wording.Dollars(s.CostUSD), wording.Number(int64(fileCount(s))), wording.Number(int64(len(s.Commits))), why,
		}, State: state}
	})
	return p
}

// details are the sessions in full: those that are to be looked at, and the last ones.
func (w writer) details() ([]sheet.Detail, string) {
	list := w.Sessions
	var out []sheet.Detail
	for _, i := range sheet.Choose(len(list), maxDetails, func(i int) bool { return trouble(list[i]) }) {
		out = append(out, w.detail(list[i]))
	}
	if left := len(list) - len(out); left > 0 {
		return out, wording.Number(int64(left)) + " more sessions are not told in full; they are in the ledger."
	}
	return out, ""
}

func (w writer) detail(s SessionFacts) sheet.Detail {
	d := sheet.Detail{Title: fmt.Sprintf("Session %s: %s", wording.Number(int64(bounded(s.Number))), or(name(s.Ending), "ending not known")), Open: s.Ending != endingCompleted}
	add := func(what, value string) {
		if value != "" {
			d.Lines = append(d.Lines, sheet.Tile{Name: what, Value: value})
		}
	}
	add("Why", short(s.Cause))
	add("Report", long(s.Summary))
	add("For", name(s.Item))
	add("Kind", name(s.Type))
	add("Next steps", listed(s.NextSteps, len(s.NextSteps)))
	add("Not allowed", listed(s.Denials, denialCount(s)))
	add("Commits", listed(s.Commits, len(s.Commits)))
	add("Files", listed(s.Files, fileCount(s)))
	add("Room on the machine", w.caps(s))
	add("Tokens", w.kinds(s))
	add("Model", name(s.Model))
	add("Id", name(s.ID))
	return d
}

// kinds are the tokens of a session by kind.
func (w writer) kinds(s SessionFacts) string {
	t := sound(s.Tokens)
	if t.Budgeted()+t.CacheRead == 0 {
		return ""
	}
	return fmt.Sprintf("input %s, output %s, cache writes %s, cache reads %s",
		wording.Number(t.Input), wording.Number(t.Output), wording.Number(t.CacheCreation), wording.Number(t.CacheRead))
}

// caps says how the tier and the cap changed during a session.
func (w writer) caps(s SessionFacts) string {
	var out []string
	for i, c := range s.Caps {
		if i == maxEach {
			return strings.Join(append(out, "and "+wording.Number(int64(len(s.Caps)-i))+" more"), "; ")
		}
		words := fmt.Sprintf("%s, at most %s", or(brief(c.Tier), wording.None), wording.Count(bounded(c.Cap), "agent"))
		if signal := brief(c.Signal); signal != "" {
			words += " (" + signal + ")"
		}
		if c.Refused > 0 {
			words += ", " + wording.Number(int64(bounded(c.Refused))) + " refused"
		}
		out = append(out, words)
	}
	return strings.Join(out, "; ")
}

// listed are the first of some texts, and how many more there are of n.
func listed(list []string, n int) string {
	var out []string
	for _, s := range list[:min(len(list), maxEach)] {
		if s = name(s); s != "" {
			out = append(out, s)
		}
	}
	if more := n - len(out); more > 0 {
		words := "and " + wording.Number(int64(more)) + " more"
		if len(out) == 0 {
			words = wording.Number(int64(n))
		}
		out = append(out, words)
	}
	return strings.Join(out, "; ")
}
