package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/journal"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/tdd"
)

const (
	helperEnv = "RUNS_TEST_HELPER"
	crashEnv  = "RUNS_TEST_CRASH" // point:n, the n-th time it is reached
)

// TestMain lets the test binary play the other process.
func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		if err := runHelper(name, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runHelper(name string, args []string) error {
	switch name {
	case "walk": // dir runs: walks through that many runs, prints what is acknowledged
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return walk(crashing(args[0], os.Getenv(crashEnv)), n)
	case "count": // dir n: adds n events to the run that is there, each under the lock
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return count(Store{Dir: args[0]}, n)
	case "abort", "remove": // dir
		return finish(crashing(args[0], os.Getenv(crashEnv)), name)
	}
	return runSystemHelper(name, args)
}

// crashing is a store in which this process kills itself at a point.
func crashing(dir, at string) Store {
	point, times, _ := strings.Cut(at, ":")
	left, _ := strconv.Atoi(times)
	return Store{Dir: dir, reached: func(p string) {
		if p != point {
			return
		}
		if left--; left == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}}
}

func walk(s Store, runs int) error {
	for runs > 0 {
		st, err := advance(s, time.Now())
		if err != nil {
			return err
		}
		fmt.Println(st.RunID, st.Seq)
		if st.Status.Over() {
			runs--
		}
	}
	return nil
}

// advance begins a run where none is in progress, and makes the next step of one that
// is.
func advance(s Store, now time.Time) (tdd.State, error) {
	st, err := s.Load()
	if errors.Is(err, ErrNoRun) || err == nil && st.Status.Over() {
		st = first(s.NewID("dev", "1", now), now)
		return st, s.Create(st)
	}
	if err != nil {
		return st, err
	}
	st.Outbox = nil
	st = next(st, now)
	return st, s.Save(st)
}

func count(s Store, n int) error {
	for range n {
		lock, err := s.Lock(context.Background())
		if err != nil {
			return err
		}
		st, err := s.Load()
		if err != nil {
			return err
		}
		st.Outbox = nil
		happen(&st, time.Now(), tdd.Activity{Event: tdd.EventError})
		if err := errors.Join(s.Save(st), lock.Release()); err != nil {
			return err
		}
	}
	return nil
}

func finish(s Store, how string) error {
	if how == "abort" {
		_, err := s.Abort(time.Now())
		return err
	}
	st, err := s.Peek()
	if err != nil {
		return err
	}
	return s.Remove(st.RunID)
}

// first is a run of two subtasks that begins now.
func first(id string, now time.Time) tdd.State {
	st := tdd.State{
		RunID: id, TaskID: "1", TaskTitle: "Create the command", Tag: "dev", ProjectRoot: "/home/me/app", Status: tdd.InProgress,
		CurrentPhase: tdd.Preflight, AttemptNumber: 1, MaxAttempts: 3, StartTime: now.UTC(), CanResume: true, Attempts: map[string]int{},
		Subtasks:          []tdd.Subtask{{ID: "1.1", Title: "Skeleton"}, {ID: "1.2", Title: "Flags", After: []string{"1.1"}}},
		CompletedSubtasks: []string{}, PendingSubtasks: []string{"1.1", "1.2"}, Commits: []tdd.Made{},
	}
	happen(&st, now, tdd.Activity{Event: tdd.EventPhaseStart})
	return st
}

func happen(st *tdd.State, now time.Time, a tdd.Activity) {
	st.Seq++
	st.LastUpdated = now.UTC()
	a.Seq, a.RunID, a.TS, a.Message = st.Seq, st.RunID, now.UTC(), fmt.Sprint("event ", st.Seq)
	st.Outbox = append(st.Outbox, a)
}

// next is the state one step on. Every way of a state through the files occurs: with
// no event and with several, with a commit and without.
func next(st tdd.State, now time.Time) tdd.State {
	log := func(event string) { happen(&st, now, tdd.Activity{Event: event, SubtaskID: st.CurrentSubtask}) }
	switch st.CurrentPhase {
	case tdd.Preflight:
		st.CurrentPhase = tdd.BranchSetup
		log(tdd.EventPhaseComplete)
	case tdd.BranchSetup:
		st.Branch, st.CurrentPhase, st.CurrentSubtask = "dev/task-1", tdd.Red, st.PendingSubtasks[0]
		log(tdd.EventBranchCreated)
		log(tdd.EventSubtaskStart)
	case tdd.Red:
		st.CurrentPhase = tdd.Green
		log(tdd.EventTestRun)
		log(tdd.EventTestGenerated)
		log(tdd.EventTransition)
	case tdd.Green:
		st.CurrentPhase = tdd.Commit
		log(tdd.EventTestRun)
	case tdd.Commit:
		if st.Pending == nil {
			st.Pending = &tdd.Pending{Subtask: st.CurrentSubtask}
			break
		}
		id := st.CurrentSubtask
		st.Pending = nil
		st.Commits = append(slices.Clone(st.Commits), tdd.Made{Subtask: id, SHA: strings.Repeat("ab", 20), Subject: "feat: " + id, At: now.UTC()})
		st.CompletedSubtasks = append(slices.Clone(st.CompletedSubtasks), id)
		st.PendingSubtasks = slices.Clone(st.PendingSubtasks[1:])
		log(tdd.EventCommitCreated)
		if len(st.PendingSubtasks) > 0 {
			st.CurrentPhase, st.CurrentSubtask = tdd.Red, st.PendingSubtasks[0]
		} else {
			st.CurrentPhase, st.CurrentSubtask = tdd.Finalize, ""
		}
		log(tdd.EventSubtaskComplete)
	case tdd.Finalize:
		st.CurrentPhase, st.Status, st.EndTime, st.CanResume = tdd.Complete, tdd.Completed, now.UTC(), false
		log(tdd.EventPhaseComplete)
	}
	return st
}

// at is a run in a store after some steps.
func at(t testing.TB, s Store, steps int) tdd.State {
	t.Helper()
	now := time.Date(2025, 10, 7, 14, 30, 0, 0, time.UTC)
	st := first(s.NewID("dev", "1", now), now)
	if err := s.Create(st); err != nil {
		t.Fatal(err)
	}
	for i := range steps {
		st.Outbox = nil
		st = next(st, now.Add(time.Duration(i+1)*time.Minute))
		if err := s.Save(st); err != nil {
			t.Fatal(err)
		}
	}
	return st
}

// consistent fails the test unless all files of a run are what its state says, and each
// event is in the log once, in order.
func consistent(t testing.TB, s Store, id string) tdd.State {
	t.Helper()
	st, err := s.PeekRun(id)
	if err != nil {
		t.Fatal(err)
	}
	var seqs, want []int64
	err = journal.Each(s.file(id, activityName), func(_ int, line []byte) error {
		seqs = append(seqs, number(line, id))
		if word := fmt.Sprintf(`"message":"event %d"`, len(seqs)); !strings.Contains(string(line), word) {
			t.Errorf("run %s: event %d is %s", id, len(seqs), line)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for n := range st.Seq {
		want = append(want, n+1)
	}
	if d := cmp.Diff(want, seqs); d != "" {
		t.Errorf("run %s: numbers of the events (-want +got):\n%s", id, d)
	}
	if r, err := journal.Check(s.file(id, activityName)); err != nil || !r.OK() {
		t.Errorf("run %s: log: %+v, %v", id, r, err)
	}
	var m Manifest
	if err := statedir.LoadJSON(s.file(id, manifestName), &m); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(manifestOf(st), m); d != "" {
		t.Errorf("run %s: manifest (-want +got):\n%s", id, d)
	}
	var commits strings.Builder
	for _, c := range st.Commits {
		fmt.Fprintf(&commits, "%s %s\n", c.SHA, c.Subject)
	}
	if got := read(t, s.file(id, commitsName)); got != commits.String() {
		t.Errorf("run %s: commits.txt is %q, want %q", id, got, commits.String())
	}
	return st
}

// pointed fails the test unless both pointers are those to a run.
func pointed(t testing.TB, s Store, st tdd.State) {
	t.Helper()
	for _, file := range []string{s.pointerFile(), s.tagFile(st.Tag)} {
		p, ok := pointer(file)
		want := Pointer{RunID: st.RunID, TaskID: st.TaskID, Tag: st.Tag, StartTime: st.StartTime, Status: st.Status}
		if d := cmp.Diff(want, p); !ok || d != "" {
			t.Errorf("%s (-want +got):\n%s", file, d)
		}
	}
}

type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

func start(t *testing.T, crash, name string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+name, crashEnv+"="+crash)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd: cmd, out: bufio.NewReader(stdout)}
}

// wait returns what was printed, and whether the process was killed.
func (p *process) wait(t *testing.T) (lines []string, killed bool) {
	t.Helper()
	out, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	err = p.cmd.Wait()
	lines = strings.Split(string(out), "\n")
	lines = lines[:len(lines)-1] // the last one may be half
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
			return lines, true
		}
	}
	if err != nil {
		t.Fatalf("helper: %v", err)
	}
	return lines, false
}

// acknowledge adds what a walker has printed to the numbers that are known to be on
// disk, by run.
func acknowledge(t *testing.T, into map[string]int64, lines []string) {
	t.Helper()
	for _, line := range lines {
		id, n, _ := strings.Cut(line, " ")
		seq, err := strconv.ParseInt(n, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		into[id] = max(into[id], seq)
	}
}

func read(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// snapshot is all that is below a folder.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = info.ModTime().Format(time.RFC3339Nano) + "\n" + read(t, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
