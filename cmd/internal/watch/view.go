package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/fleet"
)

const (
	minWidth  = 40
	minHeight = 10
)

// View is the screen.
func (m model) View() tea.View {
	v := tea.NewView(strings.Join(m.screen(), "\n"))
	v.AltScreen = true
	return v
}

func (m model) pen() pen { return pen{color: m.o.Color, ascii: m.o.ASCII} }

// screen are the lines of the screen, as many as it has.
func (m model) screen() []string {
	if m.width < minWidth || m.height < minHeight {
		return []string{m.pen().cut(fmt.Sprintf("at least %dx%d, please", minWidth, minHeight), m.width)}
	}
	top := m.header()
	bottom := m.footer()
	var body []string
	room := m.height - len(top) - len(bottom)
	switch {
	case m.showHelp:
		body = m.help()
	case !m.loaded:
		body = []string{"looking"}
	case m.ref == (board.Ref{}):
		body = m.list(room)
	default:
		body = m.runBody(room)
	}
	body = body[:min(len(body), room)]
	lines := append(top, body...)
	for len(lines) < m.height-len(bottom) {
		lines = append(lines, "")
	}
	return append(lines, bottom...)
}

// header is the first line, and one for what could not be read.
func (m model) header() []string {
	p := m.pen()
	on := 0
	for _, r := range m.over.Active {
		if r.Kind != fleet.KindPeer && r.Kind != fleet.KindStory {
			on++
		}
	}
	left := fmt.Sprintf("autopilot  %d on", on)
	if n := len(m.over.Questions); n > 0 {
		left += fmt.Sprintf(", %d for a person", n)
	}
	clock := ""
	if !m.now.IsZero() {
		clock = m.now.In(m.o.Zone).Format("15:04")
	}
	lines := []string{p.text(bold, p.fill(left, m.width-len(clock))) + clock}
	problems := m.over.Problems
	if m.ref != (board.Ref{}) && m.there {
		problems = m.run.Problems
	}
	if n := len(problems); n > 0 {
		text := problems[0]
		if n > 1 {
			text = fmt.Sprintf("%s (and %d more)", text, n-1)
		}
		lines = append(lines, p.text(yellow, p.cut("cannot be read: "+text, m.width)))
	}
	return lines
}

// footer is what is asked, or what was done, or the keys.
func (m model) footer() []string {
	p := m.pen()
	if a := m.ask; a != nil {
		return m.asking(a)
	}
	switch {
	case m.busy != "":
		return []string{p.cut(m.busy+" ...", m.width)}
	case m.notice != "" && m.bad:
		return []string{p.text(red, p.cut(m.notice, m.width))}
	case m.notice != "":
		return []string{p.text(green, p.cut(m.notice, m.width))}
	}
	keys := "enter open  s stop  a/d/t decide, answer  ? help  q quit"
	if m.ref != (board.Ref{}) {
		keys = "esc back  tab panel  s/S stop  a/d/t decide, answer  ? help  q quit"
	}
	return []string{p.text(dim, p.cut(keys, m.width))}
}

// asking is the question that is open.
func (m model) asking(a *ask) []string {
	p := m.pen()
	lines := []string{p.text(bold, p.fill(a.title, m.width))}
	room := max(1, m.height/2-3)
	for _, text := range a.lines {
		if text == "" || room <= 0 {
			continue
		}
		part := p.wrapped(text, m.width-2, min(room, 4))
		room -= len(part)
		for _, l := range part {
			lines = append(lines, "  "+l)
		}
	}
	if !a.text {
		return append(lines, p.cut("y yes   n no", m.width))
	}
	typing, room := clean(a.typing), m.width-4
	if w := ansi.StringWidthWc(typing); w > room { // its end is what is typed
		typing = ansi.TruncateLeftWc(typing, w-room+1, p.or("…", "~"))
	}
	return append(lines, "> "+typing+p.text(chosen, " "), p.text(dim, p.cut("enter send  esc leave it", m.width)))
}

// help are the keys and what they do.
func (m model) help() []string {
	p := m.pen()
	rows := [][2]string{
		{"up down, j k", "choose, scroll"},
		{"pgup pgdn g G", "by pages, to the ends"},
		{"enter", "open a run"},
		{"esc", "back to the list"},
		{"tab, 1 to 5", "another panel of a run"},
		{"s", "stop a run after its session"},
		{"S", "stop it now"},
		{"a", "let a held call through, once"},
		{"d", "refuse a held call"},
		{"t", "answer a question"},
		{"q, ctrl-c", "leave; no run ends by that"},
	}
	lines := []string{""}
	for _, r := range rows {
		lines = append(lines, p.text(bold, p.fill("  "+r[0], 18))+p.cut(r[1], m.width-18))
	}
	return lines
}

// stateStyle is how a state is drawn.
func stateStyle(s fleet.State) style {
	switch s {
	case fleet.StateRunning, fleet.StateDone:
		return green
	case fleet.StatePerson, fleet.StateWaiting, fleet.StateStopping, fleet.StateStopped, fleet.StateInterrupted:
		return yellow
	case fleet.StateOpen, fleet.StateUnreadable, fleet.StateFailed, fleet.StateShut:
		return red
	}
	return plain
}

// tierStyle is how a tier of the machine is drawn.
func tierStyle(tier string) style {
	switch tier {
	case "green":
		return green
	case "warn":
		return yellow
	case "":
		return plain
	}
	return red
}

// tierCap is a tier with the cap that goes with it.
func tierCap(tier string, most *int) string {
	switch {
	case tier == "" && most == nil:
		return "-"
	case most == nil:
		return tier
	}
	return fmt.Sprintf("%s/%d", tier, *most)
}

func percentOf(v *float64) string {
	if v == nil {
		return "-"
	}
	return wording.Percent(*v)
}
