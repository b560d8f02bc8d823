package awake

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/proctree"
)

func at(wall, passed time.Duration) Reading {
	return Reading{Wall: time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC).Add(wall), Passed: passed}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		b          Reading
		slept, set time.Duration
	}{
		{"as it was meant", at(2*time.Second, 2*time.Second), 0, 0},
		{"a machine that is busy", at(9*time.Second, 9*time.Second), 0, 0},
		{"the least that is told", at(12*time.Second, 12*time.Second), 10 * time.Second, 0},
		{"a night in the bag", at(8*time.Hour, 8*time.Hour), 8*time.Hour - 2*time.Second, 0},
		{"the clock was set forward", at(time.Hour, 2*time.Second), 0, time.Hour - 2*time.Second},
		{"and back", at(-time.Hour, 2*time.Second), 0, -time.Hour - 2*time.Second},
		{"a clock that is corrected by a little", at(3*time.Second, 2*time.Second), 0, 0},
		{"asleep, and set when it woke", at(3*time.Hour, time.Hour), time.Hour - 2*time.Second, 2 * time.Hour},
		{"a virtual machine that was frozen: its clocks stood still, then the time was set", at(time.Hour, 2*time.Second), 0, time.Hour - 2*time.Second},
		{"the passed time is never negative", at(0, -time.Hour), 0, time.Hour},
	}
	for _, tt := range tests {
		a := at(0, 0)
		want := Gap{From: a.Wall, To: tt.b.Wall, Slept: tt.slept, Set: tt.set}
		if diff := cmp.Diff(want, Between(a, tt.b, 2*time.Second)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReadGoesOn(t *testing.T) {
	t.Parallel()
	a := read()
	<-time.After(20 * time.Millisecond)
	if b := read(); b.Passed-a.Passed < 20*time.Millisecond || b.Passed-a.Passed > time.Hour {
		t.Errorf("passed %v between two looks 20 ms apart", b.Passed-a.Passed)
	}
}

// program puts a stand-in for a program of the system into a folder and returns the
// environment in which it is found.
func program(t *testing.T, name, script string) (dir string, environ []string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "OUT=" + dir}
}

const inhibits = `echo "$$ $*" > "$OUT/args"
for last; do :; done
exec "$last"
`

func TestInhibit(t *testing.T) {
	t.Parallel()
	dir, environ := program(t, "systemd-inhibit", inhibits)
	i, err := Inhibit(t.Context(), "linux", environ, "a run is on")
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	pid := i.cmd.Process.Pid
	start, ok := proctree.StartOf(pid)
	if !ok || !proctree.Alive(pid, start) {
		t.Fatal("the inhibitor is not there")
	}
	if want := " --what=sleep:idle --mode=block --who=autopilot --why=a run is on cat\n"; !strings.HasSuffix(string(said), want) {
		t.Errorf("called with %q, want %q at the end", said, want)
	}
	i.Release()
	if proctree.Alive(pid, start) {
		t.Error("the inhibitor outlived its release")
	}
	(*Inhibitor)(nil).Release()
}

// TestInhibitorEndsWithUs kills the process that asked for it.
func TestInhibitorEndsWithUs(t *testing.T) {
	if dir := os.Getenv("INHIBIT_IN"); dir != "" {
		i, err := Inhibit(t.Context(), "linux", os.Environ(), "a run is on")
		if err != nil {
			t.Fatal(err)
		}
		defer i.Release()
		select {}
	}
	t.Parallel()
	dir, environ := program(t, "systemd-inhibit", inhibits)
	cmd := exec.Command(os.Args[0], "-test.run=^TestInhibitorEndsWithUs$")
	cmd.Env = append(environ, "INHIBIT_IN="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	poll(t, func() bool {
		kids, err := proctree.ChildrenOf(cmd.Process.Pid)
		if err != nil || len(kids) != 1 {
			return false
		}
		p, err := proctree.Read(proctree.Root, kids[0])
		pid = kids[0]
		return err == nil && p.Comm == "cat"
	})
	start, _ := proctree.StartOf(pid)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	poll(t, func() bool { return !proctree.Alive(pid, start) })
}

func TestInhibitRefused(t *testing.T) {
	t.Parallel()
	_, environ := program(t, "systemd-inhibit", "echo Failed to connect to bus: No such file >&2\nexit 1\n")
	if _, err := Inhibit(t.Context(), "linux", environ, "x"); err == nil || !strings.Contains(err.Error(), "Failed to connect to bus") {
		t.Errorf("got %v, want what the program said", err)
	}
	if _, err := Inhibit(t.Context(), "darwin", environ[1:], "x"); err == nil || !strings.Contains(err.Error(), "caffeinate") {
		t.Errorf("got %v, want the program that is missing", err)
	}
}

func TestCaffeinateWatchesUs(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff([]string{"caffeinate", "-i", "-s", "-w", "42"}, command("darwin", "x", 42)); diff != "" {
		t.Error(diff)
	}
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within 30s")
		}
		<-time.After(5 * time.Millisecond)
	}
}
