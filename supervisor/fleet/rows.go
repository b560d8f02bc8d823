package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/sessions"
	"autopilot/supervisor"
	"autopilot/supervisor/story"
)

// runRow is the row of a run or, without its stories, of a cohort.
func runRow(r *run, o Options) Row {
	row := Row{Kind: KindRun, RunID: r.id, Repo: r.project.Path, Parent: r.parent()}
	if r.isCohort {
		row.Kind = KindCohort
	}
	if !r.read() {
		row.State, row.Note = withoutState(r, o.Now)
		row.started(r.made, o.Now)
		return row
	}
	s, rec := &r.state, &r.state.Record
	row.Iteration, row.MaxSessions = s.Carried.Iterations+s.Iteration, rec.MaxSessions
	row.Tokens, row.CostUSD = rec.TotalTokensUsed, rec.TotalCostUSD
	if rec.WorktreePath != nil {
		row.Worktree = *rec.WorktreePath
	}
	if p := s.Pursuit.Progress(); p.Known {
		row.Percent = &p.Percent
	}
	if n := len(rec.Caps); n > 0 {
		row.Tier, row.Cap = rec.Caps[n-1].Tier, &rec.Caps[n-1].Cap
	}
	if r.alive {
		row.PID = s.PID
		soFar(&row, r)
	}
	row.started(time.Time(rec.StartedAt), o.Now)
	row.State, row.Note = standing(r)
	return row
}

func (row *Row) started(at, now time.Time) {
	if at.IsZero() {
		return
	}
	row.Started, row.AgeSeconds = at, max(0, int64(now.Sub(at).Seconds()))
}

// soFar adds what the session that runs has used, as far as it was written down, and the cap
// that holds in it.
func soFar(row *Row, r *run) {
	c := r.state.Current
	if c == nil {
		return
	}
	id := sessions.ID(c.SessionID)
	var res sessions.Result
	if err := statedir.LoadJSON(sessions.ProgressPath(supervisor.SessionFolder(r.folder, id)), &res); err != nil || res.ID != id {
		return // it says so in a minute
	}
	row.Tokens += res.Usage.Input + res.Usage.Output + res.Usage.CacheCreation
	row.CostUSD += res.Usage.CostUSD
	if res.Caps.Tier != "" {
		row.Tier, row.Cap = res.Caps.Tier, &res.Caps.Cap
	}
}

// withoutState is how a run stands whose state is not there or cannot be read.
func withoutState(r *run, now time.Time) (State, string) {
	switch {
	case !errors.Is(r.err, fs.ErrNotExist):
		return StateUnreadable, "its state cannot be read"
	case fresh(r, now):
		return StateStarting, ""
	}
	return StateOpen, "it was killed before it began; the next start in its repository clears it away"
}

// fresh reports whether a run without a state may just be starting.
func fresh(r *run, now time.Time) bool { return !r.made.IsZero() && now.Sub(r.made) < startup }

// standing is how a run stands, and what there is to say about it.
func standing(r *run) (State, string) {
	s := &r.state
	switch {
	case s.Finished:
		return ended(s.Record)
	case !r.alive:
		return StateOpen, "its supervisor is gone; the next start in its repository finishes it"
	}
	if why := supervisor.StopRequested(r.folder); why != "" {
		return StateStopping, why
	}
	switch asked := s.Pursuit.Asked(); {
	case s.Waiting != nil:
		return StateWaiting, "until " + s.Waiting.Until.Local().Format(time.DateTime) + ": " + s.Waiting.Why
	case s.HeldInRow > 0:
		return StatePerson, "calls of its sessions wait for a person: 'autopilot gates'"
	case asked != nil && s.Pursuit.Current() == nil:
		return StatePerson, "it has a question: 'autopilot status'"
	case s.Current != nil:
		return StateRunning, ""
	case s.Iteration == 0:
		return StateStarting, ""
	case s.Pursuit.Interval > 0 && len(s.Pursuit.Goals) > 0:
		return StateLooking, ""
	}
	return StateRunning, "between two sessions"
}

// ended is how a run ended.
func ended(rec ledger.Run) (State, string) {
	state := StateEnded
	if t := rec.Termination; t != nil {
		if s, ok := map[string]State{
			ledger.Completed: StateDone, ledger.Paused: StatePerson, ledger.Stopped: StateStopped, ledger.Interrupted: StateInterrupted,
		}[t.Status]; ok {
			state = s
		}
	}
	why := rec.ExitCause
	if d := rec.KillSwitchDetail; d != nil && *d != "" {
		why += " (" + *d + ")"
	}
	return state, "ended " + time.Time(rec.CompletedAt).Local().Format(time.DateTime) + ": " + why
}

// storyRow is the row of a story: what the cohort knows, and where its own run is known,
// what that says.
func storyRow(e *entry, o Options) Row {
	m := e.member
	row := Row{}
	if e.run != nil {
		row = runRow(e.run, o)
		row.Tokens += e.run.state.Carried.Spent.Tokens
		row.CostUSD += e.run.state.Carried.Spent.CostUSD
	}
	if n := len(m.Runs); n > 0 && row.RunID == "" {
		row.RunID = m.Runs[n-1]
	}
	if e.run == nil || !e.run.alive {
		row.State, row.Note = storyState(e, o)
	}
	if e.run == nil && row.State != StateQueued && proctree.Alive(m.PID, m.Start) {
		row.PID = m.PID
	}
	row.Kind, row.Story, row.Parent = KindStory, m.ID, e.above.id
	row.Repo, row.Branch, row.Worktree = e.above.project.Path, m.Branch, ""
	if !samePath(m.Worktree, e.above.project.Path) {
		row.Worktree = m.Worktree
	}
	row.Iteration = max(row.Iteration, m.Sessions)
	row.Tokens, row.CostUSD = max(row.Tokens, m.Spent.Tokens), max(row.CostUSD, m.Spent.CostUSD)
	row.started(m.StartedAt, o.Now)
	return row
}

// storyState is how a story stands whose supervisor is not on, by the cohort's file.
func storyState(e *entry, o Options) (State, string) {
	m := e.member
	switch m.Status {
	case story.Waiting:
		if len(m.After) > 0 {
			return StateQueued, "after " + strings.Join(m.After, ", ")
		}
		return StateQueued, ""
	case story.Done:
		return StateDone, m.Why
	case story.Failed:
		return StateFailed, m.Why
	case story.Person:
		return StatePerson, m.Why
	case story.Stopped:
		return StateStopped, m.Why
	case story.Shut:
		return StateShut, m.Why
	}
	if e.run != nil && !e.run.read() {
		return withoutState(e.run, o.Now)
	}
	switch guarded := proctree.Alive(m.PID, m.Start); {
	case e.prepared():
		return StateStarting, "its work tree is being made"
	case !guarded && !e.trusted():
		return StateOpen, "its supervisor is gone"
	case len(m.Runs) == 0:
		return StateStarting, ""
	}
	return StateRunning, "about to end, or between two runs"
}

// prepared reports whether a story has been begun and has no process yet.
func (e *entry) prepared() bool {
	return e.member.Status == story.Running && e.member.PID == 0 && e.above.alive
}

// trusted reports whether a coordinator that lives says that a process is on, and not which
// one of all that had its pid.
func (e *entry) trusted() bool { return e.above.alive && e.member.PID > 0 && e.member.Start == 0 }

// cohortRow completes the row of a cohort with what its stories add up to.
func cohortRow(e *entry, stories []*entry) {
	row, c := &e.row, e.run.cohort
	if e.run.torn != nil {
		row.Note = joined("its stories cannot be read", row.Note)
		return
	}
	if row.Started.IsZero() {
		row.Started = c.StartedAt
	}
	row.Iteration, row.MaxSessions, row.Percent = 0, 0, nil
	if c.Tier != "" {
		row.Tier, row.Cap = c.Tier, &c.Cap
	}
	var tokens int64
	var cost float64
	waiting := 0
	for _, s := range stories {
		row.Iteration += s.row.Iteration
		tokens, cost = tokens+s.row.Tokens, cost+s.row.CostUSD
		if s.row.State == StatePerson {
			waiting++
		}
	}
	row.Tokens, row.CostUSD = max(row.Tokens, tokens), max(row.CostUSD, cost)
	live := e.run.alive && row.State != StateStopping
	switch {
	case live && c.Stop != nil:
		row.State, row.Note = StateStopping, cmp.Or(c.Stop.Detail, c.Stop.Reason)
	case live && waiting > 0 && waiting == active(stories):
		row.State, row.Note = StatePerson, ""
	case live:
		row.State, row.Note = StateRunning, ""
	}
	row.Note = joined(counted(c), row.Note)
}

// active counts the stories that are neither done, nor given up, nor still to be begun.
func active(stories []*entry) int {
	n := 0
	for _, s := range stories {
		switch s.row.State {
		case StateStarting, StateRunning, StateWaiting, StatePerson, StateLooking, StateStopping:
			n++
		}
	}
	return n
}

// counted says how many stories stand how, in the order of a story's life.
func counted(c story.Cohort) string {
	n := c.Counts()
	var words []string
	for _, s := range []story.Status{story.Running, story.Waiting, story.Done, story.Person, story.Failed, story.Stopped, story.Shut} {
		name := string(s)
		if s == story.Person {
			name = string(StatePerson)
		}
		if n[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", n[s], name))
		}
	}
	return strings.Join(words, ", ")
}

func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}
