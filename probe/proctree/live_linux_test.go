package proctree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/internal/proctest"
)

func TestMain(m *testing.M) { proctest.Main(m) }

func TestRealTree(t *testing.T) {
	t.Parallel()
	// A name with blanks and brackets, as any program may have.
	odd := proctest.Named(t, "a) R 1 (b")
	plain := proctest.Named(t, "plain")
	c := proctest.Start(t,
		proctest.Step{Path: odd},
		proctest.Step{Path: plain, Setsid: true},
		proctest.Step{Path: plain},
	)

	table, err := Take(Root)
	if err != nil {
		t.Fatal(err)
	}
	if got := pidsOf(table.Descendants(c.PIDs[0])); !slices.Equal(got, c.PIDs[1:]) {
		t.Errorf("descendants of %d: got %v, want %v", c.PIDs[0], got, c.PIDs[1:])
	}
	if got := pidsOf(table.Children(c.PIDs[0])); !slices.Equal(got, c.PIDs[1:2]) {
		t.Errorf("children of %d: got %v, want %v", c.PIDs[0], got, c.PIDs[1:2])
	}
	if got := pidsOf(table.Descendants(os.Getpid())); !contains(got, c.PIDs) {
		t.Errorf("descendants of the test: got %v, want all of %v", got, c.PIDs)
	}
	if got, want := pidsOf(table.Sessions(c.PIDs[1])), sorted(c.PIDs[1:]); !slices.Equal(got, want) {
		t.Errorf("session %d: got %v, want %v", c.PIDs[1], got, want)
	}

	got, ok := table.Get(c.PIDs[0])
	if !ok {
		t.Fatalf("process %d is not in the table", c.PIDs[0])
	}
	want := Process{
		PID: c.PIDs[0], PPID: os.Getpid(), PGID: got.PGID, SID: got.SID, Comm: "a) R 1 (b",
		State: got.State, CPU: got.CPU, Reaped: got.Reaped, Start: got.Start,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestRealChildren(t *testing.T) {
	t.Parallel()
	path := proctest.Named(t, "parent")
	c := proctest.Start(t, proctest.Step{Path: path}, proctest.Step{Path: path, Setsid: true}, proctest.Step{Path: path})

	for i, want := range [][]int{c.PIDs[1:2], c.PIDs[2:3], nil} {
		got, err := ChildrenOf(c.PIDs[i])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("children of step %d: got %v, want %v", i, got, want)
		}
	}
	// The test's own children were started by whichever thread ran it then.
	got, err := ChildrenOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got, c.PIDs[0]) {
		t.Errorf("own children: got %v, want %d among them", got, c.PIDs[0])
	}
	if _, err := ChildrenOf(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("children of no process: got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestRealEnvironment(t *testing.T) {
	t.Parallel()
	path := proctest.Named(t, "marked")
	value := strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	c := proctest.Start(t,
		proctest.Step{Path: path},
		proctest.Step{Path: path, Env: []string{"PROCTREE_MARK=" + value}},
		proctest.Step{Path: path, Setsid: true},
	)

	got, err := WithEnv("PROCTREE_MARK", value)
	if err != nil {
		t.Fatal(err)
	}
	if want := sorted(c.PIDs[1:]); !slices.Equal(got, want) {
		t.Errorf("marked: got %v, want %v", got, want)
	}
	for i, want := range []bool{false, true, true} {
		if got := HasEnv(c.PIDs[i], "PROCTREE_MARK", value); got != want {
			t.Errorf("mark of step %d: got %v, want %v", i, got, want)
		}
	}
	if HasEnv(c.PIDs[1], "PROCTREE_MARK", value[:len(value)-1]) {
		t.Error("the beginning of a value must not match")
	}
	if HasEnv(c.PIDs[1], "MARK", value) {
		t.Error("the end of a name must not match")
	}
}

// A daemon's parent has gone, so only the mark finds it.
func TestRealOrphanIsFoundByItsMark(t *testing.T) {
	t.Parallel()
	path := proctest.Named(t, "daemon")
	value := "orphan-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	c := proctest.Start(t,
		proctest.Step{Path: path, Env: []string{"PROCTREE_MARK=" + value}, Leave: true},
		proctest.Step{Path: path, Setsid: true},
	)
	poll(t, func() bool {
		p, err := Read(Root, c.PIDs[0])
		return err == nil && p.Dead()
	})

	table, err := Take(Root)
	if err != nil {
		t.Fatal(err)
	}
	if got := table.Descendants(os.Getpid()); slices.Contains(pidsOf(got), c.PIDs[1]) {
		t.Skip("this machine hands orphans to the test itself")
	}
	got, err := WithEnv("PROCTREE_MARK", value)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, c.PIDs[1:]) {
		t.Errorf("marked: got %v, want %v", got, c.PIDs[1:])
	}
}

func TestRealLifeAndDeath(t *testing.T) {
	t.Parallel()
	c := proctest.Start(t, proctest.Step{Path: proctest.Named(t, "mortal"), Env: []string{"PROCTREE_MORTAL=1"}})
	pid := c.PIDs[0]

	start, ok := StartOf(pid)
	if !ok || start == 0 {
		t.Fatalf("start of a live process: got %d, %v", start, ok)
	}
	if !Alive(pid, start) {
		t.Error("a running process must be alive")
	}
	if Alive(pid, start+1) {
		t.Error("another start stamp is another process")
	}

	c.End()
	poll(t, func() bool {
		p, err := Read(Root, pid)
		return err == nil && p.State == 'Z'
	})
	if Alive(pid, start) {
		t.Error("a zombie must not be alive")
	}
	if again, ok := StartOf(pid); !ok || again != start {
		t.Errorf("start of a zombie: got %d, %v, want %d, true", again, ok, start)
	}
	if HasEnv(pid, "PROCTREE_MORTAL", "1") {
		t.Error("a zombie must have no environment")
	}
	if args, err := Args(Root, pid); err != nil || args != nil {
		t.Errorf("arguments of a zombie: got %q, %v, want none", args, err)
	}
	got, err := ChildrenOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(got, pid) {
		t.Errorf("own children: got %v, want the zombie %d among them", got, pid)
	}
	if _, ok := StartOf(1 << 30); ok || Alive(1<<30, 0) {
		t.Error("a pid that nobody has must not be alive")
	}
}

func TestRealArguments(t *testing.T) {
	t.Parallel()
	path := proctest.Named(t, "talker")
	c := proctest.Start(t, proctest.Step{Path: path, Args: []string{"-p", "", "two words"}})
	got, err := Args(Root, c.PIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{path, "-p", "", "two words"}, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestRealProcessorTime(t *testing.T) {
	t.Parallel()
	pid := os.Getpid()
	used := func() time.Duration {
		table, err := Take(Root)
		if err != nil {
			t.Fatal(err)
		}
		return table.CPU(pid)
	}
	before := used()
	poll(t, func() bool { return used() > before })
}

// The kernel's list of children and the table must agree.
func TestChildrenFastAndSlowAgree(t *testing.T) {
	t.Parallel()
	path := proctest.Named(t, "twin")
	c := proctest.Start(t, proctest.Step{Path: path}, proctest.Step{Path: path})
	if _, err := os.Stat(filepath.Join(Root, "self/task", strconv.Itoa(os.Getpid()), "children")); err != nil {
		t.Skip("kernel lists no children")
	}
	fast, err := ChildrenOf(c.PIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	slow, err := childrenByTable(Root, c.PIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(fast, slow) || len(fast) != 1 {
		t.Errorf("the list says %v, the table %v, want one child in both", fast, slow)
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("what the test waits for did not happen")
		}
	}
}

func pidsOf(procs []Process) []int {
	var pids []int
	for _, p := range procs {
		pids = append(pids, p.PID)
	}
	return pids
}

func sorted(pids []int) []int { return slices.Sorted(slices.Values(pids)) }

func contains(all, some []int) bool {
	for _, pid := range some {
		if !slices.Contains(all, pid) {
			return false
		}
	}
	return true
}
