package meter

import (
	"path/filepath"
	"runtime"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/statedir"
	"autopilot/metrics/telemetry"
	"autopilot/supervisor"
	"autopilot/supervisor/fleet"
)

// Extra is what the metrics say beside what the board knows.
type Extra struct {
	// Names are the short names of repositories by path; one that is not there has the last
	// part of its path.
	Names        map[string]string
	States       map[board.Ref]supervisor.State // of the runs that are on
	Repositories []telemetry.Repository
	Since        time.Time
	Machine      telemetry.Machine
	Schedules    []telemetry.Schedule
}

// Facts turns what the board knows into what monitoring is told.
func Facts(o board.Overview, x Extra) telemetry.Facts {
	f := telemetry.Facts{
		At: o.At, Build: telemetry.Build{Version: outside.Version(), Go: runtime.Version()}, Problems: len(o.Problems),
		Repositories: x.Repositories, Since: x.Since, Machine: x.Machine, Schedules: x.Schedules,
	}
	for _, kind := range telemetry.NeedKinds() {
		need := telemetry.Need{Kind: kind}
		for _, n := range o.Questions {
			if string(n.Kind) == kind {
				need.Count++
			}
		}
		f.Needs = append(f.Needs, need)
	}
	for _, r := range o.Active {
		if state, on := stateOf(r.State); on && r.Kind != fleet.KindPeer {
			f.Runs = append(f.Runs, runOf(r, state, x))
		}
	}
	return f
}

// stateOf is the state of a row for monitoring. A story that has not begun or is over is not
// on.
func stateOf(s fleet.State) (state telemetry.State, on bool) {
	switch s {
	case fleet.StateStarting:
		return telemetry.Starting, true
	case fleet.StateRunning:
		return telemetry.Running, true
	case fleet.StateWaiting:
		return telemetry.Waiting, true
	case fleet.StatePerson:
		return telemetry.Person, true
	case fleet.StateLooking:
		return telemetry.Looking, true
	case fleet.StateStopping:
		return telemetry.Stopping, true
	case fleet.StateOpen:
		return telemetry.Orphaned, true
	case fleet.StateUnreadable:
		return telemetry.Unreadable, true
	case fleet.StateQueued, fleet.StateDone, fleet.StateFailed, fleet.StateStopped, fleet.StateShut, fleet.StateInterrupted, fleet.StateEnded:
		return "", false
	}
	return "", false
}

func runOf(r board.Row, state telemetry.State, x Extra) telemetry.Run {
	kinds := map[fleet.Kind]telemetry.Kind{fleet.KindCohort: telemetry.Cohort, fleet.KindStory: telemetry.Story}
	kind, ok := kinds[r.Kind]
	if !ok {
		kind = telemetry.Single
	}
	out := telemetry.Run{
		Repository: nameOf(x.Names, r.Repo), ID: r.RunID, Story: r.Story, Kind: kind, State: state, Started: r.Started,
		Sessions: r.Iteration, MaxSessions: r.MaxSessions, Percent: r.Percent, Tier: r.Tier, Agents: r.Cap, CostUSD: r.CostUSD, InFlight: r.Tokens,
	}
	if s, known := x.States[r.Ref]; known && r.Ref != (board.Ref{}) {
		out.Tokens = s.Record.Tokens
		out.InFlight = max(0, r.Tokens-s.Record.Tokens.Budgeted())
		if s.Waiting != nil && state == telemetry.Waiting {
			out.WaitUntil = s.Waiting.Until
		}
	}
	if kind == telemetry.Cohort { // its tokens and cost are those of its stories, which are told themselves
		out.InFlight, out.CostUSD = 0, 0
	}
	return out
}

func nameOf(names map[string]string, path string) string {
	if n, ok := names[path]; ok {
		return n
	}
	return filepath.Base(path)
}

// shortNames gives each path the last part of it as its name, or where two have the same
// one, all of it in the form of a folder's name.
func shortNames(paths []string) map[string]string {
	uses, out := map[string]int{}, map[string]string{}
	for _, p := range paths {
		if _, again := out[p]; !again {
			out[p] = filepath.Base(p)
			uses[out[p]]++
		}
	}
	for p, name := range out {
		if uses[name] > 1 {
			out[p] = statedir.Slug(p)
		}
	}
	return out
}
