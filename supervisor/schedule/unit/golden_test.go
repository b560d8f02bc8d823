package unit_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

var update = flag.Bool("update", false, "write the units that are expected")

func TestUnitsAreAsExpected(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata", s.name)
			got := render(t, s)
			if *update {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				for name, text := range got {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := map[string]string{}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(dir, f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				want[f.Name()] = string(text)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if again := render(t, s); !maps.Equal(got, again) {
				t.Errorf("written twice, not the same")
			}
		})
	}
}

func TestOursAreKnownAgain(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		files, err := unit.Files(s.entry, s.zone)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
			if name, ok := unit.Of(f); !ok || name != s.entry.Name {
				t.Errorf("%s: %s is of %q, %v", s.name, f.Name, name, ok)
			}
			f.Name = "x" + f.Name
			if name, ok := unit.Of(f); ok {
				t.Errorf("%s: under the name %s it is still of %q", s.name, f.Name, name)
			}
		}
		if want := unit.Names(s.entry.Name, s.entry.Backend); !slices.Equal(names, want) {
			t.Errorf("%s: files %v, Names says %v", s.name, names, want)
		}
		if s.entry.Backend != schedule.Cron {
			continue
		}
		block := render(t, s)["crontab"]
		found := unit.OfCrontab([]byte("# mine\n1 2 * * * true # autopilot:\n" + block + "@reboot x #autopilot:nightly\n"))
		want := []unit.Found{{Name: s.entry.Name, Lines: strings.Split(strings.TrimSuffix(block, "\n"), "\n")}}
		if d := cmp.Diff(want, found); d != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, d)
		}
	}
}

func TestOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	plist := func(label string, words ...string) string {
		return `<?xml version="1.0"?><plist version="1.0"><dict><key>Label</key><string>` + label + `</string><key>ProgramArguments</key><array><string>` +
			strings.Join(words, "</string><string>") + `</string></array></dict></plist>`
	}
	for _, f := range []unit.File{
		{Name: "autopilot-nightly.service", Text: []byte("[Service]\nExecStart=/bin/true\n")},
		{Name: "autopilot-nightly.service", Text: []byte("[X-Autopilot]\nSchedule=other\n")},
		{Name: "autopilot-nightly.service", Text: []byte("[Service]\nSchedule=nightly\n[X-Autopilot]\n")},
		{Name: "autopilot-nightly.service", Text: []byte("[X-Autopilot]\nSchedule=nightly\nSchedule=../x\n")},
		{Name: "autopilot-nightly.service"},
		{Name: "autopilot-nightly.path", Text: []byte("[X-Autopilot]\nSchedule=nightly\n")},
		{Name: "autopilot.nightly.plist", Text: []byte("<plist>")},
		{Name: "autopilot.nightly.plist", Text: []byte(plist("autopilot.nightly", "/bin/sh"))},
		{Name: "autopilot.nightly.plist", Text: []byte(plist("autopilot.other", "/x/autopilot", "schedule", "exec", "nightly"))},
		{Name: "autopilot.nightly.plist", Text: []byte(plist("autopilot.nightly", "/x/autopilot", "schedule", "show", "nightly"))},
	} {
		if name, ok := unit.Of(f); ok {
			t.Errorf("%s\n%s\nis of %q", f.Name, f.Text, name)
		}
	}
	ours := unit.File{Name: "autopilot.nightly.plist", Text: []byte(plist("autopilot.nightly", "/x/autopilot", "schedule", "exec", "nightly"))}
	if name, ok := unit.Of(ours); !ok || name != "nightly" {
		t.Errorf("a list of ours is of %q, %v", name, ok)
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	many := func(e *schedule.Entry) {
		e.Spec = schedule.Spec{Zone: berlin}
		for i := range 61 { // nothing here shares a line with another
			e.Spec.Cron = append(e.Spec.Cron, fmt.Sprintf("%d %d %d * *", i%60, i%24, i%28+1))
		}
	}
	tests := []struct {
		name    string
		backend schedule.Backend
		zone    string
		edit    func(*schedule.Entry)
		fact    string
	}{
		{"another entry", schedule.Systemd, berlin, func(e *schedule.Entry) { e.Name = "../x" }, "cannot be the name"},
		{"a line end", schedule.Systemd, berlin, func(e *schedule.Entry) { e.Program = "/x\nExecStart=/bin/sh" }, "line end"},
		{"a program in quotes", schedule.Systemd, berlin, func(e *schedule.Entry) { e.Program = "/opt/it's/autopilot" }, "program"},
		{"a work tree that ends in a blank", schedule.Systemd, berlin, func(e *schedule.Entry) { e.Dir = "/srv/app " }, "work tree"},
		{"a work tree that ends in a backslash", schedule.Systemd, berlin, func(e *schedule.Entry) { e.Dir = `/srv/app\` }, "work tree"},
		{"a pattern for a file", schedule.Systemd, berlin, func(e *schedule.Entry) { e.EnvFile = "/srv/*.env" }, "file of variables"},
		{"a backslash in a crontab", schedule.Cron, berlin, func(e *schedule.Entry) { e.Program = `/opt/a\b/autopilot` }, "backslash"},
		{"a long line", schedule.Cron, berlin, func(e *schedule.Entry) { e.Program = "/" + strings.Repeat("x", 980) }, "bytes"},
		{"many lines", schedule.Cron, "America/New_York", many, "lines of a crontab, at most 60"},
		{"many dates", schedule.Launchd, berlin, func(e *schedule.Entry) {
			e.Spec = schedule.Spec{Cron: []string{"*/2 8-18 * * 1-5"}, Zone: berlin}
		}, "dates for launchd, at most 500"},
		{"cron without a zone", schedule.Cron, "", nil, "its name is not known"},
		{"launchd without a zone", schedule.Launchd, "Nowhere/Else", nil, "its name is not known"},
	}
	for _, tt := range tests {
		e := entry(tt.backend, tt.edit)
		_, err := unit.Files(e, tt.zone)
		if tt.backend == schedule.Cron {
			_, err = unit.Block(e, tt.zone)
		}
		if err == nil || !strings.Contains(err.Error(), tt.fact) {
			t.Errorf("%s: %v, want %q in it", tt.name, err, tt.fact)
		}
	}
}
