package nightly

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/sessions/repo"
	"autopilot/supervisor"
	"autopilot/supervisor/awake"
)

const (
	// mostCuts is how often what began at one time goes on after it was killed: it may be
	// itself what kills it.
	mostCuts = 3
	// endTime is what a supervisor whose guard was killed has to end its run in order.
	endTime = 30 * time.Second
	endLook = 50 * time.Millisecond
	// shutDownTime is what a machine has to end what is on, and to start again.
	shutDownTime = 15 * time.Minute

	exitHungUp      = 128 + int(syscall.SIGHUP)
	exitInterrupted = 128 + int(syscall.SIGINT)
	exitKilled      = 128 + int(syscall.SIGKILL) // also that of a run whose supervisor was killed
	exitTerminated  = 128 + int(syscall.SIGTERM)
)

// goOn are the arguments that go on with the run that was killed under this process, after a
// while, or nil when nothing does.
func (x *execution) goOn(ctx context.Context, begun time.Time, id string) []string {
	args, why := x.rest(ctx, begun)
	if here, _, err := x.runSince(ctx, begun); err != nil || here != id {
		args, why = nil, "run "+id+" is in another work tree"
	}
	if x.cuts++; x.cuts > mostCuts {
		args, why = nil, fmt.Sprintf("it was killed %d times", x.cuts)
	}
	if args == nil {
		x.say("it does not go on: %s", why)
		return nil
	}
	if x.await(func() bool { return true }, why+"; it goes on soon") != 0 {
		return nil
	}
	x.tellBeside(ctx, "the run was killed", why+". It goes on.")
	return args
}

// cutOff says how what began last was cut off, or nothing when it was not: it has no end in the
// history, or the machine was shut down with it.
func cutOff(last Firing) (how string, killed bool) {
	if last.State == Begun {
		return "was killed before its end", true
	}
	asked := last.State == Ended && last.Code != nil && slices.Contains([]int{exitHungUp, exitInterrupted, exitTerminated}, *last.Code)
	started, known := awake.Started()
	if asked && known && started.After(last.At) && started.Sub(last.At) < shutDownTime {
		return "ended with the machine", false
	}
	return "", false
}

// cut is what was cut off and goes on.
type cut struct {
	how, title string    // for a person
	begun      time.Time // zero when nothing goes on
}

// again reports whether what began last and was cut off goes on now, in place of a time that is
// due anew. What was killed is written down as ended.
func (x *execution) again(ctx context.Context, history []Firing, last Firing, due bool) bool {
	how, wasKilled := cutOff(last)
	if how == "" {
		return false
	}
	what := "the one that began at " + last.Begun.Local().Format(time.DateTime) + " " + how
	x.say("%s", what)
	if wasKilled {
		code := exitKilled
		f := Firing{State: Ended, At: time.Now(), Nominal: last.Nominal, Begun: last.Begun, Until: last.Until, Code: &code, Why: strings.TrimPrefix(how, "was ")}
		if err := note(x.Root, x.entry.Name, f); err != nil {
			x.say("%v", err)
		}
	}
	x.cut = cut{how: what, title: "the last one " + strings.TrimSuffix(how, " before its end"), begun: last.Begun}
	why := ""
	x.cuts = 0
	for _, f := range history {
		if f.Nominal.Equal(last.Nominal) && (f.State == Begun || f.State == Ended) {
			x.cuts++
		}
	}
	switch {
	case due:
		why = "another time is due"
	case last.Nominal.IsZero() || last.Until.IsZero() || !time.Now().Round(0).Before(last.Until):
		why = "no window is open"
	case x.cuts > mostCuts:
		why = fmt.Sprintf("it was cut off %d times", x.cuts)
	default:
		x.nominal, x.until = last.Nominal, last.Until
		return true
	}
	if x.cut.begun = (time.Time{}); wasKilled {
		x.over(ctx, why)
	}
	x.cuts = 0
	return false
}

// over says that what was cut off does not go on.
func (x *execution) over(ctx context.Context, why string) {
	x.say("it does not go on: %s", why)
	x.tellBeside(ctx, x.cut.title, x.cut.how+", and does not go on: "+why+". 'autopilot runs' in "+x.entry.Dir+" shows what can be continued.")
}

// command are the arguments of what is to begin, or nil when what was cut off does not go on
// after all.
func (x *execution) command(ctx context.Context) []string {
	if x.cut.begun.IsZero() {
		return x.entry.Args
	}
	args, why := x.rest(ctx, x.cut.begun)
	if args == nil {
		x.over(ctx, why)
		return nil
	}
	x.say("it goes on: %s", why)
	x.tellBeside(ctx, x.cut.title, x.cut.how+". It goes on: "+why+".")
	return args
}

// rest are the arguments that go on with the run that began after a moment and was cut off:
// the schedule's own when none had. It is nil when that run has ended in order, or is in
// other hands. It says why, in both cases.
func (x *execution) rest(ctx context.Context, begun time.Time) (args []string, why string) {
	if !Starts(x.entry.Args) {
		return nil, "it was no run"
	}
	id, st, err := x.runSince(ctx, begun)
	for end := time.Now().Add(endTime); err == nil && st.Alive() && time.Now().Before(end); {
		time.Sleep(endLook)
		id, st, err = x.runSince(ctx, begun)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x.entry.Args, "it was cut off before a run began"
	case err != nil:
		return nil, err.Error()
	case st.Alive():
		return nil, "run " + id + " is still on"
	case st.Finished && st.Record.ExitCode <= 128:
		return nil, fmt.Sprintf("run %s has ended with exit status %d", id, st.Record.ExitCode)
	case st.ResumedBy != "":
		return nil, "run " + st.ResumedBy + " has gone on with " + id
	case st.Finished && supervisor.NotResumable(st) != "":
		return x.entry.Args, "run " + id + " was cut off before it had done anything"
	}
	return append([]string{"resume", id}, manner(x.entry.Args)...), "run " + id + " was cut off"
}

// runSince is the last run of the work tree. The error wraps fs.ErrNotExist when none has begun
// since a moment.
func (x *execution) runSince(ctx context.Context, begun time.Time) (id string, st supervisor.State, err error) {
	r, err := repo.Open(ctx, x.entry.Dir)
	if err != nil {
		return "", st, err
	}
	p, found, err := statedir.FindProject(x.Root, r.Top)
	if err == nil && !found {
		err = fs.ErrNotExist
	}
	if err == nil {
		id, err = supervisor.LastWritten(p)
	}
	if err == nil {
		st, err = supervisor.LoadState(p.RunDir(id))
	}
	if err == nil && time.Time(st.Record.StartedAt).Before(begun.Truncate(time.Second)) {
		err = fs.ErrNotExist
	}
	return id, st, err
}

// manner are those among the arguments of a run that say how it is run and are not kept with it.
func manner(args []string) (out []string) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		switch name, _, given := strings.Cut(args[i], "="); {
		case slices.Contains([]string{"--exit-zero", "--json", "--allow-nested"}, name), given && name == "--snapshot":
			out = append(out, args[i])
		case name == "--snapshot" && i+1 < len(args):
			out = append(out, args[i:i+2]...)
			i++
		}
	}
	return out
}
