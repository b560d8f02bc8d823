package host_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

const berlin = "Europe/Berlin"

// machine is a scratch account with stand-ins for the programs of a machine.
type machine struct {
	host.Host
	t     *testing.T
	state string
}

func newMachine(t *testing.T, goos string) machine {
	t.Helper()
	dir := t.TempDir()
	m := machine{t: t, state: filepath.Join(dir, "machine")}
	home := filepath.Join(dir, "home")
	for _, d := range []string{m.state, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The programs are not written here: one that is open for writing in a child that another
	// test has just forked cannot be run.
	programs, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	environ := []string{
		"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"PATH=" + filepath.Join(programs, goos) + ":" + filepath.Join(programs, "any"),
		"STATE=" + m.state, "UNITS=" + filepath.Join(home, ".config/systemd/user"),
	}
	h, err := host.Here(func(name string) string {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}, environ)
	if err != nil {
		t.Fatal(err)
	}
	h.GOOS, h.UID, h.Zone, h.ServiceZone = goos, 501, berlin, berlin
	m.Host = h
	return m
}

func (m machine) entry(b schedule.Backend, name string) schedule.Entry {
	return schedule.Entry{
		Version: schedule.Version, Name: name, Backend: b, Overlap: schedule.Skip,
		Spec: schedule.Spec{Cron: []string{"0 22 * * 1-5"}, Zone: berlin, Until: "06:00"},
		Dir:  "/srv/app", Program: "/opt/autopilot", Args: []string{"run", "a <goal> & more"},
		Environ:   []string{"HOME=" + m.Home, "PATH=/usr/bin"},
		Logs:      filepath.Join(filepath.Dir(host.EntryFile(m.Root, name)), "logs"),
		CreatedAt: time.Date(2027, 1, 4, 12, 0, 0, 0, time.UTC),
	}
}

func (m machine) install(e schedule.Entry) {
	m.t.Helper()
	c, err := m.Plan(m.t.Context(), e)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.Apply(m.t.Context(), c); err != nil {
		m.t.Fatal(err)
	}
}

// set writes a file of the machine's state, such as one that makes a stand-in fail.
func (m machine) set(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.state, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m machine) table() string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.state, "crontab"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return string(text)
}

// calls are the programs that were run since the last time that this was asked.
func (m machine) calls() []string {
	m.t.Helper()
	name := filepath.Join(m.state, "calls")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// all is every file of the account and of the machine, but for locks, logs and calls.
func (m machine) all() map[string]string {
	m.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(m.state), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "calls" || strings.HasSuffix(d.Name(), ".lock") {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(filepath.Dir(m.state), path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

// failing lets the nth call that changes something fail without doing it, and every later one that
// also matches again; it returns how many of them there were.
func (m *machine) failing(nth int, again func(name string, args []string) bool) *int {
	count, run := new(int), m.Run
	m.Run = func(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error) {
		line := name + " " + strings.Join(args, " ")
		looks := strings.Contains(line, " show ") || strings.Contains(line, " print ") || line == "crontab -l"
		if !looks {
			*count++
			if *count == nth || *count > nth && again != nil && again(name, args) {
				return nil, &host.ProgramError{Command: name, Said: "made to fail", Err: errors.New("exit status 1")}
			}
		}
		return run(ctx, stdin, name, args...)
	}
	return count
}
