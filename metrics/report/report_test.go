package report_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/strangers"
)

var update = flag.Bool("update", false, "write the reports that are expected")

func html(t testing.TB, f report.Facts) string {
	t.Helper()
	out, err := report.HTML(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func document(t testing.TB, f report.Facts) string {
	t.Helper()
	out, err := report.JSON(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]report.Facts{"empty": nothing(), "one": one(), "night": night()} {
		for file, got := range map[string]string{name + ".md": string(report.Markdown(f)), name + ".html": html(t, f), name + ".json": document(t, f)} {
			file = filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// elements parses a page as strict XML and counts its elements and attributes.
func elements(page string) (map[string]int, error) {
	d := xml.NewDecoder(strings.NewReader(page))
	seen := map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := token.(xml.StartElement); ok {
			seen[e.Name.Local]++
			for _, a := range e.Attr {
				seen[e.Name.Local+" "+a.Name.Local]++
			}
		}
	}
}

func TestPageIsItsOwn(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]report.Facts{"empty": nothing(), "one": one(), "night": night()} {
		page := html(t, f)
		seen, err := elements(page)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, not := range []string{"script", "link", "img", "iframe", "a", "object", "base"} {
			if seen[not] > 0 {
				t.Errorf("%s: there is a <%s>", name, not)
			}
		}
		for _, not := range []string{"url(", "@import", "@font-face", " src=", " href=", "javascript:", "NaN", "Inf", "ZgotmplZ"} {
			if strings.Contains(page, not) {
				t.Errorf("%s: there is %q", name, not)
			}
		}
		if n := seen["svg"]; seen["title"] != n+1+count(page, "<g><title")+count(page, "\"><title>") || seen["desc"] != n || seen["svg aria-labelledby"] != n {
			t.Errorf("%s: %d drawings, with %d titles and %d descriptions", name, n, seen["title"], seen["desc"])
		}
	}
	if n := count(html(t, night()), "<svg "); n != 7 {
		t.Errorf("%d drawings, want 7", n)
	}
}

func count(s, part string) int { return strings.Count(s, part) }

func TestTextsOfStrangers(t *testing.T) {
	t.Parallel()
	for _, text := range strangers.Texts() {
		f := night()
		strangers.Fill(&f, text)
		for _, status := range []string{report.ItemFailed, report.GatePending} { // so that they are told as things to do
			f.Items, f.Gates = append(f.Items, report.Item{ID: text, Why: text, Status: status, Command: text}), append(f.Gates, report.Gate{Subject: text, Status: status, Command: text})
		}
		f.Run.Termination.AwaitingUserInput = true
		page, words, data := html(t, f), string(report.Markdown(f)), document(t, f)
		seen, err := elements(page)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, not := range []string{"script", "img", "a", "b", "h3"} {
			if seen[not] > 0 {
				t.Errorf("%q makes a <%s>", text, not)
			}
		}
		for name := range seen {
			if _, attr, ok := strings.Cut(name, " "); ok && strings.HasPrefix(attr, "on") {
				t.Errorf("%q makes an attribute %s", text, name)
			}
		}
		if n := seen["style"]; n != 1 {
			t.Errorf("%q: %d styles", text, n)
		}
		for _, out := range []string{page, words, data} {
			if strings.Contains(out, "hunter2") || strings.Contains(out, "abcdefgh") || strings.ContainsAny(out, "\x00\x1b\u202e\ufffe") || !utf8.ValidString(out) {
				t.Errorf("%q: a secret or a control character is left", text)
			}
		}
		checkMarkdown(t, text, words)
	}
}

// checkMarkdown looks for what a text could have made of the Markdown around it.
func checkMarkdown(t *testing.T, text, words string) {
	t.Helper()
	inTable := 0
	for line := range strings.Lines(words) {
		line = strings.TrimSuffix(line, "\n")
		outside := withoutCode(line)
		for _, not := range []string{"<", "![", "](", "```"} {
			if at := strings.Index(outside, not); at >= 0 && (at == 0 || outside[at-1] != '\\') {
				t.Errorf("%q is not escaped: %s", text, line)
			}
		}
		if !strings.HasPrefix(line, "|") {
			inTable = 0
			continue
		}
		cells := count(strings.ReplaceAll(line, `\|`, ""), "|")
		if inTable > 0 && cells != inTable {
			t.Errorf("%q makes a row of %d cells in a table of %d: %s", text, cells, inTable, line)
		}
		inTable = cells
	}
}

// withoutCode leaves out code spans.
func withoutCode(line string) string {
	if at := strings.Index(line, ": `"); at >= 0 && strings.HasPrefix(line, "- ") {
		return line[:at]
	}
	return line
}

func TestWithoutSecretsAcrossLines(t *testing.T) {
	t.Parallel()
	f := one()
	f.Sessions[0].Summary = strings.Repeat("word ", 97) + "sk-ant-REALLYSECRETREALLYSECRET and more"
	for _, out := range []string{html(t, f), string(report.Markdown(f))} {
		if strings.Contains(out, "sk-ant") {
			t.Error("a secret at the place where the text is cut is left in part")
		}
	}
}

// many is a run of n sessions whose texts are as long as they can be.
func many(n int, text string) report.Facts {
	f := night()
	f.Sessions, f.Items, f.Gates, f.Tests, f.Progress, f.Reflections, f.Breakers = nil, nil, nil, nil, nil, nil, nil
	list := []string{text, text, text, text, text, text, text}
	for i := range n {
		at := after(i * 10)
		f.Sessions = append(f.Sessions, report.SessionFacts{
			Number: i + 1, ID: text, Type: text, Item: text, Model: text, Started: at, Ended: at.Add(9 * time.Minute), Ending: "failed" + text, Cause: text,
			Tokens: ledger.Tokens{Input: 1234, Output: 5678, CacheCreation: 9012, CacheRead: 345_678}, CostUSD: 1.5, Files: list, Commits: list, Summary: text, NextSteps: list, Denials: list,
			Caps: []ledger.Cap{{At: ledger.Stamp(at), Tier: []string{"green", "warn", "critical"}[i%3], Signal: text}, {At: ledger.Stamp(at), Tier: text, Signal: text}},
		})
		f.Items = append(f.Items, report.Item{ID: fmt.Sprint(i, text), Title: text, Status: report.ItemFailed, Why: text, Command: text})
		f.Gates = append(f.Gates, report.Gate{ID: text, Subject: fmt.Sprint(i, text), Rule: text, Status: report.GatePending, By: text, Because: text, Command: text})
		f.Tests = append(f.Tests, report.TestRun{At: at, Passed: i, Failed: i % 2, Summary: text})
		f.Progress = append(f.Progress, report.Point{At: at, Session: i, Percent: float64(i%100) + 0.5})
		f.Reflections = append(f.Reflections, report.Reflection{At: at, Trigger: text, Decision: text, Reasoning: text, Progress: text})
		f.Breakers = append(f.Breakers, report.Breaker{Name: text, State: "open", Why: text})
		f.Publishing.Entries = append(f.Publishing.Entries, report.Entry{Target: text, Subject: text, State: text, Why: text})
		f.Run.Goals = append(f.Run.Goals, ledger.Goal{Text: text, Status: text})
		f.Run.Termination.Deliverables = append(f.Run.Termination.Deliverables, ledger.Deliverable{Name: text, Proof: text})
		f.Run.Termination.NextSteps = append(f.Run.Termination.NextSteps, text)
	}
	return f
}

func TestSize(t *testing.T) {
	t.Parallel()
	const limit = 1_000_000
	for name, text := range map[string]string{"usual": "some words of a usual length about what was done", "quotes": strings.Repeat(`"`, 5000), "signs": strings.Repeat("😀", 5000)} {
		f := many(1000, text)
		page, words, data := html(t, f), report.Markdown(f), document(t, f)
		if len(page) > limit || len(words) > limit || len(data) > limit*3/2 {
			t.Errorf("%s: a page of %d, Markdown of %d and JSON of %d bytes, want at most %d, of JSON half as much again", name, len(page), len(words), len(data), limit)
		}
		t.Logf("%s: page %d bytes, Markdown %d bytes, JSON %d bytes", name, len(page), len(words), len(data))
		if !strings.Contains(data, `"sessions": 900`) {
			t.Errorf("%s: the JSON does not say what it leaves out", name)
		}
		if _, err := elements(page); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(page, "900 more are not shown.") || !strings.Contains(page, "970 more sessions are not told in full") {
			t.Errorf("%s: the page does not say what it leaves out", name)
		}
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	for range 20 { // the order of a map would show
		if a, b := report.Markdown(night()), report.Markdown(night()); !bytes.Equal(a, b) {
			t.Fatal("the same facts give two reports")
		}
		if a, b := html(t, night()), html(t, night()); a != b {
			t.Fatal("the same facts give two pages")
		}
		if a, b := document(t, night()), document(t, night()); a != b {
			t.Fatal("the same facts give two documents")
		}
	}
}

func TestInputIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := night()
	html(t, f)
	report.Markdown(f)
	document(t, f)
	if diff := cmp.Diff(night(), f, cmp.AllowUnexported(ledger.Stamp{}, time.Time{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNumbersThatCannotBe(t *testing.T) {
	t.Parallel()
	f := night()
	for i, bad := range []float64{math.NaN(), math.Inf(1), -1, math.MaxFloat64} {
		f.Sessions[i].CostUSD, f.Progress[i].Percent, f.Tests[i%3].Coverage = bad, bad, &bad
	}
	f.Run.Tokens = ledger.Tokens{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: -1}
	f.Run.TotalTokensUsed = -1
	f.Run.TotalCostUSD, f.Run.MaxHours, f.Run.DurationSeconds = math.NaN(), math.Inf(1), math.MinInt64
	f.Sessions[0].Tokens = ledger.Tokens{Input: math.MaxInt64, Output: math.MaxInt64, CacheCreation: -5, CacheRead: math.MinInt64}
	f.Sessions[1].Started, f.Sessions[1].Ended = after(100), after(50)
	f.Tests[0].Passed, f.Tests[1].Passed, f.Sessions[2].Number, f.Run.IterationsCompleted = math.MinInt, math.MaxInt, -7, math.MaxInt
	f.Estimate.Sessions = ledger.Range{Low: math.NaN(), Likely: -1, High: math.Inf(1)}
	page := html(t, f)
	if _, err := elements(page); err != nil {
		t.Error(err)
	}
	for _, out := range []string{page, string(report.Markdown(f)), document(t, f)} {
		for _, not := range []string{"NaN", "Inf", "e+", "-9,223", ">-1<", "| -1 |"} {
			if strings.Contains(out, not) {
				t.Errorf("there is %q", not)
			}
		}
	}
}

// TestLead has the first screen of runs that ended in different ways.
func TestLead(t *testing.T) {
	t.Parallel()
	run := func(change func(*report.Facts)) report.Facts {
		f := one()
		f.Run.Termination, f.Run.ExitCause = nil, ""
		change(&f)
		return f
	}
	end := func(status, cause, kill string, code int) report.Facts {
		return run(func(f *report.Facts) {
			f.Run.ExitCause, f.Run.ExitCode, f.Run.Termination = cause, code, &ledger.Termination{Status: status, Summary: "in words"}
			if kill != "" {
				f.Run.KillSwitch = &kill
			}
		})
	}
	for _, c := range []struct {
		name  string
		facts report.Facts
		want  string // class of the ending and its words
	}{
		{"completed", end(ledger.Completed, "work-done", "", 0), `ending good">Completed`},
		{"paused", end(ledger.Paused, "needs-person", "", 4), `ending person">Waits for a person`},
		{"by hand, from an older record", run(func(f *report.Facts) { f.Run.ExitCause, f.Run.ExitCode = "manual-fallback", 4 }), `ending person">Waits for a person`},
		{"a limit", end(ledger.Stopped, "max-hours-exceeded", "max-hours-exceeded", 0), `ending limit">Stopped at a limit`},
		{"a limit, from an older record", run(func(f *report.Facts) { f.Run.KillSwitch = ptr("max-sessions-reached") }), `ending limit">Stopped at a limit`},
		{"the budget", end(ledger.Stopped, "token-budget-exceeded", "token-budget-exceeded", 6), `ending bad">Stopped`},
		{"failures", end(ledger.Stopped, "spiral", "spiral", 3), `ending bad">Stopped`},
		{"interrupted", end(ledger.Interrupted, "user-abort", "user-abort", 130), `ending limit">Interrupted`},
		{"open", run(func(f *report.Facts) { f.Open = true }), `ending open">The run is still on`},
		{"interrupted, from an older record", run(func(f *report.Facts) { f.Run.ExitCause, f.Run.ExitCode = "killed", 137 }), `ending limit">Interrupted`},
		{"unknown", run(func(*report.Facts) {}), `ending open">It is not known how the run ended`},
		{"dry", run(func(f *report.Facts) { f.Run.DryRun, f.Run.ExitCause = true, "max-sessions-reached" }), `ending good">A dry run`},
	} {
		if page := html(t, c.facts); !strings.Contains(page, c.want) {
			at := max(strings.Index(page, `class="ending`), 0)
			t.Errorf("%s: want %s, got %.80s", c.name, c.want, page[at:])
		}
	}
}

func TestToDo(t *testing.T) {
	t.Parallel()
	f := night()
	f.ToDo = []string{"renew the certificate"}
	f.Run.Termination.Question, f.Run.Termination.AwaitingUserInput = "Which cloud?", true
	f.Gates = append(f.Gates, report.Gate{Subject: "over", Status: report.GateExpired}, report.Gate{Subject: "make release", Status: report.GateExpired, Command: "autopilot approve g-3"},
		report.Gate{Subject: "done", Status: report.GateUsed, Command: "x"})
	words := string(report.Markdown(f))
	_, rest, _ := strings.Cut(words, "## For a person to do now\n\n")
	got, _, _ := strings.Cut(rest, "\n\n##")
	want := strings.Join([]string{
		"- renew the certificate",
		"- Answer: Which cloud?",
		"- Allow or refuse: ./deploy.sh staging (until 2026-11-21 05:50): `autopilot approve g-2`",
		"- Allow or refuse: make release (nobody answered in time): `autopilot approve g-3`",
		"- Decide about 0003-deploy: a command needs a person",
		"- Look at 0002-search, which failed: no further task was done in 3 sessions: `autopilot queue retry 0002-search`",
		"- Look at the tests, which were red at the end: 0 passed, 0 failed, the run itself failed",
		"- See why 1 update was refused",
		"- See whether jira is there again: 3 failures in a row",
		"- 'autopilot resume' goes on",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Open = true
	if words := string(report.Markdown(f)); strings.Contains(words, "autopilot resume") || strings.Contains(words, "Which cloud") || !strings.Contains(words, "g-2") {
		t.Errorf("a run that is on says how to go on with it, or not what it waits for:\n%s", words)
	}
}

func TestMarkdownShowsTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	f := nothing()
	f.ToDo = []string{"# a", "- b", "12. c", "1) d", "2 e", "+ f", ": g", "snake_case", "_h_ *i*", "see https://x.org/y and www.z.org", "ask @ada, not a@b.c"}
	f.Items = []report.Item{{ID: "x", Status: report.ItemFailed, Command: "echo `date`"}, {ID: "y", Status: report.ItemFailed, Command: "plain"}}
	words := string(report.Markdown(f))
	_, rest, _ := strings.Cut(words, "## For a person to do now\n\n")
	got, _, _ := strings.Cut(rest, "\n\n##")
	want := strings.Join([]string{
		`- \# a`, `- \- b`, `- 12\. c`, `- 1\) d`, `- 2 e`, `- \+ f`, `- \: g`, `- snake_case`, `- \_h\_ \*i\*`, `- see https\://x.org/y and www\.z.org`, "- ask @\u2060ada, not a@b.c",
		"- Look at x, which failed: `` echo `date` ``", "- Look at y, which failed: `plain`",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTimesAreInTheZone(t *testing.T) {
	t.Parallel()
	f := one()
	f.Zone = time.FixedZone("XST", 2*60*60)
	words := string(report.Markdown(f))
	for _, want := range []string{"| Began | 2026-11-21 00:00 |", "| Times are in | XST |", "| 1 | 00:00 | 8 minutes | completed |"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, words)
		}
	}
}

func TestOneThousandSessionsAreDrawnInGroups(t *testing.T) {
	t.Parallel()
	f := many(1000, "x")
	page := html(t, f)
	for _, want := range []string{"session 1 to 9, mean: input 1.2k, output 5.7k, cache writes 9k, did not complete", fmt.Sprintf("%s sessions", "1,000")} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := count(page, "<rect"); n > 1000 {
		t.Errorf("%d bars", n)
	}
}

func TestServiceThatLimitsTheRate(t *testing.T) {
	t.Parallel()
	f := night()
	f.Breakers = []report.Breaker{{Name: "jira", State: "open"}}
	if got := string(report.Markdown(f)); !strings.Contains(got, "- See whether jira is there again: it limits the rate\n") {
		t.Errorf("it did not fail, it limits the rate:\n%s", got)
	}
}
