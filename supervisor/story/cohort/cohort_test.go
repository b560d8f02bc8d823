package cohort

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/story"
)

// play is a stage whose supervisors do what a script says.
type play struct {
	mu       sync.Mutex
	script   map[string][]act // of each story, one for each of its supervisors
	running  map[string]*actor
	most     int      // supervisors at once
	begun    []string // in order
	left     []string
	shares   map[string]Share
	prepared func(id string) error
	slow     time.Duration // that a work tree takes
}

// act is what a supervisor does.
type act struct {
	takes    time.Duration
	standing Standing
	exit     int
	deaf     bool // to being told to end
	silent   bool // gives no signs of life
}

type actor struct {
	act
	p      *play
	id     string
	ended  chan struct{}
	once   sync.Once
	ends   int
	killed bool
}

func (a *actor) PID() int { return 1 }

func (a *actor) Wait() int {
	select {
	case <-time.After(a.takes):
	case <-a.ended:
	}
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	delete(a.p.running, a.id)
	switch {
	case a.killed:
		a.p.script[a.id][0].standing = Standing{RunID: "r", Begun: true, Cause: "killed"}
		return 137
	case a.ends > 0:
		a.p.script[a.id][0].standing = Standing{RunID: "r", Begun: true, Cause: "user-abort", KillSwitch: killswitch.UserAbort}
		return 143
	}
	return a.exit
}

func (a *actor) End() {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.ends++
	if !a.deaf {
		a.once.Do(func() { close(a.ended) })
	}
}

func (a *actor) Kill() {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.killed = true
	a.once.Do(func() { close(a.ended) })
}

func (p *play) Prepare(ctx context.Context, m *story.Member, _ []story.Member) error {
	select {
	case <-time.After(p.slow):
	case <-ctx.Done():
		return ctx.Err()
	}
	m.Worktree, m.Branch, m.Base = "/srv/trees/"+m.ID, "autopilot/"+m.ID, "base"
	if p.prepared != nil {
		return p.prepared(m.ID)
	}
	return nil
}

func (p *play) Launch(_ context.Context, m story.Member) (Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(p.begun), func(id string) bool { return id != m.ID })); n > 0 && len(p.script[m.ID]) > 1 {
		p.script[m.ID] = p.script[m.ID][1:]
	}
	p.begun = append(p.begun, m.ID)
	a := &actor{act: p.script[m.ID][0], p: p, id: m.ID, ended: make(chan struct{})}
	p.running[m.ID] = a
	p.most = max(p.most, len(p.running))
	return a, nil
}

func (p *play) Look(m story.Member) Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.script[m.ID][0].standing
	if a := p.running[m.ID]; a != nil && !a.silent {
		st.Beat = time.Now()
	}
	return st
}

func (p *play) Leave(_ context.Context, m *story.Member) { p.left = append(p.left, m.ID) }

func done() act {
	return act{takes: 10 * time.Second, standing: Standing{RunID: "r", Begun: true, Item: story.Done, Cause: "work-done", Sessions: 1}}
}

func wrong(k killswitch.Reason) act {
	return act{takes: 10 * time.Second, exit: 3, standing: Standing{RunID: "r", Begun: true, Item: "", Cause: string(k), KillSwitch: k}}
}

func crash() act {
	return act{takes: 5 * time.Second, exit: 137, standing: Standing{RunID: "r", Begun: true, Cause: "killed"}}
}

// trial is a cohort on a play.
type trial struct {
	p      *play
	c      story.Cohort
	o      Options
	saved  []story.Cohort
	free   float64 // GB of memory
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   string
}

func newTrial(most int, stories map[string][]act, after map[string][]string) *trial {
	t := &trial{free: 100, p: &play{script: stories, running: map[string]*actor{}, shares: map[string]Share{}}}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	t.c = story.Cohort{Version: story.Version, StartedAt: time.Now(), Isolation: story.Worktree, Max: most, Agents: 6}
	for _, id := range slices.Sorted(func(yield func(string) bool) {
		for id := range stories {
			if !yield(id) {
				return
			}
		}
	}) {
		t.c.Members = append(t.c.Members, story.Member{Story: story.Story{ID: id, Kind: story.Goal, Goal: id, Title: id, After: after[id]}, Status: story.Waiting})
	}
	t.o = Options{
		Stage: t.p, Limits: killswitch.Limits{MaxHours: 24}, Every: 15 * time.Second, Silence: 5 * time.Minute, Log: slog.New(slog.DiscardHandler),
		Probe: func(context.Context) probe.Snapshot {
			t.p.mu.Lock()
			defer t.p.mu.Unlock()
			free := t.free
			return probe.Snapshot{TakenAt: time.Now(), Signals: tier.Signals{RAMAvailableGB: &free}}
		},
		Give: func(s Share) error {
			t.p.mu.Lock()
			defer t.p.mu.Unlock()
			t.p.shares[s.Member.ID] = s
			return nil
		},
		Save: func(c story.Cohort) error { t.saved = append(t.saved, c); return nil },
		StopRequested: func() string {
			t.p.mu.Lock()
			defer t.p.mu.Unlock()
			return t.stop
		},
	}
	return t
}

func (t *trial) run() (story.Cohort, error) {
	return Run(t.ctx, context.Background(), t.c, t.o)
}

// be sets the memory that is available, in GB.
func (t *trial) be(free float64) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.free = free
}

func statuses(c story.Cohort) string {
	var out []string
	for _, m := range c.Members {
		out = append(out, m.ID+" "+string(m.Status))
	}
	return strings.Join(out, ", ")
}

func TestCohort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(2, map[string][]act{"a": {done()}, "b": {done()}, "c": {done()}, "d": {done()}}, map[string][]string{"c": {"a"}, "b": {"d"}})
		c, err := tr.run()
		if err != nil {
			t.Fatal(err)
		}
		if got := statuses(c); got != "a done, b done, c done, d done" || c.Stop == nil || c.Stop.Reason != story.ReasonDone {
			t.Errorf("stories %s, stop %+v", got, c.Stop)
		}
		if tr.p.most > 2 || slices.Index(tr.p.begun, "c") < slices.Index(tr.p.begun, "a") || slices.Index(tr.p.begun, "b") < slices.Index(tr.p.begun, "d") {
			t.Errorf("at once %d, begun %v", tr.p.most, tr.p.begun)
		}
		if len(tr.p.left) != 4 || story.ExitCode(c) != 0 {
			t.Errorf("left %v, exit %d", tr.p.left, story.ExitCode(c))
		}
		if len(tr.saved) == 0 || statuses(tr.saved[len(tr.saved)-1]) != statuses(c) {
			t.Error("the last state is not saved")
		}
	})
}

// TestTwiceTheSame has two stories end for the same reason: the cohort stops, and what runs
// is told so.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := done()
		long.takes = time.Hour
		tr := newTrial(3, map[string][]act{"a": {wrong(killswitch.Spiral)}, "b": {wrong(killswitch.Spiral)}, "c": {long}, "d": {done()}}, map[string][]string{"d": {"c"}})
		c, err := tr.run()
		if err != nil {
			t.Fatal(err)
		}
		if got := statuses(c); got != "a failed, b failed, c done, d waiting" {
			t.Errorf("stories %s, begun %v", got, tr.p.begun)
		}
		if c.Stop == nil || !c.Stop.Aborted || !strings.HasPrefix(c.Stop.Reason, story.ReasonTwice) {
			t.Errorf("stop %+v", c.Stop)
		}
		if s := tr.p.shares["c"]; s.Stop == "" || !s.Aborted {
			t.Errorf("the running story was given %+v", s)
		}
	})
}

func TestOneFailureStopsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(2, map[string][]act{"a": {wrong(killswitch.Spiral)}, "b": {wrong(killswitch.FailedWave)}, "c": {done()}}, nil)
		c, err := tr.run()
		if got := statuses(c); err != nil || got != "a failed, b failed, c done" || c.Stop.Aborted || story.ExitCode(c) != 3 {
			t.Errorf("stories %s, stop %+v, exit %d, %v", got, c.Stop, story.ExitCode(c), err)
		}
	})
}

func TestKilledSupervisors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(3, map[string][]act{"a": {crash(), crash(), done()}, "b": {crash()}}, nil)
		c, err := tr.run()
		if got := statuses(c); err != nil || got != "a done, b failed" {
			t.Errorf("stories %s, %v", got, err)
		}
		if b := c.Find("b"); b.Crashes != 3 || !strings.Contains(b.Why, "killed 3 times") {
			t.Errorf("b: %d crashes, %q", b.Crashes, b.Why)
		}
	})
}

// TestCritical has the machine turn critical while two stories run: nothing is begun, one
// of the two goes on, and when the machine has been well for a while the third is begun.
func TestCritical(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := done(), done()
		a.takes, b.takes = 3*time.Minute, 4*time.Minute
		tr := newTrial(2, map[string][]act{"a": {a}, "b": {b}, "c": {done()}}, nil)
		var at []string
		go func() {
			time.Sleep(time.Minute)
			tr.be(1)
			time.Sleep(time.Minute)
			tr.p.mu.Lock()
			at = append(at, fmt.Sprintf("a %d %v, b %d %v", tr.p.shares["a"].Cap, tr.p.shares["a"].Hold, tr.p.shares["b"].Cap, tr.p.shares["b"].Hold))
			tr.p.mu.Unlock()
			time.Sleep(10 * time.Minute)
			tr.p.mu.Lock()
			at = append(at, fmt.Sprint(len(tr.p.begun)))
			tr.p.mu.Unlock()
			tr.be(100)
		}()
		c, err := tr.run()
		if got := statuses(c); err != nil || got != "a done, b done, c done" {
			t.Errorf("stories %s, %v", got, err)
		}
		if want := []string{"a 0 false, b 0 true", "2"}; !slices.Equal(at, want) {
			t.Errorf("shares when critical, begun after: %v, want %v", at, want)
		}
	})
}

// TestShares has the cap shared out again when a story begins and ends.
func TestShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := done()
		b.takes = time.Minute
		tr := newTrial(2, map[string][]act{"a": {done()}, "b": {b}}, nil)
		var both, one Share
		go func() {
			time.Sleep(5 * time.Second)
			tr.p.mu.Lock()
			both = tr.p.shares["b"]
			tr.p.mu.Unlock()
			time.Sleep(15 * time.Second)
			tr.p.mu.Lock()
			one = tr.p.shares["b"]
			tr.p.mu.Unlock()
		}()
		if _, err := tr.run(); err != nil {
			t.Fatal(err)
		}
		if both.Cap != 3 || both.Among != 2 || one.Cap != 6 || one.Among != 1 {
			t.Errorf("among two %d/%d, alone %d/%d", both.Cap, both.Among, one.Cap, one.Among)
		}
	})
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := done()
		long.takes = 10 * time.Hour
		tr := newTrial(2, map[string][]act{"a": {long}, "b": {long}, "c": {done()}}, nil)
		go func() {
			time.Sleep(time.Minute)
			tr.cancel(errors.New("received interrupt"))
		}()
		c, err := tr.run()
		if got := statuses(c); err != nil || got != "a stopped, b stopped, c waiting" || c.Stop.Reason != story.ReasonSignal {
			t.Errorf("stories %s, stop %+v, %v", got, c.Stop, err)
		}
	})
}

// TestDeafSupervisor has a supervisor that does not end when it is told to.
func TestDeafSupervisor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		deaf := done()
		deaf.takes, deaf.deaf = 100*time.Hour, true
		tr := newTrial(2, map[string][]act{"a": {deaf}}, nil)
		go func() {
			time.Sleep(time.Minute)
			tr.cancel(errors.New("received interrupt"))
		}()
		start := time.Now()
		c, err := tr.run()
		if got := statuses(c); err != nil || got != "a stopped" || time.Since(start) > 10*time.Minute {
			t.Errorf("stories %s after %v, %v", got, time.Since(start), err)
		}
	})
}

// TestSilentSupervisor has a supervisor that gives no sign of life: it is ended, and the
// story has failed for that reason.
func TestSilentSupervisor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := done()
		silent.takes, silent.deaf, silent.silent = 100*time.Hour, true, true
		tr := newTrial(2, map[string][]act{"a": {silent}, "b": {done()}}, nil)
		c, err := tr.run()
		a := c.Find("a")
		if err != nil || statuses(c) != "a failed, b done" || a.KillSwitch != killswitch.StallTimeout || !strings.Contains(a.Why, "no sign of life") {
			t.Errorf("stories %s, %s %q, %v", statuses(c), a.KillSwitch, a.Why, err)
		}
	})
}

func TestStopRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1, map[string][]act{"a": {done()}, "b": {done()}}, nil)
		go func() {
			time.Sleep(3 * time.Second)
			tr.p.mu.Lock()
			tr.stop = "stop was requested by a person"
			tr.p.mu.Unlock()
		}()
		c, err := tr.run()
		if err != nil || statuses(c) != "a done, b waiting" || c.Stop.Reason != string(killswitch.UserAbort) {
			t.Errorf("stories %s, stop %+v, %v", statuses(c), c.Stop, err)
		}
	})
}

// TestUnwritable has the cohort not be written down any more: nothing is begun then.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1, map[string][]act{"a": {done()}, "b": {done()}}, nil)
		full := errors.New("no space left on device")
		n := 0
		tr.o.Save = func(story.Cohort) error {
			if n++; n > 3 {
				return full
			}
			return nil
		}
		c, err := tr.run()
		if !errors.Is(err, full) || slices.Contains(tr.p.begun, "b") {
			t.Errorf("stories %s, begun %v, %v", statuses(c), tr.p.begun, err)
		}
	})
}

func TestPrepareFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(2, map[string][]act{"a": {done()}, "b": {done()}}, nil)
		tr.p.prepared = func(id string) error {
			if id == "a" {
				return errors.New("npm ci: exit status 1")
			}
			return nil
		}
		c, err := tr.run()
		if err != nil || statuses(c) != "a failed, b done" || !strings.Contains(c.Find("a").Why, "npm ci") {
			t.Errorf("stories %s, %q, %v", statuses(c), c.Find("a").Why, err)
		}
	})
}

// TestBudget has the stories use up what the cohort has.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dear := done()
		dear.standing.Spent = killswitch.Spend{Tokens: 600, CostUSD: 1}
		tr := newTrial(1, map[string][]act{"a": {dear}, "b": {dear}, "c": {dear}}, nil)
		tr.o.Limits.MaxTokens = 1000
		c, err := tr.run()
		if err != nil || statuses(c) != "a done, b done, c waiting" || story.ExitCode(c) != 6 {
			t.Errorf("stories %s, exit %d, stop %+v, %v", statuses(c), story.ExitCode(c), c.Stop, err)
		}
	})
}

// TestContinued goes on with a cohort that was left in every state.
func TestContinued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(3, map[string][]act{"a": {done()}, "b": {done()}, "c": {done()}, "d": {done()}, "e": {done()}}, nil)
		for i, s := range []story.Status{story.Done, story.Running, story.Stopped, story.Shut, story.Person} {
			tr.c.Members[i].Status = s
		}
		tr.c.Stop = &story.Stop{Reason: story.ReasonSignal}
		c, err := tr.run()
		if err != nil || statuses(c) != "a done, b done, c done, d done, e done" || slices.Contains(tr.p.begun, "a") {
			t.Errorf("stories %s, begun %v, %v", statuses(c), tr.p.begun, err)
		}
	})
}

// TestStopWhilePreparing asks for the end while a work tree is still being made.
func TestStopWhilePreparing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1, map[string][]act{"a": {done()}, "b": {done()}}, nil)
		tr.p.slow = 30 * time.Minute
		go func() {
			time.Sleep(time.Minute)
			tr.p.mu.Lock()
			tr.stop = "stop was requested by a person"
			tr.p.mu.Unlock()
		}()
		start := time.Now()
		c, err := tr.run()
		if err != nil || statuses(c) != "a stopped, b waiting" || time.Since(start) > 2*time.Minute {
			t.Errorf("stories %s after %v, %v", statuses(c), time.Since(start), err)
		}
	})
}

// TestKilledBeforeItWrote has a supervisor be killed before there is anything of it on disk.
func TestKilledBeforeItWrote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := newTrial(1, map[string][]act{"a": {{takes: time.Second, exit: 137}, done()}}, nil)
		c, err := tr.run()
		if err != nil || statuses(c) != "a done" || c.Find("a").Crashes != 1 {
			t.Errorf("stories %s, %d crashes, %v", statuses(c), c.Find("a").Crashes, err)
		}
	})
}

// TestRefusedToBegin has what keeps one supervisor from beginning keep the next one too: the
// cohort stops instead of failing all that is left.
func TestRefusedToBegin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		no := act{takes: time.Second, exit: 2, standing: Standing{Words: "claude is not there"}}
		tr := newTrial(1, map[string][]act{"a": {no}, "b": {no}, "c": {no}, "d": {no}}, nil)
		c, err := tr.run()
		if err != nil || statuses(c) != "a failed, b failed, c waiting, d waiting" || !c.Stop.Aborted || c.Find("a").Why != "claude is not there" {
			t.Errorf("stories %s, stop %+v, %v", statuses(c), c.Stop, err)
		}
	})
}
