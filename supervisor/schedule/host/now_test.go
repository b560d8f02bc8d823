package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

func TestRunNow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		goos    string
		backend schedule.Backend
		started bool
		call    string
	}{
		{"linux", schedule.Systemd, true, "systemctl --user start --no-block autopilot-nightly.service"},
		{"linux", schedule.Cron, false, ""},
		{"darwin", schedule.Launchd, true, "launchctl kickstart gui/501/autopilot.nightly"},
	} {
		m := newMachine(t, tt.goos)
		m.install(m.entry(tt.backend, "nightly"))
		m.calls()
		started, err := m.RunNow(t.Context(), "nightly")
		if err != nil || started != tt.started {
			t.Errorf("%s: %v, %v, want %v", tt.backend, started, err, tt.started)
		}
		if tt.call != "" && !slices.Contains(m.calls(), tt.call) {
			t.Errorf("%s: %q was not called", tt.backend, tt.call)
		}
		var taken sync.Map
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if ok, err := host.TakeRunNow(m.Root, "nightly", time.Now()); ok || err != nil {
					taken.Store(i, err)
				}
			})
		}
		wg.Wait()
		n := 0
		taken.Range(func(_, err any) bool { n++; return err == nil })
		if n != 1 {
			t.Errorf("%s: the wish was taken %d times, want once", tt.backend, n)
		}
	}
}

func TestAWishThatNobodyTookIsForgotten(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.install(m.entry(schedule.Cron, "nightly"))
	for late, want := range map[time.Duration]bool{0: true, 4 * time.Minute: true, 6 * time.Minute: false, -24 * time.Hour: false} {
		if _, err := m.RunNow(t.Context(), "nightly"); err != nil {
			t.Fatal(err)
		}
		if got, err := host.TakeRunNow(m.Root, "nightly", time.Now().Add(late)); got != want || err != nil {
			t.Errorf("%v later: %v, %v, want %v", late, got, err, want)
		}
		if got, _ := host.TakeRunNow(m.Root, "nightly", time.Now()); got {
			t.Errorf("%v later: taken twice", late)
		}
	}
	if _, err := m.RunNow(t.Context(), "other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a schedule that is not there: %v", err)
	}
}

func TestARunThatCannotBeStartedLeavesNoWish(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.install(m.entry(schedule.Systemd, "nightly"))
	m.set("no-systemd", "")
	if started, err := m.RunNow(t.Context(), "nightly"); started || err == nil {
		t.Errorf("got %v, %v", started, err)
	}
	if got, err := host.TakeRunNow(m.Root, "nightly", time.Now()); got || err != nil {
		t.Errorf("a wish is left: %v, %v", got, err)
	}
}

func TestLingering(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{"yes": {true, true}, "no": {false, true}, "maybe": {false, false}} {
		m := newMachine(t, "linux")
		m.set("linger", text)
		if on, known := m.Lingering(t.Context()); on != want[0] || known != want[1] {
			t.Errorf("%s: %v, %v", text, on, known)
		}
	}
	for _, goos := range []string{"linux", "darwin"} { // one does not answer, the other has no such program
		if on, known := newMachine(t, goos).Lingering(t.Context()); on || known {
			t.Errorf("%s: %v, %v", goos, on, known)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.install(m.entry(schedule.Cron, "nightly"))
	text, err := os.ReadFile(host.EntryFile(m.Root, "nightly"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		path := host.EntryFile(m.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("another", string(text))
	put("version", strings.Replace(strings.ReplaceAll(string(text), "nightly", "version"), `"version": 1`, `"version": 9`, 1))
	put("empty", "")
	for _, name := range []string{"another", "version", "empty", "../x", "", "missing"} {
		if e, err := host.Load(m.Root, name); err == nil {
			t.Errorf("%q gives %+v", name, e)
		}
	}
	if _, err := host.Load(m.Root, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
}

func TestHereWantsAHome(t *testing.T) {
	t.Parallel()
	for _, home := range []string{"", "relative"} {
		_, err := host.Here(func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		}, nil)
		if err == nil {
			t.Errorf("HOME %q is taken", home)
		}
	}
}

func TestWhatAProgramSaysIsOneShortLine(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	_, err := m.Run(t.Context(), nil, "loud", "1", "2", "3", "4")
	said, ok := errors.AsType[*host.ProgramError](err)
	if !ok || !strings.HasPrefix(said.Error(), "loud 1 2 3: a b [31m\uFFFD xxx") || len(said.Error()) > 400 {
		t.Errorf("got %.500v", err)
	}
	if _, err := m.Run(t.Context(), nil, "absent"); err == nil || !strings.Contains(err.Error(), "absent: not installed") {
		t.Errorf("got %v", err)
	}
	out, err := m.Run(t.Context(), []byte("in"), "crontab", "-")
	if err != nil || len(out) > 0 || m.table() != "in" {
		t.Errorf("got %q, %v, and the crontab is %q", out, err, m.table())
	}
}
