package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
	"autopilot/supervisor/schedule/unit"
)

// Whatever fails first, everything is as it was; and whatever fails from then on is told.
func TestAFailedChangeIsTakenBack(t *testing.T) {
	t.Parallel()
	later := func(e schedule.Entry) schedule.Entry {
		e.Spec.Cron, e.CreatedAt = []string{"30 23 * * *"}, e.CreatedAt.Add(time.Hour)
		return e
	}
	type plan = func(*testing.T, machine) (host.Change, error)
	install := func(b schedule.Backend) plan {
		return func(t *testing.T, m machine) (host.Change, error) { return m.Plan(t.Context(), m.entry(b, "nightly")) }
	}
	again := func(before, after schedule.Backend) plan {
		return func(t *testing.T, m machine) (host.Change, error) {
			m.install(m.entry(before, "nightly"))
			return m.Plan(t.Context(), later(m.entry(after, "nightly")))
		}
	}
	half := func(without string, next func(machine) (host.Change, error)) plan {
		return func(t *testing.T, m machine) (host.Change, error) {
			m.install(m.entry(schedule.Systemd, "nightly"))
			if err := os.Remove(filepath.Join(m.state, without, "autopilot-nightly.timer")); err != nil {
				t.Fatal(err)
			}
			return next(m)
		}
	}
	anew := func(m machine) (host.Change, error) {
		return m.Plan(t.Context(), later(m.entry(schedule.Systemd, "nightly")))
	}
	away := func(m machine) (host.Change, error) { return m.PlanRemoval(t.Context(), "nightly") }
	remove := func(b schedule.Backend) plan {
		return func(t *testing.T, m machine) (host.Change, error) {
			m.install(m.entry(b, "nightly"))
			return m.PlanRemoval(t.Context(), "nightly")
		}
	}
	for _, tt := range []struct {
		name, goos string
		plan       plan
		steps      int // calls that change something
	}{
		{"systemd", "linux", install(schedule.Systemd), 2},
		{"systemd anew", "linux", again(schedule.Systemd, schedule.Systemd), 3},
		{"systemd away", "linux", remove(schedule.Systemd), 2},
		{"systemd anew, stopped", "linux", half("active", anew), 2},
		{"systemd anew, disabled", "linux", half("enabled", anew), 3},
		{"systemd away, stopped", "linux", half("active", away), 2},
		{"systemd away, disabled", "linux", half("enabled", away), 2},
		{"launchd", "darwin", install(schedule.Launchd), 2},
		{"launchd anew", "darwin", again(schedule.Launchd, schedule.Launchd), 3},
		{"launchd away", "darwin", remove(schedule.Launchd), 1},
		{"cron", "linux", install(schedule.Cron), 1},
		{"cron anew", "linux", again(schedule.Cron, schedule.Cron), 1},
		{"cron away", "linux", remove(schedule.Cron), 1},
		{"from cron to systemd", "linux", again(schedule.Cron, schedule.Systemd), 3},
		{"from systemd to cron", "linux", again(schedule.Systemd, schedule.Cron), 3},
		{"from cron to launchd", "darwin", again(schedule.Cron, schedule.Launchd), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for nth := 1; nth <= tt.steps+1; nth++ {
				m := newMachine(t, tt.goos)
				m.set("crontab", "# mine\nA=b\n0 1 * * * me\n")
				c, err := tt.plan(t, m)
				if err != nil {
					t.Fatal(err)
				}
				before := m.all()
				done := m.failing(nth, nil)
				err = m.Apply(t.Context(), c)
				if nth > tt.steps {
					if err != nil || *done != tt.steps {
						t.Fatalf("without a failure: %v after %d steps, want %d", err, *done, tt.steps)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), "made to fail") {
					t.Fatalf("step %d: %v", nth, err)
				}
				if left, ok := errors.AsType[*host.LeftError](err); ok {
					t.Errorf("step %d: %v is left", nth, left.Left)
				}
				if d := cmp.Diff(before, m.all()); d != "" {
					t.Errorf("step %d (-before +after):\n%s", nth, d)
				}
			}
		})
	}
}

func TestWhatCannotBeTakenBackIsTold(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	c, err := m.Plan(t.Context(), m.entry(schedule.Systemd, "nightly"))
	if err != nil {
		t.Fatal(err)
	}
	m.failing(2, func(name string, _ []string) bool { return name == "systemctl" })
	err = m.Apply(t.Context(), c)
	left, ok := errors.AsType[*host.LeftError](err)
	if !ok || len(left.Left) != 2 || !strings.Contains(err.Error(), "autopilot-nightly.timer") {
		t.Errorf("got %v, want the timer and what systemd knows to be left", err)
	}
	if _, err := os.Stat(host.EntryFile(m.Root, "nightly")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the entry is left: %v", err)
	}
}

func TestATimerWithoutTimesIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, was := range []bool{false, true} {
		m := newMachine(t, "linux")
		e := m.entry(schedule.Systemd, "nightly")
		if was {
			m.install(e)
			e.Spec.Cron = []string{"0 23 * * *"}
		}
		m.set("no-times", "")
		before := m.all()
		c, err := m.Plan(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Apply(t.Context(), c); err == nil || !strings.Contains(err.Error(), "finds no time") {
			t.Errorf("got %v", err)
		}
		if d := cmp.Diff(before, m.all()); d != "" {
			t.Errorf("there before: %v (-before +after):\n%s", was, d)
		}
	}
}

func isChanged(err error) bool {
	changed, ok := errors.AsType[*host.ChangedError](err)
	return ok && changed.Hint() != ""
}

func TestAFileThatChangesInBetween(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"autopilot-nightly.timer", "autopilot-nightly.service"} {
		m := newMachine(t, "linux")
		c, err := m.Plan(t.Context(), m.entry(schedule.Systemd, "nightly"))
		if err != nil {
			t.Fatal(err)
		}
		full := filepath.Join(m.ConfigHome, "systemd/user", path)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		before := m.all()
		if err := m.Apply(t.Context(), c); !isChanged(err) {
			t.Errorf("%s: %v", path, err)
		}
		if d := cmp.Diff(before, m.all()); d != "" {
			t.Errorf("%s (-before +after):\n%s", path, d)
		}
	}
}

// Installs at once do not lose each other's lines, though the crontab is one file without a lock.
func TestInstallsAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.set("crontab", "0 1 * * * me\n")
	const n = 6
	var wg sync.WaitGroup
	errs := make([]error, 2*n)
	var all []host.Change
	for i := range n {
		c, err := m.Plan(t.Context(), m.entry(schedule.Cron, fmt.Sprintf("s%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		same, err := m.Plan(t.Context(), m.entry(schedule.Systemd, "same"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c, same)
	}
	for i := range n {
		wg.Go(func() { errs[i] = m.Apply(t.Context(), all[2*i]) })
		wg.Go(func() { errs[n+i] = m.Apply(t.Context(), all[2*i+1]) })
	}
	wg.Wait()
	done := 0
	for i, err := range errs {
		if i < n && err != nil {
			t.Errorf("s%d: %v", i, err)
		}
		if i >= n && err == nil {
			done++
		}
		if i >= n && err != nil && !isChanged(err) {
			t.Errorf("same: %v", err)
		}
	}
	if done != 1 {
		t.Errorf("%d of those that install the same were the first, want 1", done)
	}
	if got := unit.OfCrontab([]byte(m.table())); len(got) != n || !strings.HasPrefix(m.table(), "0 1 * * * me\n") {
		t.Errorf("in the crontab are %d of %d schedules:\n%s", len(got), n, m.table())
	}
	if list, bad := m.List(t.Context()); len(list) != n+1 || len(bad) > 0 {
		t.Errorf("List is %v, %v", list, bad)
	}
}

func TestAnAgentThatRunsIsNotChanged(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "darwin")
	m.install(m.entry(schedule.Launchd, "nightly"))
	later := m.entry(schedule.Launchd, "nightly")
	later.Spec.Cron = []string{"0 23 * * *"}
	planned, err := m.Plan(t.Context(), later)
	if err != nil {
		t.Fatal(err)
	}
	m.set("agents/autopilot.nightly", "running")
	before := m.all()
	for what, err := range map[string]error{
		"remove": m.Remove(t.Context(), "nightly"),
		"apply":  m.Apply(t.Context(), planned),
		"plan":   func() error { _, err := m.Plan(t.Context(), later); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "is running") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d := cmp.Diff(before, m.all()); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
	// What launchd does not know of can be changed.
	same := m.entry(schedule.Launchd, "nightly")
	same.Args = []string{"run", "another goal"}
	m.install(same)
}
