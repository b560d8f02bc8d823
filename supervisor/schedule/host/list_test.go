package host_test

import (
	"encoding/json"
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

func TestAUnitThatWasEditedByHand(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	e := m.entry(schedule.Systemd, "nightly")
	m.install(e)
	path := filepath.Join(m.ConfigHome, "systemd/user/autopilot-nightly.timer")
	whole := m.all()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), " 22:00:00", " 21:15:00", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	list, bad := m.List(t.Context())
	if len(bad) > 0 || len(list) != 1 || !slices.Equal(list[0].Changed, []string{path}) || len(list[0].Missing) > 0 {
		t.Errorf("List is %+v, %v, want %s changed", list, bad, path)
	}
	c, err := m.Plan(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.Diff(), "-OnCalendar=Mon..Fri *-*-* 21:15:00 Europe/Berlin\n+OnCalendar=Mon..Fri *-*-* 22:00:00 Europe/Berlin\n") {
		t.Errorf("the change is not shown:\n%s", c.Diff())
	}
	if err := m.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, m.all()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), " 22:00:00", " 21:15:00", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Remove(t.Context(), "nightly"); err != nil {
		t.Errorf("remove: %v", err)
	}
}

func TestWhatIsMissingOrTooMuchIsListed(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	units := filepath.Join(m.ConfigHome, "systemd/user")
	for _, e := range []schedule.Entry{
		m.entry(schedule.Systemd, "gone"), m.entry(schedule.Systemd, "off"), m.entry(schedule.Systemd, "orphan"), m.entry(schedule.Systemd, "twice"),
		m.entry(schedule.Cron, "table"), m.entry(schedule.Cron, "comment"), m.entry(schedule.Cron, "lost"), m.entry(schedule.Cron, "zone"), m.entry(schedule.Cron, "broken"),
	} {
		m.install(e)
	}
	remove := func(path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	remove(filepath.Join(units, "autopilot-gone.service"))
	remove(filepath.Join(m.state, "enabled", "autopilot-off.timer"))
	remove(host.EntryFile(m.Root, "orphan"))
	remove(host.EntryFile(m.Root, "lost"))
	record, err := json.Marshal(func() schedule.Entry { e := m.entry(schedule.Cron, "twice"); return e }())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		host.EntryFile(m.Root, "twice"):  string(record),
		host.EntryFile(m.Root, "broken"): "{",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := strings.ReplaceAll(m.table(), "0 22 * * 1-5 /usr/bin/env HOME="+m.Home+" /opt/autopilot schedule exec zone", "0 4 * * 2-6 /usr/bin/env HOME="+m.Home+" /opt/autopilot schedule exec zone")
	table = strings.ReplaceAll(table, "0 22 * * 1-5 /usr/bin/env HOME="+m.Home+" /opt/autopilot schedule exec comment", "#0 22 * * 1-5 /usr/bin/env HOME="+m.Home+" /opt/autopilot schedule exec comment")
	m.set("crontab", table)

	list, bad := m.List(t.Context())
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), "load schedule broken") {
		t.Errorf("errors %v, want one about the broken entry", bad)
	}
	next := time.Date(2027, 1, 4, 21, 0, 0, 0, time.UTC)
	brief := func(b schedule.Backend, name string) schedule.Entry { return schedule.Entry{Name: name, Backend: b} }
	want := []host.Installed{
		{Entry: m.entry(schedule.Cron, "comment"), Changed: []string{"crontab"}},
		{Entry: m.entry(schedule.Systemd, "gone"), Enabled: true, Missing: []string{filepath.Join(units, "autopilot-gone.service")}},
		{Entry: brief(schedule.Cron, "lost"), Enabled: true, Orphan: true},
		{Entry: m.entry(schedule.Systemd, "off"), Next: next},
		{Entry: brief(schedule.Systemd, "orphan"), Enabled: true, Orphan: true},
		{Entry: m.entry(schedule.Cron, "table"), Enabled: true},
		{
			Entry: m.entry(schedule.Cron, "twice"), Enabled: true, Missing: []string{"crontab"},
			Extra: []string{filepath.Join(units, "autopilot-twice.service"), filepath.Join(units, "autopilot-twice.timer")},
		},
		{Entry: m.entry(schedule.Cron, "zone"), Enabled: true, Changed: []string{"crontab"}},
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	// Each of them can be mended or taken away.
	for _, e := range []schedule.Entry{m.entry(schedule.Systemd, "gone"), m.entry(schedule.Systemd, "off"), m.entry(schedule.Cron, "twice"), m.entry(schedule.Cron, "comment")} {
		m.install(e)
	}
	list, _ = m.List(t.Context())
	for _, i := range list {
		mended := slices.Contains([]string{"gone", "off", "twice", "comment"}, i.Entry.Name)
		if mended && (!i.Enabled || len(i.Missing)+len(i.Changed)+len(i.Extra) > 0) {
			t.Errorf("not mended: %+v", i)
		}
	}
	for _, name := range []string{"gone", "off", "twice", "comment", "table", "zone", "orphan", "lost", "broken"} {
		if err := m.Remove(t.Context(), name); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	if m.table() != "" {
		t.Errorf("in the crontab is %q", m.table())
	}
	if left, err := os.ReadDir(units); err != nil || len(left) > 0 {
		t.Errorf("units %v, %v", left, err)
	}
}

func TestListWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "linux")
	m.install(m.entry(schedule.Systemd, "a"))
	m.install(m.entry(schedule.Cron, "b"))
	m.set("no-systemd", "")
	m.set("denied", "")
	list, bad := m.List(t.Context())
	if len(bad) != 2 {
		t.Errorf("errors %v, want one for each", bad)
	}
	want := []host.Installed{{Entry: m.entry(schedule.Systemd, "a"), Enabled: true}, {Entry: m.entry(schedule.Cron, "b"), Enabled: true}}
	if d := cmp.Diff(want, list); d != "" {
		t.Errorf("what is not known is told as wrong (-want +got):\n%s", d)
	}
	if err := m.Remove(t.Context(), "a"); err == nil {
		t.Errorf("removed although systemd does not answer")
	}
	if err := m.Remove(t.Context(), "b"); err == nil {
		t.Errorf("removed although the crontab is closed")
	}
	if list, _ := m.List(t.Context()); len(list) != 2 || len(list[0].Missing) > 0 {
		t.Errorf("List is %+v", list)
	}
}
