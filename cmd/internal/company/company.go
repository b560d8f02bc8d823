package company

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/probe"
	"autopilot/supervisor"
	"autopilot/supervisor/account"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/shares"
	"autopilot/supervisor/story/shared"
)

const (
	beatEvery = 5 * time.Second
	watchFor  = time.Second // between two looks whether the coordinator lives
)

// company is who a run shares something with: everybody who uses the same account, and the
// stories of its cohort when it is one.
type company struct {
	account account.Account
	model   string
	run     string
	log     *slog.Logger
	view    *shared.View // nil outside of a cohort
	before  killswitch.Spend
	told    int // sessions that earlier runs of the story have used
}

// AccountOf is the account that the sessions of a run are paid from.
func AccountOf(std outside.Stdio, j job.Job) account.Account {
	return account.Of(j.State, std.Environ, j.Cfg.UseAPIKey)
}

// Keep connects a run with those that it shares something with.
func Keep(std outside.Stdio, j job.Job, o *supervisor.Options) error {
	c := &company{account: AccountOf(std, j), model: j.Cfg.Model, run: o.RunID, log: o.Log}
	o.Company = c
	if j.Story == nil {
		return nil
	}
	var err error
	if c.view, err = shared.Open(j.Story.Folder); err != nil {
		return err
	}
	last, err := shared.LoadSpend(j.Story.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // what was paid would be forgotten
	}
	carried := supervisor.Carried{}
	if o.Previous != nil {
		carried = o.Previous.Used()
	}
	c.before = killswitch.Spend{Tokens: max(0, last.Tokens-carried.Spent.Tokens), CostUSD: max(0, last.CostUSD-carried.Spent.CostUSD)}
	c.told = max(0, last.Sessions-carried.Iterations)
	c.Used(shares.Use{Spent: carried.Spent, Sessions: carried.Iterations}) // the run is on
	o.Parent, o.BlockedBy = j.Story.Cohort, j.Story.IssueBlockedBy
	measured, planned, stopped := o.Probe, o.AgentsFor, o.StopRequested
	// A coordinator that is suspended still counts: what it has granted last holds.
	granted := func() (shared.Allotment, bool) {
		a, fresh := c.view.Allotment(time.Now())
		return a, fresh || !a.At.IsZero() && c.view.CoordinatorAlive()
	}
	o.Probe = func(ctx context.Context) probe.Snapshot {
		if a, ok := granted(); ok {
			return a.Snapshot
		}
		return measured(ctx)
	}
	o.AgentsFor = func(mode string) int {
		a, ok := granted()
		if !ok {
			return planned(mode)
		}
		return min(planned(mode), a.Cap)
	}
	o.StopRequested = func() string {
		if why := stopped(); why != "" {
			return why
		}
		a, _ := c.view.Allotment(time.Now())
		return a.Stop
	}
	o.Aborted = func() bool {
		a, _ := c.view.Allotment(time.Now())
		return a.Stop != "" && a.Aborted
	}
	return nil
}

// Hold says until when no session may start: while the account is under a usage limit, and
// while the coordinator wants none.
func (c *company) Hold(now time.Time) (until time.Time, why string) {
	if l, ok := c.account.Until(c.model, now); ok && l.By != c.run {
		return l.Until, fmt.Sprintf("the account's usage limit (%s), which run %s met", l.Kind, l.By)
	}
	if c.view == nil {
		return time.Time{}, ""
	}
	if a, fresh := c.view.Allotment(now); (fresh || c.view.CoordinatorAlive()) && a.Hold && a.Stop == "" {
		return now.Add(time.Minute), a.HoldWhy
	}
	return time.Time{}, ""
}

// Others is what the other stories of the cohort use.
func (c *company) Others() shares.Others {
	if c.view == nil {
		return shares.Others{Among: 1}
	}
	sum, err := shared.Others(filepath.Dir(c.view.Task().Folder), c.view.Task().Story)
	if err != nil {
		c.log.Warn("what the other stories have used cannot be read", "err", err.Error())
	}
	a, _ := c.view.Allotment(time.Now())
	return shares.Others{
		Used:     killswitch.Spend{Tokens: sum.Tokens + c.before.Tokens, CostUSD: sum.CostUSD + c.before.CostUSD},
		Reserved: sum.Reserved, Holders: sum.Holders, Among: max(1, a.Among),
	}
}

// Limited tells all who use the account of a usage limit.
func (c *company) Limited(kind string, until time.Time) {
	err := c.account.Note(account.Limit{Until: until, Kind: kind, Model: limitedModel(kind, c.model), By: c.run, At: time.Now()})
	if err != nil {
		c.log.Warn("the usage limit could not be told to others", "err", logs.Redact(err.Error()))
	}
}

// limitedModel is the model that a kind of limit is for, empty for all.
func limitedModel(kind, model string) string {
	if kind == "seven_day_overage_included" { // of some models, which the kind does not name
		return model
	}
	return account.ModelOf(kind)
}

// Used tells the cohort what the run uses, and the account that it was answered.
func (c *company) Used(u shares.Use) {
	if u.Answered {
		if err := c.account.ClearModel(c.model, u.Began); err != nil {
			c.log.Warn("a usage limit that is over could not be cleared", "err", logs.Redact(err.Error()))
		}
	}
	if c.view == nil {
		return
	}
	s := shared.Spend{
		RunID: c.run, Tokens: c.before.Tokens + u.Spent.Tokens, CostUSD: c.before.CostUSD + u.Spent.CostUSD, Sessions: c.told + u.Sessions,
		Reserved: max(0, u.Reserved), UpdatedAt: time.Now(),
	}
	if err := shared.SaveSpend(c.view.Task().Folder, s); err != nil {
		c.log.Error("what the story has used could not be written down", "err", logs.Redact(err.Error()))
	}
}

// WatchCoordinator has the supervisor of a story give signs of life, and tells when its
// coordinator has died. A run that is no story has none. Stop has to be called.
func WatchCoordinator(ctx context.Context, j job.Job) (orphaned <-chan struct{}, stop func(), err error) {
	if j.Story == nil {
		return nil, func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	wait, err := stayAlive(ctx, j.Story.Folder, gone)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return gone, func() { cancel(); wait() }, nil
}

// stayAlive gives signs of life to the coordinator of a story and closes gone when it has died.
// It ends with ctx.
func stayAlive(ctx context.Context, folder string, gone chan<- struct{}) (wait func(), err error) {
	view, err := shared.Open(folder)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(watchFor)
		defer t.Stop()
		for last := (time.Time{}); ; {
			if now := time.Now(); now.Sub(last) >= beatEvery {
				last = now
				_ = view.Beat(now) // without it the story counts as silent, which tells more than a log line
			}
			if !view.CoordinatorAlive() {
				close(gone)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
	})
	return wg.Wait, nil
}
