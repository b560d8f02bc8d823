package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/ledger"
	"autopilot/metrics/statedir"
	"autopilot/probe/proctree"
	"autopilot/supervisor"
	"autopilot/supervisor/account"
	"autopilot/supervisor/queue/work"
	"autopilot/supervisor/story"
	"autopilot/supervisor/story/cohort"
	"autopilot/supervisor/story/shared"
	"autopilot/supervisor/story/worktree"
)

const (
	silence  = 5 * time.Minute
	leftover = 45 * time.Second // that supervisors of a coordinator that died have to end
)

// Coordination is what a run has that coordinates stories.
type Coordination struct {
	ID, Folder, Branch string
	Token              string
	Night              night.Night
	Ledgers            *ledger.Ledgers
	Log                *slog.Logger
	Poke               <-chan struct{}
	Kill               context.Context
	Nested             bool
	Account            account.Account
	Previous           *supervisor.State // run that is continued, or nil
	LeastDisk          uint64            // bytes below which nothing is begun
	Beginning
	// TellRun and TellItem bring the run and its stories to those who are told of progress.
	TellRun  func(supervisor.State)
	Moved    func() // a sign of life of the loop
	TellItem func(work.Standing)
}

// Load reads the cohort of the run in a folder. The error wraps fs.ErrNotExist when the run
// coordinates nothing.
func Load(folder string) (story.Cohort, error) {
	var c story.Cohort
	path := filepath.Join(folder, story.File)
	if err := statedir.LoadJSON(path, &c); err != nil {
		return c, err
	}
	if c.Version != story.Version {
		return c, fmt.Errorf("read %s: version %d is not known, want %d", path, c.Version, story.Version)
	}
	return c, nil
}

// Coordinate works on several stories at once until nothing more can be done.
func Coordinate(ctx context.Context, std outside.Stdio, j job.Job, co Coordination) (supervisor.Outcome, error) {
	started := time.Now()
	s := &stage{
		std: std, job: j, run: co.ID, folder: co.Folder, log: co.Log, began: started, nested: co.Nested,
		trees: Trees(j.Place, std),
		own:   shared.Process{PID: os.Getpid()}, base: co.Base, forge: co.forge, push: co.push, token: co.Token, ledgers: co.Ledgers,
	}
	s.own.Start, _ = proctree.StartOf(os.Getpid())
	state := supervisor.NewState(supervisor.Options{RunID: co.ID, Version: outside.Version(), Branch: co.Branch, Worktree: j.Worktree(), Source: job.Stories{}, Mode: j.Cfg.Mode, Limits: j.Limits()}, started, "")
	state.Token = co.Token
	if co.Previous != nil {
		state.Record.ResumedFrom = co.Previous.Record.AutopilotRunID
	}
	c, err := s.cohort(ctx, j, co, started)
	if err != nil {
		return supervisor.Outcome{}, err
	}
	keep := func(c story.Cohort) error {
		follow(&state, c)
		return errors.Join(statedir.ReplaceJSON(filepath.Join(co.Folder, story.File), c), state.Save(co.Folder))
	}
	if err := keep(c); err != nil {
		return supervisor.Outcome{Record: state.Record}, err
	}
	if co.Previous != nil {
		if err := supervisor.MarkResumed(filepath.Join(filepath.Dir(co.Folder), co.Previous.Record.AutopilotRunID), co.ID); err != nil {
			return supervisor.Outcome{Record: state.Record}, err
		}
	}
	co.Log.Info("run started", "run_id", co.ID, "source", job.Stories{}.Name(), "stories", len(c.Members), "max_stories", c.Max, "isolation", string(c.Isolation), "base", s.base.Commit)
	o := s.options(j, co)
	o.Save = keep
	asked := o.StopRequested
	o.StopRequested = func() string { // in every turn of the loop
		co.Moved()
		return asked()
	}
	tell := o.Tell
	o.Tell = func(m story.Member) {
		tell(m)
		co.TellRun(state)
	}
	c, err = cohort.Run(ctx, co.Kill, c, o)
	return ended{co, &state, c, err}.conclude(ctx)
}

// Trees are the work trees of stories of a place.
func Trees(p job.Place, std outside.Stdio) worktree.Manager {
	root := p.Cfg.Stories.Dir
	if root == "" {
		root = filepath.Join(p.State, "worktrees", statedir.Slug(p.Repo.Top))
	} else if !filepath.IsAbs(root) {
		root = filepath.Join(p.Repo.Top, root)
	}
	return worktree.Manager{Repo: p.Repo.Top, Root: root, Environ: std.Environ}
}

// cohort is the cohort of the run that is continued, or a new one of the stories that were
// asked for.
func (s *stage) cohort(ctx context.Context, j job.Job, co Coordination, now time.Time) (story.Cohort, error) {
	cfg := j.Cfg.Stories
	for _, n := range co.Notes {
		co.Log.Warn(n)
	}
	c := story.Cohort{Members: []story.Member{}}
	if co.Previous != nil {
		var err error
		before := filepath.Join(filepath.Dir(co.Folder), co.Previous.Record.AutopilotRunID)
		if c, err = Load(before); err != nil {
			return c, err
		}
		if err := s.awaitLeft(ctx, &c); err != nil {
			return c, err
		}
	} else {
		if err := queued(j, co.Night); err != nil {
			return c, err
		}
		for _, st := range co.List {
			c.Members = append(c.Members, story.Member{Story: st, Status: story.Waiting, Folder: s.Folder(st.ID)})
		}
	}
	c.Version, c.RunID, c.StartedAt, c.Isolation, c.Max = story.Version, co.ID, now, story.Isolation(cfg.Isolation), cfg.Max
	c.Agents = max(j.Cfg.AgentsFor(""), cfg.Max)
	return c, nil
}

// awaitLeft waits for supervisors that a coordinator which died has left: they end by
// themselves. It is refused to go on beside one that does not.
func (s *stage) awaitLeft(ctx context.Context, c *story.Cohort) error {
	for deadline := time.Now().Add(leftover); ; {
		var alive []string
		for _, m := range c.Members {
			st, ok := s.state(m)
			switch {
			case ok && st.Alive():
				alive = append(alive, fmt.Sprintf("%s (pid %d)", m.ID, st.PID))
			case m.PID != 0 && m.Start != 0 && proctree.Alive(m.PID, m.Start): // it has written no state yet
				alive = append(alive, fmt.Sprintf("%s (pid %d)", m.ID, m.PID))
			}
		}
		if len(alive) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return outside.UsageHint("'autopilot fleet stop' ends them", "supervisors of the run that is continued are still on: %s", strings.Join(alive, ", "))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

func (s *stage) options(j job.Job, co Coordination) cohort.Options {
	o := cohort.Options{
		Stage: s, Limits: j.Limits(), Probe: j.Probe, Every: j.Cfg.ProbeInterval, Lanes: lanes(j.Cfg.Stories), Silence: silence, Give: give,
		Room: func() bool {
			for _, dir := range []string{co.Folder, s.trees.Root, j.Repo.Top} {
				if free, err := statedir.FreeBytes(dir); err == nil && free < co.LeastDisk {
					return false
				}
			}
			return true
		},
		Limited: func(now time.Time) (time.Time, string) {
			l, ok := co.Account.Until(j.Cfg.Model, now)
			if !ok {
				return time.Time{}, ""
			}
			return l.Until, "the account's usage limit " + l.Kind
		},
		StopRequested: func() string { return supervisor.StopRequested(co.Folder) }, Poke: co.Poke, Log: co.Log,
		Tell: func(m story.Member) {
			co.TellItem(standing(m))
			if err := tellQueue(co.Night, m, co.ID); err != nil {
				co.Log.Warn("the queue could not be told how a story stands", "story", m.ID, "err", err.Error())
			}
		},
	}
	if d := j.Cfg.Stories.Draft; d != config.DraftOff && !s.shared() {
		o.Draft, o.Early = s.draft, d == config.DraftOnStart
	}
	return o
}

// give writes down what a story may use.
func give(sh cohort.Share) error {
	return shared.SaveAllotment(sh.Member.Folder, shared.Allotment{
		At: time.Now(), Tier: sh.Tier, Cap: sh.Cap, Hold: sh.Hold, HoldWhy: sh.HoldWhy, Among: sh.Among, Stop: sh.Stop, Aborted: sh.Aborted, Snapshot: sh.Snapshot,
	})
}

// follow brings the state of the run up to how its stories stand.
func follow(st *supervisor.State, c story.Cohort) {
	used := c.Spent()
	co := &ledger.Coordinator{
		Kind: ledger.CoordinatorKind, RunID: c.RunID, EndedAt: ledger.Stamp(time.Now()), ChildRunIDs: []string{}, Stories: []ledger.Story{},
		CohortTokens: used.Tokens, CohortCostUSD: used.CostUSD,
	}
	for _, m := range c.Members {
		co.ChildRunIDs = append(co.ChildRunIDs, m.Runs...)
		if len(m.Runs) > 0 {
			co.LoopCount++
		}
		switch m.Status {
		case story.Done:
			co.CompletedCount++
		case story.Failed, story.Shut:
			co.FailedCount++
		}
		line := ledger.Story{ID: m.ID, Title: m.Title, Status: string(m.Status), Why: m.Why, Runs: append([]string{}, m.Runs...), Branch: m.Branch, Commits: m.Commits, Sessions: m.Sessions, Draft: m.Draft, Kept: m.Kept}
		if m.Kept != "" {
			line.Worktree = m.Worktree
		}
		co.Stories = append(co.Stories, line)
	}
	if c.Stop != nil {
		co.StopReason, co.KillDetail, co.CohortAborted = c.Stop.Reason, c.Stop.Detail, c.Stop.Aborted
	}
	if st.Record.ResourceVerdictAtStart == nil || *st.Record.ResourceVerdictAtStart == "" {
		verdict := c.Tier
		st.Record.ResourceVerdictAtStart = &verdict
	}
	st.Record.Coordinator = co
}

// ended is a cohort that is over.
type ended struct {
	Coordination
	state   *supervisor.State
	cohort  story.Cohort
	failure error // that kept it from being written down
}

// conclude writes the record of the run.
func (e ended) conclude(ctx context.Context) (supervisor.Outcome, error) {
	rec := &e.state.Record
	follow(e.state, e.cohort)
	now := time.Now()
	rec.CompletedAt, rec.EndedAt = ledger.Stamp(now), ledger.Stamp(now)
	rec.DurationSeconds = max(0, int64(now.Sub(time.Time(rec.StartedAt).Round(0)).Round(time.Second).Seconds()))
	rec.ExitCode = story.ExitCode(e.cohort)
	if i, ok := errors.AsType[supervisor.Interrupted](context.Cause(ctx)); ok {
		rec.ExitCode = 128 + int(i.Signal)
	}
	rec.ExitCause = rec.StopReason
	detail := rec.KillDetail
	rec.KillSwitchDetail = &detail
	if k, ok := killSwitch(rec.StopReason); ok {
		rec.KillSwitch = &k
		if rec.StopReason == story.ReasonSignal {
			rec.ExitCause = k
		}
	}
	rec.Termination = termination(e.cohort, *rec)
	if err := errors.Join(e.failure, e.state.Save(e.Folder), e.Ledgers.AddRun(*rec)); err != nil {
		rec.ExitCode = supervisor.ExitError
		return supervisor.Outcome{Record: *rec}, err
	}
	e.state.Finished = true
	t := rec.Termination
	e.Log.Info("run ended", "act", "termination", "status", t.Status, "reason", t.Reason, "summary", t.Summary)
	e.TellRun(*e.state)
	return supervisor.Outcome{Record: *rec, Told: Text(e.cohort)}, e.state.Save(e.Folder)
}

// tellQueue tells the queue that a story came from how it stands.
func tellQueue(n night.Night, m story.Member, run string) error {
	if m.Item == "" || m.Status != story.Done && m.Status != story.Person && (m.Status != story.Failed || m.Sessions == 0) {
		return nil
	}
	return n.Over(m.Item, run, m.Status == story.Done, m.Status == story.Person, cmp.Or(m.Why, string(m.Status)))
}
