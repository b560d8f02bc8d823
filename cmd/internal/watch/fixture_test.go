package watch

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/samples"
	"autopilot/supervisor/fleet"
)

// machine is a board with what a test puts there.
type machine struct {
	over   board.Overview
	runs   map[board.Ref]board.Run
	events []board.Event // of every run, each told once
}

func (b *machine) Look(context.Context) board.Overview { return b.over }

func (b *machine) Find(_ context.Context, ref board.Ref) (board.Run, error) {
	r, ok := b.runs[ref]
	if !ok {
		return r, fmt.Errorf("find run: %w", fs.ErrNotExist)
	}
	return r, nil
}

func (b *machine) Tail(_ board.Run, at board.Cursor) ([]board.Event, board.Cursor, error) {
	events := b.events[min(int(at.Log), len(b.events)):]
	return events, board.Cursor{Log: int64(len(b.events))}, nil
}

// hand writes down what was wanted.
type hand struct {
	did []string
	err error
}

func (h *hand) do(words ...any) (string, error) {
	h.did = append(h.did, strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	return "it is done", h.err
}

func (h *hand) Stop(_ context.Context, ref board.Ref, now bool) (string, error) {
	return h.do("stop", ref.Run, now)
}

func (h *hand) Approve(_ context.Context, ref board.Ref, id string) (string, error) {
	return h.do("approve", ref.Run, id)
}

func (h *hand) Deny(_ context.Context, ref board.Ref, id, because string) (string, error) {
	return h.do("deny", ref.Run, id, because)
}

func (h *hand) Answer(_ context.Context, ref board.Ref, story, text string) (string, error) {
	return h.do("answer", ref.Run, story, text)
}

func noon(minutes int) time.Time {
	return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func ptr[T any](v T) *T { return &v }

func ref(run string) board.Ref { return board.Ref{Project: "p", Run: run} }

// night is a machine on which much goes on.
func night() *machine {
	row := func(repo, run string, state fleet.State, change func(*board.Row)) board.Row {
		r := board.Row{Row: fleet.Row{
			Kind: fleet.KindRun, RunID: run, Repo: "/home/me/" + repo, State: state, PID: 7, Iteration: 3, MaxSessions: 10, Tier: "green", Cap: ptr(4),
			Tokens: 123456, CostUSD: 1.5, Started: noon(-130), Percent: ptr(40.0),
		}, Ref: ref(run), Goal: "make the parser work and keep all of its tests green"}
		if change != nil {
			change(&r)
		}
		return r
	}
	past := func(repo, run string, state fleet.State, cause string, minutes int) board.Row {
		return row(repo, run, state, func(r *board.Row) {
			r.PID, r.Cause, r.Ended, r.Reward = 0, cause, noon(minutes), ptr(0.8)
		})
	}
	needs := []board.Need{
		{Ref: ref("web-1"), Repo: "/home/me/web", Kind: board.NeedGate, ID: "g-abcdef", Text: "Bash: make deploy", Why: "deploy: it deploys", Until: noon(20), Command: "autopilot approve g-abcdef"},
		{Ref: ref("old-2"), Repo: "/home/me/old", Kind: board.NeedAnswer, Text: "which colour is the door?", Options: []string{"A) red", "B) blue"}, Command: "autopilot answer TEXT"},
		{Ref: ref("old-3"), Repo: "/home/me/old", Kind: board.NeedResume, Text: "go on", Command: "autopilot resume old-3"},
	}
	b := &machine{
		over: board.Overview{
			At: noon(0), Questions: needs,
			Active: []board.Row{
				row("app", "app-1", fleet.StateRunning, nil),
				row("many", "boss", fleet.StateRunning, func(r *board.Row) { r.Kind = fleet.KindCohort }),
				row("many", "login-1", fleet.StatePerson, func(r *board.Row) { r.Kind, r.Story, r.Parent = fleet.KindStory, "login", "boss" }),
				row("web", "web-1", fleet.StateWaiting, func(r *board.Row) { r.Note = "until 13:00: the limit of five hours" }),
				{Row: fleet.Row{Kind: fleet.KindPeer, Repo: "/srv/other", PID: 99, State: fleet.StateRunning, Note: "claude"}},
			},
			Past: []board.Row{past("app", "app-0", fleet.StateDone, "goal-achieved", -300), past("old", "old-2", fleet.StatePerson, "question", -3000)},
		},
		runs: map[board.Ref]board.Run{},
	}
	app := board.Run{
		Row: b.over.Active[0], Mode: "fixed", MaxHours: 8, Folder: "/state/app-1",
		Current: &board.Session{Number: 4, ID: "s4", Mode: "deep", Work: "goal", Started: noon(-12), Tier: "warn", Cap: ptr(2), Tokens: 5000, CostUSD: 0.2},
		Goals:   []board.Goal{{Text: "make the parser work", Status: "open", Percent: 40}},
		Progress: board.Progress{
			Percent: ptr(40.0), Velocity: 12.5, PerHour: 19, Sessions: 5, Left: 190 * time.Minute, Last: "the parser reads all files but two",
			Milestones: []board.Milestone{{Text: "it builds", Done: true}, {Text: "all tests pass"}},
		},
		Needs: needs[:1],
	}
	app.Row.Reward = nil
	for n := range 3 {
		app.Sessions = append(app.Sessions, board.Session{
			Number: n + 1, ID: fmt.Sprint("s", n), Mode: "feature", Model: "opus", Started: noon(-130 + 40*n), Ended: noon(-95 + 40*n), Ending: []string{"completed", "limited", "completed"}[n],
			Tier: "green", Cap: ptr(4), Tokens: int64(1000 * (n + 1) * (n + 1)), CostUSD: 0.5 * float64(n+1), Files: n, Commits: 1, Summary: "did a part of it",
		})
		app.Progress.Points = append(app.Progress.Points, board.Point{At: noon(-95 + 40*n), Session: n + 1, Percent: []float64{10, 25, 40}[n]})
	}
	for n := range 130 {
		app.Samples = append(app.Samples, samples.Sample{At: noon(n - 130), Tier: []string{"green", "warn", "critical"}[n/50], AvailableGB: ptr(16 - float64(n)/10)})
	}
	app.Caps = []board.Cap{{At: noon(-30), Tier: "warn", Cap: 2, Signal: "ram"}}
	b.runs[app.Ref] = app
	boss := board.Run{Row: b.over.Active[1], Stories: b.over.Active[2:3]}
	b.runs[boss.Ref] = boss
	b.runs[ref("login-1")] = board.Run{Row: b.over.Active[2]}
	b.runs[ref("web-1")] = board.Run{Row: b.over.Active[3], Waiting: &board.Waiting{Until: noon(60), Why: "the limit of five hours"}, Stopping: "somebody wanted it", Needs: needs[:1]}
	over := board.Run{Row: b.over.Past[1], Summary: "it has a question", Needs: needs[1:2]}
	b.runs[over.Ref] = over
	b.events = []board.Event{
		{At: noon(-12), Kind: "log", Level: "INFO", Text: "session started iteration=4"},
		{At: noon(-11), Kind: "prompt", Text: "make the parser work"},
		{At: noon(-10), Kind: "text", Text: "I look at the parser first.\nThen at its tests."},
		{At: noon(-9), Kind: "tool", Text: "Bash: go test ./..."},
		{At: noon(-8), Kind: "result", Text: "ok parser\nok lexer"},
		{At: noon(-7), Kind: "error", Text: "no such file"},
		{At: noon(-6), Kind: "log", Level: "WARN", Text: "the machine is short of memory"},
	}
	return b
}

// person looks at a machine.
type person struct {
	testing.TB
	m    model
	b    *machine
	hand *hand
	quit bool
}

func watching(t testing.TB, b *machine, change func(*Options)) *person {
	h := &hand{}
	o := Options{Board: b, Actor: h, Home: "/home/me", Zone: time.UTC}
	if change != nil {
		change(&o)
	}
	p := &person{TB: t, m: newModel(t.Context(), o), b: b, hand: h}
	p.do(p.m.Init())
	return p
}

// do runs a command and all that follows from it, but no clock.
func (p *person) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			p.do(c)
		}
	case tea.QuitMsg:
		p.quit = true
	case lookedMsg:
		if msg.again { // a clock would be started
			msg.again = false
		}
		p.send(msg)
	default:
		p.send(msg)
	}
}

func (p *person) send(msg tea.Msg) {
	next, cmd := p.m.Update(msg)
	p.m = next.(model)
	p.do(cmd)
}

// press presses keys, by their names, or types a text in quotes.
func (p *person) press(keys ...string) *person {
	codes := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome},
		"pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp}, "backspace": {Code: tea.KeyBackspace}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl},
		"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	}
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, `"`); ok {
			for _, c := range text {
				p.send(tea.KeyPressMsg{Code: c, Text: string(c)})
			}
			continue
		}
		msg, ok := codes[k]
		if !ok {
			msg = tea.KeyPressMsg{Code: rune(k[0]), Text: k}
		}
		p.send(msg)
	}
	return p
}

func (p *person) screen() string { return p.m.View().Content }

// sees wants all texts to be on the screen.
func (p *person) sees(texts ...string) {
	p.Helper()
	for _, text := range texts {
		if !strings.Contains(p.screen(), text) {
			p.Errorf("%q is not to be seen in\n%s", text, p.screen())
		}
	}
}

func (p *person) didNot(texts ...string) {
	p.Helper()
	for _, text := range texts {
		if strings.Contains(p.screen(), text) {
			p.Errorf("%q is to be seen in\n%s", text, p.screen())
		}
	}
}

func (p *person) want(did ...string) {
	p.Helper()
	if diff := cmp.Diff(did, p.hand.did); diff != "" {
		p.Errorf("what was done (-want +got)\n%s", diff)
	}
}
