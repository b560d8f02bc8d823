package vigil

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"autopilot/cmd/internal/job"
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
	ID     string
	Folder string
	Log    *slog.Logger
}

// Vigil watches over one run. Close has to be called.
type Vigil struct {
	run     Run
	manager service.Manager
	inhibit *awake.Inhibitor
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
}

// Begin starts to watch. It takes half a second where the machine is to be kept awake.
func Begin(ctx context.Context, std outside.Stdio, j job.Job, r Run) *Vigil {
	ctx, stop := context.WithCancel(ctx)
	v := &Vigil{run: r, manager: service.Of(std.Environ), stop: stop, begun: time.Now()}
	v.patient = longest + max(j.Cfg.VerifyTimeout, j.Cfg.ToolStallTimeout, j.Cfg.StallTimeout, j.Cfg.ReflectTimeout)
	if j.Cfg.InhibitSleep {
		var err error
		if v.inhibit, err = awake.Inhibit(ctx, runtime.GOOS, std.Environ, "autopilot run "+r.ID); err != nil {
			r.Log.Warn("the machine is not kept awake", "detail", err.Error())
		}
	}
	v.manager.Ready()
	v.Moved()
	v.beside.Go(func() { awake.Watch(ctx, v.gap) })
	v.beside.Go(func() { v.manager.Watch(ctx, v.alive) })
	return v
}

// Close ends the watching.
func (v *Vigil) Close() {
	v.manager.Stopping()
	v.stop()
	v.inhibit.Release()
	v.beside.Wait()
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
