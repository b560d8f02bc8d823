package watch

import (
	"fmt"
	"path/filepath"
	"strings"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/fleet"
)

// column is a column of a table. It is drawn when the table is wide enough.
type column struct {
	name  string
	width int
	from  int // width of the screen from which on it is shown
	right bool
	cell  func(e entry) (style, string)
}

// list is the list of all runs in room lines.
func (m model) list(room int) []string {
	p := m.pen()
	entries := m.entries()
	if len(entries) == 0 {
		return []string{"", p.cut("  no run is on, and none is known here", m.width), p.text(dim, p.cut(`  autopilot run "GOAL" starts one`, m.width))}
	}
	type drawn struct {
		text  string
		entry int // that it shows; -1 for none
	}
	var lines []drawn
	part := ""
	for i, e := range entries {
		if now := partOf(e); now != part {
			if part = now; len(lines) > 0 {
				lines = append(lines, drawn{"", -1})
			}
			lines = append(lines, drawn{m.heading(part), -1})
		}
		text := ""
		if e.need != nil {
			text = m.needLine(*e.need)
		} else {
			text = m.rowLine(e)
		}
		if e.key == m.chosen {
			text = p.text(chosen, p.or("›", ">")+p.fill(stripped(text), m.width-1))
		} else {
			text = " " + text
		}
		lines = append(lines, drawn{text, i})
	}
	at := 0
	for i, l := range lines {
		if l.entry >= 0 && entries[l.entry].key == m.chosen {
			at = i
		}
	}
	top := max(0, min(at-room/2, len(lines)-room))
	out := make([]string, 0, room)
	for _, l := range lines[top:min(len(lines), top+room)] {
		out = append(out, l.text)
	}
	return out
}

func partOf(e entry) string {
	switch {
	case e.need != nil:
		return "For a person"
	case e.past:
		return "Ended"
	}
	return "On"
}

// heading is the line above a part of the list.
func (m model) heading(part string) string {
	p := m.pen()
	if part == "For a person" {
		return p.text(dim, " "+p.fill("FOR A PERSON", m.width-1))
	}
	var b strings.Builder
	for i, c := range m.columns(part == "Ended") {
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(padded(p, c, c.name))
	}
	return p.text(dim, " "+p.cut(b.String(), m.width-1))
}

func padded(p pen, c column, s string) string {
	if c.right {
		return p.right(s, c.width)
	}
	return p.fill(s, c.width)
}

// columns are those that fit. What is left of the width goes to the last one.
func (m model) columns(past bool) []column {
	name, when := "ON", "FOR"
	if past {
		name, when = "ENDED", "AGO"
	}
	all := []column{
		{name, 18, 0, false, func(e entry) (style, string) { return plain, m.nameOf(*e.row) }},
		{"STATE", 14, 0, false, func(e entry) (style, string) { return stateStyle(e.row.State), stateWord(e.row.State) }},
		{"IT", 5, 50, true, func(e entry) (style, string) { return plain, iterations(*e.row) }},
		{"%", 4, 56, true, func(e entry) (style, string) { return plain, percentOf(e.row.Percent) }},
		{"TIER/CAP", 11, 90, false, func(e entry) (style, string) { return tierStyle(e.row.Tier), tierCap(e.row.Tier, e.row.Cap) }},
		{"TOKENS", 7, 76, true, func(e entry) (style, string) { return plain, wording.Short(float64(e.row.Tokens)) }},
		{"COST", 8, 66, true, func(e entry) (style, string) { return plain, wording.Dollars(e.row.CostUSD) }},
		{when, 6, 0, true, func(e entry) (style, string) { return plain, m.age(*e.row, past) }},
	}
	if past {
		all = append(all, column{"REWARD", 6, 110, true, func(e entry) (style, string) {
			if e.row.Reward == nil {
				return plain, "-"
			}
			return plain, fmt.Sprintf("%.2f", *e.row.Reward)
		}})
	}
	all = append(all, column{"", 0, 84, false, func(e entry) (style, string) {
		if e.past {
			return dim, joined(e.row.Cause, e.row.Goal)
		}
		return dim, joined(e.row.Note, e.row.Goal)
	}})
	var out []column
	used := 1
	for _, c := range all {
		if m.width >= c.from {
			out = append(out, c)
			used += c.width + 1
		}
	}
	last := &out[len(out)-1]
	if last.name != "" { // there is no room for words: the name takes what is left, or gives
		last = &out[0]
	}
	last.width = max(0, last.width+m.width-used+1)
	return out
}

func (m model) rowLine(e entry) string {
	p := m.pen()
	var b strings.Builder
	for i, c := range m.columns(e.past) {
		if i > 0 {
			b.WriteString(" ")
		}
		st, text := c.cell(e)
		b.WriteString(p.text(st, padded(p, c, text)))
	}
	return b.String()
}

func (m model) needLine(n board.Need) string {
	p := m.pen()
	key := map[board.NeedKind]string{board.NeedGate: "held", board.NeedAnswer: "asks", board.NeedRetry: "aside", board.NeedResume: "resume"}[n.Kind]
	name := p.fill(filepath.Base(n.Repo), 16)
	text := n.Text
	if n.Kind == board.NeedGate || n.Kind == board.NeedRetry {
		text = n.ID + "  " + text
	}
	return name + " " + p.text(yellow, p.fill(key, 6)) + " " + p.cut(text, m.width-26)
}

// nameOf is what a row is called: the repository, and what tells it from others there.
func (m model) nameOf(r board.Row) string {
	switch r.Kind {
	case fleet.KindPeer:
		return "peer " + filepath.Base(r.Repo)
	case fleet.KindStory:
		return "  " + r.Story
	}
	name := filepath.Base(r.Repo)
	if m.mine(r) {
		name = "* " + name
	}
	if r.Kind == fleet.KindCohort {
		name += " (stories)"
	}
	return name
}

func stateWord(s fleet.State) string {
	switch s {
	case fleet.StateWaiting:
		return "waits"
	case fleet.StatePerson:
		return "needs a person"
	case fleet.StateOpen:
		return "dead"
	}
	return string(s)
}

func iterations(r board.Row) string {
	if r.MaxSessions > 0 && r.MaxSessions < 100 {
		return fmt.Sprintf("%d/%d", r.Iteration, r.MaxSessions)
	}
	return fmt.Sprint(r.Iteration)
}

func (m model) age(r board.Row, past bool) string {
	from := r.Started
	if past {
		from = r.Ended
	}
	if from.IsZero() {
		return "-"
	}
	return since(m.now.Sub(from))
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " - " + b
}
