package watch

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"autopilot/cmd/internal/board"
)

const maxTyped = 4000 // runes of an answer

// ask is a question to the person at the terminal.
type ask struct {
	title   string   // what is asked, a line
	lines   []string // what belongs to it
	text    bool     // it is answered in words, else with y or n
	may     bool     // the words may be empty
	typing  string
	working string // said while it is done
	do      func(ctx context.Context, text string) (string, error)
}

// typed is the question with more words typed.
func (a *ask) typed(s string) *ask {
	b := *a
	if !b.text {
		return &b
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case unicode.IsControl(c) || c == utf8.RuneError:
			return -1
		}
		return c
	}, s)
	if utf8.RuneCountInString(b.typing)+utf8.RuneCountInString(s) <= maxTyped {
		b.typing += s
	}
	return &b
}

// erased is the question with the last words taken back: a letter, a word or all.
func (a *ask) erased(key string) *ask {
	b := *a
	switch key {
	case "ctrl+u":
		b.typing = ""
	case "ctrl+w", "alt+backspace":
		b.typing = strings.TrimRightFunc(b.typing, unicode.IsSpace)
		b.typing = b.typing[:strings.LastIndexFunc(b.typing, unicode.IsSpace)+1]
	default:
		_, n := utf8.DecodeLastRuneInString(b.typing)
		b.typing = b.typing[:len(b.typing)-n]
	}
	return &b
}

// key is what a key does.
func (m model) key(msg tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		m.left = true
		return m, tea.Quit
	case key == "ctrl+z":
		return m, tea.Suspend
	case m.ask != nil:
		return m.asked(key, msg.Text)
	case m.showHelp:
		m.showHelp = false
		if key != "q" {
			return m, nil
		}
	}
	switch key {
	case "q":
		m.left = true
		return m, tea.Quit
	case "?", "h", "f1":
		m.showHelp = true
		return m, nil
	}
	if m.ref == (board.Ref{}) {
		return m.listKey(key)
	}
	return m.runKey(key)
}

// asked is what a key does while something is asked.
func (m model) asked(key, text string) (tea.Model, tea.Cmd) {
	a := m.ask
	switch {
	case key == "esc", !a.text && (key == "n" || key == "N" || key == "q"):
		m.ask = nil
		return m, nil
	case a.text && (key == "backspace" || key == "ctrl+h" || key == "ctrl+u" || key == "ctrl+w" || key == "alt+backspace"):
		m.ask = a.erased(key)
		return m, nil
	case !a.text && key != "y" && key != "Y":
		return m, nil
	case a.text && key != "enter":
		m.ask = a.typed(text)
		return m, nil
	}
	words := strings.TrimSpace(a.typing)
	if a.text && words == "" && !a.may {
		return m, nil
	}
	m.ask, m.busy, m.notice = nil, a.working, ""
	return m, func() tea.Msg {
		return m.with(func(ctx context.Context) tea.Msg {
			said, err := a.do(ctx, words)
			return doneMsg{said: said, err: err}
		})
	}
}

// listKey is what a key does in the list.
func (m model) listKey(key string) (tea.Model, tea.Cmd) {
	entries := m.entries()
	i := m.index(entries)
	if step, ok := m.step(key); ok && len(entries) > 0 {
		m.chosen = entries[max(0, min(len(entries)-1, i+step))].key
		return m, nil
	}
	if i < 0 {
		return m, nil
	}
	e := entries[i]
	switch key {
	case "enter", "right", "l":
		switch {
		case e.row != nil && e.row.Ref != (board.Ref{}):
			m.open(e.row.Ref, panelSessions)
		case e.need != nil && e.need.Ref.Run != "":
			m.open(e.need.Ref, panelNeeds)
		case e.row != nil:
			m.notice, m.bad = "there is nothing more to see of it", false
			return m, nil
		default:
			return m, nil
		}
		return m, m.look(false)
	case "s", "S":
		if e.row != nil {
			return m.askStop(e.row.Ref, e.row.PID, key == "S"), nil
		}
	case "a", "d", "t":
		if n := m.needFor(key, e); n != nil {
			return m.askNeed(key, *n), nil
		}
		m.notice, m.bad = "choose one of what waits for a person", false
	}
	return m, nil
}

// needFor is the need that a key is for: what is chosen, what the chosen run needs, or the
// only one of its kind.
func (m model) needFor(key string, e entry) *board.Need {
	if e.need != nil {
		return e.need
	}
	kind := kindOf(key)
	var of, all []*board.Need
	for i := range m.over.Questions {
		n := &m.over.Questions[i]
		if n.Kind != kind {
			continue
		}
		if all = append(all, n); n.Ref == e.row.Ref {
			of = append(of, n)
		}
	}
	switch {
	case len(of) > 0:
		return of[0]
	case len(all) == 1:
		return all[0]
	}
	return nil
}

// kindOf is the kind of needs that a key is for.
func kindOf(key string) board.NeedKind {
	if key == "t" {
		return board.NeedAnswer
	}
	return board.NeedGate
}

// step is by how much a key moves.
func (m model) step(key string) (int, bool) {
	page := max(1, m.height-6)
	steps := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "pgdown": page, "ctrl+f": page, "space": page,
		"home": -1 << 20, "g": -1 << 20, "end": 1 << 20, "G": 1 << 20,
	}
	n, ok := steps[key]
	return n, ok
}

// runKey is what a key does in the view of a run.
func (m model) runKey(key string) (tea.Model, tea.Cmd) {
	if step, ok := m.step(key); ok {
		m.move(step)
		return m, nil
	}
	panels := m.panels()
	at := 0
	for i, p := range panels {
		if p == m.panel {
			at = i
		}
	}
	switch key {
	case "esc", "left", "backspace":
		m.ref, m.notice = board.Ref{}, ""
	case "tab":
		m.panel, m.scroll = panels[(at+1)%len(panels)], 0
	case "shift+tab":
		m.panel, m.scroll = panels[(at+len(panels)-1)%len(panels)], 0
	case "1", "2", "3", "4", "5":
		if i := int(key[0] - '1'); i < len(panels) {
			m.panel, m.scroll = panels[i], 0
		}
	case "s", "S":
		if m.there {
			return m.askStop(m.ref, m.run.PID, key == "S"), nil
		}
	case "a", "d", "t":
		return m.askRun(key), nil
	case "enter":
		if m.panel == panelStories && m.need < len(m.run.Stories) && m.run.Stories[m.need].Ref != (board.Ref{}) {
			m.open(m.run.Stories[m.need].Ref, panelSessions)
			return m, m.look(false)
		}
	}
	return m, nil
}

// move scrolls a panel or chooses in it.
func (m *model) move(step int) {
	switch m.panel {
	case panelNeeds:
		m.need = max(0, min(len(m.run.Needs)-1, m.need+step))
	case panelStories:
		m.need = max(0, min(len(m.run.Stories)-1, m.need+step))
	case panelSessions, panelEvents: // the latest are at the end
		m.scroll = max(0, min(m.lines()-1, m.scroll-step))
	default:
		m.scroll = max(0, min(m.lines()-1, m.scroll+step))
	}
}

// askRun asks about what the run needs: what is chosen, or the first that a key is for.
func (m model) askRun(key string) model {
	needs := m.run.Needs
	if m.panel == panelNeeds && m.need < len(needs) {
		return m.askNeed(key, needs[m.need])
	}
	for _, n := range needs {
		if n.Kind == kindOf(key) {
			return m.askNeed(key, n)
		}
	}
	m.notice, m.bad = "it needs nothing of that kind", false
	return m
}

// askStop asks whether a run is to be stopped.
func (m model) askStop(ref board.Ref, pid int, now bool) model {
	actor := m.o.Actor
	switch {
	case actor == nil:
		m.notice, m.bad = "this view only shows", false
		return m
	case ref == board.Ref{} || pid == 0:
		m.notice, m.bad = "there is nothing to stop", false
		return m
	}
	m.ask = &ask{
		title: "Stop run " + ref.Run + " after its session?", working: "asking it to stop",
		do: func(ctx context.Context, _ string) (string, error) { return actor.Stop(ctx, ref, now) },
	}
	if now {
		m.ask.title = "Stop run " + ref.Run + " now, and end its session?"
	}
	return m
}

// askNeed asks about something that waits for a person.
func (m model) askNeed(key string, n board.Need) model {
	actor := m.o.Actor
	m.notice, m.bad = "", false
	switch {
	case actor == nil:
		m.notice = "this view only shows"
	case n.Kind == board.NeedGate && key == "a":
		m.ask = &ask{
			title: "Let this call through, once?", lines: []string{n.Text, n.Why}, working: "approving it",
			do: func(ctx context.Context, _ string) (string, error) { return actor.Approve(ctx, n.Ref, n.ID) },
		}
	case n.Kind == board.NeedGate && key == "d":
		m.ask = &ask{
			title: "Refuse this call. Why? (may be empty)", lines: []string{n.Text, n.Why}, text: true, may: true, working: "refusing it",
			do: func(ctx context.Context, text string) (string, error) { return actor.Deny(ctx, n.Ref, n.ID, text) },
		}
	case n.Kind == board.NeedAnswer && key == "t":
		m.ask = &ask{
			title: "Answer, and go on with the run:", lines: append([]string{n.Text}, n.Options...), text: true, working: "going on with the run",
			do: func(ctx context.Context, text string) (string, error) { return actor.Answer(ctx, n.Ref, n.ID, text) },
		}
	default:
		m.notice = "in its repository: " + n.Command
	}
	return m
}
