package nightly

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/service"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// Parts are what the program does for its schedules. Each gets the outside that a run of the
// schedule has: its environment, and its folder as the current one.
type Parts struct {
	// Check refuses what 'autopilot ARGS' would refuse at once. It starts and writes nothing.
	Check func(ctx context.Context, std outside.Stdio, args []string) error
	// Invoke is 'autopilot ARGS' in this process and returns its exit code.
	Invoke func(ctx context.Context, std outside.Stdio, args []string) int
	// Notify tells a person. Nothing depends on whether it could.
	Notify func(ctx context.Context, std outside.Stdio, n notice.Notice)
}

// Night is the executing side of schedules. Its methods change the environment, the current
// folder and the standard files of the process, so one process executes one schedule.
type Night struct {
	Parts
	Std  outside.Stdio // of the process as it was started
	Root string        // absolute path of the root of the state folders
	// Again is how long it is waited before another look at a run that is in the way; 0 is
	// half a minute.
	Again time.Duration
}

const (
	lookAgain = 30 * time.Second
	lineMost  = 400 // characters of a reason in history and notices
	tailSaid  = 6   // last lines of a run that are told
	// missedSaid is how many missed times are told one by one.
	missedSaid = 5
)

// Exec is called by the unit of a schedule when it is time, or about time. It returns the
// exit code of the process: that of the run, or 0 when nothing was to begin.
func (n Night) Exec(ctx context.Context, name string) int {
	m := service.Of(n.Std.Environ)
	m.Ready() // what ends before it has said so counts as broken
	e, err := host.Load(n.Root, name)
	if err == nil {
		err = e.Check()
	}
	if err != nil {
		code := outside.Report(n.Std, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)})
		n.Notify(ctx, n.Std, notice.Notice{
			Kind: notice.NotStarted, At: time.Now(), Schedule: name, Title: "schedule " + name + " cannot be read: nothing was started",
			Text: plain(err.Error()), Command: "autopilot schedule doctor " + name, Key: "schedule-entry-" + name,
		})
		return code
	}
	x := &execution{Night: n, entry: e, manager: m, began: time.Now()}
	if x.out, err = redirect(e.Logs, e.Name, n.Std.Getenv); err != nil {
		x.say("there is no log: %v", err)
	}
	code := x.run(ctx)
	x.beside.Wait()
	if err := x.out.close(); err != nil {
		fmt.Fprintf(n.Std.Err, "autopilot: log of schedule %s: %v\n", name, logs.Redact(err.Error()))
	}
	return code
}

// execution is one schedule that was started.
type execution struct {
	Night
	entry   schedule.Entry
	manager service.Manager
	out     *output // nil when there is no log
	began   time.Time
	asked   bool      // a person started it
	nominal time.Time // zero when a person did
	until   time.Time // zero for no end
	cut     cut
	cuts    int // times that what began at the nominal time was killed
	inside  outside.Stdio
	beside  sync.WaitGroup // notices on their way
}

// say writes a line into the log.
func (x *execution) say(format string, args ...any) {
	fmt.Fprintf(x.Std.Err, "%s schedule %s: %s\n", time.Now().Format(time.RFC3339), x.entry.Name, plain(fmt.Sprintf(format, args...)))
}

// note writes a line of the history. A history that cannot be written is told and keeps
// nothing from running.
func (x *execution) note(s State, code *int, runID, why string) {
	f := Firing{State: s, At: time.Now(), Nominal: x.nominal, Begun: x.began, Until: x.until, Code: code, RunID: runID, Why: oneLine(why)}
	if err := note(x.Root, x.entry.Name, f); err != nil {
		x.say("%v", err)
	}
}

// run decides, begins and waits for the end.
func (x *execution) run(ctx context.Context) int {
	lock, err := x.lock(ctx)
	held, isHeld := errors.AsType[*statedir.HeldError](err)
	if err != nil && !isHeld {
		return x.fail(ctx, 1, err.Error())
	}
	if lock != nil {
		defer func() { _ = lock.Release() }()
	}
	start, code := x.decide(ctx, lock != nil)
	if !start {
		return code
	}
	if lock == nil {
		why := "the one before of this schedule is still on (" + held.Holder.String() + ")"
		if x.entry.Overlap != schedule.Wait {
			return x.skip(why)
		}
		free := x.await(func() bool {
			lock, err = x.lock(ctx)
			return err == nil
		}, why)
		if free != 0 {
			return x.gaveUp(ctx, free, why)
		}
		defer func() { _ = lock.Release() }()
		// The other one may have been for the same time.
		if start, code := x.decide(ctx, true); !start {
			return code
		}
	}
	return x.begin(ctx)
}

// lock keeps two of the same schedule apart.
func (x *execution) lock(ctx context.Context) (*statedir.Lock, error) {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return statedir.Acquire(short, lockFile(x.Root, x.entry.Name), statedir.Holder{})
}

// decide reports whether something is to begin now, and otherwise the exit code. Alone says
// that this process holds the lock of the schedule.
func (x *execution) decide(ctx context.Context, alone bool) (start bool, code int) {
	now := time.Now()
	if x.asked {
		return true, 0
	}
	asked, err := host.TakeRunNow(x.Root, x.entry.Name, now)
	if err != nil {
		x.say("%v", err)
	}
	if x.asked = asked; asked {
		x.until, _ = x.entry.Spec.End(now)
		x.say("started by a person")
		return true, 0
	}
	history, err := LoadHistory(x.Root, x.entry.Name)
	if err != nil {
		return false, x.fail(ctx, 1, err.Error())
	}
	d := schedule.Decide(x.entry.Spec, now, LastTime(history, x.entry.CreatedAt))
	if last, ok := LastFiring(history); ok && alone && x.again(ctx, history, last, d.Start) {
		return true, 0
	}
	x.missed(ctx, x.withoutBusy(history, d.Missed))
	x.nominal, x.until = d.Nominal, d.Until
	switch {
	case d.Start:
		x.say("%s", d.Why)
		return true, 0
	case d.Reason == schedule.Closed || d.Reason == schedule.TooLate:
		x.say("nothing is started: %s", d.Why)
		x.note(Missed, nil, "", d.Why)
		x.tell(ctx, "missed: "+d.Why, "")
		return false, 0
	}
	x.say("nothing is started: %s", d.Why)
	x.note(NotDue, nil, "", d.Why)
	return false, 0
}

// withoutBusy leaves out times at which a run of the schedule was still on: systemd and
// launchd start nothing then. They are noted as skipped.
func (x *execution) withoutBusy(history []Firing, times []time.Time) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool {
		busy := slices.ContainsFunc(history, func(f Firing) bool {
			return f.State == Ended && !f.Begun.IsZero() && t.After(f.Begun.Add(-time.Minute)) && t.Before(f.At)
		})
		if busy {
			f := Firing{State: Skipped, At: time.Now(), Nominal: t, Why: "the one before was still on"}
			if err := note(x.Root, x.entry.Name, f); err != nil {
				x.say("%v", err)
			}
		}
		return busy
	})
}

// tellBeside tells a person while what is to begin begins.
func (x *execution) tellBeside(ctx context.Context, title, text string) {
	std, n := x.outside(), x.notice(title, text)
	x.beside.Go(func() { x.Notify(ctx, std, n) })
}

// missed tells of times at which nothing began because nobody started this program.
func (x *execution) missed(ctx context.Context, times []time.Time) {
	if len(times) == 0 {
		return
	}
	var said []string
	for _, t := range times {
		f := Firing{State: Missed, At: time.Now(), Nominal: t, Why: "the machine was off or asleep, or what starts schedules did not run"}
		if err := note(x.Root, x.entry.Name, f); err != nil {
			x.say("%v", err)
		}
		said = append(said, t.Format("Mon 2 Jan 15:04 MST"))
	}
	words := strings.Join(said, ", ")
	if n := len(said) - 1; n >= missedSaid {
		words = fmt.Sprintf("%s and %d more times until %s", said[0], n-1, said[n])
	}
	x.say("missed: %s", words)
	x.tellBeside(ctx, fmt.Sprintf("%d times were missed", len(times)), "Nothing was started at "+words+".")
}

// begin runs the command, again after what is in the way has ended.
func (x *execution) begin(ctx context.Context) int {
	var err error
	if x.inside, err = x.enter(x.entry); err != nil {
		return x.fail(ctx, outside.ExitUsage, err.Error())
	}
	if err := quiet(); err != nil {
		x.say("standard input stays as it is: %v", err)
	}
	args := Bounded(x.command(ctx), x.until)
	if args == nil {
		return 0
	}
	x.note(Begun, nil, "", "")
	for why := "its end came before anything could begin"; ; {
		if !x.until.IsZero() && !time.Now().Round(0).Before(x.until) {
			return x.gaveUp(ctx, closed, why)
		}
		x.out.mark()
		before, begun := runs(x.Root), time.Now()
		code := x.invoke(ctx, args)
		id := newRun(ctx, x.Root, x.entry.Dir, before)
		if code == exitKilled && id != "" {
			if rest := x.goOn(ctx, begun, id); rest != nil {
				args = Bounded(rest, x.until)
				continue
			}
		}
		if code != outside.ExitHeld || id != "" || !Starts(args) {
			return x.ended(ctx, code, id)
		}
		if x.entry.Overlap != schedule.Wait {
			return x.skip("another supervisor works here")
		}
		why = "another supervisor worked here all the time"
		if end := x.await(x.treeIsFree(ctx), why); end != 0 {
			return x.gaveUp(ctx, end, why)
		}
	}
}

// ended writes down how the command ended, and tells when it had not even begun.
func (x *execution) ended(ctx context.Context, code int, id string) int {
	stopped := code > 128 && code < 160
	switch {
	case id != "" || stopped || !Starts(x.entry.Args) && code == 0:
		why := ""
		if id == "" && stopped {
			why = "stopped by " + syscall.Signal(code-128).String()
		}
		x.say("ended with exit status %d", code)
		x.note(Ended, &code, id, why)
	case Starts(x.entry.Args):
		return x.fail(ctx, code, x.said("no run began"))
	default:
		why := x.said("it failed")
		x.say("ended with exit status %d", code)
		x.note(Ended, &code, "", why)
		x.tell(ctx, fmt.Sprintf("%s ended with exit status %d", x.entry.Args[0], code), why)
	}
	return code
}

// said is a reason with the last words of the command.
func (x *execution) said(what string) string {
	if tail := x.out.Tail(tailSaid); tail != "" {
		return what + ": " + tail
	}
	return what
}

// skip leaves this time out, as the schedule says.
func (x *execution) skip(why string) int {
	x.say("left out: %s", why)
	x.note(Skipped, nil, "", why)
	return 0
}

// fail is for what should have begun and could not.
func (x *execution) fail(ctx context.Context, code int, why string) int {
	x.say("nothing was started: %s", why)
	x.note(Failed, &code, "", why)
	x.tell(ctx, "nothing was started", why)
	return code
}

// gaveUp ends a wait that was in vain.
func (x *execution) gaveUp(ctx context.Context, end waitEnd, why string) int {
	if end != closed {
		code := int(end)
		x.say("stopped while it waited")
		x.note(Ended, &code, "", "stopped while it waited: "+why)
		return code
	}
	x.say("nothing was started: %s", why)
	x.note(Failed, nil, "", "nothing was started until the window closed: "+why)
	x.tell(ctx, "nothing was started until the window closed", why)
	return 0
}

// tell tells a person that nothing began.
func (x *execution) tell(ctx context.Context, title, text string) {
	x.Notify(ctx, x.outside(), x.notice(title, text))
}

// outside is the environment in which a person is told.
func (x *execution) outside() outside.Stdio {
	std := x.inside
	if std.Out == nil { // the environment was not read yet
		std = x.Std
		if secrets, err := secretsOf(x.entry); err == nil {
			std.Environ = Inside(std.Environ, x.entry.Environ, secrets)
		}
	}
	return std
}

func (x *execution) notice(title, text string) notice.Notice {
	return notice.Notice{
		Kind: notice.NotStarted, At: time.Now(), Repo: x.entry.Dir, Schedule: x.entry.Name, Title: oneLine("schedule " + x.entry.Name + ": " + title),
		Text: plain(text), Command: "autopilot schedule doctor " + x.entry.Name, Key: "schedule-" + x.entry.Name + "-" + title,
	}
}

// enter makes the environment of this process that of the entry and goes to its folder.
func (n Night) enter(e schedule.Entry) (outside.Stdio, error) {
	secrets, err := secretsOf(e)
	if err != nil {
		return outside.Stdio{}, err
	}
	std := n.Std
	std.Environ = Inside(n.Std.Environ, e.Environ, secrets)
	os.Clearenv()
	for _, kv := range std.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if err := os.Setenv(name, value); err != nil {
			return outside.Stdio{}, fmt.Errorf("set %s: %w", name, err)
		}
	}
	if err := os.Chdir(e.Dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return outside.Stdio{}, outside.UsageHint("autopilot schedule remove "+e.Name, "the work tree %s is gone", e.Dir)
		}
		return outside.Stdio{}, outside.Usage("go to the work tree: %v", err)
	}
	std.Dir = e.Dir
	std.TTY, std.InTTY, std.OutTTY = false, false, false
	return std, nil
}

func secretsOf(e schedule.Entry) ([]string, error) {
	if e.EnvFile == "" {
		return nil, nil
	}
	return LoadSecrets(e.EnvFile)
}

// invoke runs the command. A run says itself that it is alive, the others are short.
func (x *execution) invoke(ctx context.Context, args []string) int {
	if !Starts(args) {
		defer x.alive()()
	}
	return x.Invoke(ctx, with(x.inside, args), args)
}

// with is the outside of a command: a guard starts the program again with its arguments.
func with(std outside.Stdio, args []string) outside.Stdio {
	std.Args = args
	return std
}

// Bounded are the arguments of a command with the moment by which it has to be over.
func Bounded(args []string, until time.Time) []string {
	if until.IsZero() || !Starts(args) {
		return args
	}
	return append([]string{args[0], "--until", until.Format(time.RFC3339)}, args[1:]...)
}

// plain is a text of a stranger as it may be shown.
func plain(text string) string { return gate.Plain(logs.Redact(text)) }

func oneLine(text string) string {
	return prompt.Cut(strings.Join(strings.Fields(plain(text)), " "), lineMost)
}
