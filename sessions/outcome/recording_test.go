package outcome_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/sessions/outcome"
	"autopilot/sessions/stream"
)

// The two versions of the CLI whose streams were recorded.
const (
	older = "2.1.197"
	newer = "2.1.330"
)

// decode returns the events of what a CLI printed, in pieces of the size that a
// reader of a pty gets.
func decode(t testing.TB, printed string) []stream.Event {
	t.Helper()
	var events []stream.Event
	d := stream.New(stream.Limits{}, func(e stream.Event) { events = append(events, e) })
	for piece := range slices.Chunk([]byte(printed), 4096) {
		if _, err := d.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return events
}

// recorded returns the events of a recording, in which control characters are
// pictures and the stream has no newline at its end.
func recorded(t testing.TB, version, name string) []stream.Event {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "stream", "testdata", version, name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "-- stream --\n")
	printed, _, ok := strings.Cut(rest, "-- events --\n")
	if !found || !ok {
		t.Fatalf("%s of %s has no stream", name, version)
	}
	printed = strings.Map(func(c rune) rune {
		if c >= 0x2400 && c < 0x2420 {
			return c - 0x2400
		}
		return c
	}, printed)
	return decode(t, strings.TrimSuffix(printed, "\n"))
}

func tally(t testing.TB, events ...stream.Event) outcome.Facts {
	t.Helper()
	ta := outcome.NewTally()
	for _, e := range events {
		ta.Observe(e)
	}
	return ta.Facts()
}

// told is what is wanted of one recording.
type told struct {
	Version  string
	Ending   outcome.Ending
	Results  int
	Turns    int
	Tools    int
	Agents   outcome.Agents
	Denials  int
	Retries  int
	Requests int // with 100 tokens in, 20 out, 7 written to the cache and 9 read from it each
	Report   string
}

// recordings are what each recording tells, older version first.
func recordings() map[string][2]told {
	both := func(w told) [2]told {
		pair := [2]told{w, w}
		pair[0].Version, pair[1].Version = older, newer
		return pair
	}
	plain := told{Ending: outcome.NoWork, Results: 1, Turns: 1, Requests: 1}
	all := map[string][2]told{
		"agent-failed":      both(told{Ending: outcome.Completed, Results: 1, Turns: 3, Tools: 2, Agents: outcome.Agents{Failed: 1}, Requests: 2}),
		"agents":            both(told{Ending: outcome.Completed, Results: 1, Turns: 3, Tools: 4, Agents: outcome.Agents{Complete: 2}, Requests: 6}),
		"agents-background": both(told{Ending: outcome.Completed, Results: 1, Turns: 3, Tools: 4, Agents: outcome.Agents{Complete: 2}, Requests: 6}),
		"auth":              both(told{Ending: outcome.Auth, Results: 1, Turns: 1, Retries: 1}),
		"background-bash":   both(told{Ending: outcome.Completed, Results: 2, Turns: 3, Tools: 1, Requests: 3}),
		"compact":           both(told{Ending: outcome.NoWork, Results: 1, Requests: 1}),
		"denied":            both(told{Ending: outcome.Completed, Results: 1, Turns: 2, Tools: 1, Denials: 1, Requests: 2}),
		"hooks":             both(told{Ending: outcome.NoWork, Results: 1, Turns: 2, Requests: 2}),
		"interrupt-tool":    both(told{Ending: outcome.Cancelled, Results: 1, Turns: 3, Tools: 1, Requests: 1}),
		"interrupt-request": both(told{Ending: outcome.Cancelled}),
		"limit":             both(told{Ending: outcome.Limited, Results: 1, Turns: 1}),
		"long-tool":         both(told{Ending: outcome.Completed, Results: 1, Turns: 2, Tools: 1, Requests: 2}),
		"max-turns":         both(told{Ending: outcome.Failed, Results: 1, Turns: 3, Tools: 2, Requests: 2}),
		"plain":             both(plain),
		"refusal":           both(told{Ending: outcome.Failed, Results: 1, Turns: 1, Requests: 1}),
		"resume-unknown":    both(told{Ending: outcome.Failed, Results: 1}),
		"schema":            both(told{Ending: outcome.NoWork, Results: 1, Turns: 2, Requests: 1, Report: `{"answer":"forty-two","items":[1,2.5,{"k":"v"}]}`}),
		"start-failed":      both(told{Ending: outcome.Failed}),
		"state":             both(plain),
		"thinking":          both(plain),
		"tools":             both(told{Ending: outcome.Completed, Results: 1, Turns: 4, Tools: 3, Requests: 3}),
		"unreachable":       both(told{Ending: outcome.Overloaded, Results: 1, Turns: 1, Retries: 1}),
	}
	differ := func(name string, change func(w *told)) {
		pair := all[name]
		change(&pair[1])
		all[name] = pair
	}
	differ("agents-background", func(w *told) { w.Results, w.Turns, w.Requests = 3, 5, 8 })
	differ("refusal", func(w *told) { w.Turns, w.Requests = 2, 2 })
	differ("start-failed", func(w *told) { w.Results, w.Version = 1, "" })
	for _, name := range []string{"resume-unknown", "start-failed"} {
		pair := all[name]
		pair[0].Version, pair[1].Version = "", ""
		all[name] = pair
	}
	return all
}

// exitStatus is that of the process that was recorded.
func exitStatus(name string) int {
	switch name {
	case "auth", "limit", "max-turns", "refusal", "resume-unknown", "start-failed", "unreachable":
		return 1
	}
	return 0
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	for name, wants := range recordings() {
		for i, version := range []string{older, newer} {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				f := tally(t, recorded(t, version, name)...)
				e := outcome.Classify(f, outcome.Exit{Code: exitStatus(name)})
				got := told{
					Version: f.Version, Ending: e.Ending, Results: f.Results, Turns: f.AnsweredTurns, Tools: f.ToolUses,
					Agents: f.Agents, Denials: f.Denials, Retries: f.Retries, Requests: int(f.Usage.Input / 100), Report: string(f.Report),
				}
				if diff := cmp.Diff(wants[i], got); diff != "" {
					t.Errorf("facts (-want +got):\n%s", diff)
				}
				n := int64(wants[i].Requests)
				want := outcome.Usage{Input: 100 * n, Output: 20 * n, CacheCreation: 7 * n, CacheRead: 9 * n}
				if diff := cmp.Diff(want, f.Usage, cmpopts.IgnoreFields(outcome.Usage{}, "CostUSD")); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
				if paid := f.Usage.CostUSD > 0; paid != (n > 0) {
					t.Errorf("cost is %v for %d requests", f.Usage.CostUSD, n)
				}
				if f.ToolsRunning != 0 {
					t.Errorf("%d tools run after the end", f.ToolsRunning)
				}
				if e.Ending == outcome.Completed != (e.Cause == "") {
					t.Errorf("ending %s has the cause %q", e.Ending, e.Cause)
				}
			})
		}
	}
}

// An answer that was interrupted was paid for as far as it came; only the newer
// CLI says so in its result.
func TestRecordedInterruptedAnswer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{older, newer} {
		f := tally(t, recorded(t, version, "interrupt-answer")...)
		if e := outcome.Classify(f, outcome.Exit{}); e.Ending != outcome.Cancelled {
			t.Errorf("%s: ending %s, want cancelled", version, e.Ending)
		}
		if u := f.Usage; u.Input != 100 || u.Output == 0 || u.CacheCreation != 7 || u.CacheRead != 9 {
			t.Errorf("%s: usage %+v, want 100 tokens in, some out, 7 and 9 of the cache", version, u)
		}
	}
}

// TestRecordingsAreAllHere keeps a new recording from being overlooked.
func TestRecordingsAreAllHere(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../stream/testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"interrupt-answer": true}
	for name := range recordings() {
		want[name] = true
	}
	got := map[string]bool{}
	for _, p := range paths {
		got[strings.TrimSuffix(filepath.Base(p), ".txtar")] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("recordings with an expectation (-here +in the folder):\n%s", diff)
	}
}

// TestRecordedUsageNeverFalls looks after every event: a budget that is compared
// with a number that falls would let too much through.
func TestRecordedUsageNeverFalls(t *testing.T) {
	t.Parallel()
	for name := range recordings() {
		for _, version := range []string{older, newer} {
			neverFalls(t, version+"/"+name, recorded(t, version, name))
		}
	}
	for _, version := range []string{older, newer} {
		neverFalls(t, version+"/interrupt-answer", recorded(t, version, "interrupt-answer"))
	}
}

func neverFalls(t *testing.T, name string, events []stream.Event) {
	t.Helper()
	ta := outcome.NewTally()
	var before outcome.Usage
	for i, e := range events {
		ta.Observe(e)
		now := ta.Facts().Usage
		if fell(before, now) {
			t.Errorf("%s: usage falls from %+v to %+v with event %d (%s %s)", name, before, now, i, e.Type, e.Subtype)
		}
		before = now
	}
}

func fell(before, now outcome.Usage) bool {
	const rounding = 1e-9
	return now.Input < before.Input || now.Output < before.Output || now.CacheCreation < before.CacheCreation ||
		now.CacheRead < before.CacheRead || now.CostUSD < before.CostUSD-rounding
}

// TestRecordedNotices is what the watch of a session is told, in order.
func TestRecordedNotices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		version, name, want string
	}{
		{older, "plain", "working working result"},
		{newer, "plain", "working working result"},
		{newer, "auth", "working working auth-failed+retry auth-failed result"},
		{older, "unreachable", "working working retry result"},
		{older, "background-bash", "working working working result working working result"},
		{newer, "background-bash", "working working working result working working result"},
		{newer, "long-tool", "working working heartbeat working result"},
		{newer, "resume-unknown", "result"},
	}
	for _, tt := range tests {
		ta := outcome.NewTally()
		var got []string
		for _, e := range recorded(t, tt.version, tt.name) {
			if w := words(ta.Observe(e)); w != "" {
				got = append(got, w)
			}
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s/%s (-want +got):\n%s", tt.version, tt.name, diff)
		}
	}
}

func words(n outcome.Notice) string {
	var w []string
	for _, x := range []struct {
		is   bool
		word string
	}{{!n.Activity, "heartbeat"}, {n.AuthFailed, "auth-failed"}, {n.Result, "result"}, {n.Working, "working"}, {n.Retry != nil, "retry"}} {
		if x.is {
			w = append(w, x.word)
		}
	}
	return strings.Join(w, "+")
}

// TestRecordedAgentsEnded is which slots of the cap are given back: those of
// sub-agents that ended or never started, and not those of other tools.
func TestRecordedAgentsEnded(t *testing.T) {
	t.Parallel()
	for _, version := range []string{older, newer} {
		for name, want := range map[string]int{"agents": 2, "agents-background": 2, "agent-failed": 2, "tools": 0, "denied": 0} {
			calls := map[string]bool{}
			ended := map[string]bool{}
			ta := outcome.NewTally()
			for _, e := range recorded(t, version, name) {
				if e.Message != nil {
					for _, b := range e.Message.Content {
						if b.Name == "Agent" {
							calls[b.ID] = true
						}
					}
				}
				for _, id := range ta.Observe(e).AgentsEnded {
					if !calls[id] {
						t.Errorf("%s/%s: %s is named as ended and is no sub-agent", version, name, id)
					}
					ended[id] = true
				}
			}
			if len(calls) != want || len(ended) < want {
				t.Errorf("%s/%s: %d of %d sub-agents ended, want all of %d", version, name, len(ended), len(calls), want)
			}
		}
	}
}
