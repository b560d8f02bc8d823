package serve_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/samples"
	"autopilot/supervisor/fleet"
)

// machine is a board and an actor in memory.
type machine struct {
	mu     sync.Mutex
	over   board.Overview
	runs   map[board.Ref]board.Run
	events []board.Event
	looks  int
	did    []string
	fails  error
}

func (m *machine) Look(context.Context) board.Overview {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	o := m.over
	o.At = time.Now()
	return o
}

func (m *machine) Find(_ context.Context, ref board.Ref) (board.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	r, ok := m.runs[ref]
	if !ok {
		return board.Run{}, fmt.Errorf("find run %s: %w", ref.Run, fs.ErrNotExist)
	}
	return r, nil
}

// Tail counts events where the real one counts bytes.
func (m *machine) Tail(_ board.Run, at board.Cursor) ([]board.Event, board.Cursor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at.Session != "" && at.Session != "s-1" || at.Log < 0 {
		return nil, at, fmt.Errorf("no such place: %+v", at)
	}
	n := len(m.events)
	from := min(int(at.Log), n)
	if at == (board.Cursor{}) {
		from = max(0, n-100)
	}
	to := min(from+500, n)
	return slices.Clone(m.events[from:to]), board.Cursor{Log: int64(to), Session: "s-1"}, nil
}

func (m *machine) Stop(_ context.Context, ref board.Ref, now bool) (string, error) {
	return "", m.do("stop %s/%s now=%v", ref.Project, ref.Run, now)
}

func (m *machine) Approve(_ context.Context, ref board.Ref, id string) (string, error) {
	return "", m.do("approve %s/%s %s", ref.Project, ref.Run, id)
}

func (m *machine) Deny(_ context.Context, ref board.Ref, id, because string) (string, error) {
	return "told: <i>denied</i>", m.do("deny %s/%s %s %q", ref.Project, ref.Run, id, because)
}

func (m *machine) Answer(_ context.Context, ref board.Ref, story, text string) (string, error) {
	return "", m.do("answer %s/%s %s%q", ref.Project, ref.Run, story, text)
}

func (m *machine) do(format string, args ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return m.fails
	}
	m.did = append(m.did, fmt.Sprintf(format, args...))
	return nil
}

func (m *machine) deeds() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.did)
}

// change changes the run that is on.
func (m *machine) change(fn func(*board.Run)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[busy]
	fn(&r)
	m.runs[busy] = r
	for i := range m.over.Active {
		if m.over.Active[i].Ref == busy {
			m.over.Active[i] = r.Row
		}
	}
	m.over.Questions = slices.Clone(r.Needs)
}

func (m *machine) happens(events ...board.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, events...)
}

var (
	busy = board.Ref{Project: "shop-1a2b3c", Run: "main-2026-01-31-2200-autopilot"}
	over = board.Ref{Project: "shop-1a2b3c", Run: "main-2026-01-30-2200-autopilot"}
)

func ptr[T any](v T) *T { return &v }

// night is a machine with a run, a cohort and what they need; and some nights before.
func night() *machine {
	now := time.Now()
	began := now.Add(-3*time.Hour - 20*time.Minute)
	m := &machine{runs: map[board.Ref]board.Run{}}
	run := board.Run{
		Row: board.Row{
			Row: fleet.Row{
				Kind: fleet.KindRun, RunID: busy.Run, Repo: "/home/someone/src/shop", PID: 4711, State: fleet.StatePerson, Note: "calls of its sessions wait for a person: 'autopilot gates'",
				Iteration: 7, MaxSessions: 20, Percent: ptr(63.0), Tier: "warn", Cap: ptr(4), Tokens: 2_345_678, CostUSD: 14.23, Started: began, AgeSeconds: int64(now.Sub(began).Seconds()),
			},
			Ref: busy, Goal: "Move the checkout to the new payment service, with all tests green and no downtime", Source: "goal",
		},
		Mode: "autonomous", Folder: "/home/someone/.local/state/autopilot/projects/shop-1a2b3c/runs/" + busy.Run, Updated: now, MaxHours: 9,
		Current: &board.Session{Number: 7, ID: "s-7", Mode: "deep", Work: "T014 refunds", Model: "opus", Started: now.Add(-11 * time.Minute), Tier: "warn", Cap: ptr(4), Tokens: 210_000, CostUSD: 1.2},
		Goals: []board.Goal{
			{Text: "All calls go to the new payment service", Status: "in progress", Percent: 80},
			{Text: "The old service is gone from the code", Status: "open", Percent: 25},
		},
		Progress: board.Progress{
			Percent: ptr(63.0), Velocity: 9.2, PerHour: 18.1, Sessions: 4, Left: 2 * time.Hour, Last: "Refunds are half done; the tests of the cart are green.",
			Milestones: []board.Milestone{{Text: "The client for the new service", Done: true}, {Text: "Payments", Done: true}, {Text: "Refunds"}, {Text: "The old service is gone"}},
		},
		Needs: []board.Need{
			{
				Ref: busy, Repo: "/home/someone/src/shop", Kind: board.NeedGate, ID: "g-3f2a", Text: "git push --force origin main\n# and then the deployment:\n./deploy.sh production --yes", Why: "git-force: rewrites what others have",
				At: now.Add(-9 * time.Minute), Until: now.Add(21 * time.Minute), Command: "autopilot approve g-3f2a",
			},
			{
				Ref: busy, Repo: "/home/someone/src/shop", Kind: board.NeedAnswer, Text: "The new service has no sandbox for refunds. How should the tests reach it?",
				Options: []string{"A) With a stand-in that we keep in the repository", "B) With the live service and a test account", "C) Leave refunds without tests for now"},
				At:      now.Add(-40 * time.Minute), Command: "autopilot answer TEXT",
			},
		},
	}
	for i := range 6 {
		at := began.Add(time.Duration(i) * 31 * time.Minute)
		ending, cause := "completed", ""
		if i == 3 {
			ending, cause = "stalled", "no output for 10 minutes"
		}
		run.Sessions = append(run.Sessions, board.Session{
			Number: i + 1, ID: fmt.Sprintf("s-%d", i+1), Mode: []string{"feature", "deep"}[i%2], Work: fmt.Sprintf("T%03d a piece of the checkout", i+8), Started: at, Ended: at.Add(28 * time.Minute), Ending: ending, Cause: cause,
			Tier: []string{"green", "green", "warn", "degraded", "warn", "warn"}[i], Cap: ptr(6 - i%3), Tokens: int64(210_000 + i*37_000), CostUSD: 1.1 + float64(i)*0.35, Files: 3 + i, Commits: 1 + i%3,
		})
		run.Progress.Points = append(run.Progress.Points, board.Point{At: at.Add(28 * time.Minute), Session: i + 1, Percent: []float64{8, 19, 33, 31, 48, 63}[i]})
	}
	for i := range 190 {
		at := began.Add(time.Duration(i) * time.Minute)
		run.Samples = append(run.Samples, samples.Sample{
			At: at, Tier: []string{"green", "green", "warn", "degraded", "warn", "green"}[i/32], AvailableGB: ptr(14 - float64(i%60)/8 - float64(i)/40), SwapGB: ptr(max(0, float64(i-60)/50)), Peers: ptr(i % 3), Cap: ptr(6),
		})
	}
	m.runs[busy] = run
	m.events = []board.Event{
		{At: now.Add(-70 * time.Second), Kind: "log", Level: "INFO", Text: "session 7 begins"},
		{At: now.Add(-60 * time.Second), Kind: "text", Text: "I look at the refunds first.\nThe client has no call for partial ones."},
		{At: now.Add(-50 * time.Second), Kind: "tool", Text: "Bash: go test ./refund/..."},
		{At: now.Add(-42 * time.Second), Kind: "result", Text: "ok  shop/refund 0.412s"},
		{At: now.Add(-12 * time.Second), Kind: "log", Level: "WARN", Text: "a call is held: git push --force origin main"},
		{At: now.Add(-2 * time.Second), Kind: "error", Text: "exit status 1"},
	}
	m.over = board.Overview{Active: []board.Row{run.Row}, Questions: run.Needs, Problems: []string{"project blog-77aa: state.json of run x is cut off"}}
	m.others(now)
	return m
}

// others adds a cohort, a peer and past nights.
func (m *machine) others(now time.Time) {
	cohort := board.Ref{Project: "blog-77aa12", Run: "stories-2026-01-31-2300-autopilot"}
	m.over.Active = append(
		m.over.Active,
		board.Row{Row: fleet.Row{Kind: fleet.KindCohort, RunID: cohort.Run, Repo: "/home/someone/src/blog", PID: 4800, State: fleet.StateRunning, Iteration: 5, Tier: "warn", Cap: ptr(6), Tokens: 987_000, CostUSD: 6.01, Started: now.Add(-2 * time.Hour)}, Ref: cohort},
		board.Row{Row: fleet.Row{Kind: fleet.KindStory, RunID: "story-tags", Story: "tags", Parent: cohort.Run, Repo: "/home/someone/src/blog", Branch: "autopilot/tags", State: fleet.StateRunning, Iteration: 3, MaxSessions: 6, Percent: ptr(50.0), Tokens: 600_000, CostUSD: 4, Started: now.Add(-2 * time.Hour)}, Ref: board.Ref{Project: "blog-77aa12", Run: "story-tags"}, Goal: "Posts have tags"},
		board.Row{Row: fleet.Row{Kind: fleet.KindStory, RunID: "story-feed", Story: "feed", Parent: cohort.Run, Repo: "/home/someone/src/blog", Branch: "autopilot/feed", State: fleet.StateWaiting, Note: "until 23:40: five-hour limit", Iteration: 2, MaxSessions: 6, Tokens: 387_000, CostUSD: 2.01, Started: now.Add(-1 * time.Hour)}, Ref: board.Ref{Project: "blog-77aa12", Run: "story-feed"}, Goal: "A feed of all posts"},
		board.Row{Row: fleet.Row{Kind: fleet.KindPeer, Repo: "/home/someone/src/notes", PID: 5120, State: fleet.StateRunning, Note: "claude", AgeSeconds: 900}},
	)
	for i := range 12 {
		began := now.Add(-time.Duration(i+1) * 24 * time.Hour)
		row := board.Row{
			Row: fleet.Row{Kind: fleet.KindRun, RunID: fmt.Sprintf("main-2026-01-%02d-2200-autopilot", 30-i), Repo: "/home/someone/src/shop", State: fleet.StateDone, Iteration: 9 + i%5, MaxSessions: 20, Percent: ptr(100.0), Tokens: 1_200_000 + int64(i)*80_000, CostUSD: 8 + float64(i%4), Started: began},
			Ref: board.Ref{Project: busy.Project, Run: fmt.Sprintf("main-2026-01-%02d-2200-autopilot", 30-i)}, Goal: "A night of the backlog", Cause: "goal reached", Ended: began.Add(5*time.Hour + 12*time.Minute), Reward: ptr(0.45 + float64((i*7)%5)/10),
		}
		if i%4 == 2 {
			row.State, row.Cause, row.ExitCode, row.Percent, row.Reward = fleet.StateFailed, "too many errors in a row", 3, ptr(42.0), ptr(0.1)
		}
		m.over.Past = append(m.over.Past, row)
		m.runs[row.Ref] = board.Run{Row: row, Folder: "/home/someone/.local/state/autopilot", Summary: "The goal was reached after nine sessions."}
	}
}
