package unit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// fed is what cron makes of the sixth field of a line before a shell reads it: an escaped
// percent sign is one, and a plain one would end the command.
func fed(t *testing.T, line string) string {
	t.Helper()
	fields := strings.SplitN(line, " ", 6)
	if strings.HasPrefix(line, "@") {
		fields = strings.SplitN(line, " ", 2)
	}
	command := strings.ReplaceAll(fields[len(fields)-1], `\%`, "\x00")
	if strings.Contains(command, "%") {
		t.Fatalf("cron cuts the line %q", line)
	}
	return strings.ReplaceAll(command, "\x00", "%")
}

// The shells that a crontab may name start the program with its words and where its state is.
func TestShellsReadTheLine(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sh", "bash", "dash", "zsh", "fish", "ksh"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			if name == "sh" {
				t.Fatal(err)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := entry(schedule.Cron, odd)
			dir := t.TempDir()
			e.Program = filepath.Join(dir, e.Program)
			if err := os.MkdirAll(filepath.Dir(e.Program), 0o700); err != nil {
				t.Fatal(err)
			}
			// A link, because a program that was just written may be busy in another test's child.
			show, err := filepath.Abs("testdata/show")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(show, e.Program); err != nil {
				t.Fatal(err)
			}
			block, err := unit.Block(e, berlin)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range []string{block[1], block[len(block)-1]} { // at a time, and when the machine starts
				cmd := exec.CommandContext(t.Context(), shell, "-c", fed(t, line))
				cmd.Env = []string{"HOME=/", "PATH=/usr/bin:/bin"}
				out, err := cmd.CombinedOutput()
				if got, want := string(out), "schedule|exec|odd_1-A|/home/some one|/srv/50% state|"; err != nil || got != want {
					t.Errorf("%s says %q, %v, want %q", line, got, err, want)
				}
			}
			if !strings.HasPrefix(block[len(block)-1], "@reboot ") {
				t.Errorf("nothing is started with the machine:\n%s", strings.Join(block, "\n"))
			}
		})
	}
}

func TestSplice(t *testing.T) {
	t.Parallel()
	block := []string{"# ours # autopilot:a", "1 1 * * * x # autopilot:a"}
	ours := strings.Join(block, "\n") + "\n"
	tests := []struct {
		name, in string
		block    []string
		want     string
	}{
		{"into nothing", "", block, ours},
		{"after the others", "# mine\n0 1 * * * me\n", block, "# mine\n0 1 * * * me\n" + ours},
		{"after one without a line end", "0 1 * * * me", block, "0 1 * * * me\n" + ours},
		{"after lines of another system", "0 1 * * * me\r\n", block, "0 1 * * * me\r\n" + ours},
		{"before what a crontab sets", "# mine\n \t\nCRON_TZ = UTC\n0 1 * * * me\n", block, "# mine\n \t\n" + ours + "CRON_TZ = UTC\n0 1 * * * me\n"},
		{"before a name in quotes", "\"SHELL\"=/bin/fish\n", block, ours + "\"SHELL\"=/bin/fish\n"},
		{"a command with an equals sign", "0 1 * * * A=b me\n", block, "0 1 * * * A=b me\n" + ours},
		{"a comment with one", "# A=b\n", block, "# A=b\n" + ours},
		{"in its old place", "0 1 * * * me\n2 2 * * * old # autopilot:a\n0 3 * * * me\n", block, "0 1 * * * me\n" + ours + "0 3 * * * me\n"},
		{"from below what a crontab sets", "TZ=UTC\n2 2 * * * old # autopilot:a\n0 3 * * * me\n", block, ours + "TZ=UTC\n0 3 * * * me\n"},
		{"scattered", "2 2 * * * old # autopilot:a\n0 1 * * * me\n2 3 * * * old # autopilot:a \t\r\n", block, ours + "0 1 * * * me\n"},
		{"beside another of ours", "2 2 * * * x # autopilot:b\n2 2 * * * x # autopilot:ab\n", block, "2 2 * * * x # autopilot:b\n2 2 * * * x # autopilot:ab\n" + ours},
		{"out", "0 1 * * * me\n" + ours + "\n\n0 3 * * * me", nil, "0 1 * * * me\n\n\n0 3 * * * me"},
		{"out, switched off by hand", "#1 1 * * * x # autopilot:a\n0 3 * * * me\r\n", nil, "0 3 * * * me\r\n"},
		{"out of nothing", "0 1 * * * me", nil, "0 1 * * * me"},
		{
			"not what only looks so", "0 1 * * * x #autopilot:a\n0 1 * * * x# autopilot:a\n0 1 * * * x # autopilot:a more\n", nil,
			"0 1 * * * x #autopilot:a\n0 1 * * * x# autopilot:a\n0 1 * * * x # autopilot:a more\n",
		},
	}
	for _, tt := range tests {
		if got := string(unit.Splice([]byte(tt.in), "a", tt.block)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Whatever is in a crontab, it is the same without ours before and after.
func TestSpliceTouchesNoOtherLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{
			"", " ", "# note", "0 1 * * * me", "0 1 * * * me\r", "A=b", "MAILTO=\"\"", "1 1 * * * x # autopilot:a", "\t1 1 * * * x # autopilot:a \r",
			"1 1 * * * x # autopilot:b", "@daily x", "\xff\x00", "# autopilot:a", "x# autopilot:a",
		})
		before := strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "lines"), "\n")
		if rapid.Bool().Draw(t, "line end") && before != "" {
			before += "\n"
		}
		block := []string{"# c # autopilot:a", "9 9 * * * y # autopilot:a"}
		after := unit.Splice([]byte(before), "a", block)
		if again := unit.Splice(after, "a", block); !bytes.Equal(after, again) {
			t.Fatalf("%q becomes %q, and that %q", before, after, again)
		}
		i := slices.IndexFunc(unit.OfCrontab(after), func(f unit.Found) bool { return f.Name == "a" })
		if i < 0 || !slices.Equal(unit.OfCrontab(after)[i].Lines, block) {
			t.Fatalf("%q becomes %q", before, after)
		}
		foreign, left := unit.Splice([]byte(before), "a", nil), unit.Splice(after, "a", nil)
		if !bytes.Equal(foreign, left) && !bytes.Equal(append(foreign, '\n'), left) {
			t.Fatalf("of %q stays %q, and after it was in and out %q", before, foreign, left)
		}
		for l := range strings.Lines(before) {
			ours := unit.OfCrontab([]byte(l))
			if len(ours) == 1 && ours[0].Name == "a" {
				continue
			}
			if !strings.Contains(string(after), l) {
				t.Fatalf("%q is no longer in %q", l, after)
			}
		}
	})
}

// The program that reads crontabs on this machine, where it can look at a file without installing it.
func TestCrontabAcceptsTheLines(t *testing.T) {
	t.Parallel()
	crontab := need(t, "crontab")
	help, _ := exec.CommandContext(t.Context(), crontab, "-h").CombinedOutput()
	if !strings.Contains(string(help), "-n") && !strings.Contains(string(help), "-T") {
		t.Skip("this crontab cannot check a file without installing it")
	}
	for _, s := range samples() {
		if s.entry.Backend != schedule.Cron {
			continue
		}
		name := filepath.Join(t.TempDir(), "crontab")
		if err := os.WriteFile(name, []byte(render(t, s)["crontab"]), 0o600); err != nil {
			t.Fatal(err)
		}
		flag := "-n"
		if strings.Contains(string(help), "-T") {
			flag = "-T"
		}
		if out, err := exec.CommandContext(t.Context(), crontab, flag, name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", s.name, err, out)
		}
	}
}
