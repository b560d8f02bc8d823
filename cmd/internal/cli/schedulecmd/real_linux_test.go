package schedulecmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
	"autopilot/metrics/testprogram"
	"autopilot/sessions/standin"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

// TestMain lets the test binary serve as the program and as the stand-in for claude, by the
// name it is called by: what a unit starts has no further variables.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "autopilot":
		os.Exit(cli.Main(os.Args[1:], outside.System()))
	case "claude":
		os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

// world is a home with a work tree, the program and a stand-in for claude.
type world struct {
	*testing.T
	dir, home, repo, bin, root string
	env                        []string
}

func newWorld(t *testing.T) world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{T: t, dir: dir, home: dir + "/home of one", repo: dir + "/home of one/app", bin: dir + "/bin"}
	w.root = w.home + "/.local/state/autopilot"
	for _, d := range []string{w.repo, w.bin} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"autopilot", "claude"} {
		if err := os.Link(self, filepath.Join(w.bin, name)); err != nil {
			data, err := os.ReadFile(self)
			if err != nil {
				t.Fatal(err)
			}
			testprogram.Write(t, filepath.Join(w.bin, name), data)
		}
	}
	w.write("home of one/.gitconfig", "[user]\n\tname = someone\n\temail = someone@example.org\n[init]\n\tdefaultBranch = main\n")
	w.write("standin", "write part.txt one\ncommit one\nusage 1000 200 0.01\n")
	w.write("green.json", `{"ram_available_gb": 16, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": null}`)
	w.env = []string{"HOME=" + w.home, "PATH=" + w.bin + ":" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "STANDIN_SCRIPT=" + dir + "/standin", "GORACE=atexit_sleep_ms=0"}
	w.run(0, "git", "init", "-q")
	w.run(0, "git", "commit", "-q", "--allow-empty", "-m", "start")
	return w
}

func (w world) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// program puts a shell script on the path.
func (w world) program(name, text string) {
	w.Helper()
	testprogram.Write(w.T, filepath.Join(w.bin, name), []byte("#!/bin/sh\n"+text))
}

// run runs a command in the work tree and wants its exit code.
func (w world) run(code int, name string, args ...string) string {
	w.Helper()
	path := name
	if _, err := os.Stat(filepath.Join(w.bin, name)); err == nil {
		path = filepath.Join(w.bin, name)
	}
	cmd := exec.CommandContext(w.Context(), path, args...)
	cmd.Dir, cmd.Env = w.repo, w.env
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || cmd.ProcessState.ExitCode() != code {
		w.Fatalf("%s %q: %v, want exit %d\n%s", name, args, err, code, out)
	}
	return string(out)
}

// command is what the schedules of these tests start.
func (w world) command() []string {
	return []string{"--env", "STANDIN_SCRIPT", "--env", "GORACE", "--yes", "--", "run", "write the parts", "--max-sessions", "1", "--snapshot", w.dir + "/green.json", "--allow-nested"}
}

// records are the runs in the ledger.
func (w world) records() int {
	w.Helper()
	lines, err := journal.Tail(filepath.Join(w.repo, ".orchestrator", "metrics", "autopilot.jsonl"), 10)
	if err != nil {
		w.Fatal(err)
	}
	return len(lines)
}

// wantRun wants one run in the ledger that the schedule knows of.
func (w world) wantRun(name string) {
	w.Helper()
	history, err := nightly.LoadHistory(w.root, name)
	if err != nil {
		w.Fatal(err)
	}
	history = slices.DeleteFunc(history, func(f nightly.Firing) bool { return f.State == nightly.Missed })
	if len(history) == 0 || history[0].State != nightly.Ended || history[0].Code == nil || *history[0].Code != 0 || history[0].RunID == "" || w.records() == 0 {
		log, _ := os.ReadFile(nightly.LogFile(filepath.Join(filepath.Dir(host.EntryFile(w.root, name)), "logs"), name))
		w.Fatalf("%d records, history %+v\nlog:\n%s", w.records(), history, log)
	}
}

// TestUnitOfSystemd takes the command line and the environment out of the installed service
// and runs that command with that environment, as systemd would.
func TestUnitOfSystemd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.program("systemctl", `case "$2 $3" in
"show autopilot-"*) [ ! -e "$HOME/.config/systemd/user/$3" ] || printf 'ActiveState=active\nUnitFileState=enabled\nNextElapseUSecRealtime=Mon 2099-01-05 21:00:00 UTC\n' ;;
esac
`)
	w.program("loginctl", "echo Linger=yes\n")
	secrets := filepath.Join(w.dir, "secrets")
	w.write("secrets", "CLAUDE_CODE_OAUTH_TOKEN=made-up\n")
	odd := `ODD=100% of "it", $HOME \ and ; #more`
	args := append([]string{"schedule", "install", "night-1", "--backend", "systemd", "--at", "0:00", "--until", "23:58", "--zone", farFromMidnight(), "--env", odd, "--env-file", secrets}, w.command()...)
	w.run(0, "autopilot", args...)
	w.backdate("night-1")

	unit, err := os.ReadFile(filepath.Join(w.home, ".config", "systemd", "user", "autopilot-night-1.service"))
	if err != nil {
		t.Fatal(err)
	}
	command, env := parseService(string(unit))
	if want := []string{w.bin + "/autopilot", "schedule", "exec", "night-1"}; !slices.Equal(command, want) {
		t.Fatalf("the service starts %q, want %q", command, want)
	}
	e, err := host.Load(w.root, "night-1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e.Environ, env); diff != "" || !slices.Contains(env, odd) {
		t.Errorf("environment of the service: -entry +service\n%s", diff)
	}

	socket := filepath.Join(w.dir, "n")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env, cmd.Dir = append(env, "NOTIFY_SOCKET="+socket, "INVOCATION_ID=1"), "/"
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	if err := manager.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	if n, err := manager.Read(said); err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("the manager heard %q first, %v", said[:n], err)
	}
	w.wantRun("night-1")
}

// farFromMidnight is a zone in which that is hours away.
func farFromMidnight() string {
	if h := time.Now().UTC().Hour(); h < 3 || h > 20 {
		return "Asia/Tokyo"
	}
	return "UTC"
}

// backdate makes a schedule one that was installed long ago.
func (w world) backdate(name string) {
	w.Helper()
	var e schedule.Entry
	path := host.EntryFile(w.root, name)
	if err := statedir.LoadJSON(path, &e); err != nil {
		w.Fatal(err)
	}
	e.CreatedAt = e.CreatedAt.AddDate(0, 0, -3)
	if err := statedir.ReplaceJSON(path, e); err != nil {
		w.Fatal(err)
	}
}

// parseService reads what a service starts and the environment it gives to it, with the
// rules of systemd for quotes and percent signs.
func parseService(text string) (command, env []string) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		switch name {
		case "ExecStart":
			command = append(command, words(strings.TrimPrefix(value, ":"))...)
		case "Environment":
			env = append(env, words(value)...)
		}
	}
	return command, env
}

// words splits a line at blanks outside of double quotes.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quoted, begun := false, false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case c == '%' && i+1 < len(line) && line[i+1] == '%':
			i++
			word.WriteByte('%')
		case c == '"':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
			continue
		default:
			word.WriteByte(c)
		}
		begun = true
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

const cronVar = "AUTOPILOT_REAL_CRON"

// TestRealCron has Debian's cron run the crontab that install writes with the real crontab
// program. All of it happens where nobody else sees it: with file systems and processes of
// its own, and without the machine's own jobs.
func TestRealCron(t *testing.T) {
	t.Parallel()
	if os.Getenv(cronVar) == "" {
		t.Skip("it takes up to two minutes; " + cronVar + "=1 runs it")
	}
	if os.Geteuid() != 0 {
		t.Fatal("cron needs root")
	}
	for _, program := range []string{"cron", "crontab", "unshare", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("at a time", func(t *testing.T) {
		w := newWorld(t)
		w.realCron("minutely", `* * * * * /usr/bin/env 'HOME=%s' %s/autopilot schedule exec minutely # autopilot:minutely`, "--cron", "* * * * *")
	})
	// The machine was off when the night began, and cron starts with it in the window.
	t.Run("with the machine", func(t *testing.T) {
		w := newWorld(t)
		w.env = append(w.env, "BACKDATE=1")
		w.realCron("nightly", `@reboot /usr/bin/env 'HOME=%s' %s/autopilot schedule exec nightly # autopilot:nightly`, "--at", "0:00", "--until", "23:58", "--zone", farFromMidnight())
	})
}

// realCron installs a schedule and has cron run until it was executed.
func (w world) realCron(name, line string, times ...string) {
	w.Helper()
	before, _ := exec.Command("crontab", "-l").CombinedOutput()
	install := append([]string{w.bin + "/autopilot", "schedule", "install", name, "--backend", "cron"}, append(times, w.command()...)...)
	script := `set -e
for d in /var/spool/cron /run /etc/cron.d; do mount -t tmpfs tmpfs $d; done
mount --bind /dev/null /etc/crontab
mkdir -m 1730 /var/spool/cron/crontabs
printf '# mine\nMAILTO=""\n' | crontab -
"$@" >&2
[ -z "$BACKDATE" ] || sed -i 's/"created_at": ".*"/"created_at": "2026-01-01T00:00:00Z"/' "$ENTRY"
crontab -l
cron -f &
i=0
while ! grep -q '"state":"ended"' "$HISTORY" 2>/dev/null && [ $i -lt 1500 ]; do sleep 0.1; i=$((i + 1)); done
kill $!
`
	args := append([]string{"--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, "sh"}, install...)
	cmd := exec.CommandContext(w.Context(), "unshare", args...)
	cmd.Dir = w.repo
	cmd.Env = append(slices.Clone(w.env), "HISTORY="+nightly.HistoryFile(w.root, name), "ENTRY="+host.EntryFile(w.root, name))
	var table, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &table, &errs
	if err := cmd.Run(); err != nil {
		w.Fatalf("%v: %s", err, errs.String())
	}
	line = fmt.Sprintf(line, w.home, w.bin)
	if !strings.Contains(table.String(), line+"\n") || !strings.Contains(table.String(), "# mine\n") {
		w.Errorf("the crontab is\n%s\nwant the line\n%s", table.String(), line)
	}
	w.wantRun(name)
	if after, _ := exec.Command("crontab", "-l").CombinedOutput(); !bytes.Equal(before, after) {
		w.Errorf("the crontab of the machine was %q and is %q", before, after)
	}
}
