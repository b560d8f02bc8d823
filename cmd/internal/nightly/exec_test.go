package nightly

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
)

func TestExec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	secrets := filepath.Join(w.dir, "secrets")
	if err := os.WriteFile(secrets, []byte("ONLY_IN_FILE=here\nOVER=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.entry.EnvFile = secrets
	w.entry.Environ = append(w.entry.Environ, "OVER=entry", "WITH=a b = c")
	w.env = []string{"NOTIFY_SOCKET=/nowhere/n", "INVOCATION_ID=i", "SSH_AUTH_SOCK=/agent"}
	if got := w.run(call{Code: 3, Say: "worked", Run: true}); got != 3 {
		t.Errorf("exit %d, want that of the run", got)
	}
	w.wantHistory(Firing{State: Ended, Code: code(3)})
	f := w.history()[0]
	if f.RunID == "" || f.Begun.IsZero() || f.At.Before(f.Begun) || !f.Nominal.Before(f.Begun) || !f.Until.After(f.Begun) {
		t.Errorf("history %+v", f)
	}
	s := w.saw()
	if len(s) != 1 {
		t.Fatalf("saw %+v", s)
	}
	until := f.Until.Format(time.RFC3339)
	if diff := cmp.Diff([]string{"run", "--until", until, "a goal", "--max-sessions", "2"}, s[0].Args); diff != "" {
		t.Errorf("arguments: -want +got\n%s", diff)
	}
	slices.Sort(s[0].Process)
	env := slices.DeleteFunc(s[0].Environ, func(kv string) bool {
		return strings.HasPrefix(kv, "PWD=") || strings.HasPrefix(kv, "_=") || strings.HasPrefix(kv, "SHLVL=")
	})
	slices.Sort(env)
	want := []string{"HOME=" + w.dir, "INVOCATION_ID=i", "NOTIFY_SOCKET=/nowhere/n", "ONLY_IN_FILE=here", "OVER=file", "PATH=" + os.Getenv("PATH"), "WITH=a b = c"}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(want, s[0].Process); diff != "" {
		t.Errorf("environment of the process: -want +got\n%s", diff)
	}
	if s[0].Dir != w.entry.Dir+" "+w.entry.Dir+" here" || s[0].TTY || s[0].Stdin != "" {
		t.Errorf("in %q, terminal %v, stdin %q", s[0].Dir, s[0].TTY, s[0].Stdin)
	}
	if log := w.log(); !strings.Contains(log, "\nworked\n") || !strings.Contains(log, "schedule nightly: ended with exit status 3\n") {
		t.Errorf("log:\n%s", log)
	}
	w.wantNoNotice()

	// The same time does not come twice.
	if got := w.run(call{Code: 9}); got != 0 {
		t.Errorf("the second time: exit %d", got)
	}
	if all := w.history(); len(all) != 2 || all[1].State != NotDue || !strings.Contains(all[1].Why, "decided already") {
		t.Errorf("history %+v", all)
	}
}

func TestExecPassesCodesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code int
		run  bool
		args []string
		want Firing
		told string // title of the notice
	}{
		{0, true, nil, Firing{State: Ended, Code: code(0)}, ""},
		{143, true, nil, Firing{State: Ended, Code: code(143)}, ""},
		{130, false, nil, Firing{State: Ended, Code: code(130), Why: "stopped by interrupt"}, ""},
		{2, false, nil, Firing{State: Failed, Code: code(2), Why: "no run began: autopilot: claude is not there"}, "nothing was started"},
		{1, false, nil, Firing{State: Failed, Code: code(1), Why: "no run began: autopilot: claude is not there"}, "nothing was started"},
		{0, false, nil, Firing{State: Failed, Code: code(0), Why: "no run began: autopilot: claude is not there"}, "nothing was started"},
		{0, false, []string{"sync"}, Firing{State: Ended, Code: code(0)}, ""},
		{7, false, []string{"gc"}, Firing{State: Ended, Code: code(7), Why: "it failed: autopilot: claude is not there"}, "gc ended with exit status 7"},
		{3, true, []string{"resume"}, Firing{State: Ended, Code: code(3)}, ""},
	} {
		w := newWorld(t)
		if tt.args != nil {
			w.entry.Args = tt.args
		}
		if got := w.run(call{Code: tt.code, Run: tt.run, Say: "autopilot: claude is not there"}); got != tt.code {
			t.Errorf("%+v: exit %d", tt, got)
		}
		w.wantHistory(tt.want)
		if tt.told == "" {
			w.wantNoNotice()
			continue
		}
		w.wantNotice(tt.told, "claude is not there")
	}
}

func TestExecWithoutAWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Spec = w.spec(time.Now().UTC().Add(-time.Minute), time.Time{})
	w.run(call{Run: true})
	if s := w.saw(); len(s) != 1 || slices.Contains(s[0].Args, "--until") {
		t.Errorf("saw %+v", s)
	}
}

func TestExecWhileAnotherRunIsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.run(call{Code: 7, Say: "held"}); got != 0 {
		t.Errorf("skip: exit %d, want 0", got)
	}
	w.wantHistory(Firing{State: Skipped, Why: "another supervisor works here"})
	if !strings.Contains(w.log(), "left out: another supervisor works here\n") {
		t.Errorf("log:\n%s", w.log())
	}
	w.wantNoNotice()

	w = newWorld(t)
	w.entry.Overlap = schedule.Wait
	if got := w.run(call{Code: 7}, call{Code: 7}, call{Code: 4, Run: true}); got != 4 {
		t.Errorf("wait: exit %d, want 4", got)
	}
	w.wantHistory(Firing{State: Ended, Code: code(4)})
	w.wantNoNotice()
}

// TestExecWaitsForTheLock: while somebody holds the lock of the work tree no run is tried.
func TestExecWaitsForTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	lock, err := statedir.Acquire(t.Context(), filepath.Join(w.entry.Dir, ".git", statedir.RunLock), statedir.Holder{RunID: "main"})
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.start(call{Code: 7}, call{Code: 0, Run: true})
	w.await("the first try", func() bool { return len(w.saw()) == 1 })
	w.await("a wait", func() bool { return strings.Contains(w.log(), "waits: another supervisor") })
	for range 20 {
		<-time.After(10 * time.Millisecond)
	}
	if n := len(w.saw()); n != 1 {
		t.Errorf("%d tries while the lock was held", n)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got := w.end(cmd); got != 0 || len(w.saw()) != 2 {
		t.Errorf("exit %d, saw %+v", got, w.saw())
	}
}

func TestExecUntilTheWindowCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	w.plan.Until = 3 * time.Second
	calls := slices.Repeat([]call{{Code: 7}}, 10_000)
	if got := w.run(calls...); got != 0 {
		t.Errorf("exit %d, want 0", got)
	}
	w.wantHistory(Firing{State: Failed, Why: "nothing was started until the window closed: another supervisor worked here all the time"})
	w.wantNotice("nothing was started until the window closed", "another supervisor worked here all the time")
}

// TestExecLockedUntilTheWindowCloses: nobody gives the lock of the work tree back.
func TestExecLockedUntilTheWindowCloses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	w.plan.Until = 3 * time.Second
	lock, err := statedir.Acquire(t.Context(), filepath.Join(w.entry.Dir, ".git", statedir.RunLock), statedir.Holder{RunID: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Release() }() // it is not to be collected before
	if got := w.run(call{Code: 7}); got != 0 {
		t.Errorf("exit %d, want 0", got)
	}
	w.wantNotice("nothing was started until the window closed", "another supervisor worked here all the time")
}

// TestExecAfterTheSameTime: what it waited for was for the same time.
func TestExecAfterTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	lock, err := statedir.Acquire(t.Context(), lockFile(w.plan.Root, w.entry.Name), statedir.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.start(call{Code: 9})
	w.await("a wait", func() bool {
		_, err := os.Stat(LogFile(w.entry.Logs, w.entry.Name))
		return err == nil && strings.Contains(w.log(), "waits: the one before of this schedule is still on")
	})
	nominal, _ := w.entry.Spec.Last(time.Now())
	if err := note(w.plan.Root, w.entry.Name, Firing{State: Ended, At: time.Now(), Begun: time.Now(), Nominal: nominal}); err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if got := w.end(cmd); got != 0 || len(w.saw()) != 0 {
		t.Errorf("exit %d, saw %+v", got, w.saw())
	}
}

// TestSignalsAreTheRuns: once it has waited, a signal is again what the run makes of it.
func TestSignalsAreTheRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	hold := filepath.Join(w.dir, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.start(call{Code: 7}, call{Code: 0, Hold: hold})
	w.await("the run", func() bool { return len(w.saw()) == 2 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := w.end(cmd); got != -1 {
		t.Errorf("exit %d, want the end by the signal", got)
	}
}

// TestRunInAnotherTree: a run that went to a work tree of its own has begun as well.
func TestRunInAnotherTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", w.entry.Dir, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("commit", "-q", "--allow-empty", "-m", "x")
	beside := filepath.Join(w.dir, "beside")
	git("worktree", "add", "-q", beside)
	if got := w.run(call{Code: 3, Run: true, In: beside}); got != 3 {
		t.Errorf("exit %d", got)
	}
	if all := w.history(); len(all) != 1 || all[0].State != Ended || all[0].RunID == "" {
		t.Errorf("history %+v", all)
	}
	// A run of another repository is none of ours.
	w = newWorld(t)
	if w.run(call{Code: 3, Run: true, In: t.TempDir()}); w.history()[0].State != Failed {
		t.Errorf("history %+v", w.history())
	}
}

func TestExecWithAFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	w := newWorld(t)
	if err := os.Mkdir(w.entry.Logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", LogFile(w.entry.Logs, w.entry.Name)); err != nil {
		t.Fatal(err)
	}
	cmd := w.start(call{Code: 3, Run: true})
	if got := w.end(cmd); got != 3 {
		t.Errorf("exit %d", got)
	}
	if out, ok := cmd.Stderr.(*bytes.Buffer); !ok || !strings.Contains(out.String(), "there is no log: ") {
		t.Errorf("stderr %v", cmd.Stderr)
	}
}

func TestExecStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Overlap = schedule.Wait
	w.plan.Again = time.Hour
	cmd := w.start(call{Code: 7})
	w.await("a wait", func() bool {
		_, err := os.Stat(LogFile(w.entry.Logs, w.entry.Name))
		return err == nil && strings.Contains(w.log(), "waits: another supervisor")
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// Between the words and the wait the signal ends the process as a signal does.
	if got := w.end(cmd); got != 143 && got != -1 {
		t.Errorf("exit %d, want 143", got)
	}
	w.wantNoNotice()
}

func TestTwoOfOneSchedule(t *testing.T) {
	t.Parallel()
	for _, overlap := range []schedule.Overlap{schedule.Skip, schedule.Wait} {
		w := newWorld(t)
		w.entry.Overlap = overlap
		hold := filepath.Join(w.dir, "hold")
		if err := os.WriteFile(hold, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		first := w.start(call{Run: true, Hold: hold})
		w.await("the first one", func() bool { return len(w.saw()) == 1 })
		// A later time of the same schedule.
		history := w.history()
		if len(history) != 1 || history[0].State != Begun {
			t.Fatalf("history %+v", history)
		}
		w.entry.Spec = w.spec(time.Now().UTC(), time.Now().UTC().Add(5*time.Hour))
		second := w.start(call{Code: 0, Run: true})
		if overlap == schedule.Skip {
			if got := w.end(second); got != 0 {
				t.Errorf("exit %d", got)
			}
		} else {
			w.await("a wait", func() bool { return strings.Contains(w.log(), "waits: the one before of this schedule is still on") })
		}
		if n := len(w.saw()); n != 1 {
			t.Errorf("%s: %d runs at once", overlap, n)
		}
		if err := os.Remove(hold); err != nil {
			t.Fatal(err)
		}
		w.end(first)
		if overlap == schedule.Skip {
			all := w.history()
			if len(all) != 2 || all[0].State != Ended || all[1].State != Skipped || !strings.Contains(all[1].Why, "still on") {
				t.Errorf("history %+v", all)
			}
			continue
		}
		if got := w.end(second); got != 0 || len(w.saw()) != 2 {
			t.Errorf("wait: exit %d, saw %+v", got, w.saw())
		}
		w.wantHistory(Firing{State: Ended, Code: code(0)}, Firing{State: Ended, Code: code(0)})
	}
}

func TestExecCannotBegin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(w *world)
		want string
	}{
		{"the secrets are gone", func(w *world) { w.entry.EnvFile = filepath.Join(w.dir, "gone") }, "is not there"},
		{"the work tree is gone", func(w *world) { w.entry.Dir = filepath.Join(w.dir, "gone") }, "is gone"},
	} {
		w := newWorld(t)
		tt.do(w)
		if got := w.run(call{Code: 0}); got != 2 {
			t.Errorf("%s: exit %d, want 2", tt.name, got)
		}
		if all := w.history(); len(all) != 1 || all[0].State != Failed || !strings.Contains(all[0].Why, tt.want) {
			t.Errorf("%s: history %+v", tt.name, all)
		}
		w.wantNotice("nothing was started", tt.want)
	}
}

func TestExecTellsOfMissedTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.CreatedAt = time.Now().Add(-75 * time.Hour)
	if got := w.run(call{Run: true}); got != 0 {
		t.Errorf("exit %d", got)
	}
	all := w.history()
	if len(all) != 4 || all[0].State != Missed || all[2].State != Missed || all[3].State != Ended {
		t.Fatalf("history %+v", all)
	}
	s := w.saw()
	if len(s) != 2 || s[0].Notice == nil || !strings.Contains(s[0].Notice.Title, "3 times were missed") {
		t.Errorf("saw %+v", s)
	}
	// They are told once.
	w.run(call{})
	if n := len(w.saw()); n != 2 {
		t.Errorf("%d things were seen", n)
	}
}

func TestExecTooLate(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for _, until := range []time.Time{{}, now.Add(-time.Hour)} {
		w := newWorld(t)
		w.entry.CreatedAt = now.Add(-20 * time.Hour)
		w.entry.Spec = w.spec(now.Add(-3*time.Hour), until)
		if got := w.run(); got != 0 {
			t.Errorf("exit %d", got)
		}
		if all := w.history(); len(all) != 1 || all[0].State != Missed {
			t.Errorf("history %+v", all)
		}
		w.wantNotice("missed", "")
		if got := w.run(); got != 0 || len(w.saw()) != 1 {
			t.Errorf("told again: %+v", w.saw())
		}
	}
}

func TestExecWithoutALog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := os.WriteFile(w.entry.Logs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := w.start(call{Code: 5, Run: true, Say: "worked"})
	if got := w.end(cmd); got != 5 {
		t.Errorf("exit %d", got)
	}
	out, ok := cmd.Stderr.(*bytes.Buffer)
	if !ok || !strings.Contains(out.String(), "there is no log") || !strings.Contains(out.String(), "worked") {
		t.Errorf("stderr %v", cmd.Stderr)
	}
	w.wantHistory(Firing{State: Ended, Code: code(5)})
}

func TestExecOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan.Name = "other"
	if got := w.run(); got != 2 {
		t.Errorf("exit %d, want 2", got)
	}
	s := w.saw()
	if len(s) != 1 || s[0].Notice == nil || s[0].Notice.Schedule != "other" {
		t.Errorf("saw %+v", s)
	}
	w = newWorld(t)
	w.entry.Version = 99
	if got := w.run(); got != 2 || len(w.saw()) != 1 {
		t.Errorf("exit %d, saw %+v", got, w.saw())
	}
}

// TestExecAfterACrash: what had begun and never ended is told once, and the next time begins.
func TestExecAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.entry.Spec = w.spec(time.Now().UTC().Add(-time.Minute), time.Time{}) // it is not known how long it may go on
	w.cut(call{Run: true})
	w.wantHistory(Firing{State: Begun})
	if got := w.run(call{}); got != 0 || len(w.saw()) != 2 || w.saw()[1].Notice == nil || !strings.Contains(w.saw()[1].Notice.Title, "the last one was killed") {
		t.Errorf("the same time again: exit %d, saw %+v", got, w.saw())
	}
	if got := w.run(call{}); got != 0 || len(w.saw()) != 2 {
		t.Errorf("and once more: exit %d, saw %+v; it was told already", got, w.saw())
	}
	w.entry.Spec = w.spec(time.Now().UTC(), time.Now().UTC().Add(5*time.Hour))
	if got := w.run(call{Code: 3, Run: true}); got != 3 {
		t.Errorf("the next time: exit %d", got)
	}
	if !strings.Contains(w.log(), "was killed before its end\n") {
		t.Errorf("log:\n%s", w.log())
	}
}
