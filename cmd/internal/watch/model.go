package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"autopilot/cmd/internal/board"
	"autopilot/supervisor/fleet"
)

const keptEvents = 1000

// model is all that the screen is drawn from.
type model struct {
	o    Options
	with func(func(context.Context) tea.Msg) tea.Msg // hands the context of the view to what takes time

	width, height int
	now           time.Time
	left          bool // the person has left

	loaded bool
	over   board.Overview
	chosen string // key of the entry in the list

	ref      board.Ref // of the run that is shown; zero for the list
	run      board.Run
	there    bool // run is what was found last
	gone     string
	events   []board.Event
	at       board.Cursor
	panel    panel
	scroll   int // lines from where the panel begins, or for sessions and events from its end
	need     int // that is chosen
	showHelp bool

	ask    *ask
	notice string
	bad    bool // the notice is about something that went wrong
	busy   string
}

// panel is a part of the view of a run.
type panel string

// Panels of a run.
const (
	panelSessions panel = "Sessions"
	panelProgress panel = "Progress"
	panelEvents   panel = "Events"
	panelNeeds    panel = "Needs"
	panelStories  panel = "Stories"
)

// tickMsg says that it is time for another look.
type tickMsg struct{}

// lookedMsg is what a look has seen.
type lookedMsg struct {
	now    time.Time
	over   board.Overview
	ref    board.Ref
	run    board.Run
	err    error
	from   board.Cursor
	at     board.Cursor
	events []board.Event
	again  bool // another look follows it
}

// doneMsg is what came of something that the person wanted.
type doneMsg struct {
	said string
	err  error
}

func newModel(ctx context.Context, o Options) model {
	if o.Zone == nil {
		o.Zone = time.Local
	}
	with := func(fn func(context.Context) tea.Msg) tea.Msg { return fn(ctx) }
	return model{o: o, with: with, width: 80, height: 24, panel: panelSessions}
}

// Init begins with a look.
func (m model) Init() tea.Cmd { return m.look(true) }

// look takes a look at what is shown.
func (m model) look(again bool) tea.Cmd {
	b, ref, from := m.o.Board, m.ref, m.at
	see := func(ctx context.Context) tea.Msg {
		msg := lookedMsg{over: b.Look(ctx), ref: ref, from: from, at: from, again: again}
		if ref != (board.Ref{}) {
			if msg.run, msg.err = b.Find(ctx, ref); msg.err == nil {
				var bad error
				if msg.events, msg.at, bad = b.Tail(msg.run, from); bad != nil {
					msg.run.Problems = append(msg.run.Problems, bad.Error())
				}
			}
		}
		msg.now = msg.over.At
		return msg
	}
	return func() tea.Msg { return m.with(see) }
}

// Update is what a message makes of the model.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 {
			m.width, m.height = msg.Width, msg.Height
		}
		return m, nil
	case tickMsg:
		return m, m.look(true)
	case lookedMsg:
		return m.looked(msg)
	case doneMsg:
		m.busy = ""
		m.notice, m.bad = msg.said, msg.err != nil
		if msg.err != nil {
			m.notice = "not done: " + msg.err.Error()
			if h, ok := msg.err.(interface{ Hint() string }); ok && h.Hint() != "" {
				m.notice += " - " + h.Hint()
			}
		}
		return m, m.look(false)
	case tea.PasteMsg:
		if m.ask != nil {
			m.ask = m.ask.typed(msg.Content)
		}
		return m, nil
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return m, nil
}

// looked takes over what a look has seen.
func (m model) looked(msg lookedMsg) (tea.Model, tea.Cmd) {
	first := !m.loaded
	m.over, m.now, m.loaded = msg.over, msg.now, true
	if msg.ref == m.ref && m.ref != (board.Ref{}) {
		m.gone = ""
		if msg.err != nil {
			m.gone = msg.err.Error()
		} else {
			m.run, m.there = msg.run, true
		}
		if msg.from == m.at { // else another look has been faster
			m.at = msg.at
			m.events = append(slices.Clip(m.events), msg.events...)
			m.events = m.events[max(0, len(m.events)-keptEvents):]
			if m.panel == panelEvents && m.scroll > 0 {
				m.scroll += len(msg.events) // what is looked at stays where it is
			}
		}
	}
	var cmds []tea.Cmd
	if msg.again {
		cmds = append(cmds, tea.Tick(every, func(time.Time) tea.Msg { return tickMsg{} }))
	}
	if entries := m.entries(); m.index(entries) < 0 && len(entries) > 0 {
		m.chosen = entries[0].key
	}
	if first {
		if ref := m.own(); ref != (board.Ref{}) {
			m.open(ref, panelSessions)
			cmds = append(cmds, m.look(false))
		}
	}
	return m, tea.Batch(cmds...)
}

// own is the run that is on in the work tree that the view was started in.
func (m model) own() board.Ref {
	for _, r := range m.over.Active {
		if m.mine(r) && r.Ref != (board.Ref{}) {
			return r.Ref
		}
	}
	return board.Ref{}
}

func (m model) mine(r board.Row) bool {
	return m.o.Repo != "" && (r.Repo == m.o.Repo && r.Kind != fleet.KindStory && r.Kind != fleet.KindPeer || r.Worktree == m.o.Repo)
}

// open shows a run.
func (m *model) open(ref board.Ref, p panel) {
	m.ref, m.run, m.there, m.gone, m.events, m.at = ref, board.Run{}, false, "", nil, board.Cursor{}
	m.panel, m.scroll, m.need, m.notice = p, 0, 0, ""
}

// entry is something in the list that can be chosen.
type entry struct {
	key  string
	row  *board.Row
	need *board.Need
	past bool
}

// entries are what the list has: what is on, that of this work tree first, what waits for a
// person, and what was.
func (m model) entries() []entry {
	var own, others []entry
	rows := m.over.Active
	for i := 0; i < len(rows); {
		end := i + 1
		for end < len(rows) && rows[end].Kind == fleet.KindStory && rows[end].Parent == rows[i].RunID {
			end++ // the stories of a cohort stay with it
		}
		mine := slices.ContainsFunc(rows[i:end], m.mine)
		for j := i; j < end; j++ {
			e := entry{key: rowKey(rows[j]), row: &rows[j]}
			if mine {
				own = append(own, e)
			} else {
				others = append(others, e)
			}
		}
		i = end
	}
	all := append(own, others...)
	for i := range m.over.Questions {
		n := &m.over.Questions[i]
		all = append(all, entry{key: "need/" + string(n.Kind) + "/" + n.Ref.Project + "/" + n.Ref.Run + "/" + n.ID, need: n})
	}
	for i := range m.over.Past {
		r := &m.over.Past[i]
		all = append(all, entry{key: "past/" + r.Ref.Project + "/" + r.Ref.Run, row: r, past: true})
	}
	seen := map[string]int{}
	for i := range all { // one that was there before must not be all that can be chosen
		key := all[i].key
		if n := seen[key]; n > 0 {
			all[i].key = fmt.Sprintf("%s#%d", key, n)
		}
		seen[key]++
	}
	return all
}

func rowKey(r board.Row) string {
	switch {
	case r.Kind == fleet.KindPeer:
		return "peer/" + strconv.Itoa(r.PID)
	case r.Kind == fleet.KindStory:
		return "story/" + r.Repo + "/" + r.Parent + "/" + r.Story
	}
	return "run/" + r.Ref.Project + "/" + r.RunID
}

// index is where the chosen entry is, or -1.
func (m model) index(entries []entry) int {
	return slices.IndexFunc(entries, func(e entry) bool { return e.key == m.chosen })
}

// panels are those that the run has.
func (m model) panels() []panel {
	all := []panel{panelSessions, panelProgress, panelEvents, panelNeeds}
	if len(m.run.Stories) > 0 {
		all = append(all, panelStories)
	}
	return all
}

// active reports whether the run that is shown is on.
func (m model) active() bool {
	return m.there && m.run.Ended.IsZero() || slices.ContainsFunc(m.over.Active, func(r board.Row) bool { return r.Ref == m.ref && r.PID > 0 })
}

// path is a path as it is shown.
func (m model) path(p string) string {
	if rest, ok := cutPrefix(p, m.o.Home); ok {
		return "~" + rest
	}
	return p
}

func cutPrefix(p, home string) (string, bool) {
	if home == "" || home == "/" || len(p) <= len(home) || p[:len(home)] != home || p[len(home)] != filepath.Separator {
		return p, false
	}
	return p[len(home):], true
}

// since is a span in a few letters that change once a minute at most.
func since(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "<1m"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}
