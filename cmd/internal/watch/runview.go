package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/fleet"
)

const (
	tall     = 28 // lines of a screen from which on events are shown below another panel
	labelled = 14 // columns of a label
)

func stripped(s string) string { return ansi.Strip(s) }

// runBody is a run in room lines.
func (m model) runBody(room int) []string {
	p := m.pen()
	switch {
	case m.gone != "":
		return []string{"", p.text(red, p.cut("  "+m.gone, m.width))}
	case !m.there:
		return []string{"looking"}
	}
	lines := append(m.summary(), m.tabs())
	room -= len(lines)
	below := 0
	if m.height >= tall && m.panel != panelEvents {
		below = room * 2 / 5
	}
	main := m.panelLines()
	main = m.window(main, room-below)
	lines = append(lines, main...)
	if below > 1 {
		for range room - below - len(main) {
			lines = append(lines, "")
		}
		lines = append(lines, p.text(dim, p.or("── Events ", "-- Events ")+strings.Repeat(p.or("─", "-"), m.width-len("-- Events "))))
		events := m.eventLines(below - 1)
		lines = append(lines, events[max(0, len(events)-below+1):]...)
	}
	return lines
}

// window is the part of a panel that is shown in n lines.
func (m model) window(lines []string, n int) []string {
	n = max(0, n)
	if len(lines) <= n {
		return lines
	}
	top := min(m.scroll, len(lines)-n)
	switch m.panel {
	case panelSessions, panelEvents:
		top = max(0, len(lines)-n-m.scroll)
	case panelNeeds, panelStories: // the chosen one is in it
		top = 0
		for i, l := range lines {
			if strings.HasPrefix(stripped(l), m.pen().or("›", ">")) {
				top = max(0, min(i-n/3, len(lines)-n))
			}
		}
	}
	return lines[top : top+n]
}

// lines is how many lines the panel has that is shown.
func (m model) lines() int { return len(m.panelLines()) }

func (m model) panelLines() []string {
	switch m.panel {
	case panelProgress:
		return m.progressLines()
	case panelEvents:
		return m.eventLines(keptEvents * 4)
	case panelNeeds:
		return m.needLines()
	case panelStories:
		return m.storyLines()
	}
	return m.sessionLines()
}

// label is a line with a name in front.
func (m model) label(name, text string) string {
	p := m.pen()
	return p.text(dim, p.fill(name, labelled)) + p.cut(text, m.width-labelled)
}

// summary is where the run stands.
func (m model) summary() []string {
	p, r := m.pen(), m.run
	name := m.path(r.Repo)
	if r.Story != "" {
		name += ", story " + r.Story
	}
	lines := []string{p.text(bold, p.cut(name+"  "+r.RunID, m.width))}
	state := string(r.State)
	if r.State == fleet.StateOpen {
		state = "dead: its supervisor is gone"
	}
	facts := []string{fmt.Sprintf("iteration %s", iterations(r.Row))}
	switch {
	case r.Started.IsZero():
	case !r.Ended.IsZero():
		facts = append(facts, "took "+since(r.Ended.Sub(r.Started)), "ended "+since(m.now.Sub(r.Ended))+" ago")
	case r.MaxHours > 0:
		facts = append(facts, fmt.Sprintf("%s of %s", since(m.now.Sub(r.Started)), since(time.Duration(r.MaxHours*float64(time.Hour)))))
	default:
		facts = append(facts, since(m.now.Sub(r.Started)))
	}
	facts = append(facts, wording.Short(float64(r.Tokens))+" tokens", wording.Dollars(r.CostUSD))
	if r.Tier != "" {
		facts = append(facts, tierCap(r.Tier, r.Cap))
	}
	if r.Mode != "" {
		facts = append(facts, r.Mode)
	}
	state = p.cut(state, m.width)
	rest := p.cut("  "+strings.Join(facts, "  "), m.width-ansi.StringWidthWc(state))
	lines = append(lines, p.text(stateStyle(r.State), state)+rest)
	if r.Goal != "" && m.height > 16 {
		lines = append(lines, m.label("goal", r.Goal))
	}
	if c := r.Current; c != nil {
		lines = append(lines, m.label("session", joinFacts(c.Mode, c.Work, "for "+since(m.now.Sub(c.Started)), wording.Short(float64(c.Tokens))+" tokens", wording.Dollars(c.CostUSD), tierCap(c.Tier, c.Cap))))
	}
	if w := r.Waiting; w != nil {
		lines = append(lines, m.label("waits until", w.Until.In(m.o.Zone).Format("15:04 02 Jan")+": "+w.Why))
	}
	if r.Stopping != "" {
		lines = append(lines, m.label("stopping", "after this session: "+r.Stopping))
	}
	if m.ended() {
		lines = append(lines, m.label("ended", joined(r.Cause, r.Summary)))
	}
	if r.Progress.Percent != nil {
		w := max(10, min(40, m.width/3))
		lines = append(lines, p.text(dim, p.fill("progress", labelled))+p.bar(*r.Progress.Percent, w)+p.cut("  "+m.pace(), m.width-labelled-w))
	}
	return lines
}

func (m model) ended() bool { return !m.run.Ended.IsZero() && !m.active() }

func joinFacts(facts ...string) string {
	return strings.Join(slices.DeleteFunc(facts, func(s string) bool { return s == "" || s == "-" }), "  ")
}

// pace is how far the work is, and how fast it goes.
func (m model) pace() string {
	pr := m.run.Progress
	facts := []string{percentOf(pr.Percent)}
	if pr.Velocity > 0 {
		facts = append(facts, fmt.Sprintf("%.1f%% a session", pr.Velocity))
	}
	if pr.PerHour > 0 {
		facts = append(facts, fmt.Sprintf("%.0f%% an hour", pr.PerHour))
	}
	if pr.Sessions > 0 && !m.ended() {
		facts = append(facts, fmt.Sprintf("about %s and %s left", wording.Count(pr.Sessions, "session"), since(pr.Left)))
	}
	return strings.Join(facts, "  ")
}

// tabs are the names of the panels.
func (m model) tabs() string {
	p := m.pen()
	var b strings.Builder
	used := 0
	for i, name := range m.panels() {
		n := map[panel]int{panelSessions: len(m.run.Sessions), panelNeeds: len(m.run.Needs), panelStories: len(m.run.Stories)}[name]
		text := fmt.Sprintf(" %d %s ", i+1, name)
		if n > 0 {
			text = fmt.Sprintf(" %d %s %d ", i+1, name, n)
		}
		if used+len(text) > m.width {
			break
		}
		used += len(text)
		switch {
		case name == m.panel:
			b.WriteString(p.text(chosen, text))
		case name == panelNeeds && n > 0:
			b.WriteString(p.text(yellow, text))
		default:
			b.WriteString(text)
		}
	}
	if !m.o.Color { // a terminal may not show what is chosen
		return strings.Replace(b.String(), string(m.panel), strings.ToUpper(string(m.panel)), 1)
	}
	return b.String()
}

// needLines are what the run waits for.
func (m model) needLines() []string {
	p := m.pen()
	if len(m.run.Needs) == 0 {
		return []string{p.text(dim, "  nothing waits for a person")}
	}
	var lines []string
	for i, n := range m.run.Needs {
		mark := " "
		if i == min(m.need, len(m.run.Needs)-1) {
			mark = p.or("›", ">")
		}
		title := map[board.NeedKind]string{board.NeedGate: "held call " + n.ID, board.NeedAnswer: "question", board.NeedRetry: "put aside: " + n.ID, board.NeedResume: "can go on"}[n.Kind]
		if n.Kind == board.NeedAnswer && n.ID != "" {
			title += " of story " + n.ID
		}
		if !n.Until.IsZero() {
			title += ", until " + n.Until.In(m.o.Zone).Format("15:04 02 Jan")
		}
		lines = append(lines, mark+p.text(yellow, p.cut(title, m.width-1)))
		for _, text := range append(append([]string{n.Text}, n.Options...), n.Why) {
			if text == "" {
				continue
			}
			for _, l := range p.wrapped(text, m.width-4, 6) {
				lines = append(lines, "   "+l)
			}
		}
		lines = append(lines, "   "+p.text(dim, p.cut(n.Command, m.width-4)))
	}
	return lines
}

// storyLines are the stories of a cohort.
func (m model) storyLines() []string {
	p := m.pen()
	var lines []string
	for i := range m.run.Stories {
		e := entry{row: &m.run.Stories[i]}
		text := m.rowLine(e)
		if i == min(m.need, len(m.run.Stories)-1) {
			text = p.text(chosen, p.or("›", ">")+p.fill(stripped(text), m.width-1))
		} else {
			text = " " + text
		}
		lines = append(lines, text)
	}
	return lines
}
