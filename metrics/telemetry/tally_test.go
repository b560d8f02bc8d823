package telemetry_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/metrics/ledger"
	"autopilot/metrics/telemetry"
)

// drawRun draws a record from few ids, so that some are there twice.
func drawRun(t *rapid.T) ledger.Run {
	text := rapid.SampledFrom([]string{"", "work-done", "spiral", "killed", "Some Thing", "a", "b", "c", "d\xff", strings.Repeat("long", 100)})
	count := rapid.OneOf(rapid.Int64Range(-5, 1000), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64}))
	r := ledger.Run{
		AutopilotRunID: rapid.SampledFrom([]string{"", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"}).Draw(t, "id"), ExitCause: text.Draw(t, "cause"), ExitCode: rapid.IntRange(0, 6).Draw(t, "code"),
		StartedAt: ledger.Stamp(after(rapid.IntRange(0, 3).Draw(t, "start"))), DryRun: rapid.IntRange(0, 9).Draw(t, "dry") == 0,
		Tokens:          ledger.Tokens{Input: count.Draw(t, "input"), Output: count.Draw(t, "output"), CacheCreation: count.Draw(t, "writes"), CacheRead: count.Draw(t, "reads")},
		TotalTokensUsed: count.Draw(t, "tokens"), TotalCostUSD: rapid.OneOf(rapid.Float64Range(-1, 10), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64})).Draw(t, "cost"),
		DurationSeconds: count.Draw(t, "seconds"), WaitedSeconds: count.Draw(t, "waited"), SleptSeconds: count.Draw(t, "slept"),
	}
	if rapid.Bool().Draw(t, "killed") {
		r.KillSwitch = ptr(text.Draw(t, "reason"))
	}
	if rapid.Bool().Draw(t, "ended") {
		r.CompletedAt = ledger.Stamp(after(rapid.IntRange(0, 600).Draw(t, "end")))
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		r.Coordinator = &ledger.Coordinator{Kind: ledger.CoordinatorKind}
	case 1:
		r.ParentRunID = ptr("cohort")
	}
	return r
}

// TestCountersOnlyGoUp looks at the counters after each record that is appended.
func TestCountersOnlyGoUp(t *testing.T) {
	t.Parallel()
	counter := map[string]bool{}
	for _, m := range telemetry.Metrics() {
		counter[m.Name] = m.Type == telemetry.Counter
	}
	rapid.Check(t, func(t *rapid.T) {
		var tally telemetry.Tally
		before := series{}
		for i := range rapid.IntRange(1, 25).Draw(t, "records") {
			repo := rapid.SampledFrom([]string{"app", "web"}).Draw(t, "repository")
			if rapid.Bool().Draw(t, "session") {
				ending := rapid.OneOf(rapid.SampledFrom([]string{"completed", "limited", ""}), rapid.String()).Draw(t, "ending")
				tally.Session(repo, rapid.SampledFrom([]string{"", "s1", fmt.Sprint("s", i)}).Draw(t, "id"), ending)
			} else {
				tally.Run(repo, drawRun(t))
			}
			now := parsePrometheus(t, telemetry.Text(telemetry.Facts{Repositories: tally.Repositories()}))
			for k, v := range before {
				name, _, _ := strings.Cut(k, "{")
				if counter[name] && !(now[k] >= v) {
					t.Fatalf("%s was %v and is %v", k, v, now[k])
				}
				if _, there := now[k]; !there {
					t.Fatalf("%s is gone", k)
				}
			}
			before = now
		}
	})
}

// TestNamesKeepTheirCounters has so many names that the later ones are counted together: the
// earlier ones have to stay by themselves.
func TestNamesKeepTheirCounters(t *testing.T) {
	t.Parallel()
	var tally telemetry.Tally
	before := series{}
	for i := range 300 {
		name := fmt.Sprintf("%c%c", 'a'+i%26, 'a'+i/26)
		tally.Session("app", fmt.Sprint(i), name)
		tally.Run("app", ended(fmt.Sprint(i), name, i, killed(name, 3)))
		now := parsePrometheus(t, telemetry.Text(telemetry.Facts{Repositories: tally.Repositories()}))
		for k, v := range before {
			if now[k] < v {
				t.Fatalf("%d: %s was %v and is %v", i, k, v, now[k])
			}
		}
		before = now
	}
	if before[`autopilot_sessions_ended_total{ending="other",repository="app"}`] == 0 {
		t.Error("nothing was counted together")
	}
	// What has a counter of its own goes on counting there.
	tally.Session("app", "again", "aa")
	tally.Run("app", ended("again", "aa", 900, killed("aa", 3)))
	now := parsePrometheus(t, telemetry.Text(telemetry.Facts{Repositories: tally.Repositories()}))
	for _, k := range []string{`autopilot_sessions_ended_total{ending="aa",repository="app"}`, `autopilot_killswitches_total{reason="aa",repository="app"}`, `autopilot_runs_ended_total{cause="aa",kind="run",repository="app"}`} {
		if now[k] != 2 {
			t.Errorf("%s is %v, want 2", k, now[k])
		}
	}
}

func TestARecordCountsOnce(t *testing.T) {
	t.Parallel()
	var tally telemetry.Tally
	for range 3 {
		tally.Run("app", ended("r", "work-done", 0, nil))
		tally.Run("copy of app", ended("r", "work-done", 0, nil))
		tally.Session("app", "s", "completed")
		tally.Session("copy of app", "s", "completed")
	}
	tally.Run("web", ended("r", "work-done", 1, nil)) // the same id in another repository
	tally.Run("app", ledger.Run{AutopilotRunID: "on"})
	tally.Run("app", ended("dry", "work-done", 2, func(r *ledger.Run) { r.DryRun = true }))
	tally.Run("app", ended("old", "", 3, func(r *ledger.Run) { r.Tokens, r.TotalTokensUsed = ledger.Tokens{}, 900 }))
	got := parsePrometheus(t, telemetry.Text(telemetry.Facts{Repositories: tally.Repositories()}))
	for k, want := range map[string]float64{
		`autopilot_runs_ended_total{cause="work-done",kind="run",repository="app"}`: 1, `autopilot_runs_ended_total{cause="work-done",kind="run",repository="web"}`: 1,
		`autopilot_runs_ended_total{cause="unknown",kind="run",repository="app"}`: 1, `autopilot_sessions_ended_total{ending="completed",repository="app"}`: 1,
		`autopilot_tokens_total{kind="unsorted",repository="app"}`: 900, `autopilot_tokens_total{kind="input",repository="app"}`: 100,
	} {
		if got[k] != want {
			t.Errorf("%s is %v, want %v", k, got[k], want)
		}
	}
	if _, there := got[`autopilot_cost_usd_total{repository="copy of app"}`]; there {
		t.Error("the copy of a ledger counts")
	}
	if !tally.Since().Equal(began()) {
		t.Errorf("since %v", tally.Since())
	}
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  ledger.Run
		want bool
	}{
		"work done":                          {ended("r", "work-done", 0, nil), true},
		"a limit that was wanted":            {ended("r", "max-hours-exceeded", 0, killed("max-hours-exceeded", 0)), true},
		"failed":                             {ended("r", "spiral", 0, killed("spiral", 3)), false},
		"another program's":                  {ended("r", "", 0, nil), true},
		"another program's, that was killed": {ended("r", "", 0, killed("spiral", 0)), false},
		"stopped by its cohort":              {ended("r", "work-done", 0, func(r *ledger.Run) { r.AbortedByCohort = true }), false},
	} {
		var tally telemetry.Tally
		tally.Run("app", c.run)
		if got := !tally.Repositories()[0].LastSuccess.IsZero(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestKnownNames reads from the sources which names the program writes, which this package
// does not import.
func TestKnownNames(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		line string
		have []string
	}{
		"../../supervisor/killswitch/killswitch.go": {`(?m)^\s+\w+\s+Reason = "([a-z-]+)"`, telemetry.Reasons()},
		"../../supervisor/ending/ending.go":         {`(?m)^\s+Cause\w+\s+= "([a-z-]+)"`, telemetry.Causes()},
		"../../sessions/outcome/classify.go":        {`(?m)^\s+\w+\s+Ending = "([a-z-]+)"`, telemetry.SessionEndings()},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(c.line).FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		if want := slices.Sorted(slices.Values(c.have)); !slices.Equal(names, want) {
			t.Errorf("%s has %q, and zeros are told for %q", file, names, want)
		}
	}
}
