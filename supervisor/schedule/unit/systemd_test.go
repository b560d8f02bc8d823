package unit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// The manager's own parser has to like every unit and to find the program under its path.
func TestSystemdAcceptsEveryUnit(t *testing.T) {
	t.Parallel()
	analyze := need(t, "systemd-analyze")
	for _, s := range samples() {
		if s.entry.Backend != schedule.Systemd {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := s.entry
			e.Program = filepath.Join(dir, e.Program)
			if err := os.MkdirAll(filepath.Dir(e.Program), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(e.Program, []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			out := verify(t, analyze, dir, e)
			if out != "" {
				t.Errorf("systemd-analyze says:\n%s", out)
			}
			if err := os.Remove(e.Program); err != nil {
				t.Fatal(err)
			}
			if out := verify(t, analyze, dir, e); !strings.Contains(out, "is not executable") {
				t.Errorf("without the program systemd-analyze says:\n%s\nit looks for another one", out)
			}
		})
	}
}

// verify is what systemd-analyze says about the units of an entry.
func verify(t *testing.T, analyze, dir string, e schedule.Entry) string {
	t.Helper()
	files, err := unit.Files(e, berlin)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", "--user"}
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), analyze, args...)
	cmd.Env = []string{"LC_ALL=C", "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "PATH=/usr/bin:/bin"}
	out, _ := cmd.CombinedOutput() // it fails when it has something to say
	return strings.TrimSpace(string(out))
}

// What systemd makes of the lines of a timer has to be what the spec says, also when the clocks
// jump. It starts a process for each time it looks for, so the nights are chosen.
func TestSystemdFiresAtTheTimesOfTheSpec(t *testing.T) {
	t.Parallel()
	analyze := need(t, "systemd-analyze")
	for _, tt := range []struct {
		zone string
		from string
		days int
		cron []string
	}{
		{berlin, "2026-03-27", 5, []string{"30 2 * * *"}},
		{berlin, "2026-10-23", 5, []string{"30 2 * * *"}},
		{berlin, "2026-03-21", 9, []string{"0,30 2,3 * * 0,6"}},
		{berlin, "2026-10-24", 2, []string{"*/20 0-4 * * *"}},
		{berlin, "2026-03-28", 2, []string{"*/20 0-4 * * *"}},
		{berlin, "2026-12-27", 9, []string{"0 22 * * 1-5", "30 23 1,15,31 * *"}},
		{"America/New_York", "2026-03-07", 3, []string{"15,45 1,2 * * *"}},
		{"America/New_York", "2026-10-31", 3, []string{"15,45 1,2 * * *"}},
		{"Australia/Lord_Howe", "2026-10-02", 4, []string{"15 1,2 * * *"}},
		{"Australia/Lord_Howe", "2026-04-03", 4, []string{"45 1,2 * * *"}},
		{"America/Nuuk", "2026-03-27", 4, []string{"30 23 * * *"}},
		{"America/Nuuk", "2026-10-23", 4, []string{"30 23 * * *"}},
		{"Africa/Cairo", "2026-04-22", 4, []string{"30 0,23 * * 1-6"}},
		{"Africa/Cairo", "2026-10-28", 4, []string{"30 0,23 * * 1-6"}},
		{"UTC", "2027-11-20", 460, []string{"0 22 29-31 2,4-6,11,12 *", "7 3 * 1 0,2"}},
	} {
		t.Run(tt.zone+" "+tt.from, func(t *testing.T) {
			t.Parallel()
			from, err := time.Parse(time.DateOnly, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			e := entry(schedule.Systemd, func(e *schedule.Entry) {
				e.Spec = schedule.Spec{Cron: tt.cron, Zone: tt.zone}
				e.CreatedAt = from.AddDate(0, -1, 0)
			})
			files, err := unit.Files(e, "")
			if err != nil {
				t.Fatal(err)
			}
			to := from.AddDate(0, 0, tt.days)
			want := slices.Collect(e.Spec.Between(from, to))
			if len(want) < 4 {
				t.Fatalf("only %d times to compare", len(want))
			}
			var got []time.Time
			for l := range strings.Lines(string(files[1].Text)) {
				when, ok := strings.CutPrefix(strings.TrimSpace(l), "OnCalendar=")
				if ok {
					got = append(got, elapses(t, calendar{analyze, when, len(want) + 2}, from, to)...)
				}
			}
			slices.SortFunc(got, time.Time.Compare)
			got = slices.CompactFunc(got, time.Time.Equal)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("systemd has %d times, want %d\n%s\nfirst difference: %s", len(got), len(want), files[1].Text, difference(got, want))
			}
		})
	}
}

func difference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "want " + want[i].String()
		case i >= len(want):
			return "got " + got[i].String()
		case !got[i].Equal(want[i]):
			return "got " + got[i].String() + ", want " + want[i].String()
		}
	}
	return "none"
}

type calendar struct {
	analyze, text string
	times         int
}

// elapses are the times that systemd-analyze finds for a calendar.
func elapses(t *testing.T, c calendar, from, to time.Time) []time.Time {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.analyze, "calendar", "--iterations="+strconv.Itoa(c.times), "--base-time="+from.Format("2006-01-02 15:04:05 MST"), c.text)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("calendar %q: %v", c.text, err)
	}
	var times []time.Time
	for l := range strings.Lines(string(out)) {
		what, text, _ := strings.Cut(strings.TrimSpace(l), ": ")
		if what != "Next elapse" && !strings.HasPrefix(what, "Iter") || text == "never" {
			continue
		}
		at, err := time.Parse("Mon 2006-01-02 15:04:05 MST", strings.TrimSpace(text))
		if err != nil {
			t.Fatalf("calendar %q: %v", c.text, err)
		}
		if at.After(to) {
			return times
		}
		times = append(times, at)
	}
	return times
}

// unquote reads words the way systemd.syntax(7) says.
func unquote(t *testing.T, line string) []string {
	t.Helper()
	var words []string
	var word strings.Builder
	inside, open := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			open = true
		case c == '"':
			inside, open = !inside, true
		case c == '\'' && !inside:
			t.Fatalf("%q has a quote outside of quotes", line)
		case c == '%' && i+1 < len(line) && line[i+1] == '%':
			i++
			word.WriteByte('%')
			open = true
		case c == '%':
			t.Fatalf("%q has a specifier", line)
		case c == ' ' && !inside:
			if open {
				words = append(words, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if inside {
		t.Fatalf("%q has an open quote", line)
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

func TestSystemdGetsEveryWordAsItIs(t *testing.T) {
	t.Parallel()
	e := entry(schedule.Systemd, odd)
	e.Program = `/opt/100% new $HOME;x/autopilot`
	e.Environ = append(e.Environ, `Z=back\slash`)
	files, err := unit.Files(e, berlin)
	if err != nil {
		t.Fatal(err)
	}
	var environ []string
	for l := range strings.Lines(string(files[0].Text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), "=")
		switch name {
		case "Environment":
			environ = append(environ, unquote(t, value)...)
		case "ExecStart":
			line, switched := strings.CutPrefix(value, ":")
			if got, want := unquote(t, line), []string{e.Program, "schedule", "exec", e.Name}; !slices.Equal(got, want) || !switched {
				t.Errorf("ExecStart %q is %q, want %q without variables", value, got, want)
			}
		case "WorkingDirectory":
			if got, want := strings.ReplaceAll(value, "%%", "%"), "-"+e.Dir; got != want {
				t.Errorf("WorkingDirectory %q, want %q", got, want)
			}
		case "EnvironmentFile":
			if got, want := strings.ReplaceAll(value, "%%", "%"), "-"+e.EnvFile; got != want {
				t.Errorf("EnvironmentFile %q, want %q", got, want)
			}
		}
	}
	if !slices.Equal(environ, e.Environ) {
		t.Errorf("environment %q, want %q", environ, e.Environ)
	}
}
