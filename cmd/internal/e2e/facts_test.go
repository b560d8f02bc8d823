//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/probe/proctree"
)

// runs and sessions are the two ledgers.
func (l *lab) runs() []ledger.Run { return lines[ledger.Run](l.t, l.ledger(ledger.RunsFile)) }

func (l *lab) sessions() []ledger.Session {
	return lines[ledger.Session](l.t, l.ledger(ledger.SessionsFile))
}

func (l *lab) ledger(name string) string {
	return filepath.Join(l.repo, ".orchestrator", "metrics", name)
}

func lines[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		t.Errorf("%s does not end with a newline", name)
	}
	var out []T
	for line := range bytes.Lines(data) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%s: %v: %q", name, err, line)
		}
		out = append(out, v)
	}
	return out
}

// oneRun asserts that there is exactly one run record and returns it.
func (l *lab) oneRun() ledger.Run {
	l.t.Helper()
	all := l.runs()
	if len(all) != 1 {
		l.t.Fatalf("%d run records, want 1", len(all))
	}
	return all[0]
}

// oneSession asserts that there is exactly one session record and returns it.
func (l *lab) oneSession() ledger.Session {
	l.t.Helper()
	all := l.sessions()
	if len(all) != 1 {
		l.t.Fatalf("%d session records, want 1", len(all))
	}
	return all[0]
}

// stateFile is the path of a file in the state folder of the only session of
// the only run.
func (l *lab) stateFile(name string) string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, ".local/state/autopilot/projects/*/runs/*/sessions/*", name))
	if err != nil || len(found) != 1 {
		l.t.Fatalf("%d files %s in the state folders, want 1 (%v)", len(found), name, err)
	}
	return found[0]
}

// activity is the log of the lab's runs as it is on disk.
func (l *lab) activity() string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, ".local/state/autopilot/projects/*/runs/*/activity.jsonl"))
	if err != nil {
		l.t.Fatal(err)
	}
	text := ""
	for _, name := range found {
		data, err := os.ReadFile(name)
		if err != nil {
			l.t.Fatal(err)
		}
		text += string(data)
	}
	return text
}

// processes are all living processes of the lab: those that have its home in
// their environment, and those that work in its folders.
func (l *lab) processes() []proctree.Process {
	pids, err := proctree.WithEnv("HOME", l.home)
	if err != nil {
		l.t.Error(err)
	}
	table, err := proctree.Take(proctree.Root)
	if err != nil {
		l.t.Error(err)
	}
	for p := range table.All() {
		dir, err := os.Readlink(fmt.Sprintf("%s/%d/cwd", proctree.Root, p.PID))
		if err == nil && strings.HasPrefix(dir, l.base) {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	var alive []proctree.Process
	for _, pid := range slices.Compact(pids) {
		if p, err := proctree.Read(proctree.Root, pid); err == nil && !p.Dead() && pid != os.Getpid() {
			alive = append(alive, p)
		}
	}
	return alive
}

// named are the living processes of the lab with one short name.
func (l *lab) named(comm string) []proctree.Process {
	return slices.DeleteFunc(l.processes(), func(p proctree.Process) bool { return p.Comm != comm })
}

// nothingLeft asserts that no process of the lab lives any more.
func (l *lab) nothingLeft() {
	l.t.Helper()
	for _, p := range l.processes() {
		l.t.Errorf("process %d (%s, state %c, parent %d) is still there", p.PID, p.Comm, p.State, p.PPID)
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !comesTrue(holds) {
		t.Fatalf("did not come about: %s", what)
	}
}

// comesTrue waits until something holds and reports whether it did.
func comesTrue(holds func() bool) bool {
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

// want are the facts of a run with one outcome that most tests ask about.
type want struct {
	code       int
	killSwitch string // empty for none
	cause      string // empty for the kill-switch
	endings    string
	completed  int
}

// check asserts them, and that nothing of the run is left.
func (l *lab) check(e ended, w want) ledger.Run {
	l.t.Helper()
	return l.checkRun(e, l.oneRun(), w)
}

// checkRun is check for one of several runs.
func (l *lab) checkRun(e ended, r ledger.Run, w want) ledger.Run {
	l.t.Helper()
	l.nothingLeft()
	if w.cause == "" {
		w.cause = w.killSwitch
	}
	got := want{code: e.code, killSwitch: deref(r.KillSwitch), cause: r.ExitCause, endings: endingsOf(r), completed: r.IterationsCompleted}
	if got != w {
		l.t.Fatalf("run ended as %+v, want %+v", got, w)
	}
	if w.cause != "killed" && r.ExitCode != e.code {
		l.t.Errorf("the record says exit code %d, it was %d", r.ExitCode, e.code)
	}
	return r
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func endingsOf(r ledger.Run) string {
	var out []string
	for _, e := range r.Endings {
		out = append(out, e.Ending)
	}
	return strings.Join(out, " ")
}
