package host_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

func TestTheCrontabOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]string{
		"none":             "",
		"lines":            "# m h dom\nMAILTO=me\n0 1 * * * me # comment\n",
		"no line end":      "0 1 * * * me",
		"another system's": "0 1 * * * me\r\n\r\nA=b\r\n",
		"odd bytes":        "0 1 * * * echo \xff\x00%x\\\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "linux")
			if table != "" {
				m.set("crontab", table)
			}
			m.install(m.entry(schedule.Cron, "nightly"))
			with := m.table()
			for l := range strings.Lines(table) {
				if !strings.Contains(with, l) {
					t.Errorf("%q is no longer in %q", l, with)
				}
			}
			if found := unit.OfCrontab([]byte(with)); len(found) != 1 || len(found[0].Lines) != 3 {
				t.Errorf("in %q is %v", with, found)
			}
			if err := m.Remove(t.Context(), "nightly"); err != nil {
				t.Fatal(err)
			}
			want := table
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			if got := m.table(); got != want {
				t.Errorf("left is %q, want %q", got, want)
			}
		})
	}
}

func TestACrontabThatIsClosedIsNotEmpty(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.set("crontab", "0 1 * * * me\n")
	m.set("denied", "")
	if _, err := m.Plan(t.Context(), m.entry(schedule.Cron, "nightly")); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("got %v", err)
	}
}

func TestACrontabThatChangesInBetween(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.set("crontab", "0 1 * * * me\n")
	c, err := m.Plan(t.Context(), m.entry(schedule.Cron, "nightly"))
	if err != nil {
		t.Fatal(err)
	}
	m.set("crontab", "0 1 * * * me\n0 2 * * * new\n")
	if err := m.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := m.table(); !strings.HasPrefix(got, "0 1 * * * me\n0 2 * * * new\n# autopilot nightly: ") {
		t.Errorf("somebody's new line is gone: %q", got)
	}

	later := m.entry(schedule.Cron, "nightly")
	later.Spec.Cron = []string{"0 23 * * *"}
	if c, err = m.Plan(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	m.set("crontab", strings.ReplaceAll(m.table(), "0 22", "1 22"))
	before := m.all()
	if err := m.Apply(t.Context(), c); !isChanged(err) {
		t.Errorf("our own lines were changed, but: %v", err)
	}
	if d := cmp.Diff(before, m.all()); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}

func TestACrontabThatTakesNothing(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.set("deaf", "")
	c, err := m.Plan(t.Context(), m.entry(schedule.Cron, "nightly"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(t.Context(), c); !isChanged(err) {
		t.Errorf("got %v", err)
	}
}
