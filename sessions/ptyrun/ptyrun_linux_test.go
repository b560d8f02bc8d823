package ptyrun_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"autopilot/probe/proctree"
	"autopilot/sessions/ptyrun"
)

// terminal is how a child sees its surroundings.
type terminal struct {
	TTYs       []bool // stdin, stdout, stderr
	Raw        bool   // nothing is translated, echoed, or taken for a signal
	Rows, Cols int
	Own        bool   // session and group of its own
	Control    string // what opening the controlling terminal says
	Files      []string
}

func describeTerminal(string) int {
	v := terminal{}
	for fd := range 3 {
		v.TTYs = append(v.TTYs, term.IsTerminal(fd))
	}
	state, err := unix.IoctlGetTermios(1, unix.TCGETS)
	if err != nil {
		return 1
	}
	v.Raw = state.Oflag&unix.OPOST == 0 && state.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) == 0 && state.Iflag&unix.ICRNL == 0
	v.Cols, v.Rows, _ = term.GetSize(1)
	sid, err := unix.Getsid(0)
	v.Own = err == nil && sid == os.Getpid() && unix.Getpgrp() == os.Getpid()
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err != nil {
		v.Control = err.Error()
	} else {
		v.Control = "opened"
		_ = f.Close()
	}
	v.Files = inherited()
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return 1
	}
	return 0
}

// inherited names the files that a child of this process would get too.
func inherited() []string {
	var names []string
	for fd := 3; fd < 100; fd++ {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			name, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			names = append(names, name)
		}
	}
	return names
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	// A descriptor of ours that a child must not get.
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{}
	p := process{start(t, ptyrun.Command{Path: self, Env: append(os.Environ(), childVar+"=terminal"), Stderr: null}, s), t, s}
	var got terminal
	if err := json.Unmarshal([]byte(p.all()), &got); err != nil {
		t.Fatal(err)
	}
	want := terminal{TTYs: []bool{false, true, false}, Raw: true, Rows: 50, Cols: 200, Own: true, Control: "open /dev/tty: no such device or address"}
	want.Files = inherited() // what whoever started the tests has left open
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("terminal (-want +got):\n%s", diff)
	}
}

// openFiles counts our descriptors.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNothingLeaks is not parallel, because it counts what the whole test binary
// has.
func TestNothingLeaks(t *testing.T) {
	tests := map[string]func(){
		"missing binary": func() {
			if _, err := ptyrun.Start(ptyrun.Command{Path: "/nowhere/claude", Stdin: "x"}, io.Discard); err == nil {
				t.Error("a missing binary was started")
			}
		},
		"run to the end": func() {
			p, err := ptyrun.Start(ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", "echo x"}, Stdin: strings.Repeat("x", 1<<17), Stderr: os.Stderr}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			p.Drain(patience)
		},
		"stopped": func() {
			p, err := ptyrun.Start(ptyrun.Command{Path: "/bin/sleep", Args: []string{"300"}, Stderr: os.Stderr}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			p.Stop(ended(), ptyrun.Ladder{})
			p.Drain(patience)
		},
		"pty held": func() {
			p, err := ptyrun.Start(ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", "sleep 300 & exit 0"}, Stderr: os.Stderr}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if p.Drain(0) {
				t.Error("the end was reached although the pty is held")
			}
			_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		},
	}
	for name, once := range tests {
		once() // what is opened once and kept, such as the poller
		files, routines := openFiles(t), runtime.NumGoroutine()
		for range 50 {
			once()
		}
		poll(t, func() bool { return runtime.NumGoroutine() <= routines })
		if got := openFiles(t); got > files {
			t.Errorf("%s: %d files are open after 50 times, %d before", name, got, files)
		}
	}
}

// zombie reports whether a process has ended and was not collected yet.
func zombie(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	return err == nil && p.Dead()
}

// TestSupervisorIsKilled looks for the child after its supervisor was killed: it
// must have been interrupted, so that it can end its own children.
func TestSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	note := t.TempDir() + "/note"
	script := fmt.Sprintf(`trap 'echo interrupted > %s; exit 0' INT; echo ready > %s; while :; do sleep 0.05; done`, note, note)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVar+"=supervisor "+script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the supervisor says %q", line)
	}
	t.Cleanup(func() { _ = syscall.Kill(-child, syscall.SIGKILL) })
	said := func(want string) func() bool {
		return func() bool {
			data, err := os.ReadFile(note)
			return err == nil && strings.TrimSpace(string(data)) == want
		}
	}
	poll(t, said("ready"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	poll(t, said("interrupted"))
	poll(t, func() bool { return gone(child) || zombie(child) })
}

// TestManyThreads starts children while goroutines come and go: the thread that
// started a child must not end before it, or the child would be interrupted.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	p := part(t, "endure", "")
	p.says("ready")
	for range 20 {
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread() // ends its thread, as it never unlocks
			close(done)
		}()
		<-done
		shell(t, "exit 0").exits()
	}
	select {
	case <-p.Done():
		t.Errorf("the child ended by itself with %+v; it printed %q", p.Exit(), p.screen.String())
	default:
	}
	if got := p.screen.String(); got != "ready\n" {
		t.Errorf("the child printed %q, want nothing but ready", got)
	}
}
