package fleetcmd_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"autopilot/cmd/internal/cli/fleetcmd"
	"autopilot/supervisor/fleet"
)

var update = flag.Bool("update", false, "write the tables anew")

func ptr[T any](v T) *T { return &v }

// night is a machine at work.
func night() []fleet.Row {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	row := func(r fleet.Row, minutes int64) fleet.Row {
		r.Started, r.AgeSeconds = at.Add(-time.Duration(minutes)*time.Minute), minutes*60
		return r
	}
	const cohort = "main-2026-03-01-0810-autopilot"
	return []fleet.Row{
		row(fleet.Row{
			Kind: fleet.KindCohort, RunID: cohort, Repo: "/home/someone/src/shop", PID: 41207, State: fleet.StateRunning, Iteration: 9, Tier: "warn", Cap: ptr(4),
			Tokens: 3_482_113, CostUSD: 21.4471, Note: "2 running, 1 waiting, 1 done, 1 needs a person",
		}, 230),
		row(fleet.Row{
			Kind: fleet.KindStory, RunID: "login-2026-03-01-0810-autopilot", Story: "login-form", Parent: cohort, Repo: "/home/someone/src/shop", Branch: "story/login-form", PID: 41311,
			State: fleet.StateRunning, Iteration: 3, MaxSessions: 10, Percent: ptr(62.0), Tier: "warn", Cap: ptr(2), Tokens: 1_204_311, CostUSD: 8.12,
		}, 229),
		row(fleet.Row{
			Kind: fleet.KindStory, RunID: "search-2026-03-01-0811-autopilot", Story: "search-index-rebuild", Parent: cohort, Repo: "/home/someone/src/shop", Branch: "story/search-index-rebuild", PID: 41355,
			State: fleet.StateWaiting, Iteration: 2, MaxSessions: 10, Tokens: 998_002, CostUSD: 6.6, Note: "until 2026-03-01 15:00:00: rate-limited: five-hour limit reached",
		}, 228),
		row(fleet.Row{
			Kind: fleet.KindStory, Story: "invoice-pdf", Parent: cohort, Repo: "/home/someone/src/shop", Branch: "story/invoice-pdf", State: fleet.StatePerson, Iteration: 1,
			Tokens: 310_800, CostUSD: 2.5271, Note: "which of the two templates is meant?",
		}, 140),
		{Kind: fleet.KindStory, Story: "later", Parent: cohort, Repo: "/home/someone/src/shop", State: fleet.StateQueued, Note: "after login-form"},
		row(fleet.Row{
			Kind: fleet.KindRun, RunID: "feature-a-rather-long-branch-name-2026-02-28-2214-autopilot", Repo: "/home/someone/src/compiler", PID: 39102, State: fleet.StateLooking, Iteration: 14, MaxSessions: 50,
			Percent: ptr(81.4), Tier: "green", Cap: ptr(6), Tokens: 12_900_444, CostUSD: 77.25,
		}, 826),
		row(fleet.Row{Kind: fleet.KindRun, RunID: "main-2026-02-27-0900-autopilot", Repo: "/srv/build/website", State: fleet.StateOpen, Iteration: 1, MaxSessions: 5, Note: "its supervisor is gone; the next start in its repository finishes it"}, 3060),
		{Kind: fleet.KindPeer, Repo: "/home/someone/notes", PID: 2211, State: fleet.StateRunning, Note: "claude"},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, width := range []int{80, 140, 200} {
		got := fleetcmd.Text(night(), "/home/someone", width)
		name := filepath.Join("testdata", "table_"+strconv.Itoa(width)+".txt")
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("at %d: -want +got\n%s", width, diff)
		}
	}
	if got := fleetcmd.Text(night(), "", 0); got != fleetcmd.Text(night(), "", 80) {
		t.Errorf("where the width is not known: %s", got)
	}
	if got := fleetcmd.Text(night(), "", 1000); got != fleetcmd.Text(night(), "", 200) {
		t.Errorf("on a very wide screen: %s", got)
	}
	if got := fleetcmd.Text(nil, "/home/someone", 80); got != "nothing runs on this machine\n" {
		t.Errorf("without rows: %q", got)
	}
}

// TestIdsStayUsable: what is shown of an id is a beginning that only it has.
func TestIdsStayUsable(t *testing.T) {
	t.Parallel()
	rows := []fleet.Row{
		{Kind: fleet.KindRun, RunID: "main-2026-03-01-0810-autopilot"},
		{Kind: fleet.KindRun, RunID: "main-2026-03-01-0810-autopilot-2"},
		{Kind: fleet.KindRun, RunID: "main-2026-03-01-0811-autopilot"},
	}
	text := fleetcmd.Text(rows, "", 200)
	for i, want := range []string{"main-2026-03-01-0810-autopilot ", "main-2026-03-01-0810-autopilot-2 ", "main-2026-03-01-0811 "} {
		if line := strings.Split(text, "\n")[i+1]; !strings.HasPrefix(line, want) {
			t.Errorf("line %q does not begin with %q", line, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tokens int64
		cost   float64
		age    int64
		want   string
	}{
		{0, 0, 0, "0 $0.00 0s"},
		{999, 0.004, 59, "999 $0.00 59s"},
		{1000, 0.005, 60, "1.0k $0.01 1m"},
		{99_949, 999.99, 3599, "99.9k $999.99 59m"},
		{99_950, 999.996, 3600, "100k $1000 1h00m"},
		{999_499, 12345.6, 86399, "999k $12346 23h59m"},
		{999_500, 1, 86400, "1.0M $1.00 1d00h"},
		{99_950_000, 1, 90_000, "100M $1.00 1d01h"},
	}
	for _, tt := range tests {
		r := fleet.Row{Kind: fleet.KindRun, RunID: "x", State: "s", Tokens: tt.tokens, CostUSD: tt.cost, AgeSeconds: tt.age, Started: time.Unix(1, 0)}
		line := strings.Split(fleetcmd.Text([]fleet.Row{r}, "", 80), "\n")[1]
		if got := strings.Join(strings.Fields(line)[3:], " "); got != tt.want {
			t.Errorf("%d tokens, %v, %d s: got %q, want %q", tt.tokens, tt.cost, tt.age, got, tt.want)
		}
	}
}

// columnsOf counts the columns of texts made of the characters of this test.
func columnsOf(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.Han, unicode.Hangul) || r == '🙂':
			n += 2
		default:
			n++
		}
	}
	return n
}

// TestTableFits: whatever is in the rows, no line is wider than the screen, and nothing of
// it can move the cursor.
func TestTableFits(t *testing.T) {
	t.Parallel()
	words := rapid.StringOfN(rapid.RuneFrom([]rune("abc-/ 漢한🙂é\u0301\x1b\r\n\t\u202e\u009b…")), 0, 90, -1)
	states := []fleet.State{fleet.StateRunning, fleet.StatePerson, fleet.StateOpen, fleet.StateWaiting, fleet.StateUnreadable, fleet.StateQueued}
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(80, 200).Draw(t, "width")
		var rows []fleet.Row
		for range rapid.IntRange(1, 6).Draw(t, "rows") {
			r := fleet.Row{
				Kind:  rapid.SampledFrom([]fleet.Kind{fleet.KindRun, fleet.KindCohort, fleet.KindStory, fleet.KindPeer}).Draw(t, "kind"),
				RunID: words.Draw(t, "run"), Story: words.Draw(t, "story"), Parent: words.Draw(t, "parent"), Repo: words.Draw(t, "repo"), Branch: words.Draw(t, "branch"),
				PID: rapid.IntRange(0, 4_194_304).Draw(t, "pid"), State: rapid.SampledFrom(states).Draw(t, "state"),
				Iteration: rapid.IntRange(0, 500).Draw(t, "iteration"), MaxSessions: rapid.IntRange(0, 500).Draw(t, "max"),
				Tokens: rapid.Int64Range(0, 1e10).Draw(t, "tokens"), CostUSD: rapid.Float64Range(0, 99999).Draw(t, "cost"),
				Started: time.Unix(1, 0), AgeSeconds: rapid.Int64Range(0, 1e7).Draw(t, "age"), Note: words.Draw(t, "note"), Tier: "critical", Cap: ptr(16), Percent: ptr(100.0),
			}
			rows = append(rows, r)
		}
		text := fleetcmd.Text(rows, "/home/someone", width)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			if columnsOf(line) > width && i < len(lines)-1 {
				t.Fatalf("%d columns in %d: %q", columnsOf(line), width, line)
			}
			for _, r := range line {
				if unicode.IsControl(r) || r == '\u202e' {
					t.Fatalf("%q in %q", r, line)
				}
			}
		}
		if n := len(lines); n < len(rows)+2 || n > 2*len(rows)+2 {
			t.Fatalf("%d lines for %d rows", n, len(rows))
		}
	})
}
