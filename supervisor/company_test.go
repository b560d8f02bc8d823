package supervisor

import (
	"strings"
	"testing"
	"time"

	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/shares"
	"autopilot/supervisor/source"
)

// crew is a company whose answers are set by a test.
type crew struct {
	until    time.Time // no session before
	why      string
	used     killswitch.Spend // of the others
	among    int
	reserved float64 // of the others
	holders  int
	mine     []float64 // reserved by the run
	limits   []string
	told     []killswitch.Spend
	answers  []bool
}

func (c *crew) Hold(now time.Time) (time.Time, string) {
	if now.Before(c.until) {
		return c.until, c.why
	}
	return time.Time{}, ""
}

func (c *crew) Others() shares.Others {
	return shares.Others{Used: c.used, Reserved: c.reserved, Holders: c.holders, Among: c.among}
}
func (c *crew) Limited(kind string, until time.Time) { c.limits = append(c.limits, kind) }
func (c *crew) Used(u shares.Use) {
	if u.Reserved > 0 {
		c.mine = append(c.mine, u.Reserved)
		return
	}
	c.told, c.answers = append(c.told, u.Spent), append(c.answers, u.Answered)
}

func TestHeldBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(10*time.Minute))
		w.opts.Limits.MaxSessions = 1
		w.opts.Company = &crew{until: time.Now().Add(20 * time.Minute), why: "the account's usage limit"}
		var waiting string
		w.opts.Live = func(Status) {
			if st := w.state(); st.Waiting != nil {
				waiting = st.Waiting.Why
			}
		}
		w.play(t.Context())
		if len(w.calls) != 1 || w.calls[0].at < 20*time.Minute || w.calls[0].at > 21*time.Minute {
			t.Fatalf("calls %+v, want one after 20 minutes", w.calls)
		}
		rec := w.record()
		if waiting != "the account's usage limit" || rec.WaitedSeconds < 1200 || rec.IterationsCompleted != 1 || rec.Endings[0].Ending != "completed" {
			t.Errorf("waited for %q, record %+v", waiting, rec)
		}
	})
}

// TestHeldBackForTooLong has a run wait until its hours are over: it ends for that.
func TestHeldBackForTooLong(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(10*time.Minute))
		w.opts.Company = &crew{until: time.Now().Add(30 * time.Hour), why: "the account's usage limit"}
		w.play(t.Context())
		if rec := w.record(); len(w.calls) != 0 || rec.KillSwitch == nil || *rec.KillSwitch != string(killswitch.MaxHoursExceeded) {
			t.Errorf("%d calls, record %+v", len(w.calls), rec)
		}
	})
}

func TestStoppedWhileHeldBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(10*time.Minute))
		w.opts.Company = &crew{until: time.Now().Add(30 * time.Hour), why: "the account's usage limit"}
		started := time.Now()
		w.opts.StopRequested = func() string {
			if time.Since(started) > time.Minute {
				return "stop was requested by a person"
			}
			return ""
		}
		w.play(t.Context())
		rec := w.record()
		if len(w.calls) != 0 || *rec.KillSwitch != string(killswitch.UserAbort) || !strings.Contains(*rec.KillSwitchDetail, "while waiting for the account's usage limit") {
			t.Errorf("%d calls, record %+v", len(w.calls), rec)
		}
	})
}

// TestBudgetOfTheCohort counts what the others have used as the run's own, and gives a
// session its part of what is left.
func TestBudgetOfTheCohort(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := &crew{used: killswitch.Spend{Tokens: 450, CostUSD: 4}, among: 3}
		costly := completed(time.Minute).with(func(r *sessions.Result) { r.Usage.Input, r.Usage.Output, r.Usage.CostUSD = 100, 200, 3 })
		w := newWorld(t, costly)
		w.opts.Company, w.opts.Limits.MaxTokens, w.opts.Limits.MaxCostUSD = c, 1000, 100
		w.play(t.Context())
		if len(w.calls) != 1 {
			t.Fatalf("%d calls, want one: 750 of 1000 are used, and another would take 300", len(w.calls))
		}
		if got, want := w.calls[0].spec.BudgetUSD, (100.0-4)/3; got != want {
			t.Errorf("the session was given $%v, want $%v", got, want)
		}
		rec := w.record()
		if *rec.KillSwitch != string(killswitch.TokenBudgetExceeded) || rec.TotalTokensUsed != 300 {
			t.Errorf("record %+v", rec)
		}
		if len(c.told) != 1 || c.told[0].Tokens != 300 || c.told[0].CostUSD != 3 || !c.answers[0] {
			t.Errorf("told %+v %v", c.told, c.answers)
		}
	})
}

func TestLimitIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := &crew{among: 1}
		w := newWorld(t, limitedFor(time.Minute, time.Hour).with(func(r *sessions.Result) {
			r.ResetAt, r.LimitKind = time.Now().Add(time.Hour), "five_hour"
		}), completed(time.Minute))
		w.opts.Company, w.opts.Limits.MaxSessions = c, 1
		w.play(t.Context())
		if len(c.limits) != 1 || c.limits[0] != "five_hour" {
			t.Errorf("told of the limits %v", c.limits)
		}
	})
}

// TestRecordOfAStory has the record name the cohort, and say that the cohort stopped it.
func TestRecordOfAStory(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, completed(time.Minute))
		w.opts.Parent, w.opts.BlockedBy, w.opts.Worktree = "main-cohort", 12, "/srv/trees/a"
		w.opts.StopRequested = func() string {
			if len(w.calls) > 0 {
				return "the cohort ends: spiral"
			}
			return ""
		}
		w.opts.Aborted = func() bool { return true }
		var chosen []sessions.ID
		w.opts.Chosen = func(_ source.Assignment, id sessions.ID) { chosen = append(chosen, id) }
		w.play(t.Context())
		rec := w.record()
		if rec.ParentRunID == nil || *rec.ParentRunID != "main-cohort" || rec.BlockedByIssue == nil || *rec.BlockedByIssue != 12 || *rec.WorktreePath != "/srv/trees/a" || !rec.AbortedByCohort {
			t.Errorf("record %+v", rec)
		}
		if len(chosen) != 1 || string(chosen[0]) != rec.Sessions[0] {
			t.Errorf("chosen %v, sessions %v", chosen, rec.Sessions)
		}
		if rec.Endings[0].Ending != string(outcome.Completed) {
			t.Errorf("endings %+v", rec.Endings)
		}
	})
}

// TestReservedMoney gives a session its part of what nobody holds, and has it wait for what
// others may still spend.
func TestReservedMoney(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := &crew{among: 2, reserved: 5, holders: 1}
		costly := completed(time.Minute).with(func(r *sessions.Result) { r.Usage.CostUSD = 4.9 })
		w := newWorld(t, costly)
		w.opts.Company, w.opts.Limits.MaxCostUSD, w.opts.Limits.MaxSessions = c, 10, 2
		go func() {
			time.Sleep(10 * time.Minute)
			c.reserved, c.holders, c.among = 0, 0, 1
		}()
		w.play(t.Context())
		if len(w.calls) != 2 || w.calls[1].at < 10*time.Minute {
			t.Fatalf("calls %+v, want the second after what the other held is free", w.calls)
		}
		if a, b := w.calls[0].spec.BudgetUSD, w.calls[1].spec.BudgetUSD; a != 5 || b < 5.09 || b > 5.11 {
			t.Errorf("the sessions were given $%v and $%v", a, b)
		}
		if len(c.mine) != 2 || c.mine[0] != 5 {
			t.Errorf("reserved %v", c.mine)
		}
	})
}

// TestPartUsedUp has a session use up its part of the budget: the run goes on while there is
// more.
func TestPartUsedUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		spent := ends(outcome.Failed, time.Minute).with(func(r *sessions.Result) { r.Budget, r.Usage.CostUSD = true, 2 })
		w := newWorld(t, spent, completed(time.Minute))
		w.opts.Company, w.opts.Limits.MaxCostUSD, w.opts.Limits.MaxSessions = &crew{among: 4}, 8, 2
		w.play(t.Context())
		if len(w.calls) != 2 || *w.record().KillSwitch != string(killswitch.MaxSessionsReached) {
			t.Errorf("%d calls, ended by %s", len(w.calls), *w.record().KillSwitch)
		}
	})
}
