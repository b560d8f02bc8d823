package schedule_test

import (
	"errors"
	"strings"
	"testing"

	"autopilot/supervisor/schedule"
)

func TestEntryCheck(t *testing.T) {
	t.Parallel()
	good := func() schedule.Entry {
		return schedule.Entry{
			Version: schedule.Version, Name: "nightly_2-a", Backend: schedule.Cron, Overlap: schedule.Skip,
			Spec: schedule.Spec{Cron: []string{"0 22 * * *"}, Zone: berlin},
			Dir:  "/srv/app", Program: "/usr/bin/autopilot", Args: []string{"run", "two\nlines"},
			Environ: []string{"HOME=/home/someone", "EMPTY="}, EnvFile: "/home/someone/secrets", Logs: "/home/someone/logs",
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*schedule.Entry){
		"another version":         func(e *schedule.Entry) { e.Version = 2 },
		"no name":                 func(e *schedule.Entry) { e.Name = "" },
		"auto":                    func(e *schedule.Entry) { e.Backend = schedule.Auto },
		"no overlap":              func(e *schedule.Entry) { e.Overlap = "" },
		"a relative work tree":    func(e *schedule.Entry) { e.Dir = "app" },
		"a relative program":      func(e *schedule.Entry) { e.Program = "autopilot" },
		"a line end in a path":    func(e *schedule.Entry) { e.Logs = "/x\n* * * * * evil" },
		"a relative file":         func(e *schedule.Entry) { e.EnvFile = "secrets" },
		"bytes that are no text":  func(e *schedule.Entry) { e.Dir = "/srv/\xff" },
		"no command":              func(e *schedule.Entry) { e.Args = nil },
		"a zero byte":             func(e *schedule.Entry) { e.Args = []string{"run", "a\x00b"} },
		"no variable":             func(e *schedule.Entry) { e.Environ = []string{"HOME"} },
		"a variable without name": func(e *schedule.Entry) { e.Environ = []string{"=x"} },
		"a line end in a value":   func(e *schedule.Entry) { e.Environ = []string{"A=b\nExecStart=evil"} },
		"no times":                func(e *schedule.Entry) { e.Spec = schedule.Spec{} },
	} {
		e := good()
		edit(&e)
		if _, ok := errors.AsType[*schedule.InvalidError](e.Check()); !ok {
			t.Errorf("%s: passes", name)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "nightly", "A-1_b", strings.Repeat("x", 40)} {
		if err := schedule.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-a", "_a", "a b", "a.b", "a/b", "../a", "a\nb", "ä", "a%", strings.Repeat("x", 41)} {
		if err := schedule.CheckName(name); err == nil {
			t.Errorf("%q passes", name)
		}
	}
}
