package unit_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

const berlin = "Europe/Berlin"

func entry(b schedule.Backend, edit func(*schedule.Entry)) schedule.Entry {
	e := schedule.Entry{
		Version: schedule.Version, Name: "nightly", Backend: b, Overlap: schedule.Skip,
		Spec: schedule.Spec{Cron: []string{"0 22 * * 1-5"}, Zone: berlin, Until: "06:00"},
		Dir:  "/home/someone/src/app", Program: "/home/someone/.local/bin/autopilot",
		Args:      []string{"run", "make it so"},
		Environ:   []string{"HOME=/home/someone", "LANG=C.UTF-8", "PATH=/home/someone/.local/bin:/usr/bin:/bin"},
		Logs:      "/home/someone/.local/state/autopilot/schedules/nightly/logs",
		CreatedAt: time.Date(2027, 1, 4, 12, 0, 0, 0, time.UTC),
	}
	if edit != nil {
		edit(&e)
	}
	return e
}

func odd(e *schedule.Entry) {
	e.Name = "odd_1-A"
	e.Program = `/opt/it's 100% "new" $HOME;x/autopilot`
	e.Dir = `/srv/it's 100% "new" $HOME`
	e.Environ = []string{`A=a b`, `B=100%h`, `C=$HOME`, `D=say "hi"`, `E=it's`, `F=`, `G=#;`, `HOME=/home/some one`, `I=ü€`, `XDG_STATE_HOME=/srv/50% state`}
	e.EnvFile = `/home/some one/100%.env`
}

// sample is one entry and where it is installed.
type sample struct {
	name  string
	zone  string // of the machine
	entry schedule.Entry
}

func samples() []sample {
	times := func(zone string, cron ...string) func(*schedule.Entry) {
		return func(e *schedule.Entry) { e.Spec = schedule.Spec{Cron: cron, Zone: zone} }
	}
	return []sample{
		{"systemd-window", berlin, entry(schedule.Systemd, nil)},
		{"systemd-other-zone", berlin, entry(schedule.Systemd, times("America/New_York", "30 2 * * *"))},
		{"systemd-many-times", "", entry(schedule.Systemd, times("UTC", "*/20 9-17 * * 0,1,3-5", "5,10 22 1,15,28-31 1,3-6 *"))},
		{"systemd-odd", berlin, entry(schedule.Systemd, func(e *schedule.Entry) {
			odd(e)
			e.Program = `/opt/100% new $HOME;x/autopilot` // it takes no quotes in this one place
		})},
		{"cron-window", berlin, entry(schedule.Cron, nil)},
		{"cron-other-zone", berlin, entry(schedule.Cron, times("America/New_York", "30 2 * * 1-5", "0 22 1 * *"))},
		{"cron-odd", berlin, entry(schedule.Cron, func(e *schedule.Entry) {
			odd(e)
			e.EnvFile = ""
		})},
		{"launchd-window", berlin, entry(schedule.Launchd, nil)},
		{"launchd-other-zone", "America/New_York", entry(schedule.Launchd, times("Asia/Kolkata", "0,30 7 * 6-8 *"))},
		{"launchd-odd", berlin, entry(schedule.Launchd, odd)},
	}
}

// render is all that a sample becomes, by name.
func render(t *testing.T, s sample) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := unit.Files(s.entry, s.zone)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out[f.Name] = string(f.Text)
	}
	if s.entry.Backend == schedule.Cron {
		block, err := unit.Block(s.entry, s.zone)
		if err != nil {
			t.Fatal(err)
		}
		out["crontab"] = strings.Join(block, "\n") + "\n"
	}
	return out
}

// need finds a program that a test cannot do without. Where everything is tested it has to be
// there.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is missing: %v", program, err)
	}
	t.Skipf("%s is missing", program)
	return ""
}
