package watch

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/cmd/internal/board"
	"autopilot/supervisor/fleet"
)

var update = flag.Bool("update", false, "write the golden screens anew")

func TestScreens(t *testing.T) {
	t.Parallel()
	sizes := [][2]int{{60, 15}, {100, 30}, {200, 50}}
	views := []struct {
		name string
		keys []string
	}{
		{"list", nil},
		{"sessions", []string{"enter"}},
		{"progress", []string{"enter", "2"}},
		{"events", []string{"enter", "3"}},
		{"needs", []string{"enter", "4"}},
		{"help", []string{"?"}},
		{"ended", []string{"end", "enter"}},
		{"waits", []string{"down", "down", "down", "enter"}},
		{"answering", []string{"end", "enter", "t", `"the red one`}},
		{"stopping", []string{"s"}},
	}
	for _, v := range views {
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", v.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := watching(t, night(), nil)
				p.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				golden(t, name, p.press(v.keys...).screen())
				colored := watching(t, night(), func(o *Options) { o.Color = true })
				colored.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				if got := ansi.Strip(colored.press(v.keys...).screen()); !strings.EqualFold(got, ansi.Strip(p.screen())) {
					t.Errorf("in colors it is another screen\n%s", got)
				}
			})
		}
	}
}

func golden(t *testing.T, name, screen string) {
	t.Helper()
	var b strings.Builder
	for line := range strings.SplitSeq(ansi.Strip(screen), "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

// TestFits presses any keys on a screen of any size, with any texts, and wants each line to
// fit and to do nothing to the terminal.
func TestFits(t *testing.T) {
	t.Parallel()
	keys := []string{"enter", "esc", "tab", "up", "down", "end", "home", "pgdown", "pgup", "1", "2", "3", "4", "5", "s", "S", "a", "d", "t", "?", "y", "n", `"漢字 and more`, "backspace", "ctrl+u"}
	rapid.Check(t, func(rt *rapid.T) {
		evil := rapid.SampledFrom([]string{"", "\x1b[2J\x1b]0;x\x07", "漢字かな 🙂👨‍👩‍👧 ", "a\u202eb\u200b\u0085\x9b5n", strings.Repeat("wide 漢", 200), "one\ntwo\rthree\tfour\v"}).Draw(rt, "text")
		b := night()
		for i := range b.over.Active {
			b.over.Active[i].Repo += evil
			b.over.Active[i].Note += evil
			b.over.Active[i].Story += evil
		}
		for i := range b.over.Questions {
			b.over.Questions[i].Text += evil
		}
		b.over.Problems = []string{"p" + evil, "q"}
		for r, run := range b.runs {
			run.Goal, run.RunID, run.Summary, run.Mode, run.Problems = run.Goal+evil, run.RunID+evil, evil, evil, []string{evil}
			for i := range run.Sessions {
				run.Sessions[i].Summary, run.Sessions[i].Ending, run.Sessions[i].Model = evil, evil, evil
			}
			for i := range run.Needs {
				run.Needs[i].Text, run.Needs[i].Options = run.Needs[i].Text+evil, []string{evil}
			}
			run.Progress.Last = evil
			b.runs[r] = run
		}
		b.events = append(b.events, board.Event{Kind: "text", Text: evil}, board.Event{Kind: evil, Text: evil}, board.Event{Kind: "log", Level: evil})
		p := watching(t, b, func(o *Options) { o.Color = rapid.Bool().Draw(rt, "color") })
		p.hand.err = errors.New("it went wrong " + evil)
		for range rapid.IntRange(1, 12).Draw(rt, "keys") {
			w, h := rapid.IntRange(1, 250).Draw(rt, "width"), rapid.IntRange(1, 80).Draw(rt, "height")
			p.send(tea.WindowSizeMsg{Width: w, Height: h})
			p.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			if p.quit {
				return
			}
			lines := strings.Split(p.screen(), "\n")
			if len(lines) > h || len(lines) < h && w >= minWidth && h >= minHeight {
				rt.Fatalf("%d lines on a screen of %d", len(lines), h)
			}
			for _, l := range lines {
				if got := ansi.StringWidthWc(l); got > w {
					rt.Fatalf("%d columns on a screen of %d: %q", got, w, l)
				}
				for _, c := range ansi.Strip(l) {
					if unicode.IsControl(c) || c == 0x202e || c == 0x200b {
						rt.Fatalf("%q in %q", c, l)
					}
				}
				if rest := strings.NewReplacer("\x1b[m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[7m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "").Replace(l); strings.Contains(rest, "\x1b") {
					rt.Fatalf("%q", l)
				}
			}
		}
	})
}

func TestOwnRunComesFirst(t *testing.T) {
	t.Parallel()
	p := watching(t, night(), func(o *Options) { o.Repo = "/home/me/web" })
	p.sees("~/web  web-1", "waits until", "stopping")
	p.press("esc").sees("* web", "app")
	if s := p.screen(); strings.Index(s, "* web") > strings.Index(s, "app") {
		t.Errorf("the own run is not the first\n%s", s)
	}
	p = watching(t, night(), func(o *Options) { o.Repo = "/home/me/many" })
	p.sees("~/many  boss")
	p.press("esc")
	if s := p.screen(); strings.Index(s, "login") > strings.Index(s, "app ") {
		t.Errorf("the stories are not with their cohort\n%s", s)
	}
	p = watching(t, night(), func(o *Options) { o.Repo = "/home/me/nothing" })
	p.sees("5", "app", "many (stories)", "login", "peer other")
}

func TestStop(t *testing.T) {
	t.Parallel()
	p := watching(t, night(), nil)
	p.press("s").sees("Stop run app-1 after its session?", "y yes")
	p.press("n").want()
	p.press("s", "x", "esc").want()
	p.press("s", "y").want("stop app-1 false")
	p.sees("it is done")
	p.press("down", "enter", "S").sees("Stop run boss now")
	p.press("y").want("stop app-1 false", "stop boss true")
	p.hand.err = hinted{}
	p.press("s", "y").sees("not done: it cannot be - do it so")
	p.press("esc", "end", "s")
	p.didNot("Stop run") // it has ended
	p.press("up", "up", "up", "up", "up").sees("peer")
	p.press("s").sees("there is nothing to stop")
	only := watching(t, night(), func(o *Options) { o.Actor = nil })
	only.press("s").sees("this view only shows")
}

type hinted struct{}

func (hinted) Error() string { return "it cannot be" }
func (hinted) Hint() string  { return "do it so" }

func TestNeeds(t *testing.T) {
	t.Parallel()
	p := watching(t, night(), nil)
	p.press("down", "down", "down", "down", "down") // the held call in the list
	p.press("a").sees("Let this call through, once?", "make deploy")
	p.press("y").want("approve web-1 g-abcdef")
	p.press("d").sees("Refuse this call")
	p.press(`"not y`, "backspace", `"on a friday`, "enter")
	p.press("d", "enter")
	p.press("down", "t").sees("which colour is the door?", "A) red")
	p.press("enter").sees("which colour") // an answer is not empty
	p.send(tea.PasteMsg{Content: "the\nred \x1b[31mone"})
	p.press("enter")
	want := []string{"approve web-1 g-abcdef", "deny web-1 g-abcdef not on a friday", "deny web-1 g-abcdef ", "answer old-2  the red [31mone"}
	p.want(want...)
	p.press("t", `"one two  three`, "ctrl+w").sees("> one two  ")
	p.press("ctrl+u", `"x`).sees("> x")
	p.press("esc", "down", "a").sees("in its repository: autopilot resume old-3")
	p.want(want...)

	p = watching(t, night(), nil)
	p.press("enter", "a", "y").want("approve web-1 g-abcdef")
	p.press("t").sees("it needs nothing of that kind")
	p = watching(t, night(), nil) // the only one of its kind is meant, whatever is chosen
	p.press("t").sees("which colour is the door?")
	p.press("esc", "home", "a").sees("make deploy")
	b := night()
	b.over.Questions = append(b.over.Questions, b.over.Questions[0], b.over.Questions[1])
	b.over.Questions[3].Ref, b.over.Questions[3].ID, b.over.Questions[3].Text = ref("app-1"), "g-second", "of the app"
	p = watching(t, b, nil)
	p.press("a").sees("of the app") // what is needed by the run that is chosen
	p.press("esc", "t").sees("choose one of what waits")
	p = watching(t, night(), nil)
	p.press("end", "enter", "4", "t", `"blue`, "enter").want("answer old-2  blue")
}

func TestKeys(t *testing.T) {
	t.Parallel()
	p := watching(t, night(), nil)
	p.press("q")
	if !p.quit {
		t.Error("q does not leave the view")
	}
	for _, keys := range [][]string{{"ctrl+c"}, {"enter", "ctrl+c"}, {"s", "ctrl+c"}, {"?", "ctrl+c"}, {"?", "q"}, {"enter", "q"}} {
		if p := watching(t, night(), nil).press(keys...); !p.quit || len(p.hand.did) > 0 {
			t.Errorf("%v: left %t, did %v", keys, p.quit, p.hand.did)
		}
	}
	p = watching(t, night(), nil).press("enter", "d", `"q?`)
	if p.quit || p.m.ask == nil || p.m.ask.typing != "q?" {
		t.Errorf("what is typed is taken for a command: %+v", p.m.ask)
	}
	p = watching(t, night(), nil).press("enter", "tab", "tab")
	if p.m.panel != panelEvents {
		t.Errorf("two panels on is %s", p.m.panel)
	}
	p.press("shift+tab", "shift+tab", "shift+tab")
	if p.m.panel != panelNeeds {
		t.Errorf("three back is %s", p.m.panel)
	}
	p = watching(t, night(), nil).press("down", "enter", "5", "enter")
	p.sees("story login")
}

// TestChosenIsSeen goes through a list and a panel that are longer than the screen.
func TestChosenIsSeen(t *testing.T) {
	t.Parallel()
	b := night()
	r := b.runs[ref("app-1")]
	for n := range 30 {
		b.over.Past = append(b.over.Past, b.over.Past[0])
		last := &b.over.Past[len(b.over.Past)-1]
		last.Ref.Run, last.Repo = fmt.Sprint("old-", n), fmt.Sprint("/srv/old-", n)
		need := r.Needs[0]
		need.Text = fmt.Sprint("make deploy ", n)
		r.Needs = append(r.Needs, need)
	}
	b.runs[r.Ref] = r
	for _, keys := range [][]string{nil, {"enter", "4"}} {
		p := watching(t, b, nil)
		p.send(tea.WindowSizeMsg{Width: 70, Height: 12})
		p.press(keys...)
		seen := map[string]bool{}
		for range 45 {
			p.sees("›")
			seen[p.screen()] = true
			p.press("down")
		}
		if len(seen) < 31 {
			t.Errorf("%v: %d different screens", keys, len(seen))
		}
	}
}

// TestEvents follows what happens, and keeps its place while somebody reads.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := night()
	p := watching(t, b, nil)
	p.press("enter", "3").sees("short of memory", "I look at the parser first.")
	more := func(n int) {
		for range n {
			b.events = append(b.events, board.Event{At: noon(len(b.events)), Kind: "tool", Text: fmt.Sprintf("event %04d", len(b.events))})
		}
		p.do(p.m.look(false))
	}
	more(100)
	p.sees("event 0106")
	p.press("pgup")
	before := p.screen()
	more(10)
	if diff := cmp.Diff(before, p.screen()); diff != "" {
		t.Errorf("what is read has moved\n%s", diff)
	}
	p.press("end", "end").sees("event 0116")
	more(3000)
	if len(p.m.events) > keptEvents {
		t.Errorf("%d events are kept", len(p.m.events))
	}
	p.sees("event 3116")
	// A look at another run says nothing of this one.
	other := *p
	other.m.open(ref("boss"), panelSessions)
	stray := other.m.look(false)
	p.do(stray)
	p.press("1").sees("app-1")
	p.press("3")
	// A look that was slower than another brings nothing twice.
	late := p.m.look(false)
	more(1)
	p.do(late)
	if n := strings.Count(p.screen(), "event 3117"); n != 1 {
		t.Errorf("an event is told %d times", n)
	}
}

// TestRunEnds: the view stays, and says how it ended.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	b := night()
	p := watching(t, b, func(o *Options) { o.Repo = "/home/me/app" })
	p.sees("running")
	r := b.runs[ref("app-1")]
	r.State, r.Ended, r.Cause, r.Summary, r.Current, r.PID = fleet.StateDone, noon(5), "goal-achieved", "all is done", nil, 0
	b.runs[r.Ref], b.over.Active, b.over.At = r, nil, noon(10)
	p.do(p.m.look(false))
	p.sees("done", "goal-achieved - all is done", "ended 5m ago", "took 2h15m")
	delete(b.runs, r.Ref)
	p.do(p.m.look(false))
	p.sees("file does not exist")
	if p.press("esc").quit {
		t.Error("it has left")
	}
}

// TestNothingChangesNothing: a screen on which nothing happens is the same a moment later.
func TestNothingChangesNothing(t *testing.T) {
	t.Parallel()
	b := night()
	for _, keys := range [][]string{nil, {"enter"}, {"enter", "2"}, {"enter", "3"}} {
		b.over.At = noon(0)
		p := watching(t, b, nil).press(keys...)
		before := p.screen()
		b.over.At = noon(0).Add(20 * time.Second)
		p.do(p.m.look(false))
		if diff := cmp.Diff(before, p.screen()); diff != "" {
			t.Errorf("%v: %s", keys, diff)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	b := night()
	b.over.Problems = []string{"no state"}
	p := watching(t, b, nil)
	p.sees("cannot be read: no state")
	b.over.Problems = []string{"no state", "no ledger", "no gate"}
	p.do(p.m.look(false))
	p.sees("cannot be read: no state (and 2 more)")
	p.press("enter")
	p.didNot("cannot be read")
	r := b.runs[ref("app-1")]
	r.Problems = []string{"no sessions"}
	b.runs[r.Ref] = r
	p.do(p.m.look(false))
	p.sees("cannot be read: no sessions")
}

func TestASCII(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"enter"}, {"enter", "2"}, {"enter", "4"}} {
		p := watching(t, night(), func(o *Options) { o.ASCII = true })
		p.send(tea.WindowSizeMsg{Width: 90, Height: 40})
		for _, c := range p.press(keys...).screen() {
			if c >= 0x80 {
				t.Fatalf("%q on\n%s", c, p.screen())
			}
		}
	}
}
