package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, goos, set string
		want            schedule.Backend
		why             string
	}{
		{"systemd", "linux", "", schedule.Systemd, "your systemd answers"},
		{"no bus", "linux", "no-systemd", schedule.Cron, "No medium found"},
		{"launchd", "darwin", "", schedule.Launchd, "launchd answers"},
		{"launchd without a window", "darwin", "no-gui", schedule.Launchd, "outside of a login window"},
		{"another system", "freebsd", "", schedule.Cron, "crontab answers"},
		{"nothing", "freebsd", "denied", "", "not allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.goos)
			if tt.set != "" {
				m.set(tt.set, "")
			}
			if got, why := m.Detect(t.Context()); got != tt.want || !strings.Contains(why, tt.why) {
				t.Errorf("got %q, %q, want %q, %q", got, why, tt.want, tt.why)
			}
		})
	}
}

func TestInstallListAndRemove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		goos            string
		backend         schedule.Backend
		install, remove []string
	}{
		{
			"linux", schedule.Systemd,
			[]string{"systemctl --user daemon-reload", "systemctl --user enable --now autopilot-nightly.timer"},
			[]string{"systemctl --user disable --now autopilot-nightly.timer", "systemctl --user daemon-reload"},
		},
		{"linux", schedule.Cron, []string{"crontab -"}, []string{"crontab -"}},
		{
			"darwin", schedule.Launchd,
			[]string{"launchctl enable gui/501/autopilot.nightly", "launchctl bootstrap gui/501 @HOME@/Library/LaunchAgents/autopilot.nightly.plist"},
			[]string{"launchctl bootout gui/501/autopilot.nightly"},
		},
	} {
		t.Run(string(tt.backend), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.goos)
			ctx, e := t.Context(), m.entry(tt.backend, "nightly")
			before := m.all()
			c, err := m.Plan(ctx, e)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, m.all()); d != "" || c.Empty() {
				t.Fatalf("the plan is empty (%v) or changes something:\n%s", c.Empty(), d)
			}
			checkDiff(t, m.Host, c.Diff(), e)
			m.calls()
			if err := m.Apply(ctx, c); err != nil {
				t.Fatal(err)
			}
			checkCalls(t, m, tt.install)
			checkRecord(t, m, e)

			list, bad := m.List(ctx)
			want := []host.Installed{{Entry: e, Enabled: true}}
			if tt.backend == schedule.Systemd {
				want[0].Next = time.Date(2027, 1, 4, 21, 0, 0, 0, time.UTC)
			}
			if d := cmp.Diff(want, list); d != "" || len(bad) > 0 {
				t.Errorf("List: %v (-want +got):\n%s", bad, d)
			}
			again, err := m.Plan(ctx, e)
			if err != nil || !again.Empty() || again.Diff() != "" {
				t.Errorf("planned again: empty %v, %v\n%s", again.Empty(), err, again.Diff())
			}
			m.calls()
			if err := m.Remove(ctx, "nightly"); err != nil {
				t.Fatal(err)
			}
			checkCalls(t, m, tt.remove)
			after := m.all()
			if after["machine/crontab"] == "" {
				delete(after, "machine/crontab") // an empty one is none
			}
			if d := cmp.Diff(before, after); d != "" {
				t.Errorf("what is left (-want +got):\n%s", d)
			}
			if err := m.Remove(ctx, "nightly"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("removed a second time: %v", err)
			}
			if list, bad := m.List(ctx); len(list) > 0 || len(bad) > 0 {
				t.Errorf("List is %v, %v", list, bad)
			}
		})
	}
}

// checkDiff puts the added lines of a diff together again.
func checkDiff(t *testing.T, h host.Host, diff string, e schedule.Entry) {
	t.Helper()
	var added strings.Builder
	for l := range strings.Lines(diff) {
		if strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "+++ ") {
			added.WriteString(l[1:])
		}
	}
	files, err := h.Units(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.Contains(added.String(), string(f.Text)) || !strings.Contains(diff, f.Name) {
			t.Errorf("%s is not shown in\n%s", f.Name, diff)
		}
	}
	for _, want := range []string{"--- /dev/null\n+++ " + host.EntryFile(h.Root, e.Name) + "\n", `+    "a <goal> & more"`} {
		if !strings.Contains(diff, want) {
			t.Errorf("%q is not in\n%s", want, diff)
		}
	}
}

func checkCalls(t *testing.T, m machine, want []string) {
	t.Helper()
	got := slices.DeleteFunc(m.calls(), func(l string) bool {
		return strings.Contains(l, " show ") || strings.Contains(l, " print ") || l == "crontab -l"
	})
	for i, l := range want {
		want[i] = strings.ReplaceAll(l, "@HOME@", m.Home)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("programs (-want +got):\n%s", d)
	}
}

// checkRecord reads an entry the way that a program started by a unit does.
func checkRecord(t *testing.T, m machine, e schedule.Entry) {
	t.Helper()
	got, err := host.Load(m.Root, e.Name)
	if d := cmp.Diff(e, got); err != nil || d != "" {
		t.Errorf("entry: %v (-want +got):\n%s", err, d)
	}
	for path, mode := range map[string]os.FileMode{host.EntryFile(m.Root, e.Name): 0o600, filepath.Dir(host.EntryFile(m.Root, e.Name)): 0o700, e.Logs: 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", path, info, err, mode)
		}
	}
}

func TestForeignUnitsStay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		goos    string
		backend schedule.Backend
		path    string
		link    bool
	}{
		{"linux", schedule.Systemd, ".config/systemd/user/autopilot-nightly.service", false},
		{"linux", schedule.Systemd, ".config/systemd/user/autopilot-nightly.timer", false},
		{"linux", schedule.Systemd, ".config/systemd/user/autopilot-nightly.timer", true},
		{"darwin", schedule.Launchd, "Library/LaunchAgents/autopilot.nightly.plist", false},
	} {
		t.Run(fmt.Sprint(tt.path, tt.link), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tt.goos)
			path := filepath.Join(m.Home, tt.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			put := func() error { return os.WriteFile(path, []byte("[Unit]\nDescription=mine\n"), 0o600) }
			if tt.link {
				put = func() error { return os.Symlink("/dev/null", path) }
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			before := m.all()
			check := func(what string, err error) {
				t.Helper()
				foreign, ok := errors.AsType[*host.NotOursError](err)
				if !ok || foreign.Path != path || !strings.Contains(err.Error(), "not ours") || foreign.Hint() == "" {
					t.Errorf("%s: %v, want %s to be not ours", what, err, path)
				}
			}
			_, err := m.Plan(t.Context(), m.entry(tt.backend, "nightly"))
			check("install", err)
			check("remove", m.Remove(t.Context(), "nightly"))
			if d := cmp.Diff(before, m.all()); d != "" {
				t.Errorf("(-before +after):\n%s", d)
			}
			if list, bad := m.List(t.Context()); len(list) > 0 || len(bad) > 0 {
				t.Errorf("List is %v, %v", list, bad)
			}

			// Another of our files does not make it ours.
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			m.install(m.entry(tt.backend, "nightly"))
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			check("remove with an entry", m.Remove(t.Context(), "nightly"))

			// A schedule of that name that is started in another way is no matter of that file.
			m = newMachine(t, tt.goos)
			path = filepath.Join(m.Home, tt.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			m.install(m.entry(schedule.Cron, "nightly"))
			if list, bad := m.List(t.Context()); len(list) != 1 || len(list[0].Extra) > 0 || len(bad) > 0 {
				t.Errorf("List is %+v, %v", list, bad)
			}
			if err := m.Remove(t.Context(), "nightly"); err != nil {
				t.Errorf("remove a schedule of cron: %v", err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("the foreign file: %v", err)
			}
		})
	}
}

func TestABackendOfAnotherSystem(t *testing.T) {
	t.Parallel()
	for goos, b := range map[string]schedule.Backend{"linux": schedule.Launchd, "darwin": schedule.Systemd} {
		m := newMachine(t, goos)
		_, err := m.Plan(t.Context(), m.entry(b, "nightly"))
		if _, ok := errors.AsType[*schedule.InvalidError](err); !ok {
			t.Errorf("%s on %s: %v", b, goos, err)
		}
	}
}
