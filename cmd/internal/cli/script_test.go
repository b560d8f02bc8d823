package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
	"autopilot/probe/proctree"
	"autopilot/sessions/launch"
	"autopilot/sessions/standin"
	"autopilot/supervisor"
)

// TestMain lets the test binary serve as the program and as the stand-in for
// claude, so that scripts run the real command line in real processes.
func TestMain(m *testing.M) {
	// Scripts mostly wait, so more of them than there are processors may run.
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"autopilot": func() { os.Exit(cli.Main(allowNested(os.Args[1:]), outside.System())) },
		"claude": func() {
			os.Exit(standin.Main(standin.Process{Args: os.Args[1:], Getenv: os.Getenv, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
		},
	})
}

const greenMachine = `{"ram_available_gb": 16, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": null}`

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUpScript,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "record": record, "count": countLines, "appears": appears, "nothingleft": nothingLeft, "same": same, "lock": lockFolder, "signal": signalAll, "supervisor": signalSupervisor,
			"says": says, "holds": holds, "begins": begins, "tree": tree, "until": until,
			"completions": completions, "lastrun": lastRun, "hooksite": hookSite,
		},
	})
}

// condition knows [root], [inside]: whether the tests run inside a Claude Code
// session, and [mounts]: whether a file system of one's own can be mounted where
// nobody else sees it.
func condition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0, nil
	case "inside":
		return insideClaude(), nil
	case "mounts":
		flag := "-rm"
		if os.Geteuid() == 0 {
			flag = "-m"
		}
		return exec.Command("unshare", flag, "mount", "-t", "tmpfs", "tmpfs", "/mnt").Run() == nil, nil
	}
	return false, fmt.Errorf("condition %q is not known", name)
}

const insideVar = "TESTS_INSIDE_CLAUDE"

// insideClaude reports whether a process above this one is called claude. The
// program refuses to start a run there.
func insideClaude() bool {
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 1; {
		p, ok := table.Get(pid)
		if !ok {
			return false
		}
		if p.Comm == "claude" {
			return true
		}
		pid = p.PPID
	}
	return false
}

// allowNested lets the runs of scripts start when the tests themselves are run
// inside a Claude Code session. What a script sets up itself stays refused.
func allowNested(args []string) []string {
	i := slices.IndexFunc(args, func(s string) bool { return s == "run" || s == "resume" || s == "answer" })
	command := i == 0 || i == 2 && args[0] == "-C"
	if os.Getenv(insideVar) == "" || os.Getenv(launch.RunVar) != "" || !command {
		return args
	}
	return slices.Insert(slices.Clone(args), i+1, "--allow-nested")
}

// setUpScript gives each script a repository, a home of its own, and a machine
// that is green whatever else runs here.
func setUpScript(e *testscript.Env) error {
	home, repo := filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "repo")
	for _, dir := range []string{home, repo} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	gitconfig := "[user]\n\tname = script\n\temail = script@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "green.json"), []byte(greenMachine), 0o600); err != nil {
		return err
	}
	e.Setenv("HOME", home)
	e.Setenv("REPO", repo)
	e.Setenv("GREEN", filepath.Join(home, "green.json"))
	e.Setenv("METRICS", filepath.Join(repo, ".orchestrator", "metrics"))
	e.Setenv("STATE", filepath.Join(home, ".local", "state", "autopilot"))
	e.Setenv("STANDIN_SCRIPT", filepath.Join(e.WorkDir, "standin"))
	if insideClaude() {
		e.Setenv(insideVar, "1")
	}
	e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	e.Setenv("GORACE", "atexit_sleep_ms=0") // with the race detector each process would stay a second at its end
	e.Cd = repo
	for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = repo, e.Vars
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, out)
		}
	}
	// A script file that was not given would be an error of the stand-in.
	if _, err := os.Stat(filepath.Join(e.WorkDir, "standin")); errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(filepath.Join(e.WorkDir, "standin"), nil, 0o600)
	}
	return nil
}

// exits CODE CMD ARG... runs a command and wants that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: exit status %d, want %d", args[1:], got, want)
	}
}

// record FILE N KEY JSON wants that field of the Nth line of a ledger (-1 is the
// last one) to be that JSON value. KEY may lead into objects and lists: a.b.0.c
func record(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: record FILE N KEY JSON")
	}
	var want any
	if err := json.Unmarshal([]byte(args[3]), &want); err != nil {
		want = args[3] // a bare word
	}
	got := field(ts, args[0], args[1], args[2])
	if reflect.DeepEqual(got, want) == neg {
		ts.Fatalf("%s of %s line %s = %#v, want %#v (negated: %v)", args[2], args[0], args[1], got, want, neg)
	}
}

// into follows one step of a key: a field, a place in a list (-1 is the last), or
// the entry of a list that has that name.
func into(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[key]
	case []any:
		if i, err := strconv.Atoi(key); err == nil {
			if i < 0 {
				i += len(v)
			}
			if i < 0 || i >= len(v) {
				return nil
			}
			return v[i]
		}
		if key == "len" {
			return float64(len(v))
		}
		for _, e := range v {
			if m, ok := e.(map[string]any); ok && (m["key"] == key || m["name"] == key || m["signal"] == key) {
				return m
			}
		}
	}
	return nil
}

// field returns the field that KEY leads to in the Nth JSON value of a file, or
// of stdout or stderr.
func field(ts *testscript.TestScript, file, number, key string) any {
	all := recordsOf(ts, file)
	n, err := strconv.Atoi(number)
	ts.Check(err)
	if n < 0 {
		n += len(all)
	}
	if n < 0 || n >= len(all) {
		ts.Fatalf("%s has %d records, want number %s", file, len(all), number)
	}
	got := all[n]
	for k := range strings.SplitSeq(key, ".") {
		got = into(got, k)
	}
	return got
}

func recordsOf(ts *testscript.TestScript, name string) []any {
	var all []any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(name)))
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			ts.Fatalf("%s, record %d: %v", name, len(all), err)
		}
		all = append(all, v)
	}
}

// count FILE N wants a file of N lines; a file that is not there has none.
func countLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: count FILE N")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	if got := bytes.Count(data, []byte("\n")); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s has %d lines, want %s", args[0], got, args[1])
	}
}

// appears FILE waits until a file is there.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears FILE")
	}
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not appear", args[0])
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// nothingleft wants that no process of any run of this script lives.
func nothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nothingleft")
	}
	runs, err := filepath.Glob(filepath.Join(ts.Getenv("STATE"), "projects", "*", "runs", "*"))
	ts.Check(err)
	if len(runs) == 0 {
		ts.Fatalf("there was no run")
	}
	deadline := time.Now().Add(30 * time.Second)
	for _, run := range runs {
		for {
			left := living(ts, filepath.Base(run), ts.Getenv("WORK"))
			if len(left) == 0 {
				break
			}
			if time.Now().After(deadline) {
				ts.Fatalf("processes of run %s are still there: %v", filepath.Base(run), left)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// living lists the processes of a run of this script. Run ids are unique in a
// repository only, so the work folder has to be in the environment as well.
func living(ts *testscript.TestScript, runID, work string) []string {
	pids, err := proctree.WithEnv(launch.RunVar, runID)
	ts.Check(err)
	var left []string
	for _, pid := range pids {
		p, err := proctree.Read(proctree.Root, pid)
		if err == nil && !p.Dead() && proctree.HasEnv(pid, "WORK", work) {
			left = append(left, fmt.Sprintf("%d %s", pid, p.Comm))
		}
	}
	return left
}

// same A B wants two files of the same content.
func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: same A B")
	}
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	if bytes.Equal(a, b) == neg {
		ts.Fatalf("%s and %s: same = %v", args[0], args[1], !neg)
	}
}

// lock makes a folder unusable for new files, also for root: a file stands where
// the folder would have to be.
func lockFolder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lock FOLDER")
	}
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o400))
}

// signalAll SIGNAL signals every command in the background: TERM, HUP, STOP, CONT.
func signalAll(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal TERM|HUP|STOP|CONT")
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(signals[args[0]]))
	}
}

// signalSupervisor SIGNAL signals the supervisor of the run that is on: KILL, STOP
// or CONT. BOTH kills the guard as well, and neither can act on the other's end.
func signalSupervisor(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "BOTH": syscall.SIGKILL}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: supervisor KILL|STOP|CONT|BOTH")
	}
	pid := runningSupervisor(ts)
	p, err := proctree.Read(proctree.Root, pid)
	ts.Check(err)
	if args[0] == "BOTH" {
		ts.Check(syscall.Kill(p.PPID, syscall.SIGSTOP))
		defer func() { ts.Check(syscall.Kill(p.PPID, syscall.SIGKILL)) }()
	}
	ts.Check(syscall.Kill(pid, signals[args[0]]))
}

// runningSupervisor is the pid of the supervisor that works for this script, of a cohort
// that of its coordinator.
func runningSupervisor(ts *testscript.TestScript) int {
	files, err := filepath.Glob(filepath.Join(ts.Getenv("STATE"), "projects", "*", "runs", "*", "state.json"))
	ts.Check(err)
	for _, name := range files {
		if s, err := supervisor.LoadState(filepath.Dir(name)); err == nil && s.Alive() && s.Record.ParentRunID == nil {
			return s.PID
		}
	}
	ts.Fatalf("no run is on")
	return 0
}
