package meter

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/telemetry"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
)

func at(minutes int) time.Time {
	return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

func ptr[T any](v T) *T { return &v }

func row(change func(*board.Row)) board.Row {
	r := board.Row{Row: fleet.Row{Kind: fleet.KindRun, RunID: "main-1", Repo: "/srv/app", State: fleet.StateRunning, Tokens: 100, CostUSD: 1.5, Started: at(0)}, Ref: board.Ref{Project: "-srv-app", Run: "main-1"}}
	change(&r)
	return r
}

func TestFacts(t *testing.T) {
	t.Parallel()
	o := board.Overview{
		At: at(10), Problems: []string{"a", "b"},
		Questions: []board.Need{{Kind: board.NeedGate}, {Kind: board.NeedGate}, {Kind: board.NeedResume}, {Kind: "new"}},
		Active: []board.Row{
			row(func(r *board.Row) {
				r.State, r.Iteration, r.MaxSessions, r.Percent, r.Tier, r.Cap = fleet.StateWaiting, 3, 5, ptr(40.0), "warn", ptr(4)
			}),
			row(func(r *board.Row) {
				r.Kind, r.RunID, r.Ref.Run, r.Repo, r.CostUSD, r.Tokens = fleet.KindCohort, "main-2", "main-2", "/srv/web", 9, 900
			}),
			row(func(r *board.Row) {
				r.Kind, r.Story, r.State, r.Repo = fleet.KindStory, "login", fleet.StateRunning, "/srv/web"
			}),
			row(func(r *board.Row) {
				r.Kind, r.Story, r.State, r.Ref = fleet.KindStory, "later", fleet.StateQueued, board.Ref{}
			}),
			row(func(r *board.Row) { r.Kind, r.Repo, r.Ref = fleet.KindPeer, "/srv/other", board.Ref{} }),
		},
	}
	x := Extra{
		Names: map[string]string{"/srv/app": "-srv-app"},
		States: map[board.Ref]supervisor.State{{Project: "-srv-app", Run: "main-1"}: {
			Record: ledger.Run{Tokens: ledger.Tokens{Input: 10, Output: 20, CacheCreation: 30, CacheRead: 500}}, Waiting: &supervisor.Waiting{Until: at(60)},
		}},
		Repositories: []telemetry.Repository{{Name: "app"}}, Since: at(-5), Machine: telemetry.Machine{Tier: "green"}, Schedules: []telemetry.Schedule{{Name: "nightly"}},
	}
	kinds := ledger.Tokens{Input: 10, Output: 20, CacheCreation: 30, CacheRead: 500}
	want := telemetry.Facts{
		At: at(10), Build: telemetry.Build{Version: outside.Version(), Go: runtime.Version()}, Problems: 2,
		Needs: []telemetry.Need{{Kind: "answer"}, {Kind: "gate", Count: 2}, {Kind: "retry"}, {Kind: "resume", Count: 1}},
		Runs: []telemetry.Run{
			{Repository: "-srv-app", ID: "main-1", Kind: telemetry.Single, State: telemetry.Waiting, Started: at(0), Sessions: 3, MaxSessions: 5, Percent: ptr(40.0), Tier: "warn", Agents: ptr(4), Tokens: kinds, InFlight: 40, CostUSD: 1.5, WaitUntil: at(60)},
			{Repository: "web", ID: "main-2", Kind: telemetry.Cohort, State: telemetry.Running, Started: at(0)},
			{Repository: "web", ID: "main-1", Story: "login", Kind: telemetry.Story, State: telemetry.Running, Started: at(0), Tokens: kinds, InFlight: 40, CostUSD: 1.5},
		},
		Repositories: x.Repositories, Since: x.Since, Machine: x.Machine, Schedules: x.Schedules,
	}
	if diff := cmp.Diff(want, Facts(o, x)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryState holds the states of the fleet, as its source lists them, against those that
// monitoring is told.
func TestEveryState(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "supervisor", "fleet", "row.go"))
	if err != nil {
		t.Fatal(err)
	}
	over := map[string]bool{"waiting": true, "done": true, "failed": true, "stopped": true, "shut": true, "interrupted": true, "ended": true}
	told := map[telemetry.State]bool{}
	found := regexp.MustCompile(`(?m)^\s+State\w+\s+State = "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 15 {
		t.Fatalf("found %d states", len(found))
	}
	for _, m := range found {
		s, on := stateOf(fleet.State(m[1]))
		if on == over[m[1]] {
			t.Errorf("%s is on: %v", m[1], on)
		}
		if on {
			told[s] = true
		}
	}
	if len(told) != len(telemetry.States()) {
		t.Errorf("told are %v of %v", told, telemetry.States())
	}
}

func TestShortNames(t *testing.T) {
	t.Parallel()
	want := map[string]string{"/srv/app": "-srv-app", "/home/someone/app": "-home-someone-app", "/srv/web": "web"}
	if diff := cmp.Diff(want, shortNames([]string{"/srv/app", "/home/someone/app", "/srv/web", "/srv/web"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
