package host

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// Host is a person's account on a machine, as far as schedules go.
type Host struct {
	Home       string // absolute
	ConfigHome string // XDG_CONFIG_HOME, or what stands for it
	Root       string // the state folder
	// Zone is the zone that the person's clock shows; empty when it has no name. ServiceZone is
	// that of the machine's services, which a variable of the person's does not reach.
	Zone, ServiceZone string
	GOOS              string
	UID               int
	// Run runs a program with a standard input and returns its standard output. An error of the
	// program is a *ProgramError. No time limit is expected of it.
	Run func(ctx context.Context, stdin []byte, name string, args ...string) ([]byte, error)
}

// Here is the account that this process runs under. environ is what programs get, and where
// they are found. It creates nothing; it is an error when HOME, or the state folder, is not known.
func Here(getenv func(string) string, environ []string) (Host, error) {
	h := Host{Home: getenv("HOME"), GOOS: runtime.GOOS, UID: os.Getuid()}
	if !filepath.IsAbs(h.Home) {
		return Host{}, fmt.Errorf("find the home folder: HOME is %q; set it to an absolute path", h.Home)
	}
	root, err := statedir.Root(getenv, h.GOOS)
	if err != nil {
		return Host{}, err
	}
	h.Root = root
	h.ConfigHome = getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(h.ConfigHome) { // a relative one counts as none
		h.ConfigHome = filepath.Join(h.Home, ".config")
	}
	// Without a name, asking for one is left to whoever needs it.
	h.Zone, _ = schedule.LocalZone(getenv)
	h.ServiceZone, _ = schedule.LocalZone(func(string) string { return "" })
	h.Run = programs(environ, h.UID)
	return h, nil
}

// EntryFile is the path of the entry of a schedule. The folder that it is in belongs to the
// schedule as a whole.
func EntryFile(root, name string) string {
	return filepath.Join(root, "schedules", name, "entry.json")
}

// Load reads the entry of a schedule. os.ErrNotExist can be told with errors.Is.
func Load(root, name string) (schedule.Entry, error) {
	if err := schedule.CheckName(name); err != nil {
		return schedule.Entry{}, err
	}
	var e schedule.Entry
	if err := statedir.LoadJSON(EntryFile(root, name), &e); err != nil {
		return schedule.Entry{}, fmt.Errorf("load schedule %s: %w", name, err)
	}
	if e.Name != name {
		return schedule.Entry{}, fmt.Errorf("load schedule %s: the entry is that of %q", name, e.Name)
	}
	if err := e.Check(); err != nil {
		return schedule.Entry{}, fmt.Errorf("load schedule %s: %w", name, err)
	}
	return e, nil
}

// Load reads the entry of a schedule of this account.
func (h Host) Load(name string) (schedule.Entry, error) { return Load(h.Root, name) }

// Units is what an entry becomes on this machine: its files, or for cron one that is called crontab
// and holds its lines.
func (h Host) Units(e schedule.Entry) ([]unit.File, error) {
	if e.Backend != schedule.Cron {
		return unit.Files(e, h.ServiceZone)
	}
	block, err := unit.Block(e, h.ServiceZone)
	if err != nil {
		return nil, err
	}
	return []unit.File{{Name: crontabName, Text: []byte(strings.Join(block, "\n") + "\n")}}, nil
}

// Detect is the best way to start schedules here, and why. It is empty when there is none.
func (h Host) Detect(ctx context.Context) (found schedule.Backend, why string) {
	var missing []string
	for _, b := range []schedule.Backend{schedule.Systemd, schedule.Launchd, schedule.Cron} {
		if !h.fits(b) {
			continue
		}
		said, err := h.answers(ctx, b)
		if err == nil {
			return b, strings.Join(append(missing, said), "; ")
		}
		missing = append(missing, fmt.Sprintf("%s does not answer (%v)", described(b), err))
	}
	return "", strings.Join(missing, "; ")
}

func (h Host) fits(b schedule.Backend) bool {
	switch b {
	case schedule.Systemd:
		return h.GOOS == "linux"
	case schedule.Launchd:
		return h.GOOS == "darwin"
	}
	return true
}

func described(b schedule.Backend) string {
	switch b {
	case schedule.Systemd:
		return "your systemd"
	case schedule.Launchd:
		return "launchd"
	}
	return crontabName
}

// answers asks a backend for a sign of life.
func (h Host) answers(ctx context.Context, b schedule.Backend) (string, error) {
	switch b {
	case schedule.Systemd:
		_, err := h.run(ctx, "systemctl", "--user", "show-environment")
		return "your systemd answers", err
	case schedule.Launchd:
		if _, err := h.run(ctx, "launchctl", "print", h.loginDomain()); err == nil {
			return "launchd answers", nil
		}
		_, err := h.run(ctx, "launchctl", "print", h.userDomain())
		return "launchd answers, outside of a login window", err
	}
	_, err := h.readCrontab(ctx)
	return "crontab answers; whether cron itself is running is not known", err
}

func (h Host) loginDomain() string { return "gui/" + strconv.Itoa(h.UID) }
func (h Host) userDomain() string  { return "user/" + strconv.Itoa(h.UID) }

// domain is where launchd keeps the agents of this person.
func (h Host) domain(ctx context.Context) string {
	if _, err := h.run(ctx, "launchctl", "print", h.loginDomain()); err == nil {
		return h.loginDomain()
	}
	return h.userDomain()
}

// Lingering reports whether the person's systemd goes on when the person is logged out; without it
// no timer runs then. It is not known where nobody answers.
func (h Host) Lingering(ctx context.Context) (on, known bool) {
	out, err := h.run(ctx, "loginctl", "show-user", strconv.Itoa(h.UID), "--property=Linger")
	if err != nil {
		return false, false
	}
	switch value := strings.TrimSpace(string(out)); value {
	case "Linger=yes", "Linger=no":
		return value == "Linger=yes", true
	}
	return false, false
}

// folder is where the files of a backend are.
func (h Host) folder(b schedule.Backend) string {
	switch b {
	case schedule.Systemd:
		return filepath.Join(cmp.Or(h.ConfigHome, filepath.Join(h.Home, ".config")), "systemd", "user")
	case schedule.Launchd:
		return filepath.Join(h.Home, "Library", "LaunchAgents")
	}
	return ""
}

func (h Host) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	return h.Run(ctx, nil, name, args...)
}
