package page_test

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/serve/page"
	"autopilot/metrics/samples"
	"autopilot/supervisor/fleet"
)

var now = time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// full is a run all of whose texts are the same.
func full(text string) board.Run {
	folder := strings.ToValidUTF8(text[:min(len(text), 255)], "?") // as long as a name of one can be
	ref := board.Ref{Project: folder, Run: folder}
	id := folder[:min(len(folder), 60)]
	if strings.ContainsFunc(id, func(c rune) bool { return !unicode.IsGraphic(c) || c == utf8.RuneError }) || strings.Join(strings.Fields(id), " ") != id {
		id = "g-1"
	}
	row := board.Row{
		Row: fleet.Row{
			Kind: fleet.KindRun, RunID: text, Story: text, Repo: text, Worktree: text, Branch: text, PID: 1, State: fleet.State(text), Percent: ptr(50.0), Tier: text, Cap: ptr(3),
			Started: now.Add(-time.Hour), Note: text,
		},
		Ref: ref, Goal: text, Source: text, Cause: text, Reward: ptr(0.5),
	}
	kinds := []board.NeedKind{board.NeedAnswer, board.NeedGate, board.NeedRetry, board.NeedResume, board.NeedKind(text)}
	r := board.Run{
		Row: row, Mode: text, Folder: text, Waiting: &board.Waiting{Until: now.Add(time.Hour), Why: text}, Current: &board.Session{Number: 2, ID: text, Mode: text, Work: text, Model: text, Tier: text},
		Goals:    []board.Goal{{Text: text, Status: text, Percent: 10}},
		Progress: board.Progress{Milestones: []board.Milestone{{Text: text}}, Last: text, Points: []board.Point{{At: now, Percent: 5}}},
		Sessions: []board.Session{{Number: 1, Mode: text, Work: text, Ending: text, Cause: text, Summary: text, Tier: text}},
		Caps:     []board.Cap{{At: now.Add(-time.Minute), Tier: text, Cap: 1, Signal: text}}, Samples: []samples.Sample{{At: now, Tier: text}}, Stories: []board.Row{row},
		Stopping: text, Resumable: text, Summary: text, Problems: []string{text},
	}
	for _, k := range kinds {
		r.Needs = append(r.Needs, board.Need{Ref: ref, Repo: text, Kind: k, ID: id, Text: text, Options: []string{text, text}, Why: text, At: now, Until: now.Add(time.Hour), Command: text})
	}
	return r
}

func viewer() page.Viewer {
	return page.Viewer{Now: now, Form: "the-form", Login: true, Report: true, Words: "said"}
}

// all are all pages with one text everywhere.
func all(t testing.TB, text string) map[string]string {
	t.Helper()
	r, v := full(text), viewer()
	v.Words = text
	o := board.Overview{Active: []board.Row{r.Row}, Past: []board.Row{r.Row, r.Row}, Questions: r.Needs, Problems: []string{text}}
	events := []board.Event{{At: now, Kind: text, Level: text, Text: text}, {At: now, Kind: "error", Level: "ERROR", Text: text}}
	out := map[string]string{}
	put := func(name string, b []byte, err error) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = string(b)
	}
	b, err := page.Overview(o, v)
	put("overview", b, err)
	b, err = page.Run(r, events, "place", v)
	put("run", b, err)
	b, err = page.Project(r.Ref.Project, o, v)
	put("project", b, err)
	b, err = page.StopNow(r, v)
	put("stop", b, err)
	b, err = page.Refused(403, text, "/s.css")
	put("refused", b, err)
	b, err = page.Login(text, "/s.css")
	put("login", b, err)
	h, err := page.Events(events, now)
	put("events", []byte("<ol>"+h+"</ol>"), err)
	return out
}

func hostile() []string {
	return []string{
		`<script>window.bad=1</script>`, `</script><script>window.bad=1</script>`, `"><img src=x onerror="window.bad=1">`, `' onmouseover='window.bad=1`, `javascript:window.bad=1`,
		`</title></style></textarea></noscript><svg onload=window.bad=1>`, `<!--`, `]]>`, `{{.}}`, `&lt;b&gt;`, "a\x00b\x1b[31mc\x07", "\xff\xfe", "\u202eevil\u202c\u2066\u2069\u200b\ufeff\u00ad", "<base href=//evil>", "x\r\ndata: y",
		strings.Repeat("A", 1<<20), strings.Repeat("<b>", 1<<17), strings.Repeat("\u0301", 50000),
	}
}

// TestNothingInATextBecomesMarkup compares the elements and attributes of pages with hostile
// texts to those of pages with plain ones.
func TestNothingInATextBecomesMarkup(t *testing.T) {
	t.Parallel()
	short, long := all(t, "plain"), all(t, strings.Repeat("plain ", 5000))
	for _, text := range hostile() {
		plain := short
		if len(text) > 1000 {
			plain = long
		}
		for name, got := range all(t, text) {
			if a, b := shape(t, plain[name]), shape(t, got); !slices.Equal(a, b) {
				t.Errorf("%s with %.40q has another shape: %v", name, text, differ(a, b))
			}
			if !utf8.ValidString(got) {
				t.Errorf("%s with %.40q is not UTF-8", name, text)
			}
			if len(got) > 400_000 {
				t.Errorf("%s with %.40q has %d bytes", name, text, len(got))
			}
			if i := strings.IndexFunc(got, func(c rune) bool {
				return c < ' ' && c != '\n' && c != '\t' || c == 0x7f || c >= 0x202a && c <= 0x202e || c == 0x200b || c == 0xfeff
			}); i >= 0 {
				t.Errorf("%s with %.40q has %q", name, text, got[max(0, i-20):i+10])
			}
		}
	}
}

func TestNothingInAnyTextBecomesMarkup(t *testing.T) {
	t.Parallel()
	plain := all(t, "plain")
	rapid.Check(t, func(rt *rapid.T) {
		text := "x" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"<", ">", "\"", "'", "&", "/", "script", "a", " ", "=", "on", "-", "!", "\u202e", "`", "{", "}", "\\", "\n"}), 0, 30).Draw(rt, "text"), "")
		for name, got := range all(t, text) {
			if a, b := shape(t, plain[name]), shape(t, got); !slices.Equal(a, b) {
				rt.Fatalf("%s has another shape: %v", name, differ(a, b))
			}
		}
	})
}

// shape are the elements of a page with the names of their attributes, and where links,
// forms and files lead.
func shape(t testing.TB, text string) []string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data == "wbr" { // which stand behind slashes
			continue
		}
		names := []string{n.Data}
		for _, a := range n.Attr {
			names = append(names, a.Key)
			switch a.Key {
			case "href", "src", "action":
				if !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#") && a.Val != "" && a.Val != "data:," || strings.HasPrefix(a.Val, "//") {
					t.Errorf("%s leads to %q", n.Data, a.Val)
				}
			}
		}
		out = append(out, strings.Join(names, " "))
	}
	return out
}

func differ(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("element %d is <%s>, want <%s>", i, b[i], a[i])
		}
	}
	return fmt.Sprintf("%d elements, want %d", len(b), len(a))
}

// TestNoScriptAndNoStyleInAPage keeps the content policy true.
func TestNoScriptAndNoStyleInAPage(t *testing.T) {
	t.Parallel()
	for name, got := range all(t, "plain") {
		root, err := html.Parse(strings.NewReader(got))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			src := false
			for _, a := range n.Attr {
				src = src || a.Key == "src"
				if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
					t.Errorf("%s: <%s %s>", name, n.Data, a.Key)
				}
			}
			if n.Data == "style" || n.Data == "script" && !src {
				t.Errorf("%s has <%s> with text", name, n.Data)
			}
		}
	}
}

func TestNoOtherServerIsNamed(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"html", "static"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "//") && regexp.MustCompile(`(https?:|["'(])//`).Match(b) {
				t.Errorf("%s names another server", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHiddenCharactersAreNamed(t *testing.T) {
	t.Parallel()
	r := full("x")
	r.Needs = []board.Need{{Ref: r.Ref, Kind: board.NeedGate, ID: "g", Text: "rm\u200d -rf build\u200b/ \u202etxt.exe \u2066 \U000e0041 \u00ad 👩\u200d👩 می\u200cخواهم \u3164"}}
	b, err := page.Run(r, nil, "", viewer())
	if err != nil {
		t.Fatal(err)
	}
	want := "rm‹U+200D› -rf build‹U+200B›/ ‹U+202E›txt.exe ‹U+2066› ‹U+E0041› ‹U+00AD› 👩\u200d👩 می\u200cخواهم ‹U+3164›"
	if !strings.Contains(html.UnescapeString(string(b)), want) {
		t.Errorf("the page does not have %s", want)
	}
}

func TestHeldCallIsNotCutInSecret(t *testing.T) {
	t.Parallel()
	const warning = "This is only the beginning of it."
	for text, cut := range map[string]bool{strings.Repeat("word ", 3000): false, strings.Repeat("word ", 5000): true, "cut before …": true} {
		r := full("x")
		r.Needs = []board.Need{{Ref: r.Ref, Kind: board.NeedGate, ID: "g", Text: text}}
		b, err := page.Run(r, nil, "", viewer())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(b), warning); got != cut {
			t.Errorf("a call of %d characters: warned = %v, want %v", len(text), got, cut)
		}
	}
}

func TestDenyIsTheFirstButton(t *testing.T) {
	t.Parallel()
	r := full("x")
	r.Needs = []board.Need{{Ref: r.Ref, Kind: board.NeedGate, ID: "g", Text: "t"}}
	b, err := page.Run(r, nil, "", viewer())
	if err != nil {
		t.Fatal(err)
	}
	if deny, approve := strings.Index(string(b), `value="deny"`), strings.Index(string(b), `value="approve"`); deny < 0 || approve < deny {
		t.Errorf("deny at %d, approve at %d: Enter in the field would approve", deny, approve)
	}
}

func TestOddIDsAreNotDecidedHere(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"g-1": true, "g\u200b1": false, "g\n1": false, " g": false, strings.Repeat("g", 300): false} {
		r := full("x")
		r.Needs = []board.Need{{Ref: r.Ref, Kind: board.NeedGate, ID: id, Text: "t"}}
		b, err := page.Run(r, nil, "", viewer())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(b), "/decide"); got != want {
			t.Errorf("%.20q: decided on the page = %v, want %v", id, got, want)
		}
	}
}

func TestPrintTellsNeedsApart(t *testing.T) {
	t.Parallel()
	n := board.Need{Kind: board.NeedGate, ID: "a", Text: "b", Options: []string{"c"}}
	seen := map[string]string{}
	for name, change := range map[string]func(*board.Need){
		"as it is": func(*board.Need) {}, "kind": func(n *board.Need) { n.Kind = board.NeedAnswer }, "id": func(n *board.Need) { n.ID = "z" }, "text": func(n *board.Need) { n.Text = "z" },
		"options": func(n *board.Need) { n.Options = []string{"z"} }, "text that looks like an option": func(n *board.Need) { n.Text, n.Options = "bc", nil },
	} {
		m := n
		change(&m)
		p := page.Print(m)
		if other, ok := seen[p]; ok {
			t.Errorf("%s and %s are the same", name, other)
		}
		seen[p] = name
	}
	n.Why, n.Until = "other", now
	if page.Print(n) != page.Print(board.Need{Kind: board.NeedGate, ID: "a", Text: "b", Options: []string{"c"}}) {
		t.Error("why and until make it another one")
	}
}

func TestPartsStayTheSame(t *testing.T) {
	t.Parallel()
	r := full("x")
	a, err := page.RunParts(r, viewer())
	if err != nil {
		t.Fatal(err)
	}
	later := viewer()
	later.Now = later.Now.Add(5 * time.Second)
	b, err := page.RunParts(r, later)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if a[i].Version != b[i].Version {
			t.Errorf("part %s is another one after five seconds in which nothing happened", a[i].Name)
		}
	}
	r.Goals[0].Percent = 90
	c, err := page.RunParts(r, viewer())
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for i := range a {
		if a[i].Version != c[i].Version {
			changed = append(changed, a[i].Name)
		}
	}
	if got := strings.Join(changed, " "); got != "goals" {
		t.Errorf("changed parts: %s, want goals alone", got)
	}
}

func TestNumbersThatCannotBe(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	r := full("x")
	r.State, r.Tokens, r.CostUSD, r.Iteration, r.AgeSeconds, r.Percent, r.Reward, r.MaxHours = fleet.StateRunning, -1, inf-inf, -3, -5, ptr(inf), ptr(-inf), inf
	r.Progress.Percent, r.Progress.Velocity, r.Progress.PerHour, r.Progress.Left = ptr(inf-inf), -inf, inf, -1
	r.Progress.Points = []board.Point{{At: now, Percent: inf}, {Percent: inf - inf}}
	r.Sessions = []board.Session{{Number: -1, Tokens: -1, CostUSD: inf, Ended: now.Add(-time.Hour), Started: now}}
	r.Samples = []samples.Sample{{At: now, AvailableGB: ptr(inf)}, {At: now.Add(time.Hour), AvailableGB: ptr(-inf), SwapGB: ptr(inf - inf)}}
	b, err := page.Run(r, nil, "", viewer())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"NaN", "Inf", "$-", "e+"} {
		if strings.Contains(string(b), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	b, err := page.Overview(board.Overview{}, viewer())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Nothing waits for you.", "Nothing runs on this machine.", "No run has ended yet.", "0 runs on"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	if _, err := page.Run(board.Run{}, nil, "", viewer()); err != nil {
		t.Errorf("an empty run: %v", err)
	}
}

func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	r := full("x")
	for i := range 1000 {
		r.Sessions = append(r.Sessions, board.Session{Number: i})
	}
	b, err := page.Run(r, nil, "", viewer())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "502 earlier sessions") {
		t.Error("the page does not say how many sessions are not shown")
	}
}

// TestContrast holds the colours of texts to the ratio of 4.5 to 1 that WCAG asks for.
func TestContrast(t *testing.T) {
	t.Parallel()
	css, kind := page.Static("style.css")
	if kind == "" {
		t.Fatal("no style")
	}
	light, rest, _ := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	dark, _, _ := strings.Cut(rest, "* { box-sizing")
	for name, block := range map[string]string{"light": light, "dark": dark} {
		c := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z0-9]+): (#[0-9a-f]+)`).FindAllStringSubmatch(block, -1) {
			c[m[1]] = luminance(t, m[2])
		}
		for _, pair := range [][2]string{
			{"text", "back"},
			{"text", "panel"},
			{"soft", "back"},
			{"soft", "panel"},
			{"good", "back"},
			{"limit", "back"},
			{"person", "back"},
			{"person", "panel"},
			{"bad", "back"},
			{"bad", "panel"},
			{"open", "back"},
			{"open", "panel"},
			{"limit", "panel"},
			{"good", "panel"},
			{"quiet", "back"},
			{"quiet", "panel"},
			{"onstrong", "strong"},
			{"back", "bad"},
		} {
			if got := ratio(c[pair[0]], c[pair[1]]); got < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want 4.5", name, pair[0], pair[1], got)
			}
		}
		if got := ratio(c["s0"], c["panel"]); got < 3 {
			t.Errorf("%s: drawings have a contrast of %.2f, want 3", name, got)
		}
	}
}

func BenchmarkOverview(b *testing.B) {
	r := full("x")
	r.RunID, r.Repo, r.Goal, r.State, r.Tier, r.Cause = "main-2026-01-31-2200-autopilot", "/home/someone/src/shop", "Move the checkout to the new payment service, with all tests green", fleet.StateRunning, "warn", "goal reached after nine sessions"
	r.Note = "calls of its sessions wait for a person"
	o := board.Overview{}
	for range 20 {
		o.Active = append(o.Active, r.Row)
	}
	for range 280 {
		o.Past = append(o.Past, r.Row)
	}
	v := viewer()
	if _, err := page.Overview(o, v); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := page.Overview(o, v); err != nil {
			b.Fatal(err)
		}
	}
}
