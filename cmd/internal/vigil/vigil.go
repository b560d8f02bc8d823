package vigil

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/meter"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/service"
	"autopilot/metrics/samples"
	"autopilot/probe"
	"autopilot/probe/tier"
	"autopilot/supervisor"
	"autopilot/supervisor/awake"
)

// longest is what a step of the loop may take beyond its own limits before the loop counts
// as hanging: looks back, publishing, git.
const longest = 30 * time.Minute

// Run is the run that is watched over.
type Run struct {
	ID      string
	Folder  string
	Project string // state folder of the work tree
	Log     *slog.Logger
	// Ended are earlier runs whose end nobody could tell: they were killed.
	Ended []supervisor.State
}

// Vigil watches over one run. Close has to be called.
type Vigil struct {
	run     Run
	manager service.Manager
	inhibit *awake.Inhibitor
	news    *notifier.Notifier
	about   notifier.About
	meter   *meter.Meter
	stop    context.CancelFunc
	beside  sync.WaitGroup

	slept   atomic.Int64 // nanoseconds
	moved   atomic.Int64 // last sign of life of the loop, as nanoseconds of the clock that started
	begun   time.Time
	patient time.Duration

	mu      sync.Mutex // guards what follows
	sampled time.Time
	nap     time.Duration // not yet in a sample
	broken  bool          // a sample could not be written, which was said

	last supervisor.State // that news were looked for in; used by the loop only
}

// Begin starts to watch. It takes half a second where the machine is to be kept awake. For
// the story of a cohort its coordinator does most of it.
func Begin(ctx context.Context, std outside.Stdio, j job.Job, r Run) *Vigil {
	ctx, stop := context.WithCancel(ctx)
	v := &Vigil{run: r, stop: stop, begun: time.Now()}
	v.beside.Go(func() { awake.Watch(ctx, v.gap) })
	if j.Story != nil {
		return v
	}
	v.manager = service.Of(std.Environ)
	v.patient = longest + max(j.Cfg.VerifyTimeout, j.Cfg.ToolStallTimeout, j.Cfg.StallTimeout, j.Cfg.ReflectTimeout)
	if j.Cfg.InhibitSleep {
		var err error
		if v.inhibit, err = awake.Inhibit(ctx, runtime.GOOS, std.Environ, "autopilot run "+r.ID); err != nil {
			r.Log.Warn("the machine is not kept awake", "detail", err.Error())
		}
	}
	v.manager.Ready()
	v.Moved()
	v.beside.Go(func() { v.manager.Watch(ctx, v.alive) })
	limits := j.Limits()
	v.about = notifier.About{Repo: j.Repo.Top, Tokens: limits.MaxTokens, Cost: limits.MaxCostUSD}
	v.news = notifier.Start(j.Cfg.Notify, notifier.Options{Dir: r.Project, Std: std, Log: r.Log})
	for _, s := range r.Ended {
		v.news.Tell(notifier.FromState(supervisor.State{}, s, v.about)...)
	}
	if source, err := meter.NewSource(std); err == nil {
		source.Ledgers = map[string]string{j.Repo.Top: j.MetricsDir()}
		v.meter = meter.Start(j.Cfg.Telemetry, meter.Options{Getenv: std.Getenv, Root: source.Root, Facts: source.Facts, Log: r.Log})
	}
	return v
}

// Early gives the service manager signs of life while a run is being prepared, which takes
// as long as a test suite at most, and then on, until stop is called.
func Early(ctx context.Context, std outside.Stdio, j job.Job) (stop func()) {
	if j.Story != nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	begun := time.Now()
	var beside sync.WaitGroup
	manager := service.Of(std.Environ)
	beside.Go(func() { manager.Watch(ctx, func() bool { return time.Since(begun) < longest }) })
	return func() {
		cancel()
		beside.Wait()
	}
}

// Close ends the watching. It waits a little for what a person is still to be told, and no
// longer than kill lasts.
func (v *Vigil) Close(kill context.Context) {
	v.manager.Stopping()
	v.news.Close(kill)
	v.meter.Close(kill)
	v.stop()
	v.inhibit.Release()
	v.beside.Wait()
}

// Late tells a person how runs ended that could not say so themselves.
func Late(ctx context.Context, std outside.Stdio, p job.Place, project string, ended []supervisor.State) {
	n := notifier.Start(p.Cfg.Notify, notifier.Options{Dir: project, Std: std, Log: slog.New(slog.DiscardHandler)})
	for _, s := range ended {
		n.Tell(notifier.FromState(supervisor.State{}, s, notifier.About{Repo: p.Repo.Top})...)
	}
	n.Close(ctx)
}

// gap is told that the machine has slept, or that its clock was set.
func (v *Vigil) gap(g awake.Gap) {
	if g.Slept != 0 {
		v.slept.Add(int64(g.Slept))
		v.mu.Lock()
		v.nap += g.Slept
		v.mu.Unlock()
		v.run.Log.Warn("nothing of the run could work for a while: the machine was asleep, or the run was stopped", "seconds", int64(g.Slept.Seconds()),
			"from", g.From.UTC().Format(time.RFC3339), "until", g.To.UTC().Format(time.RFC3339))
	}
	if g.Set != 0 {
		v.run.Log.Warn("the clock of the machine was set; deadlines are times of that clock", "seconds", int64(g.Set.Seconds()))
	}
}

// Slept is how long nothing of the run could work so far.
func (v *Vigil) Slept() time.Duration { return time.Duration(v.slept.Load()) }

// Moved is a sign of life of the loop.
func (v *Vigil) Moved() { v.moved.Store(int64(time.Since(v.begun))) }

// alive reports whether the loop has given a sign of life within the time that its longest
// step may take. The clock that this is measured with stands still while the machine sleeps.
func (v *Vigil) alive() bool { return time.Since(v.begun)-time.Duration(v.moved.Load()) < v.patient }

// Saved is told the state of the run whenever it was written down.
func (v *Vigil) Saved(s supervisor.State) {
	v.Moved()
	v.manager.Status(line(s))
	if v.news == nil {
		return
	}
	// The loop changes what its state points to: what is compared later has to be a copy.
	data, err := json.Marshal(s)
	if err != nil {
		return
	}
	var now supervisor.State
	if json.Unmarshal(data, &now) != nil {
		return
	}
	v.news.Tell(notifier.FromState(v.last, now, v.about)...)
	v.last = now
}

// line is the state of a run in one line.
func line(s supervisor.State) string {
	switch {
	case s.Finished:
		return fmt.Sprintf("%s ended: %s", s.Record.AutopilotRunID, s.Record.ExitCause)
	case s.Waiting != nil:
		return fmt.Sprintf("%s waits until %s: %s", s.Record.AutopilotRunID, s.Waiting.Until.Local().Format("15:04"), s.Waiting.Why)
	}
	return fmt.Sprintf("%s: session %d of %d, %d tokens, $%.2f", s.Record.AutopilotRunID, s.Carried.Iterations+s.Iteration, s.Record.MaxSessions, s.Record.TotalTokensUsed, s.Record.TotalCostUSD)
}

// Probe is a probe that keeps a sample of what it sees, now and then.
func (v *Vigil) Probe(measure func(context.Context) probe.Snapshot, agents int) func(context.Context) probe.Snapshot {
	return func(ctx context.Context) probe.Snapshot {
		s := measure(ctx)
		v.sample(s, agents)
		return s
	}
}

func (v *Vigil) sample(s probe.Snapshot, agents int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now().Round(0)
	if since := now.Sub(v.sampled); since >= 0 && since < samples.Every && v.nap == 0 {
		return
	}
	j := tier.Judge(s.Signals, agents)
	err := samples.Append(v.run.Folder, samples.Sample{
		At: now.UTC(), Tier: string(j.Tier), Cap: &j.Cap, AvailableGB: s.RAMAvailableGB, SwapGB: s.SwapUsedGB, Peers: s.Peers, Suspended: v.nap.Seconds(),
	})
	if err != nil && !v.broken {
		v.run.Log.Warn("a sample of the machine cannot be kept", "err", err.Error())
	}
	v.broken, v.sampled, v.nap = err != nil, now, 0
}
